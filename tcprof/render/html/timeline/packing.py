"""Arrays of whole numbers in a page: as planes of bytes, compressed, in letters that a script element may hold.

``web/src/timeline/unpack.ts`` undoes it with what browsers have: ``atob``, ``DecompressionStream`` and typed arrays.
"""

import base64
import json
import zlib
from typing import Any

import numpy as np

from tcprof.arrays import Ints

_LEVEL = 6  # higher ones take three times as long for 2 % less


class ArrayStore:
    """Collects arrays; each has a number, by which the header of the packed data refers to it."""

    def __init__(self) -> None:
        self._entries: list[dict[str, int]] = []
        self._planes: list[bytes] = []
        self._size = 0

    def add(self, values: Ints, ascending: bool = False) -> int:
        """Store whole numbers, exactly, and return the number of the array; of ascending ones the small differences.

        Numbers are stored from their smallest on, in as few bytes as they need, and all first bytes come before all
        second bytes: most planes are then nearly constant.
        """
        base = int(values[0] if ascending else values.min()) if len(values) else 0
        offsets = np.diff(values, prepend=values[:1]) if ascending else values - base
        width = max(1, (int(offsets.max(initial=0)).bit_length() + 7) // 8)
        octets = offsets.astype("<u8").view(np.uint8).reshape(len(offsets), 8)
        self._planes += [np.ascontiguousarray(octets[:, place]).tobytes() for place in range(width)]
        entry = {"at": self._size, "length": len(values), "bytes": width, "base": base, "ascending": int(ascending)}
        self._entries.append(entry)
        self._size += width * len(values)
        return len(self._entries) - 1

    def pack(self, header: dict[str, Any]) -> str:
        """Everything as base64: length of the header (4 bytes), the header as JSON, and the arrays' bytes, deflated."""
        text = json.dumps({**header, "arrays": self._entries}, allow_nan=False, ensure_ascii=False)
        head = text.encode("utf-8", errors="replace")
        packer = zlib.compressobj(_LEVEL)
        parts = [packer.compress(part) for part in (len(head).to_bytes(4, "little"), head, *self._planes)]
        return base64.b64encode(b"".join([*parts, packer.flush()])).decode("ascii")
