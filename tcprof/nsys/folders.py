"""Exports that are folders, with a Parquet or Arrow file for each table: rewritten as SQLite, which alone is read."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tcprof.errors import InputError
from tcprof.files import stamp
from tcprof.nsys.report import EXPORT_SUFFIX
from tcprof.parquet import find_unsafe
from tcprof.untrusted import one_line

FOLDER_SUFFIXES = ("_pqtdir", "_arwdir")  # as nsys names them, unless it is given a name
_FILE_SUFFIXES = (".parquet", ".arrow")
_ALWAYS = ("StringIds", "META_DATA_EXPORT")  # tables of every export
_RANDOM_ACCESS = b"ARROW1"  # nsys writes streams; other programs that keep its tables write files with an index
_ROWS_AT_ONCE = 65_536
_AGAIN = "Export the report again: nsys export --type=parquetdir --force-overwrite=true REPORT.nsys-rep"


def is_folder_export(path: Path) -> bool:
    """Tell whether a path is a folder of an export's tables."""
    return any((path / f"{name}{suffix}").is_file() for name in _ALWAYS for suffix in _FILE_SUFFIXES)


def name_export(folder: Path) -> Path:
    """Name the SQLite file of such a folder, which lies in it."""
    base = next((folder.name.removesuffix(suffix) for suffix in FOLDER_SUFFIXES if folder.name.endswith(suffix)), "")
    return folder / f"{base or folder.name}{EXPORT_SUFFIX}"


def list_tables(folder: Path) -> list[Path]:
    """List the files of an export's tables, all of the format that the first of the tables it always has is in."""
    suffix = next(end for end in _FILE_SUFFIXES for name in _ALWAYS if (folder / f"{name}{end}").is_file())
    return sorted(path for path in folder.iterdir() if path.suffix == suffix and path.is_file())


def write_sqlite(folder: Path, target: Path) -> None:
    """Write the tables of a folder into a new SQLite file as they are; InputError where one is damaged or changed."""
    import pyarrow as pa

    files = list_tables(folder)
    before = {path: stamp(path) for path in files}
    with closing(sqlite3.connect(target)) as connection, connection:
        for path in files:
            try:
                _write_table(connection, path)
            except (pa.ArrowException, OSError, sqlite3.DataError, sqlite3.ProgrammingError, ValueError) as error:
                raise _damaged(path, str(error)) from error
    if {path: stamp(path) for path in list_tables(folder)} != before:
        raise InputError(f"{folder} was written while it was read.", "Wait until it is complete, or give a copy of it.")


def _write_table(connection: sqlite3.Connection, path: Path) -> None:
    import sqlalchemy as sa  # here, since recognizing a folder needs none of it
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateTable

    with _open(path) as (kinds, batches):
        if not kinds.names or len({name.lower() for name in kinds.names}) < len(kinds.names):
            raise _damaged(path, "its columns do not have distinct names")
        # Neither is declared to hold numbers or text, so that SQLite converts nothing.
        columns = {field.name: sa.Column(field.name, sa.LargeBinary) for field in kinds}
        table = sa.Table(path.stem, sa.MetaData(), *columns.values())
        # Text comes as bytes, which need not be UTF-8.
        given = {
            field.name: sa.cast(sa.bindparam(field.name), sa.Text)
            if _is_text(getattr(field.type, "value_type", field.type))
            else sa.bindparam(field.name)
            for field in kinds
        }
        create, insert = (
            str(statement.compile(dialect=sqlite.dialect()))
            for statement in (CreateTable(table), table.insert().values(given))
        )
        connection.execute(create)
        for batch in batches:
            rows = zip(*(_plain(column).to_pylist() for column in batch.columns), strict=True)
            connection.executemany(insert, rows)


@contextmanager
def _open(path: Path) -> Iterator[tuple[Any, Iterable[Any]]]:
    """Open a table's file: the schema of its columns, and its rows in batches."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = path.stat().st_size
    if path.suffix == _FILE_SUFFIXES[0]:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            if wrong := find_unsafe(file, size):
                raise _damaged(path, wrong)
            yield file.schema_arrow, file.iter_batches(_ROWS_AT_ONCE, use_threads=False)
        return
    with pa.memory_map(str(path)) as source:
        if source.read(len(_RANDOM_ACCESS)) == _RANDOM_ACCESS:
            file = pa.ipc.open_file(source)
            yield (
                file.schema,
                (_checked(file.get_batch(number), path, size) for number in range(file.num_record_batches)),
            )
            return
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        yield stream.schema, (_checked(batch, path, size) for batch in stream)


def _checked(batch: Any, path: Path, size: int) -> Any:
    batch.validate(full=True)
    if batch.num_rows > size:
        raise _damaged(path, "it has more rows than the file has space for")
    return batch


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _plain(column: Any) -> Any:
    """Turn a column into integers, floats or bytes, as SQLite has them; of other kinds nothing is known."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.int64(), safe=False)  # what exceeds it is counted as out of range by whoever reads it
    if _is_text(column.type) or pa.types.is_binary(column.type):
        return column.cast(pa.large_binary())
    return column if pa.types.is_float64(column.type) else pa.nulls(len(column))


def _damaged(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be read: {one_line(why, 200).rstrip('.')}.", _AGAIN)
