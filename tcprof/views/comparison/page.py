"""The page of a comparison: of two sides in detail, of more in an overview and a part for each."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.findings.compared import ComparedFindings
from tcprof.findings.finding import Severity, texts_of
from tcprof.untrusted import one_line
from tcprof.views.comparison.details import list_details
from tcprof.views.comparison.sides import (
    ShownSide,
    compare_provenance,
    list_left_out,
    list_sides,
    shared_gpus,
    shown_sides,
)
from tcprof.views.comparison.steps import MOST_POINTS, figure_steps
from tcprof.views.document import (
    LINKED,
    WARNINGS,
    Chapter,
    Commands,
    Figure,
    Notes,
    Part,
    Section,
    SideName,
    SideNames,
    Summary,
)
from tcprof.views.recording import SOURCE_NOTES, WINDOW_MEANINGS, gpu_title_of_several, name_gpus

_HARD = "What makes these recordings hard to compare"
_LONGEST_FILE, _LONGEST_TITLE = 80, 160
_STEPS = (
    "Each line is a recording, each symbol a step. Open symbols are warm-up, which all figures leave out; arrows lie "
    "above the axis. Dashed: the side's median, with its 95 % interval as a band. Right: the distribution of the "
    "steps. Drag to zoom in all strips at once, double-click to see all again."
)
_BLOCKS = f"Recordings with more than {units.format_count(MOST_POINTS)} steps are drawn as medians of blocks."
_NO_STEPS = "The sides have no steps to draw: no range has five instances with work on this GPU."
_NO_GPU = "– No GPU has steps or ranges on all sides, so there is nothing to draw. “tcprof report” shows each side."
_MOST_REPORTS = 3  # of a side
_LONGEST_ARGUMENT = 160
_COMMANDS = (
    "This page compares with one baseline. The report on a recording has its timeline, kernels and advice; a report "
    "that lies beside this page is linked at its top."
)


def list_page_parts(findings: Sequence[ComparedFindings], reports: Sequence[Sequence[str]]) -> tuple[Part, ...]:
    """What the page of comparisons with one baseline says; ``reports`` are as for ``view_comparison``."""
    comparisons = [each.comparison for each in findings]
    sides = shown_sides(comparisons)
    links = reports or [[""] * len(shown.side.recordings) for shown in sides]
    steps = {gpu: _view_steps(comparisons, gpu) for gpu in shared_gpus(comparisons)}
    cautions = texts_of((caution for each in findings for caution in each.cautions), Severity.CAUTION)
    hard = "1 thing makes" if len(cautions) == 1 else f"{len(cautions)} things make"
    names = (_name_side(shown, of_side) for shown, of_side in zip(sides, links, strict=True))
    return (
        SideNames(tuple(names)),
        *_summaries(sides, findings),
        *([Notes((f"{hard} these recordings hard to compare: see below.",), LINKED)] if cautions else []),
        *([_view_times(comparisons, gpu) for gpu in steps] or [Section("sides", "Sides", (Notes((_NO_GPU,)),))]),
        *(steps.values() if len(sides) > 2 else ()),
        *_view_details(sides[1:], steps),
        *([Section(LINKED, _HARD, (Notes(cautions, WARNINGS),), "Cautions")] if cautions else []),
        *_side_warnings(sides, findings),
        *list_commands(sides, links),
        _view_provenance(sides),
    )


def _view_details(others: Sequence[ShownSide], steps: Mapping[int, Section]) -> list[Part]:
    """What is said of each side against the baseline: of one alone section by section, with the steps of both."""
    if len(others) > 1:
        return [
            Section(
                f"side-{shown.number}",
                f"{shown.name} against the baseline",
                tuple(list_details(shown.comparison, shown.number, shown.name)),
                linked=shown.name,
                folded=shown.number > 1,
            )
            for shown in others
        ]
    of_gpus = list_details(others[0].comparison, others[0].number, steps=steps)
    return [each for of_gpu in of_gpus for each in ((of_gpu,) if of_gpu.title else of_gpu.parts)]


def _name_side(shown: ShownSide, reports: Sequence[str]) -> SideName:
    recordings = shown.side.recordings
    gpus = dict.fromkeys(name for each in recordings for name in name_gpus(each))
    first = recordings[0].recording
    facts = (
        one_line(first.file, _LONGEST_FILE) if len(recordings) == 1 else f"{len(recordings)} recordings",
        ", ".join(gpus),
        f"recorded {first.started_utc}" if first.started_utc else "",
    )
    names = [f"report on {one_line(each.recording.file, _LONGEST_FILE)}" for each in recordings]
    names = names if len(names) > 1 else ["its report"]
    links = tuple((name, link) for name, link in zip(names, reports, strict=True) if link)
    role = "baseline" if shown.role == "base" else "new"
    return SideName(role, shown.name, shown.color, tuple(filter(None, facts)), links)


def _summaries(sides: Sequence[ShownSide], findings: Sequence[ComparedFindings]) -> list[Summary]:
    found = []
    for shown, of_side in zip(sides[1:], findings, strict=True):
        for each in of_side.gpus:
            gpu = gpu_title_of_several(shown.comparison.base.first, each.gpu)
            title = ": ".join(filter(None, (shown.name if len(sides) > 2 else "", gpu)))
            said = each.verdict
            found.append(Summary(each.gpu, title, tuple(filter(None, (said.head, said.rest, *said.more)))))
    return found


def _view_times(comparisons: Sequence[Comparison], gpu: int) -> Section:
    title = gpu_title_of_several(comparisons[0].base.first, gpu)
    tables = tuple(table for table in list_sides(comparisons) if table.gpu == gpu)
    return Section(f"sides-of-{gpu}", f"{title}: Sides" if title else "Sides", tables)


def _view_steps(comparisons: Sequence[Comparison], gpu: int) -> Section:
    title = gpu_title_of_several(comparisons[0].base.first, gpu)
    recordings = (each for shown in shown_sides(comparisons) for each in shown.side.recordings)
    has_blocks = any((each.steps["gpu"] == gpu).sum() > MOST_POINTS for each in recordings)
    caption = "Time and Tensor Active of each step, all sides overlaid"
    notes, make = (_BLOCKS,) if has_blocks else (), partial(figure_steps, comparisons, gpu)
    parts = Notes((_STEPS,)), Figure(f"steps-{gpu}", caption, make, notes, _NO_STEPS)
    return Section(f"steps-of-{gpu}", f"{title}: Steps" if title else "Steps", parts)


def _side_warnings(sides: Sequence[ShownSide], findings: Sequence[ComparedFindings]) -> list[Section]:
    found = [findings[0].base, *(each.new for each in findings)]
    sections = []
    for shown, of_side in zip(sides, found, strict=True):
        lines = (*list_left_out(shown.side), *texts_of(of_side, Severity.CAUTION))
        title = f"{_role(shown, len(sides))}: before you trust its figures"
        if lines:
            sections.append(Section(f"trust-{shown.number}", title, (Notes(lines, WARNINGS),)))
    return sections


def _role(shown: ShownSide, count: int) -> str:
    if shown.role == "base":
        return "Baseline"
    return "New" if count == 2 else shown.name


def _view_provenance(sides: Sequence[ShownSide]) -> Section:
    """Where the figures come from, and where Tensor Active does, of each side if they differ."""
    notes = {_role(shown, len(sides)): SOURCE_NOTES[shown.side.first.tensor_source] for shown in sides}
    sources = set(notes.values())
    source = [*sources] if len(sources) == 1 else [f"{name}: {note}" for name, note in notes.items()]
    window = f"Tensor Active is taken over {WINDOW_MEANINGS[sides[0].side.first.window]}."
    note = " ".join((window, *source, "The sides differ in what is marked ≠."))
    facts = compare_provenance(sides)
    return Section("provenance", "The recordings", (Notes((note,)), facts), chapter=Chapter.SOURCES)


def list_commands(sides: Sequence[ShownSide], reports: Sequence[Sequence[str]]) -> list[Section]:
    """The reports that have no link yet, and the comparisons with each other side as the baseline."""
    items = []
    for shown, links in zip(sides, reports, strict=True):
        missing = [each for each, link in zip(shown.side.recordings, links, strict=True) if not link]
        items += [
            (shown.name, ("The report on its recording.",), _command("report", [each.recording.file]))
            for each in missing[:_MOST_REPORTS]
        ]
    given = [shown.side for shown in sides]  # a command calls one of several recordings what they were given as
    names = [side.first.recording.file if len(side.recordings) == 1 else side.name for side in given]
    for place in range(1, len(sides)):
        others = [name for other, name in enumerate(names) if other != place]
        command = _command("compare", [names[place], *others]) + " -o comparison.html"
        items.append((sides[place].name, ("This comparison with it as the baseline.",), command))
    if not items:
        return []
    title = "Reports on each side, and other baselines"
    return [Section("commands", title, (Notes((_COMMANDS,)), Commands(tuple(items))), linked="Reports")]


def _command(name: str, arguments: Sequence[str]) -> str:
    return " ".join(["tcprof", name, *(shlex.quote(one_line(each, _LONGEST_ARGUMENT)) for each in arguments)])
