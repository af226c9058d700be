"""What the command says of a comparison: the verdict, what it rests on, and the tables that matter."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from tcprof.comparison import Comparison
from tcprof.comparison.gate.judge import Gate, Judgement
from tcprof.comparison.statistics.rows import MEAN, MEDIAN
from tcprof.findings.compared import ComparedFindings
from tcprof.findings.compared.judge import ComparedAdvice, compare_advice, describe_compared
from tcprof.findings.compared.verdict import list_gpus
from tcprof.views import ROWS_SHOWN
from tcprof.views.comparison.kernels import list_kernel_changes
from tcprof.views.comparison.modules import list_module_changes
from tcprof.views.comparison.quantities import list_quantities, list_range_changes
from tcprof.views.comparison.sides import describe_left_out, describe_recordings, list_sides, name_sides
from tcprof.views.comparison.waterfall import list_parts
from tcprof.views.document import Document, Notes
from tcprof.views.gate import view_gate
from tcprof.views.recording.facts import gpu_title_of_several, recording_data
from tcprof.views.tables import Table


def view_comparison(
    comparisons: Sequence[Comparison],
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame] | None = None,
    gate: Gate | None = None,
    limit: int | None = None,
) -> Document:
    """What is said of comparisons with one baseline.

    Args:
        comparisons: The comparisons: of one all tables are shown, of several one row a side.
        rows: Rows of each that were asked for; None for all.
        gate: A gate, where there is one comparison.
    """
    rows = [each.rows for each in comparisons] if rows is None else rows
    advice = [compare_advice(each) for each in comparisons]
    judged = gate.judgements if gate else ()
    data = [_data(*each, judged) for each in zip(comparisons, findings, rows, advice, strict=True)]
    base = tuple(describe_left_out([side for _, side in name_sides(comparisons)]))
    tables = list_sides(comparisons) if len(comparisons) > 1 else _list_all(comparisons[0], rows[0], limit)
    faults, warnings = name_findings(comparisons, findings)
    won = describe_compared(comparisons[0], advice[0]) if len(comparisons) == 1 else ()
    said = Notes((*_sentences(comparisons, findings), *won, *describe_recordings(comparisons), *base))
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


def name_findings(
    comparisons: Sequence[Comparison], findings: Sequence[ComparedFindings]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The faults and the warnings of all sides, each once; those of one side begin with what it is called."""
    (base, _), *others = name_sides(comparisons)
    each = list(zip((name for name, _ in others), findings, strict=True))
    faults = dict.fromkeys(text for new, found in each for text in found.name_faults(base, new))
    warnings = dict.fromkeys(text for new, found in each for text in found.name_warnings(base, new))
    return tuple(faults), tuple(warnings)


def _sentences(comparisons: Sequence[Comparison], findings: Sequence[ComparedFindings]) -> list[str]:
    lines = []
    for comparison, found in zip(comparisons, findings, strict=True):
        for of_gpu in found.gpus:
            title = gpu_title_of_several(comparison.base.first, of_gpu.gpu)
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
    comparison: Comparison,
    findings: ComparedFindings,
    rows: pd.DataFrame,
    advice: Sequence[ComparedAdvice],
    judged: Sequence[Judgement],
) -> dict[str, Any]:
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
        "gate": [_judgement_data(each) for each in judged],
        "faults": findings.faults,
        "warnings": findings.warnings,
    }


def _judgement_data(judgement: Judgement) -> Mapping[str, Any]:
    figures = {name: asdict(found) for name, found in ((MEDIAN, judgement.median), (MEAN, judgement.mean))}
    return {**asdict(judgement), **figures, "condition": judgement.condition.text}
