"""Traces of ``torch.profiler`` (Kineto) and JAX (XLA), recognized by their first bytes; ``trace`` reads them."""

import gzip
import re
import zlib
from pathlib import Path

from tcprof.sources import Source, SourceType

GZIP_MAGIC = b"\x1f\x8b"
RANK_MEMBER = "distributedInfo"  # of the trace's outermost object
_HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 22
_OF_GZIP = 31  # what zlib calls it
_BEGINS = re.compile(rb"\s*\{")
# What its first member is called; or a category of its events, where a program put members of its own before them.
_HOLDS = re.compile(
    rb'\{\s*"(?:schemaVersion|deviceProperties|distributedInfo|traceEvents)"|'
    rb'"cat"\s*:\s*"(?:cpu_op|user_annotation|python_function|cuda_runtime|cuda_driver)"|'
    rb'"name"\s*:\s*"/(?:host:CPU|device:\w+:\d+)"'  # what JAX calls processes
)


def _recognizes(path: Path, header: bytes) -> bool:
    is_packed = header.startswith(GZIP_MAGIC)
    if not is_packed and not _BEGINS.match(header):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if is_packed:
            head = zlib.decompressobj(_OF_GZIP).decompress(head, _HEAD_BYTES)
    except (OSError, zlib.error):
        return False
    return _BEGINS.match(head) is not None and _HOLDS.search(head) is not None


def may_know_rank(path: Path) -> bool:
    """Tell whether a trace may say which rank it is of, before or after its events; also where it cannot be read."""
    last = b""
    try:
        with path.open("rb") as plain:
            is_packed = plain.read(len(GZIP_MAGIC)) == GZIP_MAGIC
            plain.seek(0)
            with gzip.open(plain) if is_packed else plain as file:
                while chunk := file.read(_CHUNK_BYTES):
                    if RANK_MEMBER.encode() in last + chunk:
                        return True
                    last = chunk[-len(RANK_MEMBER) :]
    except (OSError, EOFError, zlib.error):
        return True
    return False


def _open(path: Path) -> Source:
    from tcprof.sources.kineto.trace import KinetoTrace

    return KinetoTrace(path)


KINETO = SourceType(
    "traces of torch.profiler and JAX (.json, .json.gz)", (".json", ".gz"), (), _recognizes, _open, has_common_name=True
)
