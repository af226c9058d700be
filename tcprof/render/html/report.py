"""The HTML page of one recording: its document, and a timeline that the page draws itself."""

from collections.abc import Sequence
from pathlib import Path

from tcprof.analysis import Analysis
from tcprof.findings import Findings
from tcprof.findings.judge import keep_busiest
from tcprof.render.html.options import USUAL, PageOptions
from tcprof.render.html.shell import read_asset, render_page, split_parts, write_page
from tcprof.render.html.timeline.data import pack_timeline
from tcprof.views.document import Leads, Summary
from tcprof.views.recording.report import view_report


def write_report(analysis: Analysis, findings: Findings, path: Path, options: PageOptions = USUAL) -> None:
    """Write the page of one recording.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    write_page(path, render_report(analysis, findings, options), options)


def render_report(analysis: Analysis, findings: Findings, options: PageOptions = USUAL) -> str:
    """The page of one recording, as text."""
    analysis, findings = keep_busiest(analysis, findings)
    document = view_report(analysis, findings, options.title or "")
    parts = split_parts(document.parts)
    summaries = [part for part in document.parts if isinstance(part, Summary)]
    values = {
        "title": document.title,
        "faults": [("", document.faults)],
        "warnings": document.warnings,
        "summaries": summaries,
        "columns": _list_columns(summaries),
        "leads": next((part for part in document.parts if isinstance(part, Leads)), Leads(())),
        "notes": parts["notes"],
        "sections": parts["sections"],
        "timeline": pack_timeline(analysis),
        "timeline_style": read_asset("timeline.css") + read_asset("selection.css"),
    }
    return render_page("report.html", values, options)


def _list_columns(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Titles of the tiles of all GPUs, each with what they say below it, if all say the same."""
    captions: dict[str, set[str]] = {}
    for tile in (tile for summary in summaries for tile in summary.tiles):
        captions.setdefault(tile.title, set()).add(tile.caption)
    return [(title, found.pop() if len(found) == 1 else "") for title, found in captions.items()]
