"""Communication between GPUs: what is transfer, and what is waiting for the slowest GPU."""

from dataclasses import replace

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.findings.pricing.builders import time_of
from tcprof.findings.pricing.step import Step, measure_step

_ALIKE = 0.05  # of a step: GPUs that work together have steps as long as each other's
_SENT = "SendRecv|_Send|_Recv"  # stages of a pipeline, or all to all


def measure_steps(analysis: Analysis) -> dict[int, Step]:
    """The mean step of each GPU that has one, each with those of all."""
    found = {int(gpu): measure_step(analysis, int(gpu)) for gpu in analysis.gpus["gpu"]}
    beside: dict[int, Step] = {}
    beside |= {gpu: replace(step, beside=beside) for gpu, step in found.items() if step is not None}
    return beside


def times_of_communication(step: Step) -> dict[int, float]:
    """Exposed time of NCCL's kernels in a step, of each GPU that takes part in the same steps."""
    own = time_of(step.kernels[step.kernels["communication"]])
    found = {step.gpu: own}
    for gpu, other in step.beside.items() if own > 0 else ():
        if gpu == step.gpu or abs(other.length_ns - step.length_ns) > _ALIKE * step.length_ns:
            continue
        time = time_of(other.kernels[other.kernels["communication"]])
        found |= {gpu: time} if time > 0 else {}
    return found


def find_sent(step: Step) -> pd.DataFrame:
    """NCCL's kernels that send from one GPU to another, as ``Step.kernels``."""
    return step.kernels[step.kernels["communication"] & step.kernels["name"].str.contains(_SENT)]


def waiting_ns(step: Step) -> float:
    """What of a GPU's communication is waiting for the slowest GPU, which waits least."""
    times = times_of_communication(step)
    return times[step.gpu] - min(times.values())
