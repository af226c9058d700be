"""Two jobs side by side: each quantity of a step is its mean over the ranks, and a job one run of its program."""

import numpy as np
import pandas as pd

from tcprof.analysis.samples.interval_estimates import find_medians
from tcprof.arrays import Floats
from tcprof.comparison.statistics.estimates import COPYING, WAITING, WORK, combine_deviations
from tcprof.comparison.statistics.verdicts import RunEstimate, compare_runs
from tcprof.errors import InputError
from tcprof.frames import JOB_COMPARISON
from tcprof.ranks.job import Job

TIMES = ("step_time_ns", "own_ns", "wait_ns", "compute_ns", "communication_ns", "copy_ns", "idle_ns", "between_ns")
QUANTITIES = ("unprofiled_ns", *TIMES, "tensor_active_pct")


def compare_jobs(base: Job, new: Job) -> pd.DataFrame:
    """Compare the steps of two jobs: ``tcprof.frames.JOB_COMPARISON``; InputError where one shares no step."""
    changes = pd.DataFrame({"quantity": QUANTITIES, **compare_runs(((_measure(base),), (_measure(new),)))})
    is_known = changes["base"].notna() & changes["new"].notna()
    return JOB_COMPARISON.conform(changes[is_known | (changes["quantity"] != QUANTITIES[0])])


def _measure(job: Job) -> RunEstimate:
    """Measure the median step, with its interval, and how much another run is assumed to differ."""
    steps = job.rank_steps
    common = steps[steps.groupby("step")["rank"].transform("size") == len(job.ranks)].groupby("step")
    means = common[[*TIMES, "tensor_active_ns"]].mean()
    if means.empty:
        raise InputError("The ranks of a job have no step in common.", "Record the same steps on all ranks.")
    means["tensor_active_pct"] = 100 * means["tensor_active_ns"] / means["step_time_ns"]
    means["unprofiled_ns"] = job.ranks["unprofiled_ns"].mean(skipna=False)  # of all steps, not of these
    values = means[[*QUANTITIES]].to_numpy(np.float64)
    quantity = np.tile(np.arange(len(QUANTITIES)), len(values))
    centers = find_medians(quantity, values.ravel(), len(QUANTITIES))
    typical = dict(zip(QUANTITIES, np.nan_to_num(centers.value)[:, None], strict=True))
    return RunEstimate(centers, (_deviations(typical), np.zeros(len(QUANTITIES))))


def _deviations(typical: dict[str, Floats]) -> Floats:
    """Estimate the deviation between runs of each quantity's logarithm, as of the steps of one GPU."""
    none, idle = np.zeros(1), typical["idle_ns"] + typical["between_ns"]
    whole = combine_deviations(typical["compute_ns"], typical["copy_ns"] + typical["communication_ns"], none, idle)[0]
    single = {"compute_ns": WORK, "communication_ns": COPYING, "copy_ns": COPYING}
    single |= dict.fromkeys(("wait_ns", "idle_ns", "between_ns"), WAITING)
    return np.array([single.get(name, whole) for name in QUANTITIES])
