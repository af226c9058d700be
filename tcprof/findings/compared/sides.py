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
    measured = [measure_step_figures(each, gpu) for each in side.recordings if iterates]
    steps = [each for each in measured if each is not None]
    if steps:
        active, idle = [each.tensor_active_pct for each in steps], [each.idle_pct for each in steps]
    else:
        captures = [each.whole_capture(gpu) for each in side.recordings]
        active = [float(rows[HEADLINE.name].sum(min_count=1)) for rows in captures]
        idle = [100 * (1 - rows["busy_ns"].sum(min_count=1) / max(rows["gpu_window_ns"].sum(), 1)) for rows in captures]
    return SideFigures(_median(active), _median(idle), sum(each.count for each in steps))


def _median(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan
