"""Saved analyses taken apart and put together: for tests that change one."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Parts = dict[str, bytes]
Change = Callable[[bytes], bytes | None]


def read_parts(path: Path) -> Parts:
    with zipfile.ZipFile(path) as archive:
        return {member.filename: archive.read(member) for member in archive.infolist()}


def write_parts(path: Path, parts: Parts, compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, compression)


def change(path: Path, name: str, how: Change, compression: int = zipfile.ZIP_STORED) -> None:
    """Write a saved analysis anew with one of its parts changed, or left out."""
    parts = {each: how(content) if each == name else content for each, content in read_parts(path).items()}
    write_parts(path, {each: content for each, content in parts.items() if content is not None}, compression)


def table_of(content: bytes) -> Any:
    return pq.read_table(io.BytesIO(content))


def bytes_of(table: Any, **options: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


def document(**changes: object) -> Change:
    return lambda content: json.dumps({**json.loads(content), **changes}).encode()


def column(name: str, values: Callable[[list[Any]], list[Any]], kind: Any = None) -> Change:
    """A change of a column, by its values, which keep their type or get another."""

    def changed(content: bytes) -> bytes:
        table = table_of(content)
        place = table.column_names.index(name)
        new = values(table[name].to_pylist())
        return bytes_of(table.set_column(place, name, pa.array(new, kind or table[name].type)))

    return changed


def rows(places: Callable[[int], list[int]]) -> Change:
    """A change of a frame's rows: these in this order."""
    return lambda content: bytes_of(table_of(content).take(pa.array(places(len(table_of(content))), pa.int64())))
