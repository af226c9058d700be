"""Communication between GPUs: what is transfer, and what is waiting for the slowest GPU."""

from tcprof.findings.advice.making import time_of
from tcprof.findings.advice.step import Step, measure_step

_ALIKE = 0.05  # of a step: GPUs that work together have steps as long as each other's


def times_of_communication(step: Step) -> dict[int, float]:
    """Exposed time of NCCL's kernels in a step, of each GPU that takes part in the same steps."""
    own = time_of(step.kernels[step.kernels["communication"]])
    found = {step.gpu: own}
    others = [int(gpu) for gpu in step.analysis.gpus["gpu"] if int(gpu) != step.gpu] if own > 0 else []
    for gpu in others:
        other = measure_step(step.analysis, gpu)
        if other is None or abs(other.length_ns - step.length_ns) > _ALIKE * step.length_ns:
            continue
        time = time_of(other.kernels[other.kernels["communication"]])
        found |= {gpu: time} if time > 0 else {}
    return found


def waiting_ns(step: Step) -> float:
    """What of a GPU's communication is waiting for the slowest GPU, which waits least."""
    times = times_of_communication(step)
    return times[step.gpu] - min(times.values())
