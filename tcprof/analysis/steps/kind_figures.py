"""Figures of each kind of step, see ``tcprof.frames.KINDS``."""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.ranges.summary import Functions
from tcprof.analysis.steps.marked_steps import name_kin
from tcprof.analysis.steps.step_summary import summarize_steps
from tcprof.analysis.time.range_metrics import range_rates, values_of_launches
from tcprof.annotate.steps import INFERENCE
from tcprof.arrays import Ints
from tcprof.frames import KINDS

PREFILL, DECODE = "prefill", "decode"
_SEVERAL = 2.0  # decode steps that follow each other, in the mean


def name_phases(steps: pd.DataFrame, paths: "pd.Series[str]", kernel_ns: "pd.Series[float]") -> "pd.Series[str]":
    """Name prefill and decode kinds, by GPU and kind.

    Known are the calls of a model that calls itself again and again, which ``tcprof.annotate`` marks: decode steps
    follow each other, prefill comes alone before them, and has more ``kernel_ns`` a step.
    """
    unique, phases = set(paths), {}
    calls_of_models = {f"{INFERENCE} {root}" for root in (path.rpartition(SEPARATOR)[2] for path in unique)}
    marked = {
        path for path in calls_of_models & unique if path + SEPARATOR + path.removeprefix(f"{INFERENCE} ") in unique
    }
    for gpu, calls in steps[steps["path"].isin(marked)].groupby("gpu"):
        kind = calls.sort_values("number")["kind"].to_numpy()
        first = np.flatnonzero(np.append(True, np.diff(kind) != 0))
        run = pd.DataFrame({"kind": kind[first], "length": np.diff(np.append(first, len(kind)))})
        run["next"] = run["kind"].shift(-1)
        length = run.groupby("kind")["length"].mean()
        decode = {number for number in length.index if length[number] >= _SEVERAL}
        for number in set(length.index) - decode:
            after = run["next"][run["kind"] == number].dropna()
            longer = [kernel_ns[gpu, number] > kernel_ns[gpu, n] for n in after]
            if longer and after.isin(decode).all() and all(longer):
                phases[gpu, number] = PREFILL
                phases |= dict.fromkeys(((gpu, int(n)) for n in after), DECODE)
    index = pd.MultiIndex.from_tuples([*phases], names=["gpu", "kind"]) if phases else kernel_ns.index[:0]
    return pd.Series([*phases.values()], index, dtype=object)


_KEYS = ["gpu", "kind"]
NUMBERED = ", kind "  # in the names of kinds that have the same otherwise
_RATES = ("tensor_kernel_share_pct", "dram_pct")


def summarize_kinds(
    steps: pd.DataFrame,
    instances: pd.DataFrame,
    activities: pd.DataFrame,
    functions: Functions,
    paths: "pd.Series[str]",
) -> pd.DataFrame:
    """Summarize each kind of step on each GPU, without rates from the fit: see ``add_rates_of_kinds``.

    Figures of steps are as in ``summarize_steps``, of which the first kind has just these.
    """
    if steps.empty:
        return KINDS.empty()
    is_steady = ~steps["warm_up"]
    steady = steps[is_steady]
    kinds = steps.groupby(_KEYS).agg(warm_up_count=("warm_up", "sum"))
    kinds["step_count"] = steady_count = steady.groupby(_KEYS).size().reindex(kinds.index, fill_value=0)
    parts = []
    for kind in steps["kind"].unique().tolist():
        kind_steps = steps.assign(counted=is_steady & (steps["kind"] == kind))
        figures = summarize_steps(kind_steps, activities, functions)  # rounding widens intervals alone
        parts.append(figures.assign(kind=kind))
    figures = pd.concat(parts).set_index(_KEYS).reindex(kinds.index)
    columns = ["gpu", "range", "kernel_count"]
    mean = steady.merge(instances[columns], on=columns[:2]).groupby(_KEYS)[["kernel_count", "kernel_ns"]].mean()
    mean = mean.reindex(kinds.index)
    phases = name_phases(steps, paths, mean["kernel_ns"])
    frame = kinds.assign(
        name=_name_kinds(steps, phases),
        # Over all steps, as a program counts them: the median ignores a few slow steps.
        tokens_per_second=1e9 * steady_count / figures["total_ns"].where(phases.reindex(kinds.index) == DECODE),
        step_time_ns=figures["step_ns"],
        total_ns=figures["total_ns"],
        share_pct=100 * figures["total_ns"] / figures["total_ns"].groupby("gpu").transform("sum"),
        tensor_active_mean_pct=figures["tensor_active_mean_pct"],
        gpu_idle_pct=100 * figures["idle_ns"] / figures["total_ns"],
        **mean,
    )
    return KINDS.conform(frame.reset_index())


def _name_kinds(steps: pd.DataFrame, phases: "pd.Series[str]") -> "pd.Series[str]":
    """Name kinds, by GPU and number: by innermost range; where several share it, by path, or with a number."""
    by = [steps[key] for key in _KEYS]
    names, paths = (texts.groupby(by).first() for texts in (name_kin(steps), steps["path"].astype(str)))
    names = phases.reindex(names.index).fillna(names)
    is_one = steps["path"].groupby(by).nunique() == 1
    for better in (paths.where(is_one & ~names.index.isin(phases.index), names), None):
        twice = names.groupby([names.index.get_level_values("gpu"), names]).transform("size") > 1
        number = (names.groupby([names.index.get_level_values("gpu"), names]).cumcount() + 1).astype(str)
        names = names.where(~twice, names + NUMBERED + number if better is None else better)
    return names


def add_rates_of_kinds(
    kinds: pd.DataFrame, steps: pd.DataFrame, launches: pd.DataFrame, kernels: pd.DataFrame, activities: pd.Series
) -> pd.DataFrame:
    """Add rates of memory and tensor kernels to kinds; ``activities`` has the kind of each activity."""
    steady = np.append(~steps["warm_up"].to_numpy(), False)[launches["step"].to_numpy()]
    row: Ints = pd.MultiIndex.from_frame(kinds[_KEYS]).get_indexer(pd.MultiIndex.from_frame(steps[_KEYS]))
    kind_row = np.append(row, -1)[launches["step"].to_numpy()][steady]
    sums = pd.DataFrame(
        {
            name: np.bincount(kind_row, values[steady], minlength=len(kinds))
            for name, values in values_of_launches(launches, kernels, activities)
        }
    )
    rates = range_rates(sums, kinds["total_ns"].to_numpy(np.float64))
    moved = rates["dram_bytes"]
    intensity = rates["tensor_flop"] / moved.where(moved > 0)
    return kinds.assign(flop_per_byte=intensity, **{name: rates[name] for name in _RATES})
