"""The paths of ranges: a tree of numbers and names, and a text for each."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from tcprof.arrays import Ints
from tcprof.frames import OPS_DOMAIN, PATHS

SEPARATOR = " / "
LONGEST_PATH = 2_000  # characters of a path's text


def name_paths(ranges: pd.DataFrame, parent: Ints, levels: list[Ints]) -> tuple[Ints, pd.DataFrame]:
    """Number the paths, level by level from the outermost, then in the order in which a tree is read.

    Args:
        ranges: See ``tcprof.frames.NVTX_RANGES``.
        parent: Row of the range that each lies in, -1 for an outermost one.
        levels: The rows at each depth, outermost first.

    Returns:
        The path of each range, as a row of the paths; and these, see ``tcprof.frames.PATHS``.
    """
    names, domains = ranges["name"].cat.codes.to_numpy(np.int64), ranges["domain"].cat.codes.to_numpy(np.int64)
    start = ranges["start_ns"].to_numpy()
    path_id = np.full(len(ranges), -1, dtype=np.int64)
    rows: list[tuple[int, int, int, int, int]] = []  # domain, parent path, name, depth, first start
    for depth, level in enumerate(levels, start=1):
        above = np.where(parent[level] < 0, -1 - domains[level], path_id[parent[level]])
        codes, keys = pd.factorize((above << 32) + names[level])
        first = np.full(len(keys), np.iinfo(np.int64).max)
        np.minimum.at(first, codes, start[level])
        path_id[level] = len(rows) + codes
        for key, begin in zip(keys.tolist(), first.tolist(), strict=True):
            over = key >> 32
            domain = -1 - over if over < 0 else rows[over][0]
            rows.append((domain, max(over, -1), key & 0xFFFFFFFF, depth, begin))
    is_ops = [name == OPS_DOMAIN for name in ranges["domain"].cat.categories]  # these come last
    tree = tree_order([row[1] for row in rows], [(is_ops[row[0]], row[4]) for row in rows])
    number = np.empty(len(rows), dtype=np.int64)
    number[tree] = np.arange(len(rows))
    return number[path_id] if len(rows) else path_id, _paths_frame(ranges, [rows[i] for i in tree], number)


def tree_order(parents: Sequence[int], keys: Sequence[Any]) -> list[int]:
    """The rows of a tree in the order in which it is read: each followed by those in it.

    Args:
        parents: The row that each lies in, -1 for a root.
        keys: What those beside each other are sorted by.
    """
    below: dict[int, list[int]] = {}
    for row, parent in enumerate(parents):
        below.setdefault(parent, []).append(row)
    order: list[int] = []
    stack = sorted(below.get(-1, []), key=keys.__getitem__)[::-1]
    while stack:
        order.append(stack.pop())
        stack.extend(sorted(below.get(order[-1], []), key=keys.__getitem__)[::-1])
    return order


def _paths_frame(ranges: pd.DataFrame, rows: list[tuple[int, int, int, int, int]], number: Ints) -> pd.DataFrame:
    """The frame of paths; the rows name the path above by its old number."""
    all_names, domains = ranges["name"].cat.categories.tolist(), ranges["domain"].cat.categories
    names = [all_names[row[2]] for row in rows]
    parents = [int(number[row[1]]) if row[1] >= 0 else -1 for row in rows]
    depths = [row[3] for row in rows]
    columns = {
        "domain": [domains[row[0]] for row in rows],
        "path": _path_texts(names, parents, depths),
        "name": names,
        "depth": depths,
        "parent_id": parents,
    }
    return PATHS.conform(pd.DataFrame(columns, columns=PATHS.names))


def _path_texts(names: list[str], parents: list[int], depths: list[int]) -> list[str]:
    """The text of each path, parents first.

    Whole texts of paths that lie in each other add up to the square of their depth. So a long one keeps its outermost
    name, its last ones and its own; a checksum of all names stands for the rest, so that no two paths have one text.
    """
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
    kept = hidden > 0 and len(names[outermost]) <= LONGEST_PATH // 4
    first = [names[outermost]] if kept else []
    return SEPARATOR.join([*first, f"… {hidden - len(first)} more, {checksum} …", *last[::-1]])
