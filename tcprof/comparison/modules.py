"""The modules of two sides, matched by path."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.modules.tree import ALL, NO_MODULE, make_tree
from tcprof.analysis.samples.interval_estimates import Centers, find_means
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.statistics.estimates import TIMER_NS, WORK
from tcprof.comparison.statistics.rows import TOO_FEW, WHOLE_GRAPHS
from tcprof.comparison.statistics.verdicts import NOT_JUDGED, Columns, RunEstimate, compare_runs
from tcprof.frames import MODULE_CHANGES

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|\Z)")  # of a layer in a list or a sequence
_KEYS = ["gpu", "module", "phase"]
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_ENDS = ("", "_low", "_high")
# What ``compare_runs`` calls a column, and what the frame does.
_OF_TIME = {
    **{f"{figure}{end}": f"{figure}{end}_ns" for figure in ("base", "new", "difference") for end in _ENDS},
    **{name: name for name in ("ratio", "ratio_low", "ratio_high", "p_value", "verdict")},
}
_OF_TENSOR = {
    **{f"{side}{end}": f"{side}_tensor_active{end}_pct" for side in ("base", "new") for end in _ENDS},
    **{f"difference{end}": f"tensor_active_difference{end}_pct" for end in _ENDS},
    **{name: f"tensor_active_{name}" for name in ("p_value", "verdict")},
}


@dataclass(frozen=True)
class MeasuredModules:
    """One recording's figures of each GPU, module and phase."""

    time: RunEstimate  # kernel time per step
    active: RunEstimate  # Tensor Active; its interval is that of the fit
    alike: Floats  # how many modules it stands for; 0 where it has none
    graphs: Bools  # whether CUDA graphs recorded as a whole ran in it


def compare_modules(base: Sequence[Analysis], new: Sequence[Analysis], iterate: bool) -> pd.DataFrame:
    """Match modules whose paths differ only in the numbers of layers: ``tcprof.frames.MODULE_CHANGES``, as a tree.

    ``iterate`` is whether both have the same steps; else the whole captures are compared. Empty where a recording
    names no modules, or its launches are known by other steps than these.
    """
    recordings = (*base, *new)
    has_steps = {bool((run.kernel_instances["step"] >= 0).any()) for run in recordings}
    if any(run.modules.empty for run in recordings) or has_steps != {iterate}:
        return MODULE_CHANGES.empty()
    folded = [run.modules.assign(module=run.modules["module"].map(fold_name)) for run in recordings]
    keys = pd.concat([rows[_KEYS] for rows in folded]).drop_duplicates(ignore_index=True)
    index = pd.MultiIndex.from_frame(keys)
    measured = [measure_modules(run, rows, index) for run, rows in zip(recordings, folded, strict=True)]
    tree, number = make_tree([module for rows in folded for module in rows["module"] if module])
    row = keys["module"].map(number).fillna(NO_MODULE).astype(int)  # of all kernels there is none
    frame = keys.assign(
        module_id=row,
        parent_id=tree["parent_id"].reindex(row).fillna(NO_MODULE).to_numpy(),
        depth=tree["depth"].reindex(row).fillna(0).to_numpy(),
        **_compare(measured[: len(base)], measured[len(base) :]),
    )
    return MODULE_CHANGES.conform(frame.sort_values(["gpu", "module_id", "phase"], kind="stable"))


def fold_name(module: str) -> str:
    """Return a module's path, the same for all layers of a list: ``model.layers.*.mlp``."""
    return _NUMBER.sub("*", module)


def measure_modules(analysis: Analysis, modules: pd.DataFrame, index: pd.MultiIndex) -> MeasuredModules:
    """Measure a recording's modules by GPU, folded path and phase."""
    row = index.get_indexer(pd.MultiIndex.from_frame(modules[_KEYS]))
    alike = np.bincount(row, minlength=len(index)).astype(np.float64)
    counted = (
        are_counted(analysis.kernel_instances, analysis.steps) & (analysis.kernel_instances["module"] >= 0).to_numpy()
    )
    launched = analysis.kernel_instances[counted]
    around = _rows_around(modules, index)
    time = _time_per_step(launched, analysis.steps, around, index)
    kinds = analysis.activities["kind"].to_numpy()[launched["activity"].to_numpy()]
    used = around[np.unique(launched["module"].to_numpy()[kinds == "graph"])]
    work, none = np.full(len(index), WORK), np.zeros(len(index))
    return MeasuredModules(
        time=RunEstimate(time, (work, np.where(np.nan_to_num(time.value) > 0, TIMER_NS, 0))),
        active=RunEstimate(_tensor_active(modules, row, time), (work, none)),
        alike=alike,
        graphs=np.isin(np.arange(len(index)), used),
    )


def _rows_around(modules: pd.DataFrame, index: pd.MultiIndex) -> Ints:
    """Index for each row of the modules the rows that its launches count in, in its phase and in all; -1 for none."""
    of_module = modules.drop_duplicates("module_id").set_index("module_id")
    name, parent = (of_module[column].to_dict() for column in ("module", "parent_id"))
    module, counted = modules["module_id"], np.zeros(len(modules), dtype=bool)
    columns = []
    while not counted.all():
        for phase in (modules["phase"], [ALL] * len(modules)):
            row = index.get_indexer(pd.MultiIndex.from_arrays([modules["gpu"], module.map(name), phase]))
            columns.append(np.where(counted, -1, row))
        counted |= (module < 0).to_numpy()  # all kernels come last, once
        module = module.map(parent)
    return np.column_stack(columns)


def _time_per_step(launched: pd.DataFrame, steps: pd.DataFrame, around: Ints, index: pd.MultiIndex) -> Centers:
    """Average each row's kernel time over the steps; 0 counts where a step has none."""
    gpus = index.get_level_values("gpu").to_numpy()
    groups, values = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for gpu, rows in launched.groupby("gpu"):
        steady = steps.index[(steps["gpu"] == gpu) & steps["counted"].astype(bool)].to_numpy()
        count = max(len(steady), 1)
        number = np.searchsorted(steady, rows["step"].to_numpy()) if len(steady) else np.zeros(len(rows), int)
        key = number * len(around) + rows["module"].to_numpy()
        cells, cell = np.unique(key, return_inverse=True)
        time = np.bincount(cell, rows["duration_ns"].to_numpy())
        step, module = np.divmod(cells, len(around))
        columns = np.flatnonzero(gpus == gpu)
        dense = np.zeros((count, len(index)))
        for column in around.T:
            inside = column[module] >= 0
            np.add.at(dense, (step[inside], column[module[inside]]), time[inside])
        groups.append(np.tile(columns, count))
        values.append(dense[:, columns].ravel())
    return find_means(np.concatenate(groups), np.concatenate(values), len(index))


def _tensor_active(modules: pd.DataFrame, row: Ints, time: Centers) -> Centers:
    """Average Tensor Active in each row, with the interval of the fit, as if alike layers erred together."""
    weight = modules["kernel_ns"].to_numpy(np.float64)
    size = len(time.value)
    whole = np.bincount(row, weight, minlength=size)
    with np.errstate(invalid="ignore"):  # NaN where there are no kernels, and where one layer is not known
        value, low, high = (
            np.bincount(row, modules[name].to_numpy() * weight, minlength=size) / whole for name in _ACTIVE
        )
    return Centers(time.count, value, low, high, np.zeros(size, dtype=bool))


def _compare(base: Sequence[MeasuredModules], new: Sequence[MeasuredModules]) -> Columns:
    time, active = (
        compare_runs(([getattr(run, name) for run in base], [getattr(run, name) for run in new]))
        for name in ("time", "active")
    )
    hidden = np.any([run.graphs for run in base], axis=0) != np.any([run.graphs for run in new], axis=0)
    unjudged = pd.isna(time["p_value"]) & ~pd.isna(time["difference"])
    reason = np.where(hidden, WHOLE_GRAPHS, np.where(unjudged, TOO_FEW, "")).astype(object)
    named: Columns = {"not_judged": reason}
    for columns, names in ((time, _OF_TIME), (active, _OF_TENSOR)):
        for column, name in names.items():
            uncertain = column not in ("base", "new", "difference", "ratio")
            unknown = NOT_JUDGED if column == "verdict" else np.nan
            named[name] = np.where(hidden & uncertain, unknown, columns[column])
    for side, recordings in (("base", base), ("new", new)):
        count = np.max([run.alike for run in recordings], axis=0)
        named[f"{side}_alike_count"] = count
        named |= {name: np.where(count > 0, named[name], np.nan) for name in named if name.startswith((side, "ratio"))}
    return named
