"""The HTML pages: one file each, which asks nothing of the network.

Names in a report are untrusted. The templates escape all text; figures travel as JSON in which no character can end
the element around it; and a content security policy forbids every request.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from tcprof import __version__, units
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison
from tcprof.report.account_tables import list_kernel_tables, list_ledger_entries, list_time_tables
from tcprof.report.comparison_summary import NO_STATISTICS, compare_in_words
from tcprof.report.curves import shown_gpus, tensor_envelope
from tcprof.report.figures import (
    figure_comparison_bars,
    figure_comparison_timeline,
    figure_time_classes,
    timeline_lanes,
)
from tcprof.report.files import replace_file
from tcprof.report.kernel_text import describe_fit
from tcprof.report.lanes import one_line
from tcprof.report.summary import SOURCE_NOTES, describe_provenance, gpu_title, summarize
from tcprof.report.tables import list_comparison_tables, list_range_tables
from tcprof.report.timeline_data import pack_timeline
from tcprof.report.timeline_text import describe_clocks, describe_iterations
from tcprof.report.wording import WINDOW_MEANINGS, name_gpus

# Characters that could end a script element, or a line of JavaScript, as JSON writes them within a string.
_JSON_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_TIMELINE_SCRIPTS = ("timeline_data.js", "timeline_lanes.js", "timeline_paint.js", "timeline.js")


def write_report(analysis: Analysis, path: Path, title: str | None = None) -> None:
    """Write the page of one recording.

    Args:
        analysis: The recording.
        path: The file to make or replace.
        title: The page's title; the recording's file name by default.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    _write(path, render_report(analysis, title))


def write_comparison(comparison: Comparison, path: Path, title: str | None = None) -> None:
    """Write the page of a comparison.

    Args:
        comparison: The comparison.
        path: The file to make or replace.
        title: The page's title; both file names by default.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    _write(path, render_comparison(comparison, title))


def _write(path: Path, text: str) -> None:
    with replace_file(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def render_report(analysis: Analysis, title: str | None = None) -> str:
    """The page of one recording, as text."""
    return _render(
        "report.html",
        {
            "title": one_line(title or analysis.recording.file, 160),
            "subtitle": _subtitle(analysis),
            "gpus": summarize(analysis),
            "faults": [("", analysis.faults)],
            "warnings": analysis.warnings,
            "timeline": _timeline(analysis),
            "measured": analysis.tensor_source != "none",
            "tables": list_range_tables(analysis),
            "time_classes": _figure_json(figure_time_classes(analysis)),
            "time_tables": list_time_tables(analysis),
            "time_notes": [*describe_iterations(analysis.iterations), *describe_clocks(analysis.clocks)],
            "kernel_tables": list_kernel_tables(analysis),
            "kernel_note": describe_fit(analysis),
            "ledger": list_ledger_entries(analysis),
            "window_note": WINDOW_MEANINGS[analysis.window],
            "source_note": SOURCE_NOTES[analysis.tensor_source],
            "provenance": describe_provenance(analysis),
        },
    )


def render_comparison(comparison: Comparison, title: str | None = None) -> str:
    """The page of a comparison, as text."""
    sides = {"Baseline": comparison.base.first, "New": comparison.new.first}
    files_compared = " → ".join(one_line(side.recording.file, 80) for side in sides.values())
    provenance = [dict(describe_provenance(side)) for side in sides.values()]
    labels = list(dict.fromkeys(label for facts in provenance for label in facts))
    return _render(
        "comparison.html",
        {
            "title": one_line(title, 160) if title else files_compared,
            "subtitles": [(name, one_line(side.recording.file, 80), _subtitle(side)) for name, side in sides.items()],
            "verdicts": compare_in_words(comparison),
            "no_statistics": NO_STATISTICS,
            "faults": [(name, side.faults) for name, side in sides.items()],
            "warnings": comparison.warnings,
            "side_warnings": [(name, side.warnings) for name, side in sides.items()],
            "timeline": _figure_json(figure_comparison_timeline(comparison)),
            "timeline_notes": [f"{name}: {note}" for name, side in sides.items() for note in _timeline_notes(side, 2)],
            "bars": _figure_json(figure_comparison_bars(comparison)),
            "tables": list_comparison_tables(comparison),
            "window_note": WINDOW_MEANINGS[comparison.base.first.window],
            "source_note": _source_note(sides),
            "provenance": [(label, [facts.get(label, units.UNKNOWN) for facts in provenance]) for label in labels],
        },
    )


def _source_note(sides: Mapping[str, Analysis]) -> str:
    """Where Tensor Active comes from, of each recording if they differ."""
    notes = {name: SOURCE_NOTES[side.tensor_source] for name, side in sides.items()}
    distinct = set(notes.values())
    return distinct.pop() if len(distinct) == 1 else " ".join(f"{name}: {note}" for name, note in notes.items())


def _render(template: str, values: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=PackageLoader("tcprof.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        **values,
        version=__version__,
        style=_asset("page.css"),
        script=_asset("page.js"),
        plotly=Markup(get_plotlyjs()),
    )


def _timeline(analysis: Analysis) -> dict[str, Any] | None:
    """What the template of the timeline needs; nothing where there is nothing to draw."""
    timeline = pack_timeline(analysis)
    if timeline is None:
        return None
    return {
        **vars(timeline),
        "packed": Markup(timeline.packed),  # letters of base64
        "style": _asset("timeline.css"),
        "script": Markup("\n").join(map(_asset, _TIMELINE_SCRIPTS)),
    }


def _asset(name: str) -> Markup:
    """A file of the package's own, as it stands in the page."""
    return Markup((files("tcprof.report") / "assets" / name).read_text(encoding="utf-8"))


def _figure_json(figure: go.Figure) -> Markup:
    """A figure as JSON that may stand in a script element; empty where there is nothing to draw."""
    return Markup(figure.to_json().translate(_JSON_ESCAPES)) if figure.data else Markup("")


def _subtitle(analysis: Analysis) -> str:
    """GPUs, time and length of a recording in one line."""
    recording = analysis.recording
    facts = [one_line(name) for name in name_gpus(analysis)]
    if recording.started_utc:
        facts.append(f"recorded {recording.started_utc}")
    if recording.duration_ns > 0:
        facts.append(f"{units.format_ns(recording.duration_ns)} long")
    return " · ".join(facts)


def _timeline_notes(analysis: Analysis, share: int = 1) -> list[str]:
    """What the drawing leaves out."""
    notes = []
    several = len(shown_gpus(analysis)) > 1
    for gpu in shown_gpus(analysis):
        mine = []
        envelope = tensor_envelope(analysis, gpu, share)
        if envelope.bin_ns:
            mine.append(
                f"Tensor Active is drawn as an envelope: {units.format_count(len(envelope))} bins of "
                f"{units.format_ns(envelope.bin_ns)}; the line is the mean of a bin, the shade spans its smallest "
                "and largest sample. Zooming in shows no more than that."
            )
        elif len(envelope):
            mine.append(f"Every sample is drawn: {units.format_count(len(envelope))}.")
        lanes = timeline_lanes(analysis, gpu, share)
        if lanes.merged_ns:
            mine.append(f"Neighbouring ranges shorter than {units.format_ns(lanes.merged_ns)} share a bar.")
        if lanes.hidden:
            mine.append(f"{units.format_count(lanes.hidden)} bars are not drawn: too deeply nested, or too many.")
        notes += [f"{gpu_title(analysis, gpu)}: {note}" for note in mine] if several else mine
    return notes
