"""The command line with which Nsight Compute looks into a kernel of the recording."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.patterns import function_name
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.arrays import Ints
from tcprof.errors import UsageError
from tcprof.untrusted import one_line

_LONGEST_PATH = 28  # so that the comment fits on a line of advice


def find_command(analysis: Analysis, kernels: pd.DataFrame) -> tuple[str, ...]:
    """The command for the longest of some rows of *kernels* that has one; UsageError where none has."""
    commands = (ncu_command(analysis, row) for row in kernels.sort_values("total_ns", ascending=False).index)
    command = next(filter(None, commands), ())
    if not command:
        raise UsageError("No matching kernel can be profiled with Nsight Compute.", "'tcprof kernels' lists them.")
    return command


def ncu_command(analysis: Analysis, kernel: int) -> tuple[str, ...]:
    """Which launch to look into, as a comment, and the command; empty where the kernel's name tells no function.

    The launch is the one of median duration, without warm-up. Nsight Compute counts the launches of functions of that
    name in each process; here they are counted from where the recording begins.
    """
    functions = np.array([function_name(name) for name in analysis.kernels["name"]], dtype=object)
    function = functions[kernel]
    launched = analysis.kernel_instances
    of_kernel = (launched["kernel"] == kernel).to_numpy()
    counted = of_kernel & are_counted(launched, analysis.steps)
    rows = np.flatnonzero(counted if counted.any() else of_kernel)
    if not function or not len(rows):
        return ()
    rows = rows[np.argsort(launched["duration_ns"].to_numpy()[rows], kind="stable")]
    launch = int(rows[(len(rows) - 1) // 2])
    number = _number(analysis, np.flatnonzero((functions == function)[launched["kernel"].to_numpy()]), launch)
    path_id = int(launched["path_id"].iloc[launch])
    path = f", in {one_line(str(analysis.paths['path'].iloc[path_id]), _LONGEST_PATH)}" if path_id >= 0 else ""
    duration = units.format_ns(launched["duration_ns"].iloc[launch])
    skipped = f"--launch-skip {number} " if number else ""
    return (
        f"# launch {number + 1:,} of that name, of median duration ({duration}){path}",
        f"ncu --set full --kernel-name {function} {skipped}--launch-count 1 PROGRAM",
    )


def _number(analysis: Analysis, alike: Ints, launch: int) -> int:
    """How many of the launches ``alike`` the process had launched before one of them."""
    activity = analysis.kernel_instances["activity"].to_numpy()
    launches = analysis.activities.iloc[activity[alike]]
    chosen = analysis.activities.iloc[activity[launch]]
    launches = launches[(launches["process"] == chosen["process"]).to_numpy()]
    # Launches are numbered as they are called, except those in CUDA graphs, which have their graph's number.
    order = launches["correlation"].to_numpy(), launches["start_ns"].to_numpy()
    earlier = (order[0] < chosen["correlation"]) | (
        (order[0] == chosen["correlation"]) & (order[1] < chosen["start_ns"])
    )
    return int(earlier.sum())
