"""Connections to a store: SQLite or PostgreSQL, one transaction at a time, and errors that its user understands."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from tcprof.errors import INSTALL_AGAIN, INSTALL_EXTRA, InputError, NoRunError, OutputError, TcprofError, UsageError

METADATA = sa.MetaData()
_TEXTS = ("added_utc", "recorded_utc", "commit", "commit_utc", "branch", "label", "program", "gpu_name", "config",
          "rank", "driver_version", "cuda_version", "torch_version", "tcprof_version", "file")  # fmt: skip

VERSION = sa.Table("tcprof_version", METADATA, sa.Column("version_num", sa.String(32), primary_key=True))  # its one row
RUN = sa.Table(
    "tcprof_run",
    METADATA,
    sa.Column("run_id", sa.Integer, primary_key=True),
    sa.Column("content", sa.String(64), nullable=False, unique=True),
    sa.Column("marks", sa.LargeBinary, nullable=False),  # see ``tcprof.analysis.observed.take_fingerprint``
    *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS),
    sa.Column("gpu_count", sa.Integer, nullable=False),
    sa.Column("power_limit_w", sa.Float(53)),
    sa.Column("clock_hz", sa.Float(53)),
    sqlite_autoincrement=True,  # no number is given twice, even after its run was removed
)
MARK = sa.Table(  # the first marks of each run, by which copies of it are found
    "tcprof_mark",
    METADATA,
    sa.Column("mark", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("run_id", sa.ForeignKey(RUN.c.run_id), primary_key=True),
    sqlite_with_rowid=False,
)
SERIES = sa.Table(
    "tcprof_series",
    METADATA,
    sa.Column("series_id", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(64), nullable=False, unique=True),  # hash of all that follows
    *(sa.Column(name, sa.Text, nullable=False) for name in ("metric", "scope", "subject", "unit", "fingerprint")),
    sa.Column("gpu", sa.Integer, nullable=False),
)
POINT = sa.Table(
    "tcprof_point",
    METADATA,
    sa.Column("series_id", sa.ForeignKey(SERIES.c.series_id), primary_key=True),
    sa.Column("run_id", sa.ForeignKey(RUN.c.run_id), primary_key=True, index=True),
    sa.Column("value", sa.Float(53), nullable=False),
    sa.Column("low", sa.Float(53)),
    sa.Column("high", sa.Float(53)),
    sa.Column("n", sa.Integer, nullable=False),
    sqlite_with_rowid=False,  # what lies together on the disk are the points of a series
)
BLOB = sa.Table(
    "tcprof_blob",
    METADATA,
    sa.Column("run_id", sa.ForeignKey(RUN.c.run_id), primary_key=True),
    sa.Column("saved", sa.LargeBinary, nullable=False),
)
ACCEPTED = sa.Table(
    "tcprof_accepted",
    METADATA,
    sa.Column("accepted_id", sa.Integer, primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("commit", "why", "added_utc")),
)


VARIABLE = "TCPROF_STORE"
FOLDER, FILE = ".tcprof", "history.db"
SCHEMA_VERSION = "1"  # of the tables
_LOCK = 0x7463_7072_6F66  # of all that write to a database of PostgreSQL: "tcprof"
_WAIT_S = 60  # for other processes that write
_KINDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}  # what is read for which
_FORMS = "Give sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE."
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO)


def find_url(address: str | None) -> sa.URL:
    """Find the store: the one that is given, that of ``TCPROF_STORE``, or the file of the project."""
    named = address or os.environ.get(VARIABLE, "")
    if not named:
        here = Path.cwd()
        root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
        return sa.URL.create("sqlite", database=str(root / FOLDER / FILE))
    try:
        url = sa.make_url(named)
    except (ArgumentError, ValueError) as error:
        raise UsageError("The store's address is not a URL.", _FORMS) from error
    backend = url.get_backend_name()
    if backend not in _KINDS or (backend == "sqlite" and url.database in (None, "", ":memory:")):
        raise UsageError(f"tcprof cannot use this {backend}:// address as a store.", _FORMS)
    return url.set(drivername=_KINDS[backend])


class StoreDatabase:
    """A store's database, whose tables are there and of this tcprof's form, or are made with ``create``."""

    def __init__(self, url: sa.URL, *, create: bool) -> None:
        self.name = url.render_as_string(hide_password=True)
        if url.get_backend_name() == "sqlite":
            self.name = str(url.database)
            _prepare_file(Path(self.name), create)
            _check_locks(Path(self.name))
        try:
            self._engine = _make_engine(url)
        except (ImportError, NoSuchModuleError) as error:
            raise UsageError(f"{self.name} needs psycopg.", f"{INSTALL_EXTRA.format('postgres')}.") from error
        with self.read() as connection:
            version = self._read_version(connection)
        if version is None:
            if not create:
                raise no_store(self.name)
            with self.write() as connection:
                if self._read_version(connection) is None:  # unless another process just made them
                    METADATA.create_all(connection)
                    connection.execute(sa.insert(VERSION), {VERSION.c.version_num.name: SCHEMA_VERSION})
        elif version != SCHEMA_VERSION:
            raise InputError(
                f"{self.name} is a store of a newer tcprof: its tables have version {version}, but this tcprof "
                f"supports only {SCHEMA_VERSION}.",
                f"Update tcprof: {INSTALL_AGAIN}.",
            )

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Open a connection whose statements see one state of the store."""
        with self._translate_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Open the only connection that writes; all of it is done, or nothing."""
        with self._translate_errors(), self._engine.execution_options(writes=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection

    def _read_version(self, connection: sa.Connection) -> str | None:
        """Return the version of the tables; None where there are none."""
        tables = sa.inspect(connection).get_table_names()  # one statement: another process may be making them
        if VERSION.name in tables:
            version: str | None = connection.scalar(sa.select(VERSION.c.version_num))
            return version
        if connection.dialect.name == "sqlite" and tables:
            raise InputError(f"{self.name} is a database, but not a store of tcprof.", "Give another with --store.")
        return None

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(str(error.orig).strip().partition("\n")[0]) from error

    def _explain(self, reason: str) -> TcprofError:
        if "is locked" in reason:
            return OutputError(
                f"The store {self.name} is locked by another process.",
                "Nothing was written. Try again, or wait longer: --store 'sqlite:///FILE?timeout=SECONDS'.",
            )
        if "not a database" in reason or "malformed" in reason:
            return InputError(f"{self.name} is not a store of tcprof, or is damaged: {reason}.", "Give another one.")
        if reason.startswith("connection failed"):
            return OutputError(
                f"The store {self.name} cannot be reached: {reason.rstrip('.')}.", "Check that its server is running."
            )
        return OutputError(
            f"The store {self.name} cannot be used: {reason.rstrip('.')}.",
            "The last write was lost; what was added before is intact.",
        )


class NoStoreError(NoRunError):
    """There is no store yet."""


def no_store(name: str) -> NoStoreError:
    """Make the error of a store that is not there."""
    return NoStoreError(f"There is no store {name} yet.", "Add a first run: tcprof history add RECORDING --keep")


def _prepare_file(path: Path, create: bool) -> None:
    """Make the folder of the default store, which version control leaves alone."""
    if path.exists():
        return
    if not create:
        raise no_store(str(path))
    try:
        if path.parent.name == FOLDER and not path.parent.exists():
            path.parent.mkdir(exist_ok=True)
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path.parent} cannot be made: {error.strerror}.", "Name a store with --store.") from error


def _check_locks(path: Path) -> None:
    """Make sure that the file system has locks, without which SQLite waits for its timeout or fails."""
    try:
        import fcntl
    except ImportError:  # on Windows, where SQLite uses others
        return
    try:
        with TemporaryFile(dir=path.parent) as file:  # not in the store itself: closing that ends this process's locks
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise OutputError(
                f"{path.parent} is on a file system without file locks ({error.strerror}), which SQLite needs.",
                "Keep the store on a local disk, or in PostgreSQL: --store postgresql+psycopg://USER@HOST/DATABASE",
            ) from error


def _make_engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args={"connect_timeout": 10})
    waits = {} if "timeout" in url.query else {"timeout": _WAIT_S}
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args=waits)
    # The driver begins a transaction with the first change: by then another process may have changed what was read.
    sa.event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
