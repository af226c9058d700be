"""The modules of two sides, matched by path."""

import re

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.modules.tree import NO_MODULE, make_tree
from tcprof.frames import MODULE_CHANGES

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|\Z)")  # of a layer in a list or a sequence
_KEYS = ["gpu", "module", "phase"]
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")


def compare_modules(base: Analysis, new: Analysis) -> pd.DataFrame:
    """Match modules whose paths differ in nothing but the numbers of layers.

    Args:
        base: A typical recording of the baseline.
        new: One of the other side.

    Returns:
        See ``tcprof.frames.MODULE_CHANGES``, in the order of the tree; empty where a side names no modules, or only one
        of them iterates, so that their times are not of the same.
    """
    iterate = [bool((side.modules["iteration_count"] > 0).any()) for side in (base, new)]
    if base.modules.empty or new.modules.empty or iterate[0] != iterate[1]:
        return MODULE_CHANGES.empty()
    sides = [_per_iteration(side.modules, name) for side, name in ((base, "base"), (new, "new"))]
    merged = sides[0].merge(sides[1], on=_KEYS, how="outer")
    tree, number = make_tree([module for side in sides for module in side["module"] if module])
    row = merged["module"].map(number).fillna(NO_MODULE).astype(int)  # of all kernels there is none
    before, after = (merged[f"{name}_ns"] for name in ("base", "new"))
    rows = merged.assign(
        module_id=row,
        parent_id=tree["parent_id"].reindex(row).fillna(NO_MODULE).to_numpy(),
        depth=tree["depth"].reindex(row).fillna(0).to_numpy(),
        difference_ns=after.fillna(0) - before.fillna(0),
        ratio=after / before.where(before > 0),
    )
    return MODULE_CHANGES.conform(rows.sort_values(["gpu", "module_id", "phase"], kind="stable"))


def _per_iteration(modules: pd.DataFrame, side: str) -> pd.DataFrame:
    """The modules of a side, layers of a list together, per iteration."""
    time = modules["kernel_ns"].astype(float)
    rows = modules.assign(
        module=[_NUMBER.sub("*", module) for module in modules["module"]],
        ns=time / modules["iteration_count"].clip(lower=1),
        **{name: modules[name] * time for name in _ACTIVE},
    )
    by = rows.groupby(_KEYS, sort=False)
    found = by[["ns", "kernel_ns", *_ACTIVE]].sum(min_count=1).assign(alike_count=by.size().astype(float))
    means = {name: (found[name] / found["kernel_ns"]).where(by[name].count() == by.size()) for name in _ACTIVE}
    named = {name: f"{side}_{name}" for name in ("ns", "alike_count", *_ACTIVE)}
    return found.assign(**means).reset_index()[[*_KEYS, *named]].rename(columns=named)
