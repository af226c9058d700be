"""A comparison: the verdict, the sides, what changed, the gate, and where the figures come from; one list of parts."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.comparison import MEASURED
from tcprof.comparison.gate import Gate
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings.compared import ComparedFindings
from tcprof.findings.compared.verdict import list_gpus, step_name
from tcprof.findings.finding import Severity, texts_of
from tcprof.untrusted import one_line
from tcprof.views import ROWS_SHOWN
from tcprof.views.comparison.changes import (
    MEANING,
    MOST_KERNELS,
    NOTE,
    describe_kernels,
    list_kernel_changes,
    list_module_changes,
    list_quantities,
    list_quantities_of_sides,
    list_range_changes,
)
from tcprof.views.comparison.gate import view_gate
from tcprof.views.comparison.icicle import ABSENT, COMPARED, compare_icicles
from tcprof.views.comparison.sides import (
    BETTER_COLOR,
    WORSE_COLOR,
    ShownSide,
    compare_provenance,
    describe_recordings,
    list_left_out,
    list_sides,
    measure_sides,
    name_sides,
    shared_gpus,
    shown_sides,
    title_of,
)
from tcprof.views.comparison.steps import MOST_POINTS, figure_steps
from tcprof.views.comparison.waterfall import figure_waterfall, list_parts
from tcprof.views.document import (
    VERDICT,
    WARNINGS,
    Chapter,
    Commands,
    Document,
    Explorer,
    Figure,
    Grouping,
    Medium,
    Notes,
    Only,
    Part,
    Section,
    SideName,
    SideNames,
    Summary,
)
from tcprof.views.figures import PlotlyFigure
from tcprof.views.paths import MOST_ROWS
from tcprof.views.recording import SOURCE_NOTES, WINDOW_MEANINGS, gpu_title_of_several, name_gpus, recording_data
from tcprof.views.tables import Table

_QUANTITIES = (
    "Medians per step without warm-up, and the change with its 95 % interval; the mean is shown below the median if "
    "the two disagree. Higher and lower are significant; ~ is inconclusive, which does not mean that nothing changed."
)
_PARTS = (
    "Means over the ranks, then medians over the steps. Each job is one run, so tcprof assumes a run-to-run "
    "variation; changes smaller than that are inconclusive."
)


@dataclass(frozen=True)
class ColorKey(Notes):
    """What colours mean, and what is to be said beside it."""

    colors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _GpuOfSide:
    """One GPU of a comparison, the number of the side among those compared with the baseline, and its name, if told."""

    comparison: Comparison
    gpu: int
    number: int
    side: str

    @property
    def unit(self) -> str:
        return step_name(self.comparison)

    @property
    def tables(self) -> str:
        """Return what a page calls the table whose rows a click on a bar chooses."""
        return f"tables-{self.number}-{self.gpu}"

    def section(self, name: str, title: str, parts: tuple[Part, ...], linked: str = "") -> Section:
        return Section(f"{name}-{self.number}-{self.gpu}", title, parts, linked)

    def figure(self, name: str, caption: str, make: Callable[[], PlotlyFigure]) -> Figure:
        return Figure(f"{name}-{self.number}-{self.gpu}", f"{caption}{self.side}", make, chooses=True)

    def table(self, table: Table, caption: str = "") -> Table:
        """Give a table the name that it has among those of all sides."""
        name = f"{table.name.removesuffix(f'-{self.gpu}')}-{self.number}-{self.gpu}"
        return replace(table, name=name, caption=f"{caption}{self.side}" if caption else "")


def list_details(comparison: Comparison, number: int, name: str, steps: Mapping[int, Section]) -> list[Section]:
    """List the sections on one side against the baseline, GPU by GPU; those on the steps of both come second."""
    parts = []
    for gpu in shared_gpus([comparison]):
        at = _GpuOfSide(comparison, gpu, number, f": {name}" if name else "")
        both = [steps[gpu]] if gpu in steps else []
        sections = (_view_icicles(at), *both, _view_quantities(at), *_view_parts(at), _view_tables(at))
        parts.append(
            at.section("gpu", gpu_title_of_several(gpu, comparison.base.first, comparison.new.first), sections)
        )
    return parts


def _view_icicles(at: _GpuOfSide) -> Section:
    icicle = compare_icicles(at.comparison, at.gpu, f"icicles-{at.number}-{at.gpu}", at.tables)
    parts: tuple[Part, ...] = (Notes((ABSENT.format(unit=at.unit),)),)
    if icicle is not None:
        parts = (replace(icicle, caption=f"{icicle.caption}{at.side}"), Notes((COMPARED.format(unit=at.unit),)))
    return at.section("blocks", f"Where a {at.unit} got faster or slower", parts, "Faster or slower")


def _view_quantities(at: _GpuOfSide) -> Section:
    table = at.table(list_quantities(at.comparison, at.gpu), f"Quantities per {at.unit}")
    spread = at.comparison.spread
    advice = "" if spread == MEASURED else f", not {MEASURED}: give several runs per side to measure it"
    note = Notes((f"{_QUANTITIES} Run-to-run variation is {spread}{advice}.",))
    return at.section("changed", f"What changed per {at.unit}", (table, note), "What changed")


def _view_parts(at: _GpuOfSide) -> list[Section]:
    titles = {TIME: f"Where the time of the mean {at.unit} goes", TENSOR_ACTIVE: "Why its mean Tensor Active changed"}
    sections: list[Part] = []
    for quantity, table in list_parts(at.comparison, at.gpu).items():
        what = "time" if quantity == TIME else "Tensor Active"
        caption = f"The baseline, what each part of the {what} adds or takes away, and the new mean"
        make = partial(figure_waterfall, at.comparison, at.gpu, quantity, at.tables)
        figure = at.figure(f"waterfall-{quantity}", caption, make)
        sections.append(at.section(quantity, titles[quantity], (figure, at.table(table))))
    if not sections:
        return []
    key = ColorKey((_PARTS,), "key", colors=((BETTER_COLOR, "better"), (WORSE_COLOR, "worse")))
    return [replace(at.section("why", "Why", (*sections, key)), beside=True)]


def _view_tables(at: _GpuOfSide) -> Section:
    """Show the ranges, and modules and kernels where there are any, as one table that its reader groups."""
    on = f"on {title_of(at.comparison, at.gpu)}"
    ranges = at.table(list_range_changes(at.comparison, at.comparison.rows, at.gpu, MOST_ROWS), f"Ranges {on}")
    modules = at.table(list_module_changes(at.comparison, at.gpu, MOST_ROWS), f"Modules per {at.unit}")
    kernels = at.table(list_kernel_changes(at.comparison, at.gpu, MOST_KERNELS), f"Kernels {on}")
    tables = (
        ("module", modules, (MEANING,)),
        ("range", ranges, (NOTE,)),
        ("kernel", kernels, describe_kernels(at.comparison)),
    )
    groupings = tuple(Grouping.of_table(table, by, notes) for by, table, notes in tables if table.rows)
    return at.section("tables", "Modules, ranges and kernels", (Explorer(groupings, at.tables),), "Table")


_TRUST = "Before you trust the figures of a side"
_LONGEST_FILE, _LONGEST_TITLE = 80, 160
_STEPS = (
    "Each line is a recording, each symbol a step. Open symbols are warm-up, which no figure includes; arrows mark "
    "values above the axis. Dashed: the side's median, with its 95 % interval as a band. Right: the distribution of "
    "the steps. Drag to zoom all strips at once, double-click to reset."
)
_BLOCKS = f"Recordings with more than {units.format_count(MOST_POINTS)} steps are drawn as medians of blocks of steps."
_NO_STEPS = "The sides have no steps to draw: no range has five instances with work on this GPU."
_NO_GPU = "– No GPU has steps or ranges on all sides, so there is nothing to draw. “tcprof report” shows each side."
_MOST_REPORTS = 3  # of a side
_LONGEST_ARGUMENT = 160
_COMMANDS = (
    "This page compares with one baseline. The report on a recording has its timeline, kernels and advice; a report "
    "in the same folder is linked at the top."
)
SHOWN_KERNELS, SHOWN_PARTS = 5, 5  # of a GPU, unless everything is asked for


def view_comparison(
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame] | None = None,
    gate: Gate | None = None,
    everything: bool = False,
    ranges: bool = False,
    reports: Sequence[Sequence[str]] = (),
) -> Document:
    """Show comparisons with one baseline, the verdict first: of one its tables, of several a row for each side.

    ``rows`` are those that were asked for. Beside a gate a screen has its conditions in place of kernels. ``reports``
    has for each side and each of its recordings the link to its report, empty for none.
    """
    comparisons = [judged.comparison for judged in findings]
    rows = [comparison.rows for comparison in comparisons] if rows is None else rows
    data = [_data(judged, asked, gate) for judged, asked in zip(findings, rows, strict=True)]
    faults, cautions = name_findings(findings)
    names = [comparisons[0].base.name, *(comparison.new.name for comparison in comparisons)]
    left_out = ((side.side.name, text) for side in shown_sides(comparisons) for text in list_left_out(side.side))
    base = tuple(dict.fromkeys(f"{one_line(name)}: {text}" for name, text in left_out))
    return Document(
        kind="comparison",
        parts=_list_parts(findings, rows, base, everything, ranges, 0 if gate else SHOWN_KERNELS, reports),
        faults=(*faults, *cautions),
        cautions=cautions,
        base=base,
        data=data[0] if len(data) == 1 else {"comparisons": data},
        rows=_merge(comparisons, rows),
        gate=view_gate(gate, comparisons[0].base.recordings[0].recording.recorder) if gate else None,
        title=(" → " if len(comparisons) == 1 else ", ").join(names),
        headlines=tuple(judged.gpus[0].sentences[0] for judged in findings) if len(findings) > 1 else (),
    )


def _list_parts(
    findings: Sequence[ComparedFindings],
    rows: Sequence[pd.DataFrame],
    base: tuple[str, ...],
    everything: bool,
    ranges: bool,
    kernels: int,
    reports: Sequence[Sequence[str]],
) -> tuple[Only, ...]:
    comparisons = [judged.comparison for judged in findings]
    sides = shown_sides(comparisons)
    links = reports or [[""] * len(side.side.recordings) for side in sides]
    pair = (comparisons[0], rows[0]) if len(comparisons) == 1 else None
    gpus = {*rows[0]["gpu"]} if pair else {*shared_gpus(comparisons)}
    return (
        Only(Medium.PAGE, lambda: (SideNames(tuple(map(_name_side, sides, links))),)),
        Only(Medium.SCREEN, lambda: (Notes(tuple(_list_sentences(findings, everything)), VERDICT),)),
        Only(Medium.PAGE, lambda: (*_summaries(sides, findings), *_list_cautions(sides, findings))),
        Only(Medium.SCREEN, lambda: [table for table in list_sides(comparisons) if table.rows and table.gpu in gpus]),
        Only(Medium.SCREEN, lambda: _list_changes(*pair, everything, ranges, kernels) if pair else ()),
        Only(Medium.PAGE, lambda: _list_sections(sides, comparisons)),
        Only(
            Medium.SCREEN,
            lambda: (Notes(tuple(_describe_rest(*pair, ranges, kernels))),) if pair and not everything else (),
        ),
        Only(Medium.SCREEN, lambda: (Notes((*describe_recordings(comparisons), *base)),) if everything else ()),
        Only(Medium.PAGE, lambda: list_commands(sides, links)),
        Only(Medium.PAGE, lambda: (_view_provenance(sides),)),
    )


def _list_changes(
    comparison: Comparison, rows: pd.DataFrame, everything: bool, ranges: bool, kernels: int
) -> list[Table]:
    tables = _list_all(comparison, rows) if everything else _list_brief(comparison, rows, ranges, kernels)
    return [replace(table, folded=True) for table in tables if table.rows]


def _list_sections(sides: Sequence[ShownSide], comparisons: Sequence[Comparison]) -> list[Part]:
    """List the times of all sides, and what is said of each against the baseline, with the steps of all."""
    steps = {gpu: _view_steps(comparisons, gpu) for gpu in shared_gpus(comparisons)}
    times = [_view_times(comparisons, gpu) for gpu in steps] or [Section("sides", "Sides", (Notes((_NO_GPU,)),))]
    return [*times, *(steps.values() if len(sides) > 2 else ()), *_view_details(sides[1:], steps)]


def name_findings(findings: Sequence[ComparedFindings]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List the faults and the warnings of all sides, each once; those of one side begin with its name."""
    (base, _), *other_sides = name_sides([judged.comparison for judged in findings])
    pairs = list(zip((name for name, _ in other_sides), findings, strict=True))
    faults = dict.fromkeys(text for new, judged in pairs for text in judged.name_faults(base, new))
    warnings = dict.fromkeys(text for new, judged in pairs for text in judged.name_warnings(base, new))
    return tuple(faults), tuple(warnings)


def _list_sentences(findings: Sequence[ComparedFindings], everything: bool) -> list[str]:
    """List the verdict on the first GPU, and of the others the first sentence, or all where everything is wanted."""
    lines = []
    for judged in findings:
        for number, verdict in enumerate(judged.gpus):
            title = gpu_title_of_several(verdict.gpu, judged.comparison.base.first, judged.comparison.new.first)
            sentences = verdict.sentences if everything or not number else verdict.sentences[:1]
            lines += [f"{title}: {sentences[0]}" if title else sentences[0], *sentences[1:]]
    return lines


def _list_brief(comparison: Comparison, rows: pd.DataFrame, ranges: bool, kernels: int) -> list[Table]:
    """List where the step of the first GPU goes, the kernels that changed most, and the ranges where asked for."""
    gpus = [gpu for gpu in list_gpus(comparison) if gpu in set(rows["gpu"])]
    tables = [list_range_changes(comparison, rows, gpu, ROWS_SHOWN) for gpu in gpus if ranges]
    for gpu in gpus[:1]:
        parts = list_parts(comparison, gpu, SHOWN_PARTS)
        tables += [parts[TIME]] if TIME in parts else []
        if kernels:
            table = list_kernel_changes(comparison, gpu, kernels)
            tables.append(replace(table, more="", title="", first=table.title))  # which saves two lines
    return tables


def _describe_rest(comparison: Comparison, rows: pd.DataFrame, ranges: bool, kernels: int) -> Iterator[str]:
    """Say what a screen leaves out: ranges of one side in a line each, and how much there is of the rest."""
    places = rows[rows["path"] != ""].drop_duplicates(["domain", "path"])
    only = {side: int(places[f"{side}_instance_count"].isna().sum()) for side in ("new", "base")}
    for side, count in only.items():  # what the base lacks is new
        if count:
            yield f"{'base' if side == 'new' else 'new'} side only: {units.format_things(count, 'range')}"
    changes, modules = comparison.matching.changes, comparison.modules
    counted = {
        "range": 0 if ranges else len(places) - sum(only.values()),
        "module": modules["module_id"].nunique(),
        "kernel": max(len(changes) - kernels, 0),
    }
    counts = [units.format_things(count, noun) for noun, count in counted.items() if count]
    yield f"--all shows every quantity{''.join(f', {text}' for text in counts)}, and the notes."


def _list_all(comparison: Comparison, rows: pd.DataFrame) -> list[Table]:
    """List all tables of a comparison, GPU by GPU; one that was only sampled has its ranges alone."""
    tables, gpus = [], list_gpus(comparison)
    for gpu in sorted(rows["gpu"].unique()):
        title = gpu_title_of_several(gpu, comparison.base.first, comparison.new.first)
        ranges = list_range_changes(comparison, rows, gpu)
        if gpu in gpus:
            tables.append(list_quantities(comparison, gpu, title))
        else:
            ranges = replace(ranges, title=title)
        modules, kernels = list_module_changes(comparison, gpu, None), list_kernel_changes(comparison, gpu)
        tables += [ranges, modules, *list_parts(comparison, gpu).values(), kernels]
    return tables


def _merge(comparisons: Sequence[Comparison], rows: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if len(rows) == 1:
        return rows[0]
    parts = [frame.copy() for frame in rows]
    for part, comparison in zip(parts, comparisons, strict=True):
        part.insert(0, "side", comparison.new.name)
    return pd.concat(parts, ignore_index=True)


def _data(findings: ComparedFindings, rows: pd.DataFrame, gate: Gate | None) -> dict[str, Any]:
    comparison = findings.comparison
    sides = {"base": comparison.base, "new": comparison.new}
    return {
        "verdict": findings.verdict,
        "faults": findings.faults,
        "warnings": findings.warnings,
        "recordings": {
            name: [recording_data(recording) for recording in side.recordings] for name, side in sides.items()
        },
        "sides": [{"side": side.role, "gpu": gpu, **vars(figures)} for side, gpu, figures in measure_sides(comparison)],
        "step_path": comparison.step_path,
        "spread": comparison.spread,
        "rows": rows,
        "modules": comparison.modules,
        "waterfall": comparison.waterfall,
        "kernels": comparison.matching.changes,
        "base_matched_pct": comparison.matching.base_matched_pct,
        "new_matched_pct": comparison.matching.new_matched_pct,
        "gate": [{**vars(one), "condition": one.condition.text} for one in (gate.judgements if gate else ())],
    }


def _view_details(sides: Sequence[ShownSide], steps: Mapping[int, Section]) -> list[Part]:
    """Show each side against the baseline: one alone section by section, with the steps of both."""
    if len(sides) > 1:
        return [
            Section(
                f"side-{side.number}",
                f"{side.name} against the baseline",
                tuple(list_details(side.comparison, side.number, side.name, {})),
                linked=side.name,
                folded=side.number > 1,
            )
            for side in sides
        ]
    of_gpus = list_details(sides[0].comparison, sides[0].number, "", steps)
    return [part for section in of_gpus for part in ((section,) if section.title else section.parts)]


def _name_side(side: ShownSide, reports: Sequence[str]) -> SideName:
    recordings = side.side.recordings
    gpus = dict.fromkeys(name for recording in recordings for name in name_gpus(recording))
    first = recordings[0].recording
    facts = (
        one_line(first.file, _LONGEST_FILE) if len(recordings) == 1 else f"{len(recordings)} recordings",
        ", ".join(gpus),
        f"recorded {first.started_utc}" if first.started_utc else "",
    )
    names = [f"report on {one_line(recording.recording.file, _LONGEST_FILE)}" for recording in recordings]
    names = names if len(names) > 1 else ["its report"]
    links = tuple((name, link) for name, link in zip(names, reports, strict=True) if link)
    role = "baseline" if side.role == "base" else "new"
    return SideName(role, side.name, side.color, tuple(filter(None, facts)), links)


def _summaries(sides: Sequence[ShownSide], findings: Sequence[ComparedFindings]) -> list[Summary]:
    summaries = []
    for side, of_side in zip(sides[1:], findings, strict=True):
        for verdict in of_side.gpus:
            gpu = gpu_title_of_several(verdict.gpu, side.comparison.base.first, side.comparison.new.first)
            title = ": ".join(filter(None, (side.name if len(sides) > 2 else "", gpu)))
            lines = filter(None, (verdict.head, verdict.rest, *verdict.more))
            summaries.append(Summary(verdict.gpu, title, tuple(lines)))
    return summaries


def _view_times(comparisons: Sequence[Comparison], gpu: int) -> Section:
    title = gpu_title_of_several(gpu, comparisons[0].base.first, comparisons[0].new.first)
    tables = [table for table in list_sides(comparisons) if table.gpu == gpu]
    tables += [list_quantities_of_sides(comparisons, gpu)] if len(comparisons) > 1 else []
    return Section(f"sides-of-{gpu}", f"{title}: Sides" if title else "Sides", tuple(tables))


def _view_steps(comparisons: Sequence[Comparison], gpu: int) -> Section:
    title = gpu_title_of_several(gpu, comparisons[0].base.first, comparisons[0].new.first)
    recordings = (recording for side in shown_sides(comparisons) for recording in side.side.recordings)
    has_blocks = any((recording.steps["gpu"] == gpu).sum() > MOST_POINTS for recording in recordings)
    caption = "Time and Tensor Active of each step, all sides overlaid"
    notes, make = (_BLOCKS,) if has_blocks else (), partial(figure_steps, comparisons, gpu)
    parts = Notes((_STEPS,)), Figure(f"steps-{gpu}", caption, make, notes, _NO_STEPS)
    return Section(f"steps-of-{gpu}", f"{title}: Steps" if title else "Steps", parts)


def _list_cautions(sides: Sequence[ShownSide], findings: Sequence[ComparedFindings]) -> list[Part]:
    """List what makes the sides hard to compare, and, folded, what to know of each."""
    side_findings = [findings[0].base, *(judged.new for judged in findings)]
    of_sides = [
        Section(f"trust-{side.number}", side.name, (Notes(lines, WARNINGS),))
        for side, of_side in zip(sides, side_findings, strict=True)
        if (lines := (*list_left_out(side.side), *texts_of(of_side, Severity.CAUTION)))
    ]
    folded = [Section("trust", _TRUST, tuple(of_sides), chapter=Chapter.VERDICT)] if of_sides else []
    cautions = texts_of((caution for judged in findings for caution in judged.cautions), Severity.CAUTION)
    return [Notes(cautions, WARNINGS), *folded]


def _view_provenance(sides: Sequence[ShownSide]) -> Section:
    """Show where the figures come from, and where Tensor Active does, of each side if they differ."""
    names = ["Baseline", "New"] if len(sides) == 2 else ["Baseline", *(side.name for side in sides[1:])]
    notes = {name: SOURCE_NOTES[side.side.first.tensor_source] for name, side in zip(names, sides, strict=True)}
    sources = set(notes.values())
    source = [*sources] if len(sources) == 1 else [f"{name}: {note}" for name, note in notes.items()]
    window = f"Tensor Active is taken over {WINDOW_MEANINGS[sides[0].side.first.window]}."
    note = " ".join((window, *source, "≠ marks what differs between the sides."))
    facts = compare_provenance(sides)
    return Section("provenance", "The recordings", (Notes((note,)), facts), chapter=Chapter.SOURCES)


def list_commands(sides: Sequence[ShownSide], reports: Sequence[Sequence[str]]) -> list[Section]:
    """List the reports that have no link yet, and the comparisons with each other side as the baseline."""
    items = []
    for side, links in zip(sides, reports, strict=True):
        missing = [recording for recording, link in zip(side.side.recordings, links, strict=True) if not link]
        items += [
            (side.name, ("The report on its recording.",), _command("report", [recording.recording.file]))
            for recording in missing[:_MOST_REPORTS]
        ]
    given = [side.side for side in sides]  # a command calls one of several recordings what they were given as
    names = [side.first.recording.file if len(side.recordings) == 1 else side.name for side in given]
    for place in range(1, len(sides)):
        other_names = [name for other, name in enumerate(names) if other != place]
        command = _command("compare", [names[place], *other_names]) + " -o comparison.html"
        items.append((sides[place].name, ("This comparison with it as the baseline.",), command))
    if not items:
        return []
    title = "Commands for the report on each side and for other baselines"
    return [Section("commands", title, (Notes((_COMMANDS,)), Commands(tuple(items))), linked="Reports")]


def _command(name: str, arguments: Sequence[str]) -> str:
    return " ".join(["tcprof", name, *(shlex.quote(one_line(argument, _LONGEST_ARGUMENT)) for argument in arguments)])
