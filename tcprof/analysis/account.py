"""The account of the GPU's time: the fit of the kernels, and all that follows from it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.analysis.instances import Work, group_by_path, instance_windows, sum_up
from tcprof.analysis.projection import Attribution, Hierarchy, ranges_of_activities
from tcprof.analysis.rates import known_flop, range_rates, values_of_launches
from tcprof.arrays import Floats
from tcprof.frames import INSTANCES, KERNELS, LAUNCHED, LEDGER, RANGES, TIMELINE, WARM_UP_PATH
from tcprof.memory import return_freed_memory

if TYPE_CHECKING:
    from tcprof.analysis.kernels.launches import KernelFit


@dataclass(frozen=True)
class Account:
    """Where the GPU's time went.

    Attributes:
        launched: See ``tcprof.frames.LAUNCHED``.
        kernels: See ``tcprof.frames.KERNELS``.
        kernels_by_path: The same with a row for each path.
        timeline: See ``tcprof.frames.TIMELINE``.
        ledger: See ``tcprof.frames.LEDGER``.
    """

    launched: pd.DataFrame
    kernels: pd.DataFrame
    kernels_by_path: pd.DataFrame
    timeline: pd.DataFrame
    ledger: pd.DataFrame


NO_ACCOUNT = Account(LAUNCHED.empty(), KERNELS.empty(), KERNELS.empty(), TIMELINE.empty(), LEDGER.empty())


@dataclass(frozen=True)
class Evidence:
    """What was recorded and which of it belongs together: what an account is made from.

    Attributes:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        instances: See ``tcprof.analysis.instances.list_instances``, with ``warm_up``.
        work: Their activities.
        peak_tflops: The peak that FLOP are held against; None for that of each kernel's precision.
        window: What the windows of the ranges are: gpu, host or busy.
    """

    activities: pd.DataFrame
    samples: pd.DataFrame
    gpus: pd.DataFrame
    hierarchy: Hierarchy
    attribution: Attribution
    instances: pd.DataFrame
    work: Work
    peak_tflops: float | None = None
    window: str = "gpu"


def fit_launches(
    activities: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    samples: pd.DataFrame,
    gpus: pd.DataFrame,
    clocks: pd.DataFrame,
) -> "KernelFit":
    """The fit of all launches, each with its path and innermost range.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        clocks: See ``tcprof.frames.CLOCKS``.
    """
    from tcprof.analysis.kernels.launches import fit_kernels  # here, since what needs no fit should not wait for scipy

    innermost = ranges_of_activities(attribution, len(activities))
    path_id = np.append(hierarchy.path_id, -1)[innermost]  # -1, for none, is the last
    found = fit_kernels(activities, path_id, samples, gpus, clocks)
    return_freed_memory()
    return replace(found, launched=found.launched.assign(range=innermost[found.launched["activity"].to_numpy()]))


def make_account(evidence: Evidence, found: "KernelFit") -> Account:
    """Account for all time.

    Args:
        evidence: What was recorded.
        found: See ``fit_launches``.
    """
    from tcprof.analysis.kernels.peaks import find_peaks
    from tcprof.analysis.kernels.summary import summarize_kernels
    from tcprof.analysis.ledger import keep_ledger
    from tcprof.analysis.timeline import account_for_time, classes_of_activities

    activities, paths = evidence.activities, evidence.hierarchy.paths
    peaks = partial(find_peaks, gpus=evidence.gpus, given_tflops=evidence.peak_tflops)
    kernels, kernel = summarize_kernels(found, activities, paths, peaks)
    by_path, named = _set_warm_up_apart(found.launched, evidence)
    launched = LAUNCHED.conform(found.launched.assign(kernel=kernel))
    return Account(
        launched=launched,
        kernels=kernels,
        kernels_by_path=summarize_kernels(replace(found, launched=by_path), activities, named, peaks, by_path=True)[0],
        timeline=account_for_time(
            activities,
            classes_of_activities(activities, launched, kernels),
            evidence.instances,
            paths,
            instance_windows(evidence.instances, evidence.work, "gpu"),
        ),
        ledger=keep_ledger(activities, evidence.attribution, evidence.samples, found, kernels),
    )


def _set_warm_up_apart(launched: pd.DataFrame, evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The launches, those in warm-up with a path of their own; and the paths with that one, which is the last."""
    paths, instances = evidence.hierarchy.paths, evidence.instances
    warm_up = instances[instances["warm_up"]]
    keys = [
        rows["gpu"].to_numpy() * len(evidence.hierarchy.ranges) + rows["range"].to_numpy()
        for rows in (launched, warm_up)
    ]
    apart = np.isin(keys[0], keys[1]) & (launched["range"] >= 0).to_numpy()
    own = pd.DataFrame(
        {"domain": [""], "path": [WARM_UP_PATH], "name": [WARM_UP_PATH], "depth": [1], "parent_id": [-1]}
    )
    path_id = launched["path_id"].where(~apart, len(paths))
    return launched.assign(path_id=path_id), pd.concat([paths, own], ignore_index=True)


def add_rates(ranges: pd.DataFrame, account: Account, evidence: Evidence) -> pd.DataFrame:
    """The range summary with the columns that come from the fit.

    Args:
        ranges: See ``tcprof.frames.RANGES``: the rows of one GPU after the other, each the capture, then paths.
        account: The account.
        evidence: What it was made from.
    """
    values = values_of_launches(account.launched, account.kernels, evidence.activities["kind"])
    rates = range_rates(sum_by_path(ranges, account, evidence, values), time_of_work(ranges, evidence.window))
    # Where no kernel of a GPU was traced, what ran there is not known: a sum over nothing is not 0.
    known = ranges["gpu"].isin(account.launched["gpu"]) & (ranges["instance_count"] > 0)
    return RANGES.conform(ranges.assign(**{name: column.where(known) for name, column in rates.items()}))


def time_of_work(ranges: pd.DataFrame, window: str) -> Floats:
    """Length of the windows that the work of each row lies in; unknown for host windows, which may end before it.

    Args:
        ranges: See ``tcprof.frames.RANGES``.
        window: gpu, host or busy; that of the whole capture holds its work in any case.
    """
    holds_work = (ranges["depth"] == 0) | (window != "host")
    found: Floats = ranges["window_ns"].where(holds_work).to_numpy(dtype=np.float64)
    return found


def sum_by_path(ranges: pd.DataFrame, account: Account, evidence: Evidence, values: pd.DataFrame) -> pd.DataFrame:
    """Sums of the launches' values over each row of the range summary.

    Args:
        ranges: See ``add_rates``.
        account: The account.
        evidence: What it was made from.
        values: One row for each launch.
    """
    group, _ = group_by_path(evidence.instances, evidence.hierarchy.paths)
    is_capture = (ranges["depth"] == 0).to_numpy()
    row_of_path, row_of_gpu = np.flatnonzero(~is_capture), np.flatnonzero(is_capture)
    captured = pd.Series(row_of_gpu, index=ranges["gpu"].to_numpy()[row_of_gpu])
    of_gpu = captured[account.launched["gpu"].to_numpy()].to_numpy()
    counted = group >= 0
    sums = {}
    for name, of_instance in sum_by_instance(account, evidence, values).items():
        total = np.bincount(of_gpu, values[name], minlength=len(ranges))
        total[row_of_path] = np.bincount(group[counted], of_instance[counted], minlength=len(row_of_path))
        sums[name] = total
    return pd.DataFrame(sums)


def add_tensor_work(instances: pd.DataFrame, account: Account, evidence: Evidence) -> pd.DataFrame:
    """The instances with the time of the tensor kernels launched in each, and with their FLOP.

    Times are unknown where whole graphs ran.

    Args:
        instances: See ``tcprof.frames.INSTANCES``; the rows are those of the evidence.
        account: The account.
        evidence: What it was made from.
    """
    values = values_of_launches(account.launched, account.kernels, evidence.activities["kind"])
    sums = pd.DataFrame(
        sum_by_instance(account, evidence, values.drop(columns=["active_ns", "ideal_ns", "boost_ns", "peakless_flop"]))
    )
    times = sums[["tensor_kernel_ns", "unresolved_ns"]].where(sums["graph_ns"] == 0)
    # Where no kernel of a GPU was traced, what ran there is not known.
    traced = instances["gpu"].isin(account.launched["gpu"]).to_numpy()
    found = {name: column.where(traced).to_numpy() for name, column in known_flop(sums).items()}
    return INSTANCES.conform(
        instances.assign(
            tensor_kernel_ns=times["tensor_kernel_ns"].to_numpy(),
            unresolved_kernel_ns=times["unresolved_ns"].to_numpy(),
            **found,
        )
    )


def sum_by_instance(account: Account, evidence: Evidence, values: pd.DataFrame) -> dict[str, Floats]:
    """Sums of the launches' values over each instance with all that lies in it.

    Args:
        account: The account.
        evidence: What it was made from.
        values: One row for each launch.
    """
    of_launch = np.full(len(evidence.activities), len(values), dtype=np.int64)  # what is no launch adds nothing
    of_launch[account.launched["activity"].to_numpy()] = np.arange(len(values))
    row = of_launch[evidence.attribution.activity]
    weights = [np.append(values[name].to_numpy(dtype=np.float64), 0.0)[row] for name in values.columns]
    return dict(zip(values.columns, sum_up(evidence.instances, evidence.work, weights), strict=True))
