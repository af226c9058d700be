"""Traces of ``torch.profiler`` (Kineto) and JAX (XLA), as files are told apart; ``trace`` reads what is in them."""

import re
import zlib
from pathlib import Path

from tcprof.sources import Source, SourceType

GZIP_MAGIC = b"\x1f\x8b"
_HEAD_BYTES = 1 << 16
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


def _open(path: Path) -> Source:
    from tcprof.sources.kineto.trace import KinetoTrace

    return KinetoTrace(path)


KINETO = SourceType(
    "traces of torch.profiler and JAX (.json, .json.gz)", (".json", ".gz"), (), _recognizes, _open, has_common_name=True
)
