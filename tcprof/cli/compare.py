"""``tcprof compare``."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcprof.cli import app
from tcprof.cli.options import (
    AllOption,
    DepthOption,
    FilterOption,
    ForceOption,
    GpuOption,
    MismatchOption,
    NoCacheOption,
    OpenOption,
    PlotlyOption,
    StrictOption,
    ThemeOption,
    TitleOption,
    WarmUpOption,
    WideOption,
    Window,
    WindowOption,
    choose_outputs,
    find_stored,
    format_option,
    select_rows,
)
from tcprof.cli.output import (
    BRIEF,
    TEXT,
    add_suffix,
    find_reports,
    open_page,
    print_document,
    print_notes,
    progress,
    read_recording,
    tell_path,
)
from tcprof.cli.ranks import as_jobs
from tcprof.errors import NoRunError, UsageError
from tcprof.files import PAGE_SUFFIX
from tcprof.render.formats import formats_for
from tcprof.render.html import PageOptions, PlotlyScript, Theme

if TYPE_CHECKING:
    from tcprof.comparison import Comparison, Side
    from tcprof.comparison.gate.parse import GateFile
    from tcprof.ranks.job import Job

SidesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="BASE NEW...",
        help="The baseline, then what to compare with it: each a report or its SQLite export, a folder of recordings "
        "of one program, or NAME for NAME-1, NAME-2 and so on; or runs of a store: main@latest, main@-5.. for the last "
        "five, commit:HASH. LABEL=PATH gives it another name.",
    ),
]
ComparedOutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Also write an HTML page; with the suffix of a format, write that instead of printing."
    ),
]
MapOption = Annotated[
    list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="A range that was renamed since the baseline.")
]
GateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="Exit with status 1 if this holds, 5 if it is inconclusive, such as 'time > +5%' or "
        "'tensor_active\\[step / forward] < 30'.",
    ),
]
GateFileOption = Annotated[
    Path | None,
    typer.Option(
        "--gate",
        metavar="FILE",
        help="Read such conditions from \\[tool.tcprof.gate] of a pyproject.toml, or from another TOML file.",
    ),
]
_FORMATS = formats_for("rows", "gate")
CompareFormatOption = Annotated[
    str | None,
    format_option(_FORMATS, "Output format, by default text; junit shows the conditions of --fail-if."),
]
_JUNIT = "junit"


@app.command(
    epilog="Examples:\n\ntcprof compare fp32.nsys-rep amp.nsys-rep -o comparison.html\n\n"
    "tcprof compare base/ opt/ --fail-if 'time > +5%'"
)
def compare(
    ctx: typer.Context,
    sides: SidesArgument,
    output: ComparedOutputOption = None,
    window: WindowOption = "gpu",
    warm_up: WarmUpOption = None,
    gpu: GpuOption = None,
    pattern: FilterOption = None,
    depth: DepthOption = None,
    renamed: MapOption = None,
    fail_if: GateOption = None,
    gate_file: GateFileOption = None,
    strict: StrictOption = False,
    allow_mismatch: MismatchOption = False,
    no_cache: NoCacheOption = False,
    force: ForceOption = False,
    everything: AllOption = False,
    output_format: CompareFormatOption = None,
    wide: WideOption = False,
    title: TitleOption = None,
    theme: ThemeOption = Theme.AUTO,
    plotlyjs: PlotlyOption = PlotlyScript.EMBED,
    open_it: OpenOption = False,
) -> None:
    """Compare recordings: what is faster, by how much, and how sure.

    Figures are medians per instance of a range, each with the 95 % interval of its change. Runs of one program differ:
    give several recordings per side; otherwise run-to-run variation is assumed, and smaller changes are inconclusive.
    """
    from tcprof.comparison import compare as compare_sides
    from tcprof.findings.compared import judge_comparison, judge_gate
    from tcprof.views.comparison import view_comparison

    asked = _read_gate(fail_if or [], gate_file, strict)
    split = [_split_label(given) for given in sides]
    labels, sides = [label for label, _ in split], [path for _, path in split]
    output = output and add_suffix(output, (PAGE_SUFFIX,))
    chosen, file, page = choose_outputs(output_format, output, tuple(sides), _FORMATS, force=force)
    _check_usage(sides, bool(asked.conditions), chosen, page, open_it)
    sides, missing = _find_sides(ctx, sides)
    if missing:
        _pass_without_baseline(asked, missing, chosen, file, page)
        return
    mapping, names = _parse_mapping(renamed or []), _name_sides(labels, sides)
    jobs, read = _read_sides(sides, names, window, warm_up, no_cache)
    if jobs:
        _compare_jobs(jobs, names, bool(asked.conditions), chosen, file, wide, page, PageOptions(title, theme))
        if page is not None:
            _tell_page(page, chosen, open_it)
        return
    with progress("Comparing"):
        comparisons: list[Comparison] = [compare_sides(read[0], side, mapping, allow_mismatch) for side in read[1:]]
    findings = [judge_comparison(each) for each in comparisons]
    # Conditions are for two sides only, so that there is one comparison to judge.
    rows = select_rows(comparisons[0].rows, gpu, None, None)
    gate = judge_gate(asked.conditions, findings[0], asked.strict, rows) if asked.conditions else None
    selected = [select_rows(each.rows, gpu, pattern, depth) for each in comparisons]
    listed = pattern is not None or depth is not None
    reports = _find_reports(page, sides, comparisons) if page else ()
    document = view_comparison(findings, selected, gate, everything, listed, reports)
    print_document(document, TEXT if chosen == BRIEF and (everything or listed) else chosen, file, wide=wide)
    if page is not None:
        from tcprof.render.html.page import write_page

        with progress(f"Writing {page.name}"):
            write_page(document, page, PageOptions(title, theme, plotlyjs))
        _tell_page(page, chosen, open_it)
    raise typer.Exit(gate.exit_status if gate else 0)


def _compare_jobs(
    jobs: Sequence["Job"],
    names: Sequence[str],
    has_gate: bool,
    chosen: str,
    file: Path | None,
    wide: bool,
    page: Path | None,
    options: PageOptions,
) -> None:
    from tcprof.views.job import view_compared_jobs

    if len(jobs) != 2 or has_gate or jobs[0].rank_steps.equals(jobs[1].rank_steps):
        why = "these are jobs of several ranks: compare two different ones, without conditions"
        raise UsageError(why, "Give two: tcprof compare DIR_A DIR_B -o jobs.html")
    both = (jobs[0], jobs[1]), (names[0], names[1])
    document = view_compared_jobs(*both)
    print_document(document, chosen, file, wide=wide)
    if page is not None:
        from tcprof.render.html.page import write_page

        write_page(document, page, options)


def _find_sides(ctx: typer.Context, sides: list[Path]) -> tuple[list[Path], NoRunError | None]:
    """The sides as files, those of a store too; and why there is no baseline yet, if the store has none."""
    new = [find_stored(ctx, path) for path in sides[1:]]
    try:
        return [find_stored(ctx, sides[0]), *new], None
    except NoRunError as missing:
        return sides, missing


def _read_sides(
    sides: Sequence[Path], names: Sequence[str], window: Window, warm_up: str | None, no_cache: bool
) -> "tuple[Sequence[Job], list[Side]]":
    """The sides as jobs of several ranks, if all of them are, and as recordings, of which no two sides share one."""
    from tcprof.comparison.comparison import refuse_shared

    if jobs := as_jobs(sides):
        return jobs, []
    named = enumerate(zip(sides, names, strict=True))
    read = [replace(_read_side(*each, window, warm_up, no_cache), number=number) for number, each in named]
    if jobs := as_jobs(sides, read):
        return jobs, read
    refuse_shared(read)
    return [], read


def _pass_without_baseline(
    asked: "GateFile", why: "NoRunError", chosen: str, file: Path | None, page: Path | None
) -> None:
    """Say that there is nothing to compare with yet: a first run passes."""
    from tcprof.views.comparison.gate import view_without_baseline

    print_document(view_without_baseline([each.text for each in asked.conditions], why), chosen, file)
    if page is not None:
        print_notes((f"{page} is not written: there is no baseline to show.",))


def _read_gate(fail_if: list[str], gate_file: Path | None, strict: bool) -> "GateFile":
    """All conditions: those of a file, then those of the command line."""
    from tcprof.comparison.gate.parse import GateFile, parse_condition, read_gate_file
    from tcprof.findings.rules import rules_of_findings

    known = [*rules_of_findings()]
    conditions = tuple(parse_condition(text, known) for text in fail_if)
    if gate_file is None:
        return GateFile(conditions, strict)
    asked = read_gate_file(gate_file, known)
    return GateFile((*asked.conditions, *conditions), strict or asked.strict)


def _check_usage(sides: Sequence[Path], gated: bool, chosen: str, page: Path | None, open_it: bool) -> None:
    """Refuse what makes no sense before anything is read."""
    if len(sides) < 2:
        raise UsageError("a comparison needs two sides", "For example: tcprof compare base.nsys-rep new.nsys-rep")
    if gated and len(sides) > 2:
        raise UsageError("--fail-if and --gate judge one side against one baseline", "Give two sides.")
    if chosen == _JUNIT and not gated:
        raise UsageError("--format junit shows conditions, and there are none", "Add --fail-if 'time > +5%'.")
    if open_it and page is None:
        raise UsageError("--open shows a page, and none is written", "Add -o comparison.html.")


def _find_reports(page: Path, given: Sequence[Path], comparisons: list["Comparison"]) -> list[tuple[str, ...]]:
    """Links to the reports on the recordings of each side."""
    sides = (comparisons[0].base, *(each.new for each in comparisons))
    files = ([each.recording.file for each in side.recordings] for side in sides)
    return [find_reports(page, path, names) for path, names in zip(given, files, strict=True)]


def _tell_page(page: Path, chosen: str, open_it: bool) -> None:
    tell_path(page, chosen)
    if open_it:
        open_page(page)


def _parse_mapping(pairs: list[str]) -> dict[str, str]:
    """New names of ranges by old ones."""
    for pair in pairs:
        if "=" not in pair:
            raise UsageError(f"--map {pair!r} has no equals sign", "Write --map OLD=NEW.")
    return {old.strip(): new.strip() for old, _, new in (pair.partition("=") for pair in pairs)}


def _split_label(given: Path) -> tuple[str, Path]:
    """A side's label, empty where it has none, and its path; a path that is there may hold an equals sign."""
    label, equals, path = str(given).partition("=")
    return (label, Path(path)) if equals and label and path and not given.exists() else ("", given)


def _name_sides(labels: Sequence[str], given: Sequence[Path]) -> list[str]:
    """What the sides are called: their labels, else the files' names, with their folders where those are the same."""
    stems = [path.stem if path.suffix else path.name for path in given]
    if len(set(stems)) < len(stems):
        stems = [f"{Path(os.path.realpath(path)).parent.name}/{stem}" for path, stem in zip(given, stems, strict=True)]
    return [label or stem for label, stem in zip(labels, stems, strict=True)]


def _read_side(path: Path, name: str, window: Window, warm_up: str | None, no_cache: bool) -> "Side":
    from tcprof.comparison import Side
    from tcprof.sources.registry import find_recordings

    recordings = find_recordings(path)
    return Side(
        name, tuple(read_recording(each, window=window, warm_up=warm_up, no_cache=no_cache) for each in recordings)
    )
