"""What the kernels of each module and phase did on the Tensor Cores."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.kernels.summary import GroupSums
from tcprof.analysis.modules.assignment import ModuleAssignment
from tcprof.analysis.modules.tree import ALL, OTHER_CODE, PHASES
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.analysis.time.range_metrics import (
    are_seen,
    range_rates,
    rate_useful,
    useful_of_launches,
    values_of_launches,
)
from tcprof.arrays import Bools, Ints
from tcprof.frames import LARGEST_UNCOVERED_PCT, MODULES

_ROWS = (*PHASES, ALL)  # the phases of a module's rows
_CYCLES = ("cycles", "unknown_cycles", "all_cycles")


def find_rows(launches: pd.DataFrame, steps: pd.DataFrame, assignment: ModuleAssignment) -> Ints:
    """Find for each launch its row in ``tcprof.frames.MODULES``, by module, phase and GPU; -1 for none."""
    gpu, module, phase = _locate(launches, assignment)
    if (phase == OTHER_CODE).all():
        return np.full(len(launches), -1, dtype=np.int64)
    is_row = np.zeros((int(gpu.max()) + 1) * (len(assignment.modules) + 1) * len(_ROWS), dtype=bool)
    for key, inside in _keys_by_depth(launches, steps, assignment):
        is_row[key[inside]] = True
    return np.where(is_row, np.cumsum(is_row) - 1, -1)[_keys(gpu, module, phase, assignment)]


def summarize_modules(
    fit: KernelFit,
    launches: pd.DataFrame,
    kernels: pd.DataFrame,
    kinds: pd.Series,
    steps: pd.DataFrame,
    assignment: ModuleAssignment,
) -> pd.DataFrame:
    """Sum the kernels of each module and those in it; empty where no range names a module or a phase."""
    gpu, module, phase = _locate(launches, assignment)
    if (phase == OTHER_CODE).all():
        return MODULES.empty()
    values = pd.DataFrame(dict(values_of_launches(launches, kernels, kinds)))
    values = values.assign(kernel_count=1, **useful_of_launches(launches, kernels))
    keys = _keys_by_depth(launches, steps, assignment)
    sums = pd.concat([_sum_keys(fit, values, key, inside) for key, inside in keys]).sort_index()
    counted = are_counted(launches, steps)

    self_ns = np.zeros((int(gpu.max(initial=0)) + 1) * (len(assignment.modules) + 1) * len(_ROWS), dtype=np.int64)
    for rows in (phase, np.full(len(phase), len(PHASES))):
        np.add.at(self_ns, _keys(gpu, module, rows, assignment)[counted], values["kernel_ns"].to_numpy()[counted])
    key, row = np.divmod(sums.index.to_numpy(), len(_ROWS))
    on_gpu, number = np.divmod(key, len(assignment.modules) + 1)
    gpus = np.unique(launches["gpu"].to_numpy())[on_gpu]
    steady = steps[steps["counted"].astype(bool)].groupby("gpu").size()
    frame = sums.assign(
        gpu=gpus,
        module_id=number - 1,
        phase=np.array(_ROWS, dtype=object)[row],
        step_count=steady.reindex(gpus).fillna(0).to_numpy(),
        own_kernel_ns=self_ns[sums.index],
    )
    return _measure(frame, assignment.modules)


def _locate(launches: pd.DataFrame, assignment: ModuleAssignment) -> tuple[Ints, Ints, Ints]:
    """Return for each launch the number of its GPU, from 0, its module and its phase."""
    activity = launches["activity"].to_numpy()
    gpu = np.unique(launches["gpu"].to_numpy(), return_inverse=True)[1]
    return gpu, assignment.module[activity], assignment.phase[activity]


def _keys_by_depth(
    launches: pd.DataFrame, steps: pd.DataFrame, assignment: ModuleAssignment
) -> Iterator[tuple[Ints, Bools]]:
    """Yield, at each depth from 0, for a phase and for all, the key of each launch and whether it counts."""
    gpu, innermost, phase = _locate(launches, assignment)
    counted = are_counted(launches, steps)
    for depth, module in enumerate(_levels(assignment, innermost)):
        for rows in (phase, np.full(len(phase), len(PHASES))):
            yield _keys(gpu, module, rows, assignment), counted & ((module >= 0) | (depth == 0))


def _keys(gpu: Ints, module: Ints, phase: Ints, assignment: ModuleAssignment) -> Ints:
    """Encode GPU, module (-1 for all kernels) and row of ``_ROWS`` in one number, in the order of the frame."""
    return (gpu * (len(assignment.modules) + 1) + module + 1) * len(_ROWS) + phase


def _levels(assignment: ModuleAssignment, module: Ints) -> list[Ints]:
    """List for each depth from 0 the module of each launch at that depth, -1 for none."""
    parent, depth = (assignment.modules[name].to_numpy() for name in ("parent_id", "depth"))
    levels = [np.full(len(module), -1)]
    current = module.copy()
    for level in range(int(depth.max(initial=0)), 0, -1):
        here = (current >= 0) & (np.append(depth, 0)[current] == level)
        levels.insert(1, np.where(here, current, -1))
        current = np.where(here, np.append(parent, -1)[current], current)
    return levels


def _sum_keys(fit: KernelFit, values: pd.DataFrame, key: Ints, inside: Bools) -> pd.DataFrame:
    """Sum the launches of each key; with half the interval of their tensor-active time."""
    keys, group = np.unique(key[inside], return_inverse=True)
    groups = np.full(len(key), -1)
    groups[inside] = group
    by = values[inside].groupby(group)
    sums = by.sum(min_count=1)
    for name in _CYCLES:  # as of ranges: a sum over some that are unknown is unknown
        sums[name] = sums[name].where(by[name].count() == by.size())
    # What is in no group has one of its own on each GPU, since the fit's sums are over all launches.
    _, gpu = np.unique(fit.kernel_instances["gpu"].to_numpy(), return_inverse=True)
    half = GroupSums(fit, np.where(groups >= 0, groups, len(keys) + gpu)).active("tensor")[1][: len(keys)]
    return sums.assign(half_ns=half).set_index(keys)


def _measure(sums: pd.DataFrame, modules: pd.DataFrame) -> pd.DataFrame:
    whole = sums[(sums["module_id"] < 0) & (sums["phase"] == ALL)].set_index("gpu")["kernel_ns"]
    time = sums["kernel_ns"].astype(float)
    percent = (100 * sums["active_ns"] / time).where(are_seen(sums))
    points = 100 * sums["half_ns"] / time
    rates = range_rates(sums.reset_index(drop=True), time.to_numpy())
    is_whole = (rates["uncovered_cycles_pct"] <= LARGEST_UNCOVERED_PCT).to_numpy()
    useful = rate_useful(sums, time.to_numpy())
    executed = sums["flop"].where(is_whole & (sums["flop"] > 0))
    root = pd.DataFrame({"module": [""], "name": [""], "depth": [0], "parent_id": [-1]}, index=[-1])
    frame = sums.join(pd.concat([modules, root]), on="module_id").assign(
        share_pct=100 * time / sums["gpu"].map(whole),
        tensor_active_pct=percent,
        tensor_active_low_pct=(percent - points).clip(0, 100),
        tensor_active_high_pct=(percent + points).clip(0, 100),
        tensor_cycles=rates["fitted_cycles"].to_numpy(),
        **useful,
        useful_pct=(100 * sums["useful_tensor_flop"] / executed).where(useful["useful_flop"].notna()),
        lost_ns=(time - sums["ideal_ns"]).clip(lower=0).where(is_whole),
        **{name: column.to_numpy() for name, column in rates.items() if not name.startswith("fitted")},
    )
    return MODULES.conform(frame)
