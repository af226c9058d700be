"""From a report to its SQLite export: verified, renamed when whole, used again while it is right."""

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tcprof.errors import EXPORT_AGAIN, InputError, NsysError, OutputError
from tcprof.files import check_is_file, check_is_unpacked, read_unchanged, temporary_folder
from tcprof.nsys.folders import is_folder_export, list_tables, name_export, write_sqlite
from tcprof.nsys.locate import Nsys, import_stream
from tcprof.nsys.report import (
    REPORT_MAGIC,
    REPORT_SUFFIXES,
    SQLITE_MAGIC,
    STREAM_SUFFIX,
    ReportFiles,
    read_report_version,
)
from tcprof.nsys.run import Completed, explain
from tcprof.untrusted import one_line

_HEADER_BYTES = 100
_WRITE_AHEAD = b"\2"  # at byte 19 of the header
_DAMAGED = r"magic number mismatch|Cannot read from stream|Invalid version prefix|Version tag is not found|protobuf"
_NEWER = r"newer than your current version"
_UNWRITABLE = r"unable to open database file|No space left|disk is full|database is locked|Read-only file system"


def find_export(report: Path, nsys: Callable[[], Nsys], *, from_steps: bool = False) -> Path:
    """Find or make the SQLite export of a report.

    Args:
        report: ``X.nsys-rep`` (or ``X.qdrep``): ``X.sqlite`` beside it is used if it is whole and not older,
            else it is made. A raw recording, ``X.qdstrm``, is made a report first. In a folder of an export's tables
            lies its SQLite file. Any other file is taken for an export itself, and checked.
        nsys: Finds nsys; asked only if an export has to be made.
        from_steps: Whether an export that has to be made leaves out samples before the first step that is marked.

    Raises:
        InputError: If the report is absent, damaged, or too new for this nsys, or if there is no nsys.
        OutputError: If the export cannot be written beside the report.
        NsysError: If nsys fails for another reason.
    """
    if is_folder_export(report):
        return _find_in_folder(report)
    if report.suffix == STREAM_SUFFIX:
        check_is_file(report)
        made = ReportFiles.named(report).report
        report = made if made.exists() else import_stream(report)
    if report.suffix not in REPORT_SUFFIXES:
        check_export(report)
        return report
    export = ReportFiles.named(report).export
    if not report.exists() and export.exists():
        raise InputError(f"{report} does not exist.", hint=f"Pass its export instead: {export}")
    check_is_file(report)
    if _is_right(export, report):
        return export
    try:
        program = nsys()
    except NsysError as error:
        raise InputError(
            f"{report} must be exported before it can be read, but nsys cannot do that here: {error.message}",
            hint=f"{error.hint} Or export it where it was recorded, with "
            f"'nsys export --type=sqlite {report.name}', and give {export.name}.",
        ) from error
    return make_export(program, report, from_steps=from_steps)


def _find_in_folder(folder: Path) -> Path:
    """Find or make the SQLite file of a folder of an export's tables."""
    export = name_export(folder)
    try:
        newest = max(list_tables(folder), key=lambda path: path.stat().st_mtime_ns)
        if export.is_file() and _is_right(export, newest):
            return export
        with temporary_folder(folder) as inside:
            made = inside / export.name
            write_sqlite(folder, made)
            made.replace(export)
    except (OSError, sqlite3.OperationalError) as error:
        raise OutputError(
            f"{export} cannot be written: {getattr(error, 'strerror', None) or error}.",
            "tcprof keeps the tables of such a folder beside it, as SQLite. Copy the folder to a place you can write "
            "to.",
        ) from error
    return export


def check_export(path: Path) -> None:
    """Make sure that a file is a whole SQLite export of Nsight Systems, without changing it, else say what it is."""
    check_is_file(path)
    header = _read_header(path)
    if not header.strip(b"\0"):
        raise InputError(f"{path} is an export that was interrupted: it begins with zeros.", hint=EXPORT_AGAIN)
    if header.startswith(REPORT_MAGIC):
        raise InputError(
            f"{path} is an nsys report, not its SQLite export.",
            hint="Rename it so that it ends in .nsys-rep; tcprof then exports it.",
        )
    check_is_unpacked(path, header)
    if not header.startswith(SQLITE_MAGIC):
        raise InputError(
            f"{path} is not an SQLite file.", hint="Give a .nsys-rep, or a file from 'nsys export --type=sqlite'."
        )
    if len(header) < _HEADER_BYTES or path.stat().st_size < _promised_bytes(header):
        raise InputError(f"{path} is cut off: it is shorter than its header says.", hint=EXPORT_AGAIN)
    if not has_tables_of_nsys(path):
        raise InputError(
            f"{path} is an SQLite file, but not an Nsight Systems export: it has no table StringIds.",
            hint="nvprof and Nsight Compute write other files. Record with nsys, or with 'tcprof profile'.",
        )


def has_tables_of_nsys(path: Path) -> bool:
    """Tell whether a database has a table that Nsight Systems always writes; another one may be renamed."""
    return not {"StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA"}.isdisjoint(read_tables(path))


def read_only_uri(path: Path) -> str:
    """Write the URI by which SQLite opens a database without changing files; InputError where it is not whole."""
    if _begins(_beside(path, "-journal")).strip(b"\0"):  # SQLite leaves one of zeros, and one that is empty, as it is
        raise InputError(f"{path} is still being written, or writing it was interrupted.", hint=EXPORT_AGAIN)
    log = _beside(path, "-wal")
    if _begins(log) and _read_header(path)[19:20] == _WRITE_AHEAD:
        raise InputError(
            f"{path} is open in another program, or was not closed: part of it is in {log.name}.",
            hint=f"Close that program, or run: sqlite3 {path.name} 'PRAGMA journal_mode=DELETE'",
        )
    if _begins(log):  # SQLite would take its pages all the same
        raise InputError(
            f"{path} is intact, but {log.name} beside it is the log of another database.",
            hint=f"Move {log.name} to another folder: SQLite would read it in place of parts of the recording.",
        )
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


def _read_header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)


def _beside(path: Path, suffix: str) -> Path:
    """Return SQLite's own file beside a database: of a link, beside what it leads to."""
    whole = path.resolve()
    return whole.with_name(whole.name + suffix)


def _begins(path: Path) -> bytes:
    """Read the first byte of a file; none of an empty one, or where there is none."""
    try:
        with path.open("rb") as file:
            return file.read(1)
    except FileNotFoundError:
        return b""


def read_sampled_metrics(export: Path) -> frozenset[str]:
    """Read the names of the metrics that an export of a trial has samples of."""
    statement = (
        "SELECT DISTINCT metricName FROM TARGET_INFO_GPU_METRICS AS named WHERE EXISTS (SELECT 1 FROM GPU_METRICS AS "
        "sampled WHERE sampled.typeId = named.typeId AND sampled.metricId = named.metricId)"
    )
    try:
        with closing(sqlite3.connect(read_only_uri(export), uri=True)) as connection:
            return frozenset(str(name) for (name,) in connection.execute(statement))
    except sqlite3.Error:  # tables exist only if they have rows
        return frozenset()


def check_export_place(files: ReportFiles) -> None:
    """Make sure that a report's export may be written; OutputError for a folder or another program's file."""
    export = files.export
    if export.is_dir():
        raise OutputError(f"{export} is a folder, but the export needs that path.", hint="Rename it.")
    if export.exists() and not _is_export_or_left_of_one(export):
        raise OutputError(
            f"{export} already exists and is not an nsys export.", hint="Rename it: the report's export goes there."
        )


def _is_right(export: Path, report: Path) -> bool:
    try:
        check_export(export)
    except InputError:
        return False  # it will be made again
    return export.stat().st_mtime_ns >= report.stat().st_mtime_ns


def _promised_bytes(header: bytes) -> int:
    """Read the size of an SQLite file from its header; 0 where an old SQLite did not keep the number."""
    if header[24:28] != header[92:96]:
        return 0
    page = int.from_bytes(header[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")


def read_tables(path: Path) -> set[str]:
    """Read the names of an SQLite file's tables and views; InputError where that cannot be done, or it is not whole."""
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            connection.text_factory = bytes
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
            return {name.decode("utf-8", "replace") for (name,) in rows}
    except (sqlite3.Error, UnicodeError) as error:  # the latter where SQLite's own message has a name of the file's
        raise InputError(f"{path} is damaged: {one_line(str(error))}.", hint=EXPORT_AGAIN) from error


def make_export(nsys: Nsys, report: Path, *, from_steps: bool = False) -> Path:
    """Export into a folder beside the report, then rename: an interruption leaves nothing half done."""
    from tcprof.nsys.own_tables import restore_own_tables  # here: what reads saved analyses does without SQLAlchemy
    from tcprof.nsys.parts import export_report

    files = ReportFiles.named(report)
    export = files.export
    try:
        check_export_place(files)
        with temporary_folder(report.parent) as folder:
            made = folder / export.name
            recorded = report.stat().st_mtime_ns

            done = read_unchanged(report, lambda _: export_report(nsys, report, made, from_steps=from_steps))
            if done.status != 0 or not made.exists():
                raise _refusal(nsys, report, done)
            try:
                check_export(made)
            except InputError as error:
                raise NsysError(
                    f"nsys {nsys.version_text} exported {report}, but the export is unusable: {error.message}"
                ) from error
            restore_own_tables(made, report)
            if made.stat().st_mtime_ns < recorded:  # by a file server's clock: it would seem old, and be made each time
                os.utime(made, ns=(recorded, recorded))
            made.replace(export)
    except OSError as error:
        raise _unwritable(report, error.strerror or str(error)) from error
    return export


def _is_export_or_left_of_one(path: Path) -> bool:
    """Tell whether a file looks like an export, whole or not, and not like another program's database."""
    header = _read_header(path)
    try:
        return not header.strip(b"\0") or (header.startswith(SQLITE_MAGIC) and "StringIds" in read_tables(path))
    except InputError:  # damaged, unless it is open in another program
        return not _begins(_beside(path, "-wal"))


def _refusal(nsys: Nsys, report: Path, done: Completed) -> InputError | OutputError | NsysError:
    if re.search(_UNWRITABLE, done.output, re.IGNORECASE):
        return _unwritable(report, done.last_lines(1))
    version = read_report_version(report)
    unknown = not version and "protobuf" in done.output  # a parse error: what nsys said before it had words for it
    if version[:3] > nsys.version[:3] or unknown or re.search(_NEWER, done.output):
        text = ".".join(str(part) for part in version[:3])
        return InputError(
            f"{report} was recorded with a newer Nsight Systems ({text or 'version unknown'}) than the nsys "
            f"here ({nsys.version_text}, {nsys.path}), which cannot read it.",
            hint=f"Install Nsight Systems {text or 'of that version'} or newer, or export the report where "
            f"it was recorded: nsys export --type=sqlite {report.name}",
        )
    if re.search(_DAMAGED, done.output, re.IGNORECASE):
        return InputError(
            f"{report} is damaged, or not an nsys report: {done.last_lines(1)}",
            hint="Copy it again from where it was recorded, and compare the sizes.",
        )
    return NsysError(f"nsys {nsys.version_text} could not export {report}: {done.last_lines() or 'it said nothing'}")


def _unwritable(report: Path, reason: str) -> OutputError:
    problem = explain(reason)
    elsewhere = f"Copy {report.name} to a folder you can write to, and use the copy."
    return OutputError(
        f"The SQLite export of {report} cannot be written beside it: {reason}.",
        hint=problem.remedy if problem else elsewhere,
    )
