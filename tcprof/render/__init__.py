"""Whether tcprof wrote a file: each kind of output has a mark of its own, by which a later one may replace it."""

import gzip
import re
import zlib
from pathlib import Path

PARQUET_KEY = b"tcprof"
_ENOUGH = 4096  # bytes
# The beginnings that the formats have, not the name alone: notes that merely mention tcprof are not its output.
_MARKS = re.compile(
    rb'\A\{\s*"tcprof": ?"|\A\{"displayTimeUnit":"ns","otherData":\{"tcprof":'
    rb'|\A<!doctype html>.*<meta name="generator" content="tcprof '
    rb'|\A<\?xml[^>]*>\s*<testsuites>\s*<testsuite name="tcprof"'
    rb"|\A\x89PNG\r\n\x1a\n.{25}.{4}tEXtSoftware\x00tcprof "
    rb"|Made by tcprof [\w.+-]+\.(?: -->)?\s*\Z",
    re.DOTALL,
)


def is_made_by_tcprof(path: Path) -> bool:
    """Whether tcprof wrote a file; also of one that is empty or absent, so that nothing in it can be lost."""
    from tcprof.frames import SCHEMAS

    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        head = file.read(_ENOUGH)
        file.seek(max(0, path.stat().st_size - _ENOUGH))
        tail = file.read()
    if head.startswith(b"\x1f\x8b"):
        head = _unpack(path)
    columns = head.decode("utf-8", "replace").partition("\n")[0].rstrip("\r").split(",")
    is_marked = _MARKS.search(head) or _MARKS.search(tail)
    return bool(is_marked) or any(columns == schema.names for schema in SCHEMAS) or _has_our_key(path, head)


def is_page_of(path: Path, origin: str) -> bool:
    """Whether a page says that it is about the recording with this number, see ``PageOptions.origin``."""
    with path.open("rb") as file:
        return f'<meta name="tcprof-recording" content="{origin}">'.encode() in file.read(_ENOUGH)


def _unpack(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(_ENOUGH)
    except (OSError, EOFError, zlib.error):
        return b""


def _has_our_key(path: Path, head: bytes) -> bool:
    if not head.startswith(b"PAR1"):
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return PARQUET_KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False
