"""Frames as files: all of an analysis in one folder, as CSV or Parquet."""

from pathlib import Path

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.findings import Findings
from tcprof.outputs import replace_folder
from tcprof.render.authorship import PARQUET_KEY
from tcprof.render.formats.csv import write_csv
from tcprof.render.formats.json import write_data
from tcprof.render.formats.spreadsheet import without_formulas
from tcprof.version import __version__
from tcprof.views.recording.facts import document_data

ABOUT = "recording.json"
FRAMES = (
    *("ranges", "instances", "iterations", "paths", "nvtx_ranges", "samples", "activities", "gpus"),
    *("modules", "kernels", "kernels_by_path", "kernel_instances", "timeline", "ledger"),
    *("clocks", "outside", "unprofiled"),
)


def list_files(file_format: str) -> list[str]:
    """The names of all files that ``write_frames`` writes in a format."""
    suffix = "parquet" if file_format == "parquet" else "csv"
    return [ABOUT, *(f"{name}.{suffix}" for name in FRAMES)]


def write_frames(analysis: Analysis, findings: Findings, folder: Path, file_format: str) -> list[Path]:
    """Write every frame of an analysis into a folder, made if it is absent, and what is known of the recording.

    The latter is ``recording.json``: frames have no place for the verdict, faults and warnings that their reader must
    know. It is the last file to be there: a folder that has it has all files, and all of them of this recording.

    Args:
        file_format: csv, spreadsheet (see ``tcprof.render.formats.spreadsheet``) or parquet.

    Raises:
        OutputError: The folder or a file cannot be written; then all is as it was.
    """
    names = list_files(file_format)
    with replace_folder(folder, last=ABOUT) as staged:
        with (staged / ABOUT).open("w", encoding="utf-8", errors="replace") as file:
            write_data("export", document_data(analysis, findings, {}), file)
        for name, frame_name in zip(names[1:], FRAMES, strict=True):
            frame = getattr(analysis, frame_name)
            if file_format == "parquet":
                _write_parquet(frame, staged / name)
                continue
            with (staged / name).open("w", encoding="utf-8", errors="replace", newline="") as file:
                write_csv(without_formulas(frame) if file_format == "spreadsheet" else frame, file)
    return [folder / name for name in names]


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), PARQUET_KEY: __version__.encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
