"""The HTML pages of one recording and of a comparison."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings.notes import name_iterations
from tcprof.render.html.options import USUAL, PageOptions
from tcprof.render.html.shell import figure_json, read_asset, render_page, write_page
from tcprof.render.html.timeline.data import pack_timeline
from tcprof.report.pages.account_tables import list_kernel_tables, list_ledger_tables, list_time_tables
from tcprof.report.pages.summary import SOURCE_NOTES, describe_provenance, summarize
from tcprof.report.pages.tables import list_range_tables
from tcprof.report.text.kernels import describe_fit
from tcprof.report.text.tables import describe_base
from tcprof.report.text.timeline import describe_iterations
from tcprof.report.wording import WINDOW_MEANINGS, name_gpus
from tcprof.untrusted import one_line
from tcprof.views.figures.figures import figure_time_classes
from tcprof.views.figures.iteration_strip import describe_strip, figure_iteration_strip

_TIMELINE_SCRIPTS = ("timeline_data.js", "timeline_lanes.js", "timeline_paint.js", "timeline.js")


def write_report(analysis: Analysis, path: Path, options: PageOptions = USUAL) -> None:
    """Write the page of one recording.

    Args:
        analysis: The recording.
        path: The file to make or replace.
        options: How to make it.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    write_page(path, render_report(analysis, options), options)


def render_report(analysis: Analysis, options: PageOptions = USUAL) -> str:
    """The page of one recording, as text."""
    gpus = summarize(analysis)
    return render_page(
        "report.html",
        {
            "title": one_line(options.title or analysis.recording.file, 160),
            "subtitle": _subtitle(analysis),
            "gpus": gpus,
            "checks": [(gpu.title, gpu.checks) for gpu in gpus],
            "faults": [("", analysis.faults)],
            "warnings": analysis.warnings,
            "base": describe_base(analysis),
            "timeline": _timeline(analysis),
            "measured": analysis.tensor_source != "none",
            "tables": list_range_tables(analysis),
            "time_classes": figure_json(figure_time_classes(analysis)),
            "time_tables": list_time_tables(analysis),
            "iterations": figure_json(figure_iteration_strip(analysis)),
            "iteration_notes": [
                *describe_iterations(analysis.iterations, name_iterations(analysis)),
                *describe_strip(analysis),
            ],
            "kernel_tables": list_kernel_tables(analysis),
            "kernel_note": describe_fit(analysis),
            "ledger": list_ledger_tables(analysis),
            "window_note": WINDOW_MEANINGS[analysis.window],
            "source_note": SOURCE_NOTES[analysis.tensor_source],
            "provenance": describe_provenance(analysis),
        },
        options,
    )


def _timeline(analysis: Analysis) -> dict[str, Any] | None:
    """What the template of the timeline needs; nothing where there is nothing to draw."""
    timeline = pack_timeline(analysis)
    if timeline is None:
        return None
    return {
        **vars(timeline),
        "packed": Markup(timeline.packed),  # letters of base64
        "style": read_asset("timeline.css"),
        "script": Markup("\n").join(map(read_asset, _TIMELINE_SCRIPTS)),
    }


def _subtitle(analysis: Analysis) -> str:
    """GPUs, time and length of a recording in one line."""
    recording = analysis.recording
    facts = [one_line(name) for name in name_gpus(analysis)]
    if recording.started_utc:
        facts.append(f"recorded {recording.started_utc}")
    if recording.duration_ns > 0:
        facts.append(f"{units.format_ns(recording.duration_ns)} long")
    return " · ".join(facts)
