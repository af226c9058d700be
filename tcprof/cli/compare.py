"""``tcprof compare``."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tcprof.cli import app, output
from tcprof.cli.options import (
    FORCE,
    NO_CACHE,
    PAGE,
    ROWS,
    WARM_UP,
    WIDE,
    WINDOW,
    Asked,
    CliOption,
    find_stored,
    format_option,
    paths_argument,
    select_rows,
    takes,
)
from tcprof.cli.ranks import as_jobs
from tcprof.errors import NoRunError, UsageError
from tcprof.files import PAGE_SUFFIX
from tcprof.render.formats import formats_for

if TYPE_CHECKING:
    from tcprof.comparison import Comparison, Side
    from tcprof.comparison.gate import GateFile
    from tcprof.ranks.job import Job
    from tcprof.views.document import Document

SIDES = paths_argument(
    *("sides", "BASE NEW..."),
    "The baseline, then what to compare with it: each a report or its SQLite export, a folder of recordings of one "
    "program, or NAME for NAME-1, NAME-2 and so on; or runs in a store: main@latest, main@-5.. for the last five, "
    "commit:HASH. LABEL=PATH gives a side another name.",
)
COMPARED_OUTPUT = CliOption("output", Path | None, None, "-o", "--output").means(
    "Also write an HTML page to this file; if its suffix is that of another format, write that format instead of "
    "printing."
)
MAP = CliOption("renamed", list[str] | None, None, "--map", metavar="OLD=NEW").means(
    "A range that was renamed since the baseline."
)
GATE = (
    CliOption("fail_if", list[str] | None, metavar="CONDITION").means(
        "A condition, such as 'time > +5%' or 'tensor_active\\[step / forward] < 30': exit with status 1 if it "
        "holds, 5 if it is inconclusive."
    )
    | CliOption("gate_file", Path | None, None, "--gate", metavar="FILE").means(
        "Read --fail-if conditions from \\[tool.tcprof.gate] in a pyproject.toml, or from another TOML file."
    )
    | CliOption("strict", bool, False).means("Also fail, with status 1, if a condition is inconclusive.")
)
MISMATCH = CliOption("allow_mismatch", bool, False).means(
    "Compare even if one side has no GPU work and the result is meaningless."
)
ALL = CliOption("everything", bool, False, "--all").means(
    "Show everything: all quantities, ranges, modules and kernels, and the notes."
)
_FORMATS = formats_for("rows", "gate")
_JUNIT = "junit"
FORMAT = format_option(_FORMATS, "Output format, by default text; junit shows the conditions of --fail-if.")


@app.command(
    epilog="Examples:\n\ntcprof compare fp32.nsys-rep amp.nsys-rep -o comparison.html\n\n"
    "tcprof compare base/ opt/ --fail-if 'time > +5%'"
)
@takes(SIDES, COMPARED_OUTPUT, WINDOW, WARM_UP, ROWS, MAP, GATE, MISMATCH, NO_CACHE, FORCE, ALL, FORMAT, WIDE, PAGE)
def compare(ctx: typer.Context, asked: Asked) -> None:
    """Compare recordings: what is faster, by how much, and how certain that is.

    Figures are medians over the instances of a range, each with the 95 % interval of its change. Runs of one program
    differ: give several recordings per side; otherwise run-to-run variation is assumed, and smaller changes are
    inconclusive.
    """
    gate_file = _read_gate(asked)
    labels, paths = zip(*map(_split_label, asked.sides), strict=True)
    asked.output = asked.output and output.add_suffix(asked.output, (PAGE_SUFFIX,))
    chosen, file, page = asked.choose_outputs(*paths, formats=_FORMATS, has_page=True)
    _check_usage(asked, bool(gate_file.conditions), chosen, page)
    sides, missing = _find_sides(ctx, paths)
    if missing:
        _pass_without_baseline(gate_file, missing, chosen, file, page)
        return
    mapping, names = _parse_mapping(asked.renamed or []), _name_sides(labels, sides)
    jobs, read = _read_sides(asked, sides, names)
    status = 0
    if jobs:
        document = _view_jobs(jobs, names, bool(gate_file.conditions))
    else:
        document, status = _view_sides(asked, sides, read, mapping, gate_file, page)
        if chosen == output.BRIEF and (asked.everything or _is_selection(asked)):
            chosen = output.TEXT
    output.print_document(document, chosen, file, wide=asked.wide)
    if page is not None:
        output.write_page(document, page, asked.page_options())
        output.print_path(page, chosen)
        if asked.open_it:
            output.open_page(page)
    raise typer.Exit(status)


def _view_sides(
    asked: Asked,
    paths: Sequence[Path],
    sides: "Sequence[Side]",
    mapping: dict[str, str],
    gate_file: "GateFile",
    page: Path | None,
) -> "tuple[Document, int]":
    """Compare sides of recordings; returns the document and the exit status of the gate."""
    from tcprof.comparison import compare as compare_sides
    from tcprof.findings.compared import judge_comparison, judge_gate
    from tcprof.views.comparison import view_comparison

    with output.progress("Comparing"):
        comparisons: list[Comparison] = [
            compare_sides(sides[0], side, mapping, asked.allow_mismatch) for side in sides[1:]
        ]
    findings = [judge_comparison(comparison) for comparison in comparisons]
    # Conditions are for two sides only, so that there is one comparison to judge.
    rows = select_rows(comparisons[0].rows, asked.gpu, None, None)
    conditions = gate_file.conditions
    gate = judge_gate(conditions, findings[0], gate_file.strict, rows) if conditions else None
    selected = [asked.select(comparison.rows) for comparison in comparisons]
    reports = _find_reports(page, paths, comparisons) if page else ()
    document = view_comparison(findings, selected, gate, asked.everything, _is_selection(asked), reports)
    return document, gate.exit_status if gate else 0


def _is_selection(asked: Asked) -> bool:
    return asked.pattern is not None or asked.depth is not None


def _view_jobs(jobs: Sequence["Job"], names: Sequence[str], has_gate: bool) -> "Document":
    from tcprof.views.job import view_compared_jobs

    if len(jobs) != 2 or has_gate or jobs[0].rank_steps.equals(jobs[1].rank_steps):
        why = "multi-rank jobs are compared two at a time, without conditions"
        raise UsageError(why, "Give two: tcprof compare DIR_A DIR_B -o jobs.html")
    return view_compared_jobs((jobs[0], jobs[1]), (names[0], names[1]))


def _find_sides(ctx: typer.Context, paths: Sequence[Path]) -> tuple[Sequence[Path], NoRunError | None]:
    """Find the files of all sides, those of a store too; and why there is no baseline yet, if the store has none."""
    new = [find_stored(ctx, path) for path in paths[1:]]
    try:
        return [find_stored(ctx, paths[0]), *new], None
    except NoRunError as missing:
        return paths, missing


def _read_sides(asked: Asked, paths: Sequence[Path], names: Sequence[str]) -> "tuple[Sequence[Job], list[Side]]":
    """Read the sides as jobs of several ranks, if all of them are, and as recordings, which no two sides share."""
    from tcprof.comparison import Side
    from tcprof.comparison.comparison import refuse_shared
    from tcprof.sources.registry import find_recordings

    if jobs := as_jobs(paths):
        return jobs, []
    sides = []
    for number, (path, name) in enumerate(zip(paths, names, strict=True)):
        recordings = (
            output.read_recording(file, window=asked.window, warm_up=asked.warm_up, no_cache=asked.no_cache).analysis
            for file in find_recordings(path)
        )
        sides.append(replace(Side(name, tuple(recordings)), number=number))
    if jobs := as_jobs(paths, sides):
        return jobs, sides
    refuse_shared(sides)
    return [], sides


def _pass_without_baseline(
    gate_file: "GateFile", why: "NoRunError", chosen: str, file: Path | None, page: Path | None
) -> None:
    """Say that there is nothing to compare with yet: a first run passes."""
    from tcprof.views.comparison.gate import view_without_baseline

    texts = [condition.text for condition in gate_file.conditions]
    output.print_document(view_without_baseline(texts, why), chosen, file)
    if page is not None:
        output.print_notes((f"{page} is not written: there is no baseline to show.",))


def _read_gate(asked: Asked) -> "GateFile":
    """Read all conditions: those of a file, then those of the command line."""
    from tcprof.comparison.gate import GateFile, parse_condition, read_gate_file
    from tcprof.findings.rules import rules_of_findings

    rules = [*rules_of_findings()]
    conditions = tuple(parse_condition(text, rules) for text in asked.fail_if or ())
    in_file = read_gate_file(asked.gate_file, rules) if asked.gate_file else GateFile((), False)
    return GateFile((*in_file.conditions, *conditions), asked.strict or in_file.strict)


def _check_usage(asked: Asked, has_gate: bool, chosen: str, page: Path | None) -> None:
    """Refuse what makes no sense before anything is read."""
    if len(asked.sides) < 2:
        raise UsageError("a comparison needs two sides", "For example: tcprof compare base.nsys-rep new.nsys-rep")
    if has_gate and len(asked.sides) > 2:
        raise UsageError("--fail-if and --gate judge one side against one baseline", "Give two sides.")
    if chosen == _JUNIT and not has_gate:
        raise UsageError("--format junit shows conditions, but there are none", "Add --fail-if 'time > +5%'.")
    if asked.open_it and page is None:
        raise UsageError("--open shows a page, but none is written", "Add -o comparison.html.")


def _find_reports(page: Path, paths: Sequence[Path], comparisons: list["Comparison"]) -> list[tuple[str, ...]]:
    sides = (comparisons[0].base, *(comparison.new for comparison in comparisons))
    files = ([analysis.recording.file for analysis in side.recordings] for side in sides)
    return [output.find_reports(page, path, names) for path, names in zip(paths, files, strict=True)]


def _parse_mapping(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--map {pair!r} has no equals sign", "Write --map OLD=NEW.")
    return {old.strip(): new.strip() for old, _, new in (pair.partition("=") for pair in pairs)}


def _split_label(side: Path) -> tuple[str, Path]:
    """Split a side into its label, empty where it has none, and its path; one that exists may hold an equals sign."""
    label, equals, path = str(side).partition("=")
    return (label, Path(path)) if equals and label and path and not side.exists() else ("", side)


def _name_sides(labels: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Name the sides by their labels, else by the files' names, with their folders where those are the same."""
    stems = [path.stem if path.suffix else path.name for path in paths]
    if len(set(stems)) < len(stems):
        stems = [f"{Path(os.path.realpath(path)).parent.name}/{stem}" for path, stem in zip(paths, stems, strict=True)]
    return [label or stem for label, stem in zip(labels, stems, strict=True)]
