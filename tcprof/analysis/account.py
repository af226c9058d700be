"""The account of the GPU's time: the fit of the kernels, and all that follows from it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.instances import Work, group_by_path, instance_windows, work_by_depth
from tcprof.analysis.projection import Attribution, Hierarchy, paths_of_activities
from tcprof.analysis.rates import range_rates, values_of_launches
from tcprof.frames import CLOCKS, KERNELS, LAUNCHED, LEDGER, RANGE_SUMMARY, TIMELINE

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Account:
    """Where the GPU's time went.

    Attributes:
        launched: See ``tcprof.frames.LAUNCHED``.
        kernels: See ``tcprof.frames.KERNELS``.
        kernels_by_path: The same with a row for each path.
        timeline: See ``tcprof.frames.TIMELINE``.
        ledger: See ``tcprof.frames.LEDGER``.
        clocks: See ``tcprof.frames.CLOCKS``.
    """

    launched: pd.DataFrame
    kernels: pd.DataFrame
    kernels_by_path: pd.DataFrame
    timeline: pd.DataFrame
    ledger: pd.DataFrame
    clocks: pd.DataFrame


NO_ACCOUNT = Account(
    LAUNCHED.empty(), KERNELS.empty(), KERNELS.empty(), TIMELINE.empty(), LEDGER.empty(), CLOCKS.empty()
)


@dataclass(frozen=True)
class Evidence:
    """What was recorded and which of it belongs together: what an account is made from.

    Attributes:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        instances: See ``tcprof.analysis.instances.list_instances``.
        work: Their activities.
    """

    activities: pd.DataFrame
    samples: pd.DataFrame
    gpus: pd.DataFrame
    hierarchy: Hierarchy
    attribution: Attribution
    instances: pd.DataFrame
    work: Work


def make_account(evidence: Evidence) -> Account:
    """Fit the kernels, and account for all time."""
    # Here, since what needs no fit should not wait for scipy.
    from tcprof.analysis.clock import check_clocks
    from tcprof.analysis.kernels.launches import fit_kernels
    from tcprof.analysis.kernels.summary import summarize_kernels
    from tcprof.analysis.ledger import keep_ledger
    from tcprof.analysis.timeline import account_for_time, classes_of_activities

    activities, samples, paths = evidence.activities, evidence.samples, evidence.hierarchy.paths
    path_id = paths_of_activities(evidence.hierarchy, evidence.attribution, len(activities))
    found = fit_kernels(activities, path_id, samples, evidence.gpus)
    kernels, kernel = summarize_kernels(found, activities, paths)
    launched = LAUNCHED.conform(found.launched.assign(kernel=kernel))
    return Account(
        launched=launched,
        kernels=kernels,
        kernels_by_path=summarize_kernels(found, activities, paths, by_path=True)[0],
        timeline=account_for_time(
            activities,
            classes_of_activities(activities, launched, kernels),
            evidence.instances,
            paths,
            instance_windows(evidence.instances, evidence.work, "gpu"),
        ),
        ledger=keep_ledger(activities, evidence.attribution, samples, found, kernels),
        clocks=check_clocks(activities, samples),
    )


def add_rates(ranges: pd.DataFrame, account: Account, evidence: Evidence) -> pd.DataFrame:
    """The range summary with the columns that come from the fit.

    Args:
        ranges: See ``tcprof.frames.RANGE_SUMMARY``: the rows of one GPU after the other, each the capture, then paths.
        account: The account.
        evidence: What it was made from.
    """
    values = values_of_launches(account.launched, account.kernels, evidence.activities["kind"])
    group, _ = group_by_path(evidence.instances, evidence.hierarchy.paths)
    is_capture = (ranges["depth"] == 0).to_numpy()
    row_of_path, row_of_gpu = np.flatnonzero(~is_capture), np.flatnonzero(is_capture)
    captured = pd.Series(row_of_gpu, index=ranges["gpu"].to_numpy()[row_of_gpu])
    launched_row = np.full(len(evidence.activities), -1, dtype=np.int64)
    launched_row[account.launched["activity"].to_numpy()] = np.arange(len(account.launched))

    def members() -> Iterator[tuple[Ints, Ints]]:
        yield captured[account.launched["gpu"].to_numpy()].to_numpy(), np.arange(len(account.launched))
        for instance, index in work_by_depth(evidence.instances, evidence.work):
            row = launched_row[evidence.attribution.activity[index]]
            kernel = row >= 0
            yield row_of_path[group[instance[kernel]]], row[kernel]

    return RANGE_SUMMARY.conform(ranges.assign(**range_rates(values, members(), ranges["window_ns"].to_numpy())))
