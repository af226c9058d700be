"""Connections to a store: SQLite or PostgreSQL, one transaction at a time, and errors that its user understands."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    pool,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from tcprof.errors import INSTALL_AGAIN, INSTALL_EXTRA, InputError, NoRunError, OutputError, TcprofError, UsageError

METADATA = MetaData()
_TEXTS = ("added_utc", "recorded_utc", "commit", "commit_utc", "branch", "label", "program", "gpu_name", "config",
          "rank", "driver_version", "cuda_version", "torch_version", "tcprof_version", "file")  # fmt: skip

VERSION = Table("tcprof_version", METADATA, Column("version_num", String(32), primary_key=True))  # its one row
RUN = Table(
    "tcprof_run",
    METADATA,
    Column("run_id", Integer, primary_key=True),
    Column("content", String(64), nullable=False, unique=True),
    Column("marks", LargeBinary, nullable=False),  # see ``tcprof.analysis.observed.take_fingerprint``
    *(Column(name, Text, nullable=False) for name in _TEXTS),
    Column("gpu_count", Integer, nullable=False),
    Column("power_limit_w", Float(53)),
    Column("clock_hz", Float(53)),
    sqlite_autoincrement=True,  # no number is given twice, even after its run was removed
)
MARK = Table(  # the first marks of each run, by which copies of it are found
    "tcprof_mark",
    METADATA,
    Column("mark", BigInteger, primary_key=True, autoincrement=False),
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True),
    sqlite_with_rowid=False,
)
SERIES = Table(
    "tcprof_series",
    METADATA,
    Column("series_id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # hash of all that follows
    *(Column(name, Text, nullable=False) for name in ("metric", "scope", "subject", "unit", "fingerprint")),
    Column("gpu", Integer, nullable=False),
)
POINT = Table(
    "tcprof_point",
    METADATA,
    Column("series_id", ForeignKey(SERIES.c.series_id), primary_key=True),
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True, index=True),
    Column("value", Float(53), nullable=False),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("n", Integer, nullable=False),
    sqlite_with_rowid=False,  # what lies together on the disk are the points of a series
)
BLOB = Table(
    "tcprof_blob",
    METADATA,
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True),
    Column("saved", LargeBinary, nullable=False),
)
ACCEPTED = Table(
    "tcprof_accepted",
    METADATA,
    Column("accepted_id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("commit", "why", "added_utc")),
)


VARIABLE = "TCPROF_STORE"
FOLDER, FILE = ".tcprof", "history.db"
SCHEMA_VERSION = "1"  # of the tables
_LOCK = 0x7463_7072_6F66  # of all that write to a database of PostgreSQL: "tcprof"
_WAIT_S = 60  # for other processes that write
_KINDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}  # what is read for which
_FORMS = "Give sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE."
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO)


def find_url(address: str | None) -> URL:
    """Find the store: the one that is given, that of ``TCPROF_STORE``, or the file of the project."""
    named = address or os.environ.get(VARIABLE, "")
    if not named:
        here = Path.cwd()
        root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
        return URL.create("sqlite", database=str(root / FOLDER / FILE))
    try:
        url = make_url(named)
    except (ArgumentError, ValueError) as error:
        raise UsageError("The store's address is not a URL.", _FORMS) from error
    backend = url.get_backend_name()
    if backend not in _KINDS or (backend == "sqlite" and url.database in (None, "", ":memory:")):
        raise UsageError(f"tcprof cannot use this {backend}:// address as a store.", _FORMS)
    return url.set(drivername=_KINDS[backend])


class StoreDatabase:
    """A store's database, whose tables are there and of this tcprof's form, or are made with ``create``."""

    def __init__(self, url: URL, *, create: bool) -> None:
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
                    connection.execute(insert(VERSION), {VERSION.c.version_num.name: SCHEMA_VERSION})
        elif version != SCHEMA_VERSION:
            raise InputError(
                f"{self.name} is a store of a newer tcprof: its tables have version {version}, but this tcprof "
                f"supports only {SCHEMA_VERSION}.",
                f"Update tcprof: {INSTALL_AGAIN}.",
            )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a connection whose statements see one state of the store."""
        with self._translate_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open the only connection that writes; all of it is done, or nothing."""
        with self._translate_errors(), self._engine.execution_options(writes=True).begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            yield connection

    def _read_version(self, connection: Connection) -> str | None:
        """Return the version of the tables; None where there are none."""
        tables = inspect(connection).get_table_names()  # one statement: another process may be making them
        if VERSION.name in tables:
            version: str | None = connection.scalar(select(VERSION.c.version_num))
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


def _make_engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=pool.NullPool, connect_args={"connect_timeout": 10})
    waits = {} if "timeout" in url.query else {"timeout": _WAIT_S}
    engine = create_engine(url, poolclass=pool.NullPool, connect_args=waits)
    # The driver begins a transaction with the first change: by then another process may have changed what was read.
    event.listen(engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")
