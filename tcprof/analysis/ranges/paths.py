"""The paths of ranges: a tree of numbers and names, and a text for each."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.annotate.steps import DOMAIN
from tcprof.arrays import Bools, Ints
from tcprof.frames import OPS_DOMAIN, PATHS

Texts = npt.NDArray[np.object_]

SEPARATOR = " / "
LONGEST_PATH = 2_000  # characters of a path's text
MOST_PATHS = 10_000  # with names of their own: tables, comparisons and pages take some 50 kB for each
OTHERS = "(other names)"
_OF_TCPROF = (DOMAIN, OPS_DOMAIN)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\b(?=[a-fA-F-]*\d)[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b|\d+")


def name_paths(ranges: pd.DataFrame, parent: Ints, levels: list[Ints]) -> tuple[Ints, pd.DataFrame, int]:
    """Number the paths, level by level from the outermost, then in the order in which a tree is read.

    A program that gives each request a name of its own has as many paths as ranges. Of more than ``MOST_PATHS`` those
    are one whose names differ in numbers only; if they are still too many, those that last longest are kept, and the
    others are ``OTHERS``. Names of modules and ops stay as they are.

    Returns:
        The path of each range, as a row of the paths; these; and how many there would be by all names.
    """
    names, texts = ranges["name"].cat.codes.to_numpy(np.int64), ranges["name"].cat.categories.to_numpy(object)
    path_id, rows = _number_paths(ranges, names, parent, levels)
    count = len(rows)
    if count > MOST_PATHS:
        names, texts = _without_numbers(ranges, names, texts)
        path_id, rows = _number_paths(ranges, names, parent, levels)
    if len(rows) > MOST_PATHS:
        path_id, rows = _number_paths(ranges, names, parent, levels, others=len(texts) - 1)
    is_ops = [name == OPS_DOMAIN for name in ranges["domain"].cat.categories]  # these come last
    keys = list(zip((is_ops[domain] for domain in rows["domain"]), rows["start_ns"].tolist(), strict=True))
    tree = tree_order(rows["parent_id"].tolist(), keys)
    number = np.empty(len(rows), dtype=np.int64)
    number[tree] = np.arange(len(rows))
    paths = _paths_frame(rows.iloc[tree], texts, ranges["domain"].cat.categories, number)
    return number[path_id] if len(rows) else path_id, paths, count


def _number_paths(
    ranges: pd.DataFrame, names: Ints, parent: Ints, levels: list[Ints], others: int | None = None
) -> tuple[Ints, pd.DataFrame]:
    """The path of each range; and of each path its domain, the path above, its name, its depth and its first start."""
    domains, start = ranges["domain"].cat.codes.to_numpy(np.int64), ranges["start_ns"].to_numpy()
    path_id = np.full(len(ranges), -1, dtype=np.int64)
    parts = []
    count = 0
    for depth, level in enumerate(levels, start=1):
        above = np.where(parent[level] < 0, -1 - domains[level], path_id[parent[level]])
        codes, keys = pd.factorize((above << 32) + names[level])
        most = max((MOST_PATHS - count) // 2, 1)
        if others is not None and len(keys) > most:
            name = np.where(_are_rare(ranges, level, codes, most), others, names[level])
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
    """Which ranges of a level are of paths other than those that last longest in total; those of tcprof never are."""
    rows = ranges.iloc[level]
    lasted = np.bincount(codes, (rows["end_ns"] - rows["start_ns"]).to_numpy())
    is_long = np.zeros(len(lasted), dtype=bool)
    is_long[np.argsort(-lasted, kind="stable")[:most]] = True
    is_rare: Bools = ~is_long[codes] & ~rows["domain"].isin(_OF_TCPROF).to_numpy()
    return is_rare


def _without_numbers(ranges: pd.DataFrame, names: Ints, texts: Texts) -> tuple[Ints, Texts]:
    """Names with ``#`` for each number, but for those of modules and ops; the last text is that of all others."""
    without, numbered = pd.factorize(np.array([_NUMBER.sub("#", text) for text in texts], dtype=object))
    is_kept = ranges["domain"].isin(_OF_TCPROF).to_numpy()
    return np.where(is_kept, names, len(texts) + without[names]), np.array([*texts, *numbered, OTHERS], dtype=object)


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


def _paths_frame(rows: pd.DataFrame, texts: Texts, domains: pd.Index, number: Ints) -> pd.DataFrame:
    """The frame of paths; the rows name the path above by its old number."""
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
    """The text of each path, parents first."""
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
