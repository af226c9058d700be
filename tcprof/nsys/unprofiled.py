"""The unprofiled steps of a recorded program, in a file beside its report that outlives the export: NAME.steps.json."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tcprof.errors import OutputError
from tcprof.files import temporary_folder

SUFFIX = ".steps.json"
TABLE = "TCPROF_ALONE"  # of an export
_COLUMNS = {"process": "process", "training": "training", "start_ns": "start", "end_ns": "end"}
_FORMAT = {"format": "tcprof unprofiled steps", "version": 1}
_LARGEST_BYTES = 64 << 20


def write_steps_file(report: Path, columns: dict[str, list[int]]) -> Path:
    """Write the columns of ``tcprof.frames.UNPROFILED`` beside a report.

    Raises:
        OutputError: It cannot be written.
    """
    path = report.with_suffix(SUFFIX)
    try:
        with temporary_folder(report.parent) as folder:
            (folder / path.name).write_text(json.dumps({**_FORMAT, **columns}), encoding="utf-8")
            (folder / path.name).replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.", hint="Free some space.") from error
    return path


def read_steps_file(report: Path) -> list[tuple[int, ...]]:
    """Read the steps beside a report, in the order of the columns of its export's table; empty without such a file.

    It may come from anywhere, so one that is not what tcprof writes counts as none.
    """
    path = report.with_suffix(SUFFIX)
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            return []
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows = [tuple(map(int, row)) for row in zip(*(content[name] for name in _COLUMNS), strict=True)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return []
    is_sound = content.get("format") == _FORMAT["format"] and content.get("version") == _FORMAT["version"]
    times = [(start, end) for _, _, start, end in rows]
    return rows if is_sound and all(0 <= start <= end < 1 << 62 for start, end in times) else []


def add_steps(export: Path, report: Path) -> None:
    """Add the steps beside a report to its export, unless that has them."""
    rows = read_steps_file(report)
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in _COLUMNS.values())
    with closing(sqlite3.connect(export)) as connection, connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} ({names})")
        if not connection.execute(f"SELECT 1 FROM {TABLE} LIMIT 1").fetchone():  # noqa: S608
            connection.executemany(f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?)", rows)  # noqa: S608
