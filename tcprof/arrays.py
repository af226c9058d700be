"""The types of arrays, as every layer declares them; and what keeps large ones small and quick."""

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import cpu_count
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
MOST_THREADS = 4


def broadcast_if_constant(values: Ints) -> Ints:
    """Store numbers that are all one, as of the only GPU, without the memory of many."""
    return np.broadcast_to(values[0], values.shape) if len(values) and (values == values[0]).all() else values


def name_codes(codes: npt.NDArray[Any], names: Sequence[str]) -> pd.Categorical:
    """Replace numbers by the names that they stand for; two numbers may have one name."""
    code_of_name, unique = pd.factorize(np.array(names, dtype=object))
    return pd.Categorical.from_codes(code_of_name[codes], unique)


def find_named(names: pd.Series, is_wanted: Callable[[str], object]) -> Bools:
    """Find the rows with a wanted name, asking once for each name."""
    wanted = np.array([bool(is_wanted(str(text))) for text in names.cat.categories], dtype=bool)
    return np.asarray(np.append(wanted, False)[names.cat.codes])


def union(group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Unite each group's intervals, those that touch too: group, start and end, by group and time."""
    keep = end > start
    group, start, end = group[keep], start[keep], end[keep]
    if not len(start) or ((start[1:] > end[:-1]).all() and (group == group[0]).all()):
        return group, start, end
    in_time = np.all(start[1:] >= start[:-1])  # then sorting by group is enough, and quicker
    order = np.argsort(group, kind="stable") if in_time else np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    # Groups are moved apart on one time line, so that one running maximum serves them all.
    offset = np.cumsum(np.append(0, np.diff(group) != 0)) * (int(end.max()) - int(start.min()) + 1)
    reach = np.maximum.accumulate(end + offset)
    first = np.flatnonzero(np.append(True, start[1:] + offset[1:] > reach[:-1]))
    last = np.append(first[1:], len(start)) - 1
    return group[first], start[first], (reach - offset)[last]


def pick_rows(frame: pd.DataFrame, chosen: Bools) -> pd.DataFrame:
    """Return the chosen rows; those that follow one another, as most rows of a GPU do, share their memory."""
    rows = np.flatnonzero(chosen)
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return frame.iloc[rows[0] : rows[-1] + 1]
    return frame.iloc[rows]


def rows_of_gpu(frame: pd.DataFrame, gpu: int) -> pd.DataFrame:
    """Return the rows of one GPU, see ``pick_rows``."""
    return pick_rows(frame, (frame["gpu"] == gpu).to_numpy())


@contextmanager
def mapping_of(count: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a ``map`` by several threads, whose results come in order: sums are the same to the last bit."""
    if count < 2:
        yield map
        return
    with ThreadPoolExecutor(min(cpu_count() or 1, MOST_THREADS)) as pool:
        yield pool.map


def return_freed_memory() -> None:
    """Give freed memory of several threads, hundreds of megabytes of a large recording, back to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None  # musl has none
    if trim is not None:
        trim(0)
