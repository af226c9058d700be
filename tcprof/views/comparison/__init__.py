"""What the command says of a comparison: the verdict, what it rests on, the tables that matter, and the gate."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.gate.judge import HOLDS_BOUND, INCONCLUSIVE, NO_INTERVAL, Estimate, Gate, Judgement
from tcprof.comparison.gate.parse import Condition
from tcprof.comparison.statistics.rows import MEAN, MEDIAN, TOO_FEW
from tcprof.findings.compared import ComparedFindings
from tcprof.findings.compared.judge import ComparedAdvice, compare_advice, describe_compared
from tcprof.findings.compared.verdict import list_gpus
from tcprof.frames import quantity_of
from tcprof.untrusted import one_line, printable
from tcprof.views import ROWS_SHOWN
from tcprof.views.comparison.changes import list_kernel_changes, list_module_changes
from tcprof.views.comparison.quantities import list_quantities, list_range_changes
from tcprof.views.comparison.sides import describe_recordings, list_left_out, list_sides, name_sides
from tcprof.views.comparison.waterfall import list_parts
from tcprof.views.document import Document, Notes
from tcprof.views.paths import WHOLE_CAPTURE
from tcprof.views.recording import gpu_title_of_several, recording_data
from tcprof.views.tables import Table


def view_comparison(
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame] | None = None,
    gate: Gate | None = None,
    limit: int | None = None,
) -> Document:
    """What is said of comparisons with one baseline.

    Args:
        findings: Of one comparison all tables are shown, of several one row a side.
        rows: Rows of each that were asked for; None for all.
        gate: A gate, where there is one comparison.
    """
    comparisons = [each.comparison for each in findings]
    rows = [each.rows for each in comparisons] if rows is None else rows
    advice = [compare_advice(each) for each in comparisons]
    judged = gate.judgements if gate else ()
    data = [_data(*each, judged) for each in zip(findings, rows, advice, strict=True)]
    sides = [side for _, side in name_sides(comparisons)]
    base = tuple(dict.fromkeys(f"{one_line(side.name)}: {text}" for side in sides for text in list_left_out(side)))
    tables = list_sides(comparisons) if len(comparisons) > 1 else _list_all(comparisons[0], rows[0], limit)
    faults, warnings = name_findings(findings)
    won = describe_compared(comparisons[0], advice[0]) if len(comparisons) == 1 else ()
    said = Notes((*_sentences(findings), *won, *describe_recordings(comparisons), *base))
    return Document(
        kind="comparison",
        parts=(said, *(table for table in tables if table.rows)),
        faults=faults,
        warnings=warnings,
        base=base,
        data=data[0] if len(data) == 1 else {"comparisons": data},
        rows=_merge(comparisons, rows),
        gate=view_gate(gate) if gate else None,
        title=title_sides(comparisons),
    )


def title_sides(comparisons: Sequence[Comparison]) -> str:
    """The names of all sides."""
    names = [comparisons[0].base.name, *(each.new.name for each in comparisons)]
    return (" → " if len(names) == 2 else ", ").join(names)


def name_findings(findings: Sequence[ComparedFindings]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The faults and the warnings of all sides, each once; those of one side begin with what it is called."""
    (base, _), *others = name_sides([each.comparison for each in findings])
    each = list(zip((name for name, _ in others), findings, strict=True))
    faults = dict.fromkeys(text for new, found in each for text in found.name_faults(base, new))
    warnings = dict.fromkeys(text for new, found in each for text in found.name_warnings(base, new))
    return tuple(faults), tuple(warnings)


def _sentences(findings: Sequence[ComparedFindings]) -> list[str]:
    lines = []
    for found in findings:
        for of_gpu in found.gpus:
            title = gpu_title_of_several(found.comparison.base.first, of_gpu.gpu)
            lines += [*([title] if title else []), *of_gpu.sentences]
    return lines


def _list_all(comparison: Comparison, rows: pd.DataFrame, limit: int | None) -> list[Table]:
    """All tables of a comparison, GPU by GPU; one that was only sampled has its ranges alone."""
    tables, told = [], list_gpus(comparison)
    for gpu in sorted(rows["gpu"].unique()):
        title = gpu_title_of_several(comparison.base.first, gpu)
        ranges = list_range_changes(comparison, rows, gpu, limit and ROWS_SHOWN)
        if gpu in told:
            tables.append(list_quantities(comparison, gpu, title))
        else:
            ranges = replace(ranges, title=title)
        modules = list_module_changes(comparison, gpu)
        tables += [ranges, modules, *list_parts(comparison, gpu).values(), list_kernel_changes(comparison, gpu, limit)]
    return tables


def _merge(comparisons: Sequence[Comparison], rows: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if len(rows) == 1:
        return rows[0]
    parts = [each.copy() for each in rows]
    for part, comparison in zip(parts, comparisons, strict=True):
        part.insert(0, "side", comparison.new.name)
    return pd.concat(parts, ignore_index=True)


def _data(
    findings: ComparedFindings, rows: pd.DataFrame, advice: Sequence[ComparedAdvice], judged: Sequence[Judgement]
) -> dict[str, Any]:
    comparison = findings.comparison
    sides = {"base": comparison.base, "new": comparison.new}
    return {
        "recordings": {name: [recording_data(each) for each in side.recordings] for name, side in sides.items()},
        "iteration_path": comparison.iteration_path,
        "spread": comparison.spread,
        "verdict": findings.verdict,
        "rows": rows,
        "modules": comparison.modules,
        "waterfall": comparison.waterfall,
        "kernels": comparison.matching.changes,
        "base_matched_pct": comparison.matching.base_matched_pct,
        "new_matched_pct": comparison.matching.new_matched_pct,
        "noise_floor": comparison.noise_floor,
        "advice": [asdict(each) for each in advice],
        "gate": [{**asdict(each), "condition": each.condition.text} for each in judged],
        "faults": findings.faults,
        "warnings": findings.warnings,
    }


_LARGE_RATIO = 10  # from here on "12.9x" is easier to read than "+1190.0 %"
_LONGEST_PATH = 160
_ENDED = {"pass": "Gate passed", "fail": "Gate failed", INCONCLUSIVE: "Gate inconclusive"}
_MORE_RECORDINGS = "The more recordings a side has, the more can be told: tcprof profile --repeat 5 SCRIPT"


@dataclass(frozen=True)
class ConditionView:
    """One condition: its name with what that leaves open, its verdict, and the figures or the reason behind it."""

    name: str
    verdict: str
    found: str


@dataclass(frozen=True)
class GateView:
    """All conditions of a gate."""

    conditions: tuple[ConditionView, ...]
    state: str  # pass, fail or inconclusive: how the gate ends
    outcome: str  # the same in a sentence
    advice: tuple[str, ...]  # what would help where something is inconclusive, in sentences
    doubt: str  # the inconclusive conditions, as one line for a log; empty if there are none
    is_strict: bool  # whether an inconclusive condition fails


def view_gate(gate: Gate) -> GateView:
    """What a gate says."""
    judgements = gate.judgements
    unsure = (f"{name_condition(each)}: {each.reason}" for each in judgements if each.verdict == INCONCLUSIVE)
    doubt = printable("; ".join(unsure))
    helps = any(each.reason in (NO_INTERVAL, TOO_FEW, HOLDS_BOUND) for each in judgements)
    counts = Counter(each.verdict for each in judgements)
    counted = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("fail", INCONCLUSIVE, "pass") if counts[verdict])
    return GateView(
        conditions=tuple(
            ConditionView(name_condition(each), each.verdict, describe_judgement(each)) for each in judgements
        ),
        state=gate.verdict,
        outcome=f"{_ENDED[gate.verdict]}: of {units.format_things(len(judgements), 'condition')} {counted}.",
        advice=(_MORE_RECORDINGS,) if helps else (),
        doubt=f"Gate inconclusive: {doubt}." if doubt else "",
        is_strict=gate.strict,
    )


def name_condition(judgement: Judgement) -> str:
    """The condition as it was given, with the path and the GPU where it leaves these open; in printable form."""
    places, condition = [], judgement.condition
    if isinstance(condition, Condition) and condition.path != judgement.path:
        path = printable(judgement.path or WHOLE_CAPTURE)
        places.append(path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…")
    if judgement.gpu_count > 1:
        places.append(f"GPU {judgement.gpu}")
    text = printable(condition.text.strip())
    return f"{text} ({', '.join(places)})" if places else text


def describe_judgement(judgement: Judgement) -> str:
    """What was found, and why it is inconclusive, if it is, in printable form.

    "+12.3 %, 95 % interval +10.1 % to +14.5 %"; where median and mean differ both, and which of them decides.
    """
    found, condition = "", judgement.condition
    if isinstance(condition, Condition):
        median, mean = _describe(condition, judgement.median), _describe(condition, judgement.mean)
        found = median if median == mean else f"median {median or units.UNKNOWN}; mean {mean or units.UNKNOWN}"
        if median != mean and judgement.decided_by in (MEDIAN, MEAN):
            found += f" (the {judgement.decided_by} decides)"
    return ": ".join(part for part in (found, printable(judgement.reason)) if part)


def _describe(condition: Condition, estimate: Estimate) -> str:
    parts = [] if math.isnan(estimate.value) else [_format(condition, estimate.value)]
    if not (math.isnan(estimate.low) or math.isnan(estimate.high)):
        parts.append(f"95 % interval {_format(condition, estimate.low)} to {_format(condition, estimate.high)}")
    return ", ".join(parts)


def _format(condition: Condition, value: float) -> str:
    if condition.scale == "relative":
        return units.format_signed_pct(100 * (value - 1)) if value < _LARGE_RATIO else units.format_ratio(value)
    if condition.scale == "points":
        return units.format_points(value)
    return quantity_of(condition.quantity).column.format(value)
