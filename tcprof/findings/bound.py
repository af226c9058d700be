"""What holds the GPU up: one rule for the verdict on a recording and for that on a comparison."""

from tcprof.findings.iterations import IterationFigures

LAUNCH_BOUND, CPU_BOUND = "launch-bound", "bound by the CPU"
WAITING_PCT = 50.0  # idle share of the GPU windows from which the GPU does little but wait
_KEEPS_UP = 0.8  # of the GPU window: an iteration that takes the CPU so long holds the GPU up
_LAUNCH_NS = 50_000  # with its share of Python, the launch of a kernel takes the CPU 5 to 40 µs


def find_bound(figures: IterationFigures) -> str:
    """Whether the launches of kernels, or else other work on the CPU, hold the GPU up; empty where neither is known to.

    The GPU idles most of the iterations' GPU windows, and the CPU is at work about as long. If so many kernels are
    launched meanwhile that each has no more time than a launch takes, the launches are what takes the CPU's time.
    What recording is known to add to the idle time does not count; and of iterations from the kernels' order it is not
    known how long the CPU is at work.
    """
    waits = figures.idle_alone_pct >= WAITING_PCT
    if not waits or not figures.host_ns >= _KEEPS_UP * figures.window_ns:
        return ""
    launches = figures.kernel_count > 0 and figures.window_ns / figures.kernel_count < _LAUNCH_NS
    return LAUNCH_BOUND if launches else CPU_BOUND
