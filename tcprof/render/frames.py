"""Frames as files: all of an analysis in one folder, as CSV or Parquet."""

from pathlib import Path

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.errors import OutputError
from tcprof.files import replace_file
from tcprof.findings import Findings
from tcprof.render.formats.json import render_data
from tcprof.views.recording.facts import document_data

FRAMES = (
    *("ranges", "instances", "iterations", "paths", "nvtx_ranges", "samples", "activities", "gpus"),
    *("kernels", "kernels_by_path", "launched", "timeline", "ledger", "clocks", "outside"),
)


def write_frames(analysis: Analysis, findings: Findings, folder: Path, file_format: str) -> list[Path]:
    """Write every frame of an analysis into a folder, made if it is absent, and what is known of the recording.

    The latter is ``recording.json``: frames have no place for the verdict, faults and warnings that their reader must
    know.

    Args:
        analysis: The analysis.
        findings: What its figures say.
        folder: Where to write; files of the same names are replaced.
        file_format: csv or parquet.

    Returns:
        The files written.

    Raises:
        OutputError: The folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be made: {error.strerror}.", "Choose another with -o."
        ) from error
    written = [folder / "recording.json"]
    about = render_data("export", document_data(analysis, findings, {}))
    with replace_file(written[0]) as path:
        path.write_text(about, encoding="utf-8", errors="replace")
    for name in FRAMES:
        frame: pd.DataFrame = getattr(analysis, name)
        target = folder / f"{name}.{file_format}"
        with replace_file(target) as path:
            if file_format == "parquet":
                frame.to_parquet(path, index=False)
            else:
                frame.to_csv(path, index=False)
        written.append(target)
    return written
