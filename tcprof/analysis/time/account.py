"""The account of the GPU's time: what follows from the fit of the kernels."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.instances import Work, instance_windows
from tcprof.analysis.ranges.projection import Attribution, Hierarchy
from tcprof.analysis.steps.iterations import iterations_of_activities
from tcprof.frames import KERNEL_INSTANCES, KERNELS, LEDGER, TIMELINE, WARM_UP_PATH

if TYPE_CHECKING:
    from tcprof.analysis.kernels.launches import KernelFit


@dataclass(frozen=True)
class Account:
    """Where the GPU's time went.

    Attributes:
        launched: See ``tcprof.frames.KERNEL_INSTANCES``.
        kernels: See ``tcprof.frames.KERNELS``.
        split_by_path: Makes the same with a row for each path.
        timeline: See ``tcprof.frames.TIMELINE``.
        ledger: See ``tcprof.frames.LEDGER``.
    """

    kernel_instances: pd.DataFrame
    kernels: pd.DataFrame
    split_by_path: Callable[[], pd.DataFrame]
    timeline: pd.DataFrame
    ledger: pd.DataFrame


MOST_KEPT = 100_000  # launches of which the fit is kept, for what may still be asked of it
NO_ACCOUNT = Account(KERNEL_INSTANCES.empty(), KERNELS.empty(), KERNELS.empty, TIMELINE.empty(), LEDGER.empty())


@dataclass(frozen=True)
class Evidence:
    """What was recorded and which of it belongs together: what an account is made from.

    Attributes:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        instances: See ``tcprof.analysis.ranges.instances.list_instances``, with ``warm_up``.
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


def make_account(evidence: Evidence, found: "KernelFit") -> Account:
    """Account for all time.

    Args:
        found: See ``tcprof.analysis.kernels.launches.fit_launches``.
    """
    from tcprof.analysis.kernels.peaks import find_peaks
    from tcprof.analysis.kernels.summary import summarize_kernels
    from tcprof.analysis.time.ledger import keep_ledger
    from tcprof.analysis.time.timeline import account_for_time, classes_of_activities

    activities, paths = evidence.activities, evidence.hierarchy.paths
    peaks = partial(find_peaks, gpus=evidence.gpus, given_tflops=evidence.peak_tflops)
    kernels, kernel = summarize_kernels(found, activities, paths, peaks)
    of_path, named = _set_warm_up_apart(found.kernel_instances, evidence)
    apart = replace(found, kernel_instances=of_path)
    launched = KERNEL_INSTANCES.conform(found.kernel_instances.assign(kernel=kernel))
    return Account(
        kernel_instances=launched,
        kernels=kernels,
        split_by_path=_keep_small(
            lambda: summarize_kernels(apart, activities, named, peaks, by_path=True)[0], len(launched)
        ),
        timeline=account_for_time(
            activities,
            classes_of_activities(activities, launched, kernels),
            evidence.instances,
            paths,
            instance_windows(evidence.instances, evidence.work, "gpu"),
        ),
        ledger=keep_ledger(activities, evidence.attribution, evidence.samples, found, kernels),
    )


def _keep_small(make: Callable[[], pd.DataFrame], launches: int) -> Callable[[], pd.DataFrame]:
    """What makes a frame from the fit; a large one makes it now, since the fit takes more memory than the frame."""
    if launches <= MOST_KEPT:
        return make
    made = make()
    return lambda: made


def add_iterations(account: Account, evidence: Evidence, iterations: pd.DataFrame) -> Account:
    """The account with the iteration of each launch.

    Args:
        iterations: See ``tcprof.frames.ITERATIONS``.
    """
    gpu, instances = evidence.activities["gpu"].to_numpy(), account.kernel_instances
    found = iterations_of_activities(evidence.hierarchy, evidence.attribution, gpu, iterations)
    return replace(account, kernel_instances=instances.assign(iteration=found[instances["activity"].to_numpy()]))


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
