"""Work on large arrays by several threads: numpy and scipy let others run while they compute."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import cpu_count
from typing import Any

MOST_THREADS = 4


@contextmanager
def mapping_of(count: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """``map`` by several threads, whose results come in order: sums of them are the same to the last bit.

    Args:
        count: How many values there are; one alone needs no thread.
    """
    if count < 2:
        yield map
        return
    with ThreadPoolExecutor(min(cpu_count() or 1, MOST_THREADS)) as pool:
        yield pool.map
