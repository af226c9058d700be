"""What launching some of a step's kernels takes the CPU."""

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.replay.host import CALL_NS, LONG_NS
from tcprof.arrays import Floats
from tcprof.findings.pricing.step import Step


def time_launching(step: Step, kernels: pd.DataFrame) -> float:
    """CPU time of a step that launching some kernels takes, without those that come with others, as a graph's do.

    Args:
        kernels: Some rows of ``Step.kernels``.
    """
    launch = launches_of(step.analysis.api_calls, step.analysis.activities.iloc[step.launches["activity"].to_numpy()])
    is_single = (launch >= 0) & ~pd.Series(launch).duplicated(keep=False).to_numpy()
    is_meant = is_single & step.launches["kernel"].isin(kernels.index).to_numpy()
    return float(_time_calls(step.analysis.api_calls)[launch[is_meant]].sum()) / max(step.count, 1)


def replays_graphs(step: Step) -> bool:
    """Whether CUDA graphs run in the steps: recorded as a whole, or as launches of several kernels each."""
    rows = step.analysis.activities.iloc[step.launches["activity"].to_numpy()]
    launch = launches_of(step.analysis.api_calls, rows)
    return bool((step.kernels["work"] == GRAPH).any() or pd.Series(launch[launch >= 0]).duplicated().any())


def _time_calls(launches: pd.DataFrame) -> Floats:
    """From each launch to its thread's next one; where that is long after it, the call alone."""
    process, thread, start = (launches[name].to_numpy() for name in ("process", "thread", "start_ns"))
    call = launches["returned_ns"].fillna(launches["start_ns"] + CALL_NS).to_numpy(np.float64) - start
    order = np.lexsort((start, thread, process))
    until_next = np.diff(start[order])
    is_next = (np.diff(process[order]) == 0) & (np.diff(thread[order]) == 0) & (until_next < LONG_NS)
    found: Floats = np.minimum(call, LONG_NS)
    found[order[:-1][is_next]] = until_next[is_next]
    return found
