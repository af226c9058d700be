"""Fold alike ranges: ``layers.0–3`` in place of four rows and their contents."""

import numpy as np
import pandas as pd

from tcprof.analysis.modules.tree import ALL, number_alike
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL

_SUMMED = ("_ns", "_count", "_s", "_cycles", "_flop", "_bytes")
_END = "\0"  # of a domain before a name: names have none
_HIGHEST = "tensor_active_peak_pct"
_DROPPED = "tensor_active_p95_pct"  # percentiles do not add up
# Weights of means: the sampled part of the windows, the kernel time, cycles, or else the windows.
_WEIGHTS = {
    **dict.fromkeys((HEADLINE.name, *HEADLINE_INTERVAL), "covered_ns"),
    **dict.fromkeys(("tensor_kernel_share_pct", "unresolved_kernel_share_pct"), "kernel_ns"),
    "uncovered_cycles_pct": "tensor_cycles",
}


def shorten(name: str, around: str) -> str:
    """Remove from a name what it repeats of the range around it: below ``Llama.model`` it is ``.layers.0``."""
    return name.removeprefix(around) if name.startswith(f"{around}.") else name


def find_alike(ranges: pd.DataFrame) -> pd.DataFrame:
    """Find alike paths of one GPU: by ``path_id`` the ``number`` and the ``label`` of their row.

    Alike are siblings whose names end in different numbers, which launched as many kernels, hold the same ranges, and
    took a time that is at most 10 % from their median.
    """
    names = dict(zip(ranges["path_id"], ranges["name"], strict=True))
    rows = zip(ranges["domain"], ranges["name"], ranges["parent_id"], strict=True)
    tree = ranges[["depth", "kernel_count"]].assign(
        module_id=ranges["path_id"],
        parent_id=ranges["parent_id"].where(ranges["parent_id"].isin(ranges["path_id"]), -1),
        name=[f"{domain}{_END}{shorten(name, names.get(parent, ''))}" for domain, name, parent in rows],
        phase=ALL,
        kernel_ns=ranges["gpu_window_ns"].fillna(0.0),
    )
    folded = number_alike(tree)
    return folded.assign(label=folded["label"].str.rpartition(_END)[2])


def fold_alike(rows: pd.DataFrame, alike: pd.DataFrame) -> pd.DataFrame:
    """Fold alike rows of paths into the first, with a ``label`` and an ``alike_count``.

    It adds times and counts, weights means, and keeps the highest peak. The ends of intervals are averaged, as if all
    erred together.
    """
    number = alike["number"].reindex(rows["path_id"]).to_numpy()
    first_rows = rows[~pd.Series(number).duplicated().to_numpy()]
    first = dict(zip(pd.unique(number), first_rows["path_id"], strict=True))
    parents = alike["number"].reindex(first_rows["parent_id"]).map(first).to_numpy()
    parents = np.where(np.isnan(parents), first_rows["parent_id"], parents).astype(np.int64)
    first_rows = first_rows.assign(parent_id=parents)
    label = alike["label"].reindex(first_rows["path_id"]).to_numpy()
    if len(first_rows) == len(rows):
        return rows.assign(label=label, alike_count=1)
    sums = [name for name in rows.columns if name.endswith(_SUMMED)]
    means = [name for name in rows.columns if name.endswith("_pct") and name not in (_HIGHEST, _DROPPED)]
    means += [name for name in ("tensor_tflops",) if name in rows.columns]
    weights = rows.assign(covered_ns=rows["window_ns"] * rows.get("coverage_pct", 100.0))
    weighted = {name: rows[name] * weights[_WEIGHTS.get(name, "window_ns")] for name in means}
    weighing = {name: weights[_WEIGHTS.get(name, "window_ns")].where(rows[name].notna()) for name in means}
    with_sums = rows[sums].groupby(number, sort=False).sum(min_count=1)
    parts = [
        pd.DataFrame(part, index=rows.index).groupby(number, sort=False).sum(min_count=1)
        for part in (weighted, weighing)
    ]
    folded = first_rows.assign(**with_sums.astype(rows[sums].dtypes).to_dict("list"))
    folded = folded.assign(**(parts[0] / parts[1].where(parts[1] != 0)).to_dict("list") if means else {})
    if _HIGHEST in rows.columns:
        count = pd.Series(number).groupby(number, sort=False).size().to_numpy()
        highest = rows[_HIGHEST].groupby(number, sort=False).max().to_numpy()
        folded = folded.assign(**{_HIGHEST: highest, _DROPPED: folded[_DROPPED].where(count == 1)})
    return folded.assign(label=label, alike_count=pd.Series(number).groupby(number, sort=False).size().to_numpy())
