"""Tables for the terminal and for Markdown.

Names come from a report and are untrusted: characters that a terminal acts upon are replaced, and Rich is given text,
never markup.
"""

import io
import re
from dataclasses import dataclass

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.projection import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.findings import describe_outside, describe_warm_up
from tcprof.report.wording import SOURCE_MEANINGS, WINDOW_MEANINGS, name_gpus
from tcprof.untrusted import printable

WHOLE_CAPTURE = "(whole capture)"
LONGEST_LABEL = 160  # characters; JSON and CSV have names in full


@dataclass(frozen=True)
class Listing:
    """A table of texts.

    Attributes:
        title: One line above it; may be empty.
        headers: The columns' headers. The first column holds names and is aligned left, all others right.
        rows: The cells.
    """

    title: str
    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


def describe_base(analysis: Analysis) -> list[str]:
    """What is left out of the figures, in lines: warm-up, and what was sampled outside of the whole capture."""
    return [text for text in (describe_warm_up(analysis), describe_outside(analysis)) if text]


def describe_recording(analysis: Analysis) -> list[str]:
    """The recording in two lines: file, GPUs, nsys; and what the figures are taken from and over."""
    recording = analysis.recording
    facts = [
        ", ".join(name_gpus(analysis)) or "GPU unknown",
        f"nsys {recording.nsys_version}" if recording.nsys_version else "nsys version unknown",
        f"samples at {units.format_hz(recording.frequency_hz)}" if recording.frequency_hz > 0 else "",
        units.format_ns(recording.duration_ns) if recording.duration_ns > 0 else "",
    ]
    source = f"Tensor Active from {SOURCE_MEANINGS[analysis.tensor_source]}; over {WINDOW_MEANINGS[analysis.window]}."
    return [printable(f"{recording.file}: {', '.join(fact for fact in facts if fact)}"), source]


def all_faults(comparison: Comparison) -> tuple[str, ...]:
    """The faults of both recordings of a comparison, each with the recording's part in it."""
    sides = {"base": comparison.base, "new": comparison.new}
    return tuple(f"{name}: {fault}" for name, side in sides.items() for fault in side.faults)


def all_warnings(comparison: Comparison) -> tuple[str, ...]:
    """The warnings of a comparison, then those of its recordings; one that both have stands once."""
    base, new = comparison.base.warnings, comparison.new.warnings
    sides = [f"base: {warning}" if warning not in new else warning for warning in base]
    return (*comparison.warnings, *sides, *(f"new: {warning}" for warning in new if warning not in base))


def path_labels(rows: pd.DataFrame) -> list[str]:
    """Paths as a tree: indented names, or the whole path where the row of the range around is not shown."""
    shown = set(zip(rows["gpu"], rows["domain"], rows["path"], strict=True))
    labels = []
    for gpu, domain, path, depth in zip(rows["gpu"], rows["domain"], rows["path"], rows["depth"], strict=True):
        above, _, name = path.rpartition(SEPARATOR)
        nested = bool(above) and (gpu, domain, above) in shown
        label = "  " * (depth - 1) + name if nested else path or WHOLE_CAPTURE
        text = printable(f"{label} [{domain}]" if domain and not nested else label)
        labels.append(text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…")
    return labels


def list_ranges(analysis: Analysis, rows: pd.DataFrame) -> list[Listing]:
    """The range summary, one listing for each GPU.

    Args:
        analysis: What the rows belong to.
        rows: Rows of ``analysis.ranges``.
    """
    listings = []
    for gpu, of_gpu in rows.groupby("gpu", sort=True):
        cells = zip(
            path_labels(of_gpu),
            map(units.format_count, of_gpu["instance_count"]),
            map(units.format_ns, of_gpu["window_ns"].where(of_gpu["window_ns"] > 0)),
            map(bare_pct, of_gpu["tensor_active_mean_pct"]),
            map(_format_interval, of_gpu["tensor_active_low_pct"], of_gpu["tensor_active_high_pct"]),
            map(bare_pct, of_gpu["tensor_active_peak_pct"]),
            map(units.format_seconds, of_gpu["tensor_active_s"]),
            [_estimated(share, analysis.tensor_source) for share in of_gpu["tensor_kernel_share_pct"]],
            strict=True,
        )
        headers = (
            "range",
            "runs",
            "window",
            "Tensor\nActive %",
            "95 %\ninterval",
            "peak\n%",
            "active\ntime",
            "kernels\ntensor %",
        )
        listings.append(Listing(gpu_title(analysis, int(str(gpu))), headers, list(cells)))
    return listings


def _estimated(share: float, tensor_source: str) -> str:
    """The share of tensor kernels, marked where only names tell it."""
    mark = "~" if tensor_source == "none" and share == share else ""
    return mark + bare_pct(share)


def gpu_title(analysis: Analysis, gpu: int) -> str:
    """Which GPU a listing is about; empty where there is only one."""
    if analysis.ranges["gpu"].nunique() < 2:
        return ""
    names = analysis.gpus.loc[analysis.gpus["gpu"] == gpu, "name"]
    return f"GPU {gpu}: {printable(names.iloc[0])}" if len(names) else f"GPU {gpu}"


def _format_interval(low: float, high: float) -> str:
    """An interval of percentages: "3.1–3.7"."""
    ends = [bare_pct(low), bare_pct(high)]
    if units.UNKNOWN in ends:
        return units.UNKNOWN
    return ends[0] if ends[0] == ends[1] else "–".join(ends)


def bare_pct(value: float) -> str:
    """A percentage whose unit stands in the header."""
    return units.format_pct(value).removesuffix(" %")


def render_text(listing: Listing, width: int, color: bool) -> str:
    """A listing for a terminal: aligned columns, long names folded so that the table keeps to the width."""
    table = Table(
        box=box.SIMPLE_HEAD, title=listing.title or None, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0)
    )
    for number, header in enumerate(listing.headers):
        if number:
            table.add_column(Text(header), justify="right", no_wrap=True)
        else:
            table.add_column(Text(header), overflow="fold", ratio=None)
    for row in listing.rows:
        table.add_row(*(Text(cell) for cell in row))
    buffer = io.StringIO()
    Console(file=buffer, width=width, force_terminal=color, no_color=not color, legacy_windows=False).print(table)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip("\n")


def render_markdown(listing: Listing) -> str:
    """A listing as a Markdown table; names are escaped."""
    headers = [escape_markdown(" ".join(header.split())) for header in listing.headers]
    lines = [f"**{escape_markdown(listing.title)}**\n"] if listing.title else []
    lines.append(f"| {' | '.join(headers)} |")
    lines.append("|" + "|".join(["---", *["---:"] * (len(headers) - 1)]) + "|")
    for name, *cells in listing.rows:
        lines.append(f"| {' | '.join([escape_markdown(name), *cells])} |")
    return "\n".join(lines)


def escape_markdown(text: str) -> str:
    """Text that Markdown and the HTML in it show as it is; the indentation of a tree is kept."""
    indent = len(text) - len(text.lstrip(" "))
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|~$-])", r"\\\1", text.lstrip(" ")).replace("&", "&amp;")
    escaped = escaped.replace("@", "@\N{ZERO WIDTH SPACE}")  # else it would call a person or a team
    return "&nbsp;" * indent + escaped
