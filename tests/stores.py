"""What tests of the history add to a store; its fixtures are in conftest.py."""

from pathlib import Path

from builders import TraceBuilder, analyzed

from tcprof.analysis import Analysis
from tcprof.history.run import Facts

FACTS = Facts(program="train", branch="main")


def record(folder: Path, number: int = 0, step_us: int = 100, name: str = "step") -> Analysis:
    """Eight steps of one kernel each; recordings of other numbers are other ones."""
    builder = TraceBuilder().gpu(0, "NVIDIA H200").recorded(duration=10_000_000)
    for step in range(8):
        begin = 10_000 + 7 * number + step * step_us * 1_000
        builder.range(name, begin, begin + 80_000)
        builder.kernel("gemm", begin + 10_000, begin + 70_000 + 10 * step, launched=begin + 5_000)
    samples = builder.samples([50] * 100, start=0, period=10_000)
    return analyzed(samples, folder, f"r{number}.sqlite")
