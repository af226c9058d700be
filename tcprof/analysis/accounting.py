"""The frames that follow from the fit of the kernels: launches, kernels, modules, and rates."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis.flop import count_useful_flop
from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.kernels.roofline import find_peaks
from tcprof.analysis.kernels.summary import summarize_kernels
from tcprof.analysis.modules.summary import assign_modules, find_rows, summarize_modules
from tcprof.analysis.ranges.instances import Evidence, instance_windows
from tcprof.analysis.ranges.projection import ranges_of_activities
from tcprof.analysis.steps.step_summary import add_rates_of_kinds
from tcprof.analysis.time.account import account_for_time, classes_of_activities, classify_time, compute_time_account
from tcprof.arrays import Ints, return_freed_memory
from tcprof.frames import KERNEL_INSTANCES, SLOW_PATH, WARM_UP_PATH
from tcprof.frames.schema import Deferred

MOST_KEPT = 100_000  # launches of which the fit is kept, for what may still be asked of it


def summarize_fit(
    evidence: Evidence, fit: KernelFit, steps: pd.DataFrame, step_of: Ints, kinds: pd.DataFrame
) -> dict[str, Any]:
    """Compute the frames that need the fit; ``step_of`` has the row of each activity's step, -1 for none."""
    activities, paths = evidence.activities, evidence.hierarchy.paths
    peaks = partial(find_peaks, gpus=evidence.gpus, given_tflops=evidence.peak_tflops)
    kernels, kernel = summarize_kernels(fit, activities, paths, peaks)
    activity = fit.kernel_instances["activity"].to_numpy()
    launches = fit.kernel_instances.assign(
        kernel=kernel,
        range=ranges_of_activities(evidence.attribution, len(activities))[activity],
        step=step_of[activity],
    )
    apart_launches, apart_paths = _set_apart(launches, evidence, steps)
    apart = replace(fit, kernel_instances=apart_launches)
    assignment = assign_modules(evidence.hierarchy, evidence.attribution, len(activities), evidence.captured)
    return_freed_memory()
    useful = count_useful_flop(launches, kernels, evidence, assignment)
    row = find_rows(launches, steps, assignment)
    launches = KERNEL_INSTANCES.conform(launches.assign(module=row, useful_flop=useful))
    return_freed_memory()

    def by_path() -> pd.DataFrame:
        return summarize_kernels(apart, activities, apart_paths, peaks, by_path=True)[0]

    timelines = classify_time(activities, classes_of_activities(activities, launches, kernels))
    windows = instance_windows(evidence.instances, evidence.work, "gpu")
    account = {
        "kernel_instances": launches,
        "kernels": kernels,
        "kernels_by_path": by_path() if len(launches) > MOST_KEPT else Deferred(by_path),
        "timeline": account_for_time(timelines, evidence.instances, paths, windows),
        "ledger": compute_time_account(evidence, fit, kernels),
        "kinds": add_rates_of_kinds(kinds, steps, launches, kernels, activities["kind"], timelines),
    }
    return_freed_memory()
    return {**account, "modules": summarize_modules(fit, launches, kernels, activities["kind"], steps, assignment)}


def _set_apart(launches: pd.DataFrame, evidence: Evidence, steps: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give launches in warm-up, and those in slow steps, a path each, after all others."""
    paths, left_out = evidence.hierarchy.paths, evidence.instances[evidence.instances["left_out"]]
    keys = [
        rows["gpu"].to_numpy() * len(evidence.hierarchy.ranges) + rows["range"].to_numpy()
        for rows in (launches, left_out)
    ]
    apart = np.isin(keys[0], keys[1]) & (launches["range"] >= 0).to_numpy()
    is_slow = np.append(~steps["warm_up"].to_numpy(bool), False)[launches["step"].to_numpy()]
    names = [WARM_UP_PATH, SLOW_PATH]
    other_paths = pd.DataFrame({"domain": "", "path": names, "name": names, "depth": 1, "parent_id": -1})
    path_id = launches["path_id"].where(~apart, len(paths) + is_slow)
    return launches.assign(path_id=path_id), pd.concat([paths, other_paths], ignore_index=True)
