"""What tables and the address of a page call ranges, kernels and modules; rows of paths, in the order of their tree."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from urllib.parse import quote

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.folding import shorten
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.untrusted import one_line
from tcprof.views.tables import Cell, Row

MOST_ROWS = 1000  # of a document's tables of one kind together
WHOLE_CAPTURE = "whole capture"
LEFT_OUT = "more not shown: tcprof {command}"  # below a table, behind their number
LONGEST_NAME = 600  # characters: no real one is longer; JSON and CSV have those of hostile recordings whole, too
_SHORT_NAME, _LONGEST_PATH = 160, 300


def path_rows(rows: pd.DataFrame, cells: Sequence[tuple[Cell, ...]], tags: Sequence[str] = ()) -> tuple[Row, ...]:
    """Make rows of paths of one GPU: ``domain``, ``path``, ``depth``, and ``name`` where one may hold the separator."""
    names = rows["name"] if "name" in rows else [path.rpartition(SEPARATOR)[2] for path in rows["path"]]
    places = list(zip(rows["domain"], rows["path"], names, rows["depth"], strict=True))
    nested = _are_nested(rows, places)
    labels = rows["label"].tolist() if "label" in rows else [""] * len(places)
    counts = rows["alike_count"].tolist() if "label" in rows else [1] * len(places)
    listed = []
    for (domain, path, name, depth), is_nested, of_row, tag, label, count in zip(
        places, nested, cells, tags or [""] * len(places), labels, counts, strict=True
    ):
        before = path[: len(path) - len(name)] if path.endswith(name) else ""
        above = before.removesuffix(SEPARATOR)
        text = (shorten(name, above.rpartition(SEPARATOR)[2]) if is_nested else name) if path else WHOLE_CAPTURE
        text = f"{label} ({units.format_count(count)} alike)" if count > 1 else text
        around = above if is_nested else without_repeats(path).removesuffix(name).removesuffix(SEPARATOR)
        listed.append(
            Row(
                name=one_line(text, LONGEST_NAME),
                short=one_line(text, _SHORT_NAME),
                cells=of_row,
                depth=int(depth),
                ancestors=f"{one_line(around, _LONGEST_PATH)}{SEPARATOR}" if around else "",
                domain=one_line(domain),
                nested=is_nested,
                tag=tag,
            )
        )
    return tuple(listed)


def without_repeats(path: str) -> str:
    """Drop names that the next one begins with: of ``forward / Llama / Llama.model`` the ``Llama``."""
    names = path.split(SEPARATOR)
    outer_names = [outer for outer, inner in pairwise(names) if not inner.startswith(f"{outer}.")]
    return SEPARATOR.join([*outer_names, names[-1]])


def _are_nested(rows: pd.DataFrame, places: list[tuple[str, str, str, int]]) -> list[bool]:
    """Tell for each row whether the one that it lies in is there: by its number if known, else by its text."""
    if "parent_id" in rows:
        listed = set(rows["path_id"].tolist())
        return [parent >= 0 and parent in listed for parent in rows["parent_id"].tolist()]
    listed = {(domain, path) for domain, path, _, _ in places}
    above = (path.removesuffix(name).removesuffix(SEPARATOR) for _, path, name, _ in places)
    return [bool(around) and (place[0], around) in listed for place, around in zip(places, above, strict=True)]


def keep_largest(rows: pd.DataFrame, size: "pd.Series[float]", most: int) -> pd.DataFrame:
    """Keep ``most`` rows of a GPU, in their order: the capture's, and the largest by ``size`` with all around them."""
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


_LONGEST = 120
_KEPT = "/,:"  # letters that are read well in an address


def range_names(paths: "pd.DataFrame") -> list[str]:
    """Name each of a recording's paths, see ``tcprof.frames.PATHS``."""
    return _distinct(paths["path"], paths["domain"])


def kernel_names(kernels: "pd.DataFrame") -> list[str]:
    """Name each kernel, see ``tcprof.frames.KERNELS``, the same on each GPU."""
    from tcprof.analysis.kernels.names import short_name  # with pandas, which the command line's help needs not

    names: list[str] = []
    short = kernels["name"].map(short_name)
    for _, gpu_rows in kernels.groupby("gpu", sort=False):
        names += _distinct((short[gpu_rows.index] + " " + gpu_rows["launch_geometry"]).str.strip(), gpu_rows["name"])
    return names


def module_names(modules: "pd.DataFrame") -> list[str]:
    """Name each row's module, see ``tcprof.frames.MODULES``; the phases of a module share one name."""
    paths = modules["module"].unique().tolist()
    name_of = dict(zip(paths, _distinct(paths, paths), strict=True))
    return [name_of[path] for path in modules["module"]]


def link(kind: str, name: str, gpu: int = 0) -> str:
    """Write the part of an address, behind ``#``, that selects something."""
    return f"{kind}={quote(name, safe=_KEPT)}{f'&gpu={gpu}' if gpu else ''}"


def _distinct(names: Iterable[str], wholes: Iterable[str]) -> list[str]:
    """Cut names to short lines; one that was cut, or that several have, ends in a mark of the whole."""
    full = list(zip(names, wholes, strict=True))
    lines = [one_line(name, _LONGEST) for name, _ in full]
    count = Counter(lines)
    return [
        line if line == name and count[line] == 1 else f"{line}~{_mark(f'{name} {other}')}"
        for line, (name, other) in zip(lines, full, strict=True)
    ]


def _mark(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
