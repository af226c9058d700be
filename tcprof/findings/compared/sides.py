"""The figures of a side of a comparison: those that the report on each of its recordings begins with."""

import math
from dataclasses import dataclass

import numpy as np

from tcprof.comparison import Side
from tcprof.findings.steps import measure_step_figures
from tcprof.frames import HEADLINE


@dataclass(frozen=True)
class SideFigures:
    """One GPU of a side, without warm-up; of several recordings the median of theirs. Unknown is NaN."""

    tensor_active_pct: float  # mean over the steps, or over the whole capture where nothing iterates
    idle_pct: float
    step_count: int  # of all recordings together; 0 where nothing iterates


def measure_side(side: Side, gpu: int, iterates: bool = True) -> SideFigures:
    """The figures of a side over its steps, or where the comparison has none over the whole captures."""
    measured = [measure_step_figures(recording, gpu) for recording in side.recordings if iterates]
    steps = [figures for figures in measured if figures is not None]
    if steps:
        active, idle = [figures.tensor_active_pct for figures in steps], [figures.idle_pct for figures in steps]
    else:
        captures = [recording.whole_capture(gpu) for recording in side.recordings]
        active = [float(rows[HEADLINE.name].sum(min_count=1)) for rows in captures]
        idle = [100 * (1 - rows["busy_ns"].sum(min_count=1) / max(rows["gpu_window_ns"].sum(), 1)) for rows in captures]
    return SideFigures(_median(active), _median(idle), sum(figures.count for figures in steps))


def _median(values: list[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    return float(np.median(numbers)) if numbers else math.nan
