"""Few enough bars for a page: of too many the longest as they are, and the others merged with their neighbours."""

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import distinct, run_starts
from tcprof.arrays import Ints


def merge_bars(
    bars: pd.DataFrame,
    most: int,
    number: str,
    means: tuple[str, ...] = (),
    sums: tuple[str, ...] = (),
    firsts: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Few enough bars, by start, with ``merged``: how many each stands for.

    A quarter of those that there is space for are the longest ones, each as it is. Between two of them, the bars of a
    row that start within the same short time are merged, those of one number each: such a bar is as long as they are
    together, and those that were merged in one place follow each other. So no bar is left out, and each number keeps
    its time and its count in every window that is long against that short time.

    Args:
        number: The column that says what a bar is an instance of.
        means: Columns of which a merged bar has the mean over the time of the bars where they are known.
        sums: Columns of which it has the sum.
        firsts: Columns of which it has the first value.
    """
    columns = ["start_ns", "end_ns", "row", number, *means, *sums, *firsts]
    if len(bars) <= most:
        return bars[columns].assign(merged=1).sort_values("start_ns", kind="stable", ignore_index=True)
    ordered = bars[columns].sort_values(["row", "start_ns"], kind="stable", ignore_index=True)
    start, row, numbers = (ordered[name].to_numpy() for name in ("start_ns", "row", number))
    longest = np.argsort(start - ordered["end_ns"].to_numpy(), kind="stable")
    alone, span = most // 4, int(np.ptp(start)) + 1
    width = span // max(alone, 1) + 1
    while True:
        kept = np.zeros(len(ordered), dtype=bool)
        kept[longest[:alone]] = True
        first = np.zeros(int(np.count_nonzero(~kept)), dtype=np.int64)
        first[run_starts(row[~kept], np.cumsum(kept)[~kept], (start // width)[~kept])] = 1
        place = np.cumsum(first)
        if alone + _count_pairs(place, numbers[~kept]) <= most or not (alone or width <= span):
            found = _merge(ordered[~kept].assign(place=place), number, means, sums, firsts)
            both = pd.concat([ordered[kept].assign(merged=1), found])
            return both.sort_values("start_ns", kind="stable", ignore_index=True)
        alone, width = alone // 2, 2 * width


def _count_pairs(place: Ints, number: Ints) -> int:
    """How many distinct pairs there are: as many bars as ``_merge`` gives."""
    pairs = place * (int(number.max(initial=0)) + 2) + number + 1  # a number may be -1, for none
    return len(distinct(pairs))


def _merge(
    bars: pd.DataFrame, number: str, means: tuple[str, ...], sums: tuple[str, ...], firsts: tuple[str, ...]
) -> pd.DataFrame:
    """The bars of one place and number as one; those of a place follow each other."""
    length = bars["end_ns"] - bars["start_ns"]
    weighed = {f"{name} time": length.where(bars[name].notna(), 0) for name in means}
    weighed |= {name: (bars[name] * length).fillna(0) for name in means}
    bars = bars.assign(length=length, **weighed, merged=1)
    by = bars.groupby(["place", number], sort=True)
    found = by[["length", *weighed, *sums, "merged"]].sum().join(by[["row", *firsts]].first()).reset_index()
    begin = bars.groupby("place")["start_ns"].min()
    before = found["length"].cumsum() - found["length"]
    start = found["place"].map(begin) + before - before.groupby(found["place"]).transform("first")
    known = {name: found[name] / found[f"{name} time"].where(found[f"{name} time"] > 0) for name in means}
    columns = ["start_ns", "end_ns", "row", number, *means, *sums, *firsts, "merged"]
    return found.assign(start_ns=start, end_ns=start + found["length"], **known)[columns]
