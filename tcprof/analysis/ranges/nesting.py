"""Nesting of the ranges of a thread, open ranges at a time, and their paths.

A range lies in the innermost one that encloses the whole of it. A start/end range may *cross* push/pop ranges: begin in
one and end in another. Then it lies in neither; and where both are open, other ranges lie in the push/pop range. So a
step keeps its ranges, whatever is being prefetched meanwhile.
"""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import OpenIntervals, index_in_runs
from tcprof.annotate.steps import BACKWARD, DOMAIN, FORWARD, NAMES, RECOMPUTE
from tcprof.arrays import Bools, Ints
from tcprof.frames import OPS_DOMAIN, PATHS

Texts = npt.NDArray[np.object_]
SEPARATOR = " / "
LONGEST_PATH = 2_000  # characters of a path's text
MOST_PATHS = 10_000  # with names of their own: tables, comparisons and pages take some 50 kB for each
OTHER = "(other names)"
_OF_TCPROF = (DOMAIN, OPS_DOMAIN)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\b(?=[a-fA-F-]*\d)[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b|\d+")
_NUMBERED_STEP = re.compile(r"((?:.*[\W_])?(?:step|iter|iteration))[\W_]*\d+", re.IGNORECASE)
_FEWEST_NUMBERS = 5  # in the names of steps: fewer may be stages, which have numbers, too


class Nesting:
    """The nesting of ranges on their lanes, which are threads and domains; in the order of ``OpenIntervals.order``."""

    def __init__(self, lane: Ints, start: Ints, end: Ints, start_end: Bools) -> None:
        self._lane, self._start, self._end = lane, start, end
        self._start_end = np.flatnonzero(start_end)
        # An interval that ends where it starts is never found. So start/end ranges have two: an empty one that keeps
        # their place in the order, and what is left of them where a push/pop range that they cross is not open.
        empty = np.where(start_end, start, end)
        left_start, left_end = self._uncrossed(OpenIntervals(lane, start, empty))
        every = np.append(np.arange(len(lane)), self._start_end)
        starts, ends = np.append(start, left_start), np.append(end, left_end)
        order = np.lexsort((np.arange(len(every)) >= len(lane), every, -ends, starts, lane[every]))
        self._row = every[order]
        self._place = np.empty(len(every), dtype=np.int64)
        self._place[order] = np.arange(len(every))
        self._open = OpenIntervals(lane[self._row], starts[order], np.append(empty, left_end)[order])

    def _uncrossed(self, stack: OpenIntervals) -> tuple[Ints, Ints]:
        """Cut start/end ranges by the push/pop ranges that they cross; returns starts and ends."""
        row = self._start_end
        start, end = self._start[row], self._end[row]
        first = stack.reaching(row, start)
        before = _climb(first, lambda p, i: stack.reaching(p, start[i]), lambda p, i: self._end[p] < end[i])
        first = stack.at(self._lane[row], end - 1, until=end)
        after = _climb(first, lambda p, i: stack.reaching(p, end[i]), lambda p, i: self._start[p] > start[i])
        low = np.where(before >= 0, self._end[before], start)
        high = np.where(after >= 0, self._start[after], end)
        return low, np.maximum(low, high)

    def parents(self) -> Ints:
        """Find for each range the row of the innermost one that it lies in, -1 for an outermost one."""
        last = np.maximum(self._end - 1, self._start)
        return self._rows(self._open.reaching(self._place[: len(last)], last))

    def at(self, lane: Ints, time: Ints) -> Ints:
        """Find the innermost open range of a lane at a time, -1 for none; of two that cross, the push/pop one."""
        return self._rows(self._open.at(lane, time))

    def _rows(self, index: Ints) -> Ints:
        return np.where(index >= 0, np.append(self._row, -1)[index], -1)

    def start_end_at(self, path: Ints, lane: Ints, time: Ints) -> tuple[Ints, Ints]:
        """Pair queries with rows of start/end ranges open then; of several of one path the last to begin."""
        of_lane, low, high, row = self._segments(path)
        if not len(row) or not len(time):
            return row[:0], row[:0]
        origin = min(int(low.min()), int(time.min()))
        span = max(int(high.max()), int(time.max())) - origin + 1  # lanes are moved apart on one time line
        key = lane * span + (time - origin)
        order = np.argsort(key, kind="stable")
        first, last = (np.searchsorted(key[order], of_lane * span + (times - origin)) for times in (low, high))
        count = last - first
        index = index_in_runs(count) + np.repeat(first, count)
        return order[index], np.repeat(row, count)

    def _segments(self, path: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Cut the start/end ranges of each lane and path so that one of them holds at a time: the last to begin."""
        key = self._lane[self._start_end] * (int(path.max(initial=0)) + 1) + path[self._start_end]
        order = np.argsort(key, kind="stable")
        rows, key = self._start_end[order], key[order]
        start, end = self._start[rows], self._end[rows]
        border_key, border = np.tile(key, 2), np.append(start, end)
        order = np.lexsort((border, border_key))
        border_key, border = border_key[order], border[order]
        index = OpenIntervals(key, start, end).at(border_key[:-1], border[:-1])
        is_open = np.flatnonzero((index >= 0) & (border[1:] > border[:-1]) & (border_key[1:] == border_key[:-1]))
        row = rows[index[is_open]]
        return self._lane[row], border[is_open], border[is_open + 1], row


def _climb(row: Ints, around: Callable[[Ints, Ints], Ints], holds: Callable[[Ints, Ints], Bools]) -> Ints:
    """Climb from the innermost of nested rows to the last one for which a condition holds; -1 for none."""
    outermost = np.full(len(row), -1, dtype=np.int64)
    index = np.flatnonzero(row >= 0)
    row = row[index]
    while len(index):
        is_held = holds(row, index)
        index, row = index[is_held], row[is_held]
        outermost[index] = row
        row = around(row, index)
        index, row = index[row >= 0], row[row >= 0]
    return outermost


def find_enclosing_ranges(parent: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """Find the range around each, on its own thread or on one that it works for; -1 for none.

    Recomputations on threads of autograd lie in the backward pass. A replica that DataParallel calls lies beside the
    call of its module, whose name it has: both are in the forward pass. ``parent`` is of their own threads.
    """
    outermost = (ranges["domain"] == DOMAIN).to_numpy() & (parent < 0)
    name = ranges["name"]
    code = name.cat.codes.to_numpy()
    again = np.flatnonzero(outermost & (name == RECOMPUTE).to_numpy())
    backward = np.full(len(again), name.cat.categories.get_indexer([BACKWARD])[0])
    home = parent.copy()
    home[again] = _find_open(BACKWARD, again, backward, ranges, lane, nesting)
    called = np.flatnonzero(outermost & ~name.isin(NAMES).to_numpy() & ~ranges["start_end"].to_numpy())
    home[called] = np.append(parent, -1)[_find_open(FORWARD, called, code[called], ranges, lane, nesting)]
    return home


def _find_open(phase: str, rows: Ints, sought: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """Find for each range the one of a name open on another lane of its process; -1 for none, or for several."""
    process, start = (ranges[column].to_numpy() for column in ("process", "start_ns"))
    code = ranges["name"].cat.codes.to_numpy()
    count, open_row = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    has_phase = ((ranges["domain"] == DOMAIN) & (ranges["name"] == phase)).to_numpy()
    for other in np.unique(lane[has_phase]) if len(rows) else ():
        around = nesting.at(np.full(len(rows), other), start[rows])
        is_open = (lane[rows] != other) & (around >= 0) & (code[around] == sought) & (process[around] == process[rows])
        count += is_open
        open_row = np.where(is_open, around, open_row)
    return np.where(count == 1, open_row, -1)


def name_paths(ranges: pd.DataFrame, parent: Ints, levels: list[Ints]) -> tuple[Ints, pd.DataFrame, int]:
    """Name paths: the path of each range, as a row of the paths in tree order; these; and their number by all names.

    Steps are named without their number, such as iteration of iteration12. A program that names each request
    differently has as many paths as ranges. Beyond ``MOST_PATHS``, names that differ only in numbers share a path; if
    that is not enough, those that last longest stay, and the others are ``OTHER``.
    Names of modules and ops stay.
    """
    codes, texts = _name_steps(ranges["name"].cat.categories.to_numpy(object))
    names = codes[ranges["name"].cat.codes.to_numpy(np.int64)]
    path_id, rows = _number_paths(ranges, names, parent, levels)
    count = len(rows)
    if count > MOST_PATHS:
        names, texts = _without_numbers(ranges, names, texts)
        path_id, rows = _number_paths(ranges, names, parent, levels)
    if len(rows) > MOST_PATHS:
        path_id, rows = _number_paths(ranges, names, parent, levels, other_name=len(texts) - 1)
    is_ops = [name == OPS_DOMAIN for name in ranges["domain"].cat.categories]  # these come last
    keys = list(zip((is_ops[domain] for domain in rows["domain"]), rows["start_ns"].tolist(), strict=True))
    tree = tree_order(rows["parent_id"].tolist(), keys)
    number = np.empty(len(rows), dtype=np.int64)
    number[tree] = np.arange(len(rows))
    paths = _paths_frame(rows.iloc[tree], texts, ranges["domain"].cat.categories, number)
    return number[path_id] if len(rows) else path_id, paths, count


def _name_steps(texts: Texts) -> tuple[Ints, Texts]:
    """Name what texts stand for, each as a row of these names: steps that are called by their numbers are one."""
    matches = [_NUMBERED_STEP.fullmatch(text) for text in texts]
    names = np.array([match[1] if match else text for match, text in zip(matches, texts, strict=True)], dtype=object)
    codes, _ = pd.factorize(names)
    are_few = np.bincount(codes)[codes] < _FEWEST_NUMBERS
    rows, unique = pd.factorize(np.where(are_few, texts, names))
    return rows, unique


def _number_paths(
    ranges: pd.DataFrame, names: Ints, parent: Ints, levels: list[Ints], other_name: int | None = None
) -> tuple[Ints, pd.DataFrame]:
    """Number the path of each range; list of each path domain, path above, name, depth and first start."""
    domains, start = ranges["domain"].cat.codes.to_numpy(np.int64), ranges["start_ns"].to_numpy()
    path_id = np.full(len(ranges), -1, dtype=np.int64)
    parts = []
    count = 0
    for depth, level in enumerate(levels, start=1):
        above = np.where(parent[level] < 0, -1 - domains[level], path_id[parent[level]])
        codes, keys = pd.factorize((above << 32) + names[level])
        most = max((MOST_PATHS - count) // 2, 1)
        if other_name is not None and len(keys) > most:
            name = np.where(_are_rare(ranges, level, codes, most), other_name, names[level])
            codes, keys = pd.factorize((above << 32) + name)
        first = np.full(len(keys), np.iinfo(np.int64).max)
        np.minimum.at(first, codes, start[level])
        path_id[level] = count + codes
        one = np.empty(len(keys), dtype=np.int64)
        one[codes] = domains[level]
        columns = {"domain": one, "parent_id": np.maximum(keys >> 32, -1), "name": keys & 0xFFFFFFFF, "depth": depth}
        parts.append(pd.DataFrame({**columns, "start_ns": first}))
        count += len(keys)
    empty = pd.DataFrame(columns=["domain", "parent_id", "name", "depth", "start_ns"], dtype=np.int64)
    return path_id, pd.concat(parts, ignore_index=True) if parts else empty


def _are_rare(ranges: pd.DataFrame, level: Ints, codes: Ints, most: int) -> Bools:
    """Find the ranges of a level beyond the longest paths in total; those of tcprof never are."""
    rows = ranges.iloc[level]
    lasted = np.bincount(codes, (rows["end_ns"] - rows["start_ns"]).to_numpy())
    is_long = np.zeros(len(lasted), dtype=bool)
    is_long[np.argsort(-lasted, kind="stable")[:most]] = True
    return np.asarray(~is_long[codes] & ~rows["domain"].isin(_OF_TCPROF).to_numpy())


def _without_numbers(ranges: pd.DataFrame, names: Ints, texts: Texts) -> tuple[Ints, Texts]:
    """Replace each number in names by ``#``, but for modules and ops; the last text is that of all others."""
    without, numbered = pd.factorize(np.array([_NUMBER.sub("#", text) for text in texts], dtype=object))
    is_kept = ranges["domain"].isin(_OF_TCPROF).to_numpy()
    return np.where(is_kept, names, len(texts) + without[names]), np.array([*texts, *numbered, OTHER], dtype=object)


def tree_order(parents: Sequence[int], keys: Sequence[Any]) -> list[int]:
    """Order the rows of a tree by ``parents``, -1 for none, as it is read; siblings in order of keys."""
    below: dict[int, list[int]] = {}
    for row, parent in enumerate(parents):
        below.setdefault(parent, []).append(row)
    order: list[int] = []
    stack = sorted(below.get(-1, []), key=keys.__getitem__)[::-1]
    while stack:
        order.append(stack.pop())
        stack.extend(sorted(below.get(order[-1], []), key=keys.__getitem__)[::-1])
    return order


def _paths_frame(rows: pd.DataFrame, texts: Texts, domains: pd.Index, number: Ints) -> pd.DataFrame:
    above = rows["parent_id"].to_numpy(np.int64)
    names = texts[rows["name"].to_numpy(np.int64)].tolist()
    parents = np.where(above >= 0, number[above], -1).tolist() if len(rows) else []
    depths = rows["depth"].tolist()
    columns = {
        "domain": domains[rows["domain"].to_numpy(np.int64)],
        "path": _path_texts(names, parents, depths),
        "name": names,
        "depth": depths,
        "parent_id": parents,
    }
    return PATHS.conform(pd.DataFrame(columns, columns=PATHS.names))


def _path_texts(names: list[str], parents: list[int], depths: list[int]) -> list[str]:
    texts: list[str] = []
    checksums: dict[int, str] = {}  # of long paths
    outermost: list[int] = []
    for path, (name, parent) in enumerate(zip(names, parents, strict=True)):
        outermost.append(outermost[parent] if parent >= 0 else path)
        text = f"{texts[parent]}{SEPARATOR}{name}" if parent >= 0 else name
        if parent >= 0 and (parent in checksums or len(text) > LONGEST_PATH):
            whole = f"{checksums.get(parent, texts[parent])}{SEPARATOR}{name}"
            checksums[path] = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            text = _shorten(names, parents, depths, outermost[path], path, checksums[path])
        texts.append(text)
    return texts


def _shorten(names: list[str], parents: list[int], depths: list[int], outermost: int, path: int, checksum: str) -> str:
    last, length, around = [names[path]], len(names[path]), parents[path]
    while around >= 0 and length + len(names[around]) <= LONGEST_PATH // 2:
        last.append(names[around])
        length += len(names[around]) + len(SEPARATOR)
        around = parents[around]
    hidden = depths[around] if around >= 0 else 0
    has_first = hidden > 0 and len(names[outermost]) <= LONGEST_PATH // 4
    first = [names[outermost]] if has_first else []
    return SEPARATOR.join([*first, f"… {hidden - len(first)} more, {checksum} …", *last[::-1]])
