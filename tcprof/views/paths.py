"""Rows of paths, in the order in which a tree is read, and figures that have a share or an interval beside them."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.untrusted import one_line
from tcprof.views.tables import Cell, Row

MOST_ROWS = 1000  # of a document's tables of one kind together
WHOLE_CAPTURE = "whole capture"
LEFT_OUT = "more paths are not in this table: those with the least time. 'tcprof {command}' lists all of them."
LONGEST_NAME = 600  # characters: no real one is longer; JSON and CSV have those of hostile recordings whole, too
_SHORT_NAME, _LONGEST_PATH = 160, 300


def path_rows(rows: pd.DataFrame, cells: Sequence[tuple[Cell, ...]], tags: Sequence[str] = ()) -> tuple[Row, ...]:
    """Rows of paths of one GPU: ``domain``, ``path``, ``depth``, and ``name`` where one may hold the separator."""
    names = rows["name"] if "name" in rows else [path.rpartition(SEPARATOR)[2] for path in rows["path"]]
    places = list(zip(rows["domain"], rows["path"], names, rows["depth"], strict=True))
    nested = _are_nested(rows, places)
    found = []
    for (domain, path, name, depth), is_nested, of_row, tag in zip(
        places, nested, cells, tags or [""] * len(places), strict=True
    ):
        before = path[: len(path) - len(name)] if path.endswith(name) else ""
        above = before.removesuffix(SEPARATOR)
        own = (shorten(name, above.rpartition(SEPARATOR)[2]) if is_nested else name) if path else WHOLE_CAPTURE
        around = above if is_nested else without_repeats(path).removesuffix(name).removesuffix(SEPARATOR)
        found.append(
            Row(
                name=one_line(own, LONGEST_NAME),
                short=one_line(own, _SHORT_NAME),
                cells=of_row,
                depth=int(depth),
                ancestors=f"{one_line(around, _LONGEST_PATH)}{SEPARATOR}" if around else "",
                domain=one_line(domain),
                nested=is_nested,
                tag=tag,
            )
        )
    return tuple(found)


def shorten(name: str, around: str) -> str:
    """A name without what it repeats of the range that it lies in: below ``Llama.model`` it is ``.layers.0``."""
    return name.removeprefix(around) if name.startswith(f"{around}.") else name


def without_repeats(path: str) -> str:
    """A path without names that the next one begins with: in ``forward / Llama / Llama.model`` the ``Llama``."""
    names = path.split(SEPARATOR)
    told = [outer for outer, inner in pairwise(names) if not inner.startswith(f"{outer}.")]
    return SEPARATOR.join([*told, names[-1]])


def _are_nested(rows: pd.DataFrame, places: list[tuple[str, str, str, int]]) -> list[bool]:
    """Whether the row that each lies in is among them: by its number where rows have it, else by its text."""
    if "parent_id" in rows:
        listed = set(rows["path_id"].tolist())
        return [parent >= 0 and parent in listed for parent in rows["parent_id"].tolist()]
    shown = {(domain, path) for domain, path, _, _ in places}
    above = (path.removesuffix(name).removesuffix(SEPARATOR) for _, path, name, _ in places)
    return [bool(around) and (place[0], around) in shown for place, around in zip(places, above, strict=True)]


def keep_largest(rows: pd.DataFrame, size: "pd.Series[float]", most: int) -> pd.DataFrame:
    """At most so many rows, in their order: the capture's, and the largest, each with all that it lies in.

    Args:
        rows: Has ``path_id`` and ``parent_id``; of one GPU.
        size: By what rows are chosen; unknown is the smallest.
    """
    if len(rows) <= most:
        return rows
    place = {path: number for number, path in enumerate(rows["path_id"].tolist())}
    parent = [place.get(path, -1) if path >= 0 else -1 for path in rows["parent_id"].tolist()]
    rank = size.fillna(-1).astype(float).where(rows["depth"] > 0, math.inf).to_numpy()
    kept: set[int] = set()
    for number in np.argsort(-rank, kind="stable").tolist():
        chain: list[int] = []
        while number >= 0 and number not in kept and len(kept) + len(chain) < most:
            chain.append(number)
            number = parent[number]
        if number < 0 or number in kept:  # with all that it lies in
            kept.update(chain)
        if len(kept) == most:
            break
    return rows.iloc[sorted(kept)]


def keep_longest(rows: pd.DataFrame, length: "pd.Series[float]", most: int) -> pd.DataFrame:
    """At most so many rows, in their order: the capture's, and those that took longest; outer ranges win a tie."""
    if len(rows) <= most:
        return rows
    rank = length.fillna(0).astype(float).where(rows["path"] != "", math.inf)
    return rows.loc[rank.sort_values(ascending=False, kind="stable").index[:most]].sort_index()
