"""Work on large arrays by several threads: numpy and scipy let others run while they compute."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import TypeVar

MOST_THREADS = 4

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def map_in_threads(function: Callable[[_Given], _Made], given: Sequence[_Given]) -> Iterator[_Made]:
    """What a function makes of each value, in their order, whichever is done first: sums are the same to the last bit.

    Args:
        function: Is called for several values at the same time.
        given: The values; one alone needs no thread.
    """
    if len(given) < 2:
        yield from map(function, given)
        return
    with ThreadPoolExecutor(min(cpu_count() or 1, MOST_THREADS)) as pool:
        yield from pool.map(function, given)
