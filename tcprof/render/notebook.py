"""What notebooks show of an analysis and of a comparison: the verdict, the main table, and what to distrust."""

from collections.abc import Sequence
from html import escape

from tcprof.analysis import Analysis
from tcprof.comparison import Comparison
from tcprof.findings import judge, summarize_checks
from tcprof.report.comparison_words import compare_in_words, told_gpus
from tcprof.report.text.comparison import list_iterations
from tcprof.report.text.tables import Listing, all_faults, describe_base, list_ranges

_CELL = "text-align:right;font-variant-numeric:tabular-nums;white-space:pre"
_FIRST = "text-align:left;white-space:pre-wrap"


def render_analysis(analysis: Analysis) -> str:
    """An analysis as HTML: the verdict of each GPU, its checks, and Tensor Active of its ranges."""
    findings = judge(analysis)
    told = [*findings.verdict, *summarize_checks(findings.checks), *describe_base(analysis)]
    return _render(analysis.recording.file, told, list_ranges(analysis, analysis.ranges), analysis.faults)


def render_comparison(comparison: Comparison) -> str:
    """A comparison as HTML: the verdict, and the quantities of the iterations."""
    title = " → ".join(side.name for side in (comparison.base, comparison.new))
    verdicts = [" ".join(sentences) for _, sentences in compare_in_words(comparison)]
    tables = [list_iterations(comparison, gpu) for gpu in told_gpus(comparison)]
    return _render(title, verdicts, tables, all_faults(comparison))


def _render(title: str, verdicts: Sequence[str], tables: Sequence[Listing], faults: Sequence[str]) -> str:
    parts = [f"<p><b>{escape(title)}</b></p>"]
    parts += [f"<p><b>warning:</b> {escape(fault)}</p>" for fault in faults]
    parts += [f"<p>{escape(verdict)}</p>" for verdict in verdicts]
    return f'<div class="tcprof">{"".join(parts)}{"".join(map(_table, tables))}</div>'


def _table(listing: Listing) -> str:
    """A listing as an HTML table; all texts are escaped."""
    head = "".join(
        f'<th style="{_FIRST if not place else _CELL}">{escape(" ".join(text.split()))}</th>'
        for place, text in enumerate(listing.headers)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{_FIRST if not place else _CELL}">{escape(text)}</td>' for place, text in enumerate(row))
        + "</tr>"
        for row in listing.rows
    )
    caption = f"<caption>{escape(listing.title)}</caption>" if listing.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
