"""All frames of an analysis as files in a folder, and a figure as a file."""

import os
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof.analysis import Analysis
from tcprof.analysis.gaps import list_gaps
from tcprof.errors import INSTALL_EXTRA, OutputError
from tcprof.files import PAGE_SUFFIX
from tcprof.findings import Findings
from tcprof.frames import NCU_METRICS
from tcprof.outputs import check_target, is_made_by_tcprof, replace_file, replace_folder
from tcprof.render.formats.csv import write_csv
from tcprof.render.formats.json import write_data
from tcprof.render.formats.spreadsheet import without_formulas
from tcprof.untrusted import one_line
from tcprof.version import __version__
from tcprof.views.document import Document, Figure, Section
from tcprof.views.figures import PlotlyFigure, label
from tcprof.views.recording import document_data

if TYPE_CHECKING:
    import plotly.graph_objects as go

ABOUT = "recording.json"
FRAMES = (
    *("ranges", "instances", "steps", "kinds", "step_summary", "paths", "nvtx_ranges", "samples"),
    *("activities", "gpus", "modules", "kernels", "kernels_by_path", "kernel_instances", "timeline", "ledger"),
    *("gaps", "gap_sums", "clocks", "outside", "driver_log", "unprofiled"),
)


def list_files(file_format: str) -> list[str]:
    """List the names of all files that ``write_frames`` writes in a format."""
    suffix = "parquet" if file_format == "parquet" else "csv"
    return [ABOUT, *(f"{name}.{suffix}" for name in FRAMES)]


def check_folder(folder: Path, file_format: str, inputs: Iterable[Path], *, force: bool) -> None:
    """Make sure that ``write_frames`` may write into a folder: what it wrote is replaced; else OutputError."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder} is not a folder.", "Give a folder with -o; tcprof creates it if needed.")
    is_own, given = (folder / ABOUT).exists() and is_made_by_tcprof(folder / ABOUT), tuple(inputs)
    for name in list_files(file_format):
        if os.path.lexists(folder / name):
            check_target(folder / name, given, force=force or is_own)


def write_frames(analysis: Analysis, findings: Findings, folder: Path, file_format: str) -> list[Path]:
    """Write every frame of an analysis into a folder, made if it is absent, and what is known of the recording.

    The latter is ``recording.json``: frames have no place for the verdict, faults and warnings that their reader must
    know. It is the last file to be there: a folder that has it has all files, and all of them of this recording.

    Args:
        file_format: csv, spreadsheet (see ``tcprof.render.formats.spreadsheet``) or parquet.

    Raises:
        OutputError: The folder or a file cannot be written; then all is as it was.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, gaps = list_files(file_format), list_gaps(analysis)
    with replace_folder(folder, last=ABOUT) as staged:
        with (staged / ABOUT).open("w", encoding="utf-8", errors="replace") as file:
            write_data("export", {**document_data(analysis, findings, {}), "ncu_metrics": NCU_METRICS}, file)
        for name, frame_name in zip(names[1:], FRAMES, strict=True):
            frame = getattr(gaps if hasattr(gaps, frame_name) else analysis, frame_name)
            if file_format == "parquet":
                table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1)
                fields = [
                    field.with_metadata({"ncu": NCU_METRICS[field.name]}) if field.name in NCU_METRICS else field
                    for field in table.schema
                ]
                pq.write_table(table.cast(pa.schema(fields, table.schema.metadata)), staged / name)
                continue
            with (staged / name).open("w", encoding="utf-8", errors="replace", newline="") as file:
                write_csv(without_formulas(frame) if file_format == "spreadsheet" else frame, file)
    return [folder / name for name in names]


DRAWINGS = (".svg", ".png")
SUFFIXES = (*DRAWINGS, PAGE_SUFFIX)
_WIDTH, _PNG_SCALE = 1000, 2
_TITLE_PIXELS = 36
_PNG_START = 33  # bytes of the signature and of the first chunk, which must stay the first


def write_figure(drawn: PlotlyFigure, file: str, caption: str, target: Path) -> None:
    """Write a figure, named after its recording's file, in the format of ``SUFFIXES`` that its target ends in."""
    if target.suffix == PAGE_SUFFIX:
        from tcprof.render.html.page import write_page

        figure = Figure("figure", caption, lambda: drawn)
        parts = (Section("figure", "Figure", (figure,)),)
        write_page(Document("figure", parts, title=one_line(file, 160)), target)
        return
    content = _draw(_with_title(drawn, f"{label(file, 60)}. {caption}"), target)
    with replace_file(target) as path:
        path.write_bytes(content)


def _with_title(drawn: PlotlyFigure, title: str) -> "go.Figure":
    """Put a figure on white, under its title."""
    figure = drawn.to_plotly()
    margin = figure.layout.margin.t + _TITLE_PIXELS
    figure.update_layout(
        paper_bgcolor="white",
        height=figure.layout.height + _TITLE_PIXELS,
        margin_t=margin,
        title={"text": title, "x": 0.01, "y": 1, "yref": "container", "yanchor": "top", "pad_t": 10, "font_size": 14},
    )
    return figure


def check_drawing(target: Path) -> None:
    """Raise OutputError, before anything is read, where what draws such a file is not installed."""
    if target.suffix in DRAWINGS:
        try:
            import kaleido  # noqa: F401 - plotly finds it by itself
        except ImportError:
            raise OutputError(
                f"{target} cannot be drawn: the package kaleido is not installed.",
                f"{INSTALL_EXTRA.format('images')}. Or write a page: -o {target.with_suffix(PAGE_SUFFIX)}",
            ) from None


def _draw(figure: "go.Figure", target: Path) -> bytes:
    kind = target.suffix.removeprefix(".")
    scale = _PNG_SCALE if kind == "png" else 1
    try:
        drawn: bytes = figure.to_image(format=kind, width=_WIDTH, height=figure.layout.height, scale=scale)
    except Exception as error:  # whatever kaleido and the browser that it starts raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise OutputError(
            f"{target} cannot be drawn: {reason}",
            "kaleido draws with Chrome or Chromium: install one, or run plotly_get_chrome; or write a page: "
            f"-o {target.with_suffix(PAGE_SUFFIX)}",
        ) from error
    if kind == "svg":
        return drawn.rstrip() + f"\n<!-- Made by tcprof {__version__}. -->\n".encode()
    return drawn[:_PNG_START] + _text_chunk(f"tcprof {__version__}") + drawn[_PNG_START:]


def _text_chunk(software: str) -> bytes:
    """Write a chunk of a PNG file that says what it was made with."""
    body = b"tEXtSoftware\0" + software.encode("latin-1")
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
