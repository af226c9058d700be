"""Open an export: read-only, for a limited time, and only if its tables are what Nsight Systems writes."""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

from sqlalchemy import func, select, table

from tcprof.errors import EXPORT_AGAIN, EXPORT_OR_COPY_AGAIN, InputError
from tcprof.nsys.export import read_only_uri
from tcprof.untrusted import one_line

CHECKED_BYTES = 32_000_000  # SQLite's check of its pages takes 6 ms a megabyte: up to here it is always made
SECONDS = 60.0  # and another for each BYTES_A_SECOND, for what SQLite does without giving a row
BYTES_A_SECOND = 5_000_000
LONGEST_VALUE = 1 << 28  # bytes
SMALLEST_ROW = 5  # bytes: its place on the page, its length, its number, its header, and a value
_OBJECTS = "SELECT name, type, rootpage FROM sqlite_master WHERE type IN ('table', 'view')"
_COLUMNS = (
    "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns "
    "WHERE tables.type = 'table' AND tables.rootpage"
)
_HINT = f"The file is damaged. {EXPORT_OR_COPY_AGAIN}"
_FOREIGN = f"Nsight Systems writes no such file. {EXPORT_AGAIN}"


class OpenedExport:
    """An export and its tables. No file stays open between calls.

    Args:
        names: The tables that will be read; whatever else there is, is not looked at.

    Attributes:
        columns: The names of the columns of each table that will be read.
        unread: The columns of all other tables, by name.
        is_small: Whether everything is checked that can be: the file is small, or not as long as it says.

    Raises:
        InputError: SQLite cannot read the file, a table is no plain one, or there are too many of them.
    """

    def __init__(self, path: Path, names: Collection[str]) -> None:
        self.path = path
        try:
            self.uri = read_only_uri(path)
            self._bytes = path.stat().st_size
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}", "Check the name.") from error
        self.columns = self._read_columns(names)
        self.is_small = self._bytes <= CHECKED_BYTES or self._has_other_size()
        self._admitted: set[str] = set()
        self._checked: set[str] = set()

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for statements that end within a limited time; InputError where SQLite fails."""
        try:
            with closing(sqlite3.connect(self.uri, uri=True)) as connection:
                prepare(connection)
                timer = Timer(SECONDS + self._bytes / BYTES_A_SECOND, connection.interrupt)
                timer.daemon = True  # one that Ctrl-C leaves behind while it starts is not waited for
                try:
                    timer.start()
                    yield connection
                finally:
                    timer.cancel()
                    if timer.is_alive():
                        timer.join()
        except (sqlite3.Error, UnicodeError) as error:
            raise self.damaged(error) from error

    def admit(self, *names: str) -> None:
        """Make sure, once, that tables can be read in a limited time: they are checked, or if large counted."""
        new = [name for name in names if name not in self._admitted]
        if self.is_small:
            self.check(*new)
        elif new:
            with self.connect() as connection:
                for name in new:
                    ((rows,),) = connection.execute(str(select(func.count()).select_from(table(name))))
                    self.check_count(rows, name)
        self._admitted.update(new)

    def check(self, *names: str) -> None:
        """Let SQLite check the pages and indices of tables, once.

        Raises:
            InputError: They are damaged, so that rows may be others than were written.
        """
        new = [name for name in names if name not in self._checked]
        if not new:
            return
        # One connection for all: each reads the definitions of all tables of the file first.
        with self.connect() as connection:
            for name in new:
                self._check(connection, name)
        self._checked.update(new)

    def _check(self, connection: sqlite3.Connection, name: str) -> None:
        rows = connection.execute("SELECT integrity_check FROM pragma_integrity_check(?)", (name,)).fetchmany(20)
        lines = [str(line) for (line,) in rows]
        # Columns may hold what they are declared not to: reading notes such values row by row.
        structural = [line for line in lines if line != "ok" and " value in " not in line]
        if structural:
            raise InputError(f"{self.path} cannot be read: {name} is damaged: {one_line(structural[0], 100)}", _HINT)

    def check_count(self, rows: int, name: str) -> None:
        """Refuse more rows than there is space for: pages that lead to one another have as many as one likes."""
        if rows * SMALLEST_ROW > self._bytes:
            raise InputError(
                f"{self.path} cannot be read: {name} is damaged: it has more rows than the file has space for.", _HINT
            )

    def damaged(self, error: Exception) -> InputError:
        """Turn SQLite's error into one for the user."""
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if reason == "interrupted":
            return InputError(f"{self.path} cannot be read: SQLite takes too long to read it.", _HINT)
        return InputError(f"{self.path} cannot be read: {one_line(reason, 200)}", _HINT)

    def _read_columns(self, names: Collection[str]) -> dict[str, set[str]]:
        with self.connect() as connection:
            (encoding,) = connection.execute("PRAGMA encoding").fetchone()
            if encoding != "UTF-8":
                raise InputError(f"{self.path} holds text as {encoding}.", _FOREIGN)
            every = connection.execute(_OBJECTS).fetchall()
            tables = [(name, kind, page) for name, kind, page in every if name in names]
            self.unread: dict[str, set[str]] = {str(name): set() for name, _, _ in sorted(every) if name not in names}
            for name, column in connection.execute(_COLUMNS):
                self.unread.get(str(name), set()).add(str(column))
            for name, kind, page in tables:
                if kind != "table" or not page:
                    raise InputError(f"{self.path}: {name} is not a plain table ({kind}).", _FOREIGN)
            columns = {}
            for name, _, _ in tables:
                rows = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
                if any(hidden for _, hidden in rows):
                    raise InputError(f"{self.path}: {name} has computed columns.", _FOREIGN)
                columns[name] = {str(column) for column, _ in rows}
        return columns

    def _has_other_size(self) -> bool:
        with self.connect() as connection:
            (pages,), (size,) = (
                connection.execute(f"PRAGMA {what}").fetchone() for what in ("page_count", "page_size")
            )
        return bool(pages * size != self._bytes)


def prepare(connection: sqlite3.Connection) -> None:
    """Set what holds for every connection to an export: limits, and no trust in what its schema defines."""
    connection.text_factory = decode
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def decode(value: bytes) -> str:
    """Decode bytes as text; those that are no UTF-8 become U+FFFD."""
    return value.decode("utf-8", "replace")
