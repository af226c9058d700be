"""One recording: in some lines, on one screen, and in sections with figures for a page."""

from collections.abc import Sequence

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.arrays import return_freed_memory
from tcprof.findings import Findings, summarize_checks
from tcprof.findings.advise import advise
from tcprof.findings.judge import keep_busiest
from tcprof.findings.notes import describe_peaks
from tcprof.untrusted import one_line
from tcprof.views.document import (
    BASE,
    SUBTITLE,
    TITLE,
    WARNINGS,
    Chapter,
    Document,
    Facts,
    Figure,
    Notes,
    Part,
    Section,
    Timeline,
)
from tcprof.views.figures.traces import shown_gpus
from tcprof.views.recording import (
    SOURCE_NOTES,
    WINDOW_MEANINGS,
    describe_base,
    describe_date,
    head,
    list_provenance,
)
from tcprof.views.recording.advice import list_leads, view_sections
from tcprof.views.recording.explorer import list_explorer
from tcprof.views.recording.icicle import EXPLAINED, list_icicles
from tcprof.views.recording.kernels import describe_fit, list_rooflines
from tcprof.views.recording.summary import summarize
from tcprof.views.recording.time import (
    MEANING,
    MOST_POINTS,
    describe_steps,
    figure_step_strip,
    list_kind_tables,
    list_ledger,
)

_UNDRAWN = "There is nothing to draw: the recording has no samples, no work on a GPU and no ranges."
_ADVICE = "How to do it, and why"
_LEDGER = "Ledger: what the figures rest on"
_STRIP = (
    "Dashed lines are medians without warm-up, bands their 95 % intervals; arrows at the edge lie above it. A click "
    "on a step shows it in the timeline."
)
_ACCOUNT = (
    "All time that was recorded, and what became of it: whatever could not be attributed or fitted is listed, not left "
    "out."
)
_NAMES = "“Counter and name” agree where both say that a kernel uses the Tensor Cores."


def list_page_parts(analysis: Analysis, findings: Findings) -> tuple[Part, ...]:
    """What the page of a recording says, of many GPUs the busiest."""
    analysis, findings = keep_busiest(analysis, findings)
    base = (*describe_base(analysis), *describe_peaks(analysis), *findings.remarks)
    summaries = summarize(analysis, findings)
    timeline = Timeline(analysis) if shown_gpus(analysis) else Notes((_UNDRAWN,))
    advice = advise(analysis)
    return_freed_memory()  # of a large recording, what advice and icicles were found from is more than what they say
    icicles = _explained(EXPLAINED, list_icicles(analysis))
    return_freed_memory()
    provenance = tuple((name, False, ((text,),)) for name, text in list_provenance(analysis))
    table = list_explorer(analysis, (_about_ranges(analysis), MEANING), _about_kernels(analysis))
    sections = (
        Section("advice", _ADVICE, view_sections(analysis, advice), chapter=Chapter.VERDICT),
        Section("consists", "What the time consists of", icicles, chapter=Chapter.PICTURE),
        Section("timeline", "Timeline", (timeline,), chapter=Chapter.PANE),
        Section("table", "Modules, ranges and kernels", table, "Table"),
        Section("steps", "Steps", _steps(analysis)),
        Section("roofline", "Roofline, and time against Tensor Active", list_rooflines(analysis), "Roofline"),
        Section(
            "ledger", _LEDGER, _explained(_ACCOUNT, list_ledger(analysis, analysis.ledger)), "Ledger", Chapter.SOURCES
        ),
        Section("provenance", "The recording", (Facts(provenance),), chapter=Chapter.SOURCES),
    )
    return (
        Notes((one_line(analysis.recording.file, 160),), TITLE),
        Notes((describe_date(analysis),), SUBTITLE),
        *summaries,
        list_leads(analysis, advice),
        Notes(base, BASE),
        Notes(tuple(each for each in findings.warnings if each not in findings.remarks), WARNINGS),
        *(section for section in sections if section.parts),
    )


def _steps(analysis: Analysis) -> tuple[Part, ...]:
    if not len(analysis.steps):
        return ()
    most = int(analysis.steps.groupby("gpu").size().max())
    step = units.format_count(-(-most // MOST_POINTS))
    thinned = f"Of every {step} steps the longest is drawn; bands and medians cover all of them."
    notes = (*describe_steps(analysis), *((thinned,) if most > MOST_POINTS else ()), _STRIP)
    caption = "GPU window and Tensor Active of each step"
    strip = Figure("steps", caption, lambda: figure_step_strip(analysis))
    return strip, *list_kind_tables(analysis), _aside(*notes)


def _about_ranges(analysis: Analysis) -> str:
    interval = " Each mean has its 95 % interval, from five instances on."
    return (
        f"Tensor Active and its coverage are taken over {WINDOW_MEANINGS[analysis.window]}. "
        f"{SOURCE_NOTES[analysis.tensor_source]}{interval if analysis.tensor_source != 'none' else ''} Each time has "
        f"its share of the GPU's time from first activity to last beside it."
    )


def _about_kernels(analysis: Analysis) -> str:
    interval = " ± is the larger half of its 95 % interval." if analysis.tensor_source != "none" else ""
    return f"{describe_fit(analysis)}{interval} Each time has its share of all kernel time beside it. {_NAMES}"


def _explained(how: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    return (*parts, _aside(how)) if parts else ()


def _aside(*sentences: str) -> Notes:
    return Notes(sentences, "aside")


def view_verdict(analysis: Analysis, findings: Findings) -> Document:
    """A recording in some lines: its name, the verdict, the checks, and what is left out."""
    base = describe_base(analysis)
    lines = (*head(analysis, findings).lines, *findings.headline, *summarize_checks(findings.checks), *base)
    parts: tuple[Part, ...] = (Notes(lines),)
    return Document(kind="recording", parts=parts, faults=findings.faults, base=base)
