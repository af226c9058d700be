"""What the command says of a comparison: the verdict, what it rests on, the tables that matter, and the gate."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.gate.judge import Gate, Judgement
from tcprof.comparison.waterfall import TIME
from tcprof.findings.compared import ComparedFindings
from tcprof.findings.compared.verdict import list_gpus
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN
from tcprof.views.comparison.changes import list_kernel_changes, list_module_changes
from tcprof.views.comparison.gate import view_gate
from tcprof.views.comparison.quantities import list_quantities, list_range_changes
from tcprof.views.comparison.sides import describe_recordings, list_left_out, list_sides, measure_sides, name_sides
from tcprof.views.comparison.waterfall import list_parts
from tcprof.views.document import VERDICT, Document, Medium, Notes, Only, Part
from tcprof.views.recording import gpu_title_of_several, recording_data
from tcprof.views.tables import Table

SHOWN_KERNELS, SHOWN_PARTS = 5, 5  # of a GPU, unless everything is asked for


def view_comparison(
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame] | None = None,
    gate: Gate | None = None,
    everything: bool = False,
    ranges: bool = False,
    reports: Sequence[Sequence[str]] = (),
) -> Document:
    """What is said of comparisons with one baseline; the verdict is the first part.

    Args:
        findings: Of one comparison the tables are shown, of several one row a side.
        rows: Rows of each that were asked for; None for all.
        gate: A gate, where there is one comparison.
        everything: Whether nothing is left out; else a screen of it.
        ranges: Whether the ranges are listed in any case.
        reports: For each side and each of its recordings the link to its report, empty for none; empty if all are.
    """
    comparisons = [each.comparison for each in findings]
    rows = [each.rows for each in comparisons] if rows is None else rows
    judged = gate.judgements if gate else ()
    data = [_data(*each, judged) for each in zip(findings, rows, strict=True)]
    faults, cautions = name_findings(findings)
    sides = [side for _, side in name_sides(comparisons)]
    base = tuple(dict.fromkeys(f"{one_line(side.name)}: {text}" for side in sides for text in list_left_out(side)))
    return Document(
        kind="comparison",
        parts=(
            Only(Medium.SCREEN, partial(_list_screen, findings, rows, base, everything, ranges)),
            Only(Medium.PAGE, partial(_list_page, findings, reports)),
        ),
        faults=(*faults, *cautions),
        cautions=cautions,
        base=base,
        data=data[0] if len(data) == 1 else {"comparisons": data},
        rows=_merge(comparisons, rows),
        gate=view_gate(gate, comparisons[0].base.recordings[0].recording.recorder) if gate else None,
        title=title_sides(comparisons),
        headlines=tuple(each.gpus[0].sentences[0] for each in findings) if len(findings) > 1 else (),
    )


def _list_page(findings: Sequence[ComparedFindings], reports: Sequence[Sequence[str]]) -> tuple[Part, ...]:
    from tcprof.views.comparison.page import list_page_parts  # with its figures, which the screen has not

    return list_page_parts(findings, reports)


def _list_screen(
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame],
    base: tuple[str, ...],
    everything: bool,
    ranges: bool,
) -> tuple[Part, ...]:
    comparisons = [each.comparison for each in findings]
    tables, rest = list_sides(comparisons), Notes(())
    if len(comparisons) == 1:
        own = [table for table in tables if table.gpu in set(rows[0]["gpu"])]
        more = _list_all(comparisons[0], rows[0]) if everything else _list_brief(comparisons[0], rows[0], ranges)
        tables = [*own, *(replace(table, folded=True) for table in more)]
        rest = rest if everything else Notes(tuple(_describe_rest(comparisons[0], rows[0], ranges)))
    notes = Notes((*describe_recordings(comparisons), *base) if everything else ())
    return (
        Notes(tuple(_sentences(findings, everything)), VERDICT),
        *(table for table in tables if table.rows),
        *(part for part in (rest, notes) if part.lines),
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


def _sentences(findings: Sequence[ComparedFindings], everything: bool) -> list[str]:
    """The verdicts, all of the first GPU, and of the others the first sentence alone unless everything is wanted."""
    lines = []
    for found in findings:
        for number, of_gpu in enumerate(found.gpus):
            title = gpu_title_of_several(found.comparison.base.first, of_gpu.gpu)
            told = of_gpu.sentences if everything or not number else of_gpu.sentences[:1]
            lines += [f"{title}: {told[0]}" if title else told[0], *told[1:]]
    return lines


def _list_brief(comparison: Comparison, rows: pd.DataFrame, ranges: bool) -> list[Table]:
    """Where the step goes, and the kernels that changed most, of the first GPU; the ranges where they are wanted."""
    shown = [gpu for gpu in list_gpus(comparison) if gpu in set(rows["gpu"])]
    tables = [list_range_changes(comparison, rows, gpu, ROWS_SHOWN) for gpu in shown if ranges]
    for gpu in shown[:1]:
        parts = list_parts(comparison, gpu, SHOWN_PARTS)
        tables += [parts[TIME]] if TIME in parts else []
        kernels = list_kernel_changes(comparison, gpu, SHOWN_KERNELS)
        tables.append(replace(kernels, more="", title="", first=kernels.title))  # which saves two lines
    return tables


def _describe_rest(comparison: Comparison, rows: pd.DataFrame, ranges: bool) -> Iterator[str]:
    """What a screen leaves out: ranges of one side in a line each, and how much there is of the rest."""
    places = rows[rows["path"] != ""].drop_duplicates(["domain", "path"])
    only = {side: int(places[f"{side}_instance_count"].isna().sum()) for side in ("new", "base")}
    for side, count in only.items():  # what the base lacks is new
        if count:
            yield f"{'base' if side == 'new' else 'new'} side only: {units.format_things(count, 'range')}"
    changes, modules = comparison.matching.changes, comparison.modules
    counted = {
        "range": 0 if ranges else len(places) - sum(only.values()),
        "module": modules["module_id"].nunique(),
        "kernel": max(len(changes) - SHOWN_KERNELS, 0),
    }
    told = [units.format_things(count, noun) for noun, count in counted.items() if count]
    yield f"--all shows every quantity{''.join(f', {each}' for each in told)}, and the notes."


def _list_all(comparison: Comparison, rows: pd.DataFrame) -> list[Table]:
    """All tables of a comparison, GPU by GPU; one that was only sampled has its ranges alone."""
    tables, told = [], list_gpus(comparison)
    for gpu in sorted(rows["gpu"].unique()):
        title = gpu_title_of_several(comparison.base.first, gpu)
        ranges = list_range_changes(comparison, rows, gpu)
        if gpu in told:
            tables.append(list_quantities(comparison, gpu, title))
        else:
            ranges = replace(ranges, title=title)
        modules, kernels = list_module_changes(comparison, gpu, None), list_kernel_changes(comparison, gpu)
        tables += [ranges, modules, *list_parts(comparison, gpu).values(), kernels]
    return tables


def _merge(comparisons: Sequence[Comparison], rows: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if len(rows) == 1:
        return rows[0]
    parts = [each.copy() for each in rows]
    for part, comparison in zip(parts, comparisons, strict=True):
        part.insert(0, "side", comparison.new.name)
    return pd.concat(parts, ignore_index=True)


def _data(findings: ComparedFindings, rows: pd.DataFrame, judged: Sequence[Judgement]) -> dict[str, Any]:
    comparison = findings.comparison
    sides = {"base": comparison.base, "new": comparison.new}
    return {
        "verdict": findings.verdict,
        "faults": findings.faults,
        "warnings": findings.warnings,
        "recordings": {name: [recording_data(each) for each in side.recordings] for name, side in sides.items()},
        "sides": [{"side": each.role, "gpu": gpu, **vars(figures)} for each, gpu, figures in measure_sides(comparison)],
        "step_path": comparison.step_path,
        "spread": comparison.spread,
        "rows": rows,
        "modules": comparison.modules,
        "waterfall": comparison.waterfall,
        "kernels": comparison.matching.changes,
        "base_matched_pct": comparison.matching.base_matched_pct,
        "new_matched_pct": comparison.matching.new_matched_pct,
        "gate": [{**asdict(each), "condition": each.condition.text} for each in judged],
    }
