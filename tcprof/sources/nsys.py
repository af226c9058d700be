"""Recognizes reports and exports of Nsight Systems; ``nsys_sqlite`` reads them."""

from pathlib import Path

from tcprof.errors import InputError
from tcprof.nsys.export import find_export, has_tables_of_nsys
from tcprof.nsys.folders import FOLDER_SUFFIXES, is_folder_export
from tcprof.nsys.locate import find_nsys
from tcprof.nsys.report import EXPORT_SUFFIX, REPORT_MAGIC, REPORT_SUFFIXES, SQLITE_MAGIC, STREAM_SUFFIX
from tcprof.sources import Source, SourceType


def _recognizes(path: Path, header: bytes) -> bool:
    """Recognize by name too: a damaged file has no header, and a report that is gone may have left its export."""
    named = path.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX)
    if named or header.startswith(REPORT_MAGIC) or is_folder_export(path):
        return True
    if not header.startswith(SQLITE_MAGIC):  # zeros: an export that was interrupted
        return bool(header) and (path.suffix == EXPORT_SUFFIX or not header.strip(b"\0"))
    try:
        return has_tables_of_nsys(path)
    except InputError:
        return True  # damaged: whoever opens it reports how


def _open(path: Path) -> Source:
    from tcprof.sources.nsys_sqlite import NsysExport  # here, since recognizing a file needs no SQLAlchemy

    return NsysExport(path)


NSYS = SourceType(
    "Nsight Systems reports and SQLite, Parquet or Arrow exports",
    suffixes=(*REPORT_SUFFIXES, EXPORT_SUFFIX, *FOLDER_SUFFIXES),
    magic=(REPORT_MAGIC, SQLITE_MAGIC),
    recognizes=_recognizes,
    open=_open,
    find=lambda path: find_export(path, find_nsys),
)
