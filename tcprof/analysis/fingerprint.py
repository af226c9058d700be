"""What tells whether two files hold one recording: when its work began and ended, which every copy keeps.

Names and bytes differ: of a redacted copy, of an export by another version of nsys, or of a part of the time.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Marks: TypeAlias = npt.NDArray[np.uint64]

KEPT = 256  # numbers; two runs have none in common
_SPARE = 4  # times as many are looked at: pieces of work that began and ended together have the same
_AT_ONCE = 1 << 20
_MOST = 0.5  # of what the smaller one did
_MIXERS = tuple(np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFT = np.uint64(31)


def take_fingerprint(work: pd.DataFrame) -> Marks:
    """The smallest of numbers that are made of the ``start_ns`` and ``end_ns`` of each piece of work, ascending."""
    found = np.empty(0, dtype=np.uint64)
    for low in range(0, len(work), _AT_ONCE):
        start, end = (work[name].to_numpy()[low : low + _AT_ONCE].astype(np.uint64) for name in ("start_ns", "end_ns"))
        mixed = start * _MIXERS[0] + end
        for mixer in _MIXERS[1:]:  # after these, which are the smallest is as good as drawn by lot
            mixed ^= mixed >> _SHIFT
            mixed *= mixer
        most = min(_SPARE * KEPT, len(mixed)) - 1
        found = np.unique(np.append(found, np.partition(mixed, most)[: most + 1]))[:KEPT]
    return found


def is_same_recording(one: Marks, other: Marks) -> bool:
    """Whether most of the work of one is work of the other, by their fingerprints.

    Up to the smaller of their largest numbers, both have all that there are of their work.
    """
    last = min((each[-1] for each in (one, other) if len(each) >= KEPT), default=None)
    first, second = (each if last is None else each[each <= last] for each in (one, other))
    fewer = min(len(first), len(second))
    return fewer > 0 and len(np.intersect1d(first, second)) > _MOST * fewer
