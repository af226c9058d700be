"""Which files are Nsight Systems': its reports, raw recordings and SQLite exports, damaged ones too."""

from pathlib import Path

from tcprof.errors import InputError
from tcprof.files import REPORT_MAGIC, SQLITE_MAGIC
from tcprof.nsys.export import find_export, read_tables
from tcprof.nsys.locate import find_nsys
from tcprof.nsys.report import EXPORT_SUFFIX, REPORT_SUFFIXES, STREAM_SUFFIX
from tcprof.sources.nsys_sqlite.export import NsysExport
from tcprof.sources.source import Source, SourceType


def _recognizes(path: Path, header: bytes) -> bool:
    """Reports by name too, since a damaged one has no header, and one that is gone may have left its export."""
    if path.suffix in (*REPORT_SUFFIXES, STREAM_SUFFIX) or header.startswith(REPORT_MAGIC):
        return True
    if not header.startswith(SQLITE_MAGIC):
        return bool(header) and not header.strip(b"\0")  # an export that was interrupted
    try:
        return "StringIds" in read_tables(path)
    except InputError:
        return True  # damaged: whoever opens it reports how


def _open(path: Path) -> Source:
    return NsysExport(find_export(path, find_nsys))


NSYS = SourceType("reports and SQLite exports of Nsight Systems", (*REPORT_SUFFIXES, EXPORT_SUFFIX), _recognizes, _open)
