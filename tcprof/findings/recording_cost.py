"""What recording costs the program: its recorded steps beside its unprofiled ones."""

import math
from dataclasses import dataclass

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.mean_step import Typical, find_median
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.analysis.unprofiled import list_annotated_steps, list_unprofiled_steps, measure_step_times
from tcprof.findings.finding import Finding, Severity


@dataclass(frozen=True)
class RecordingCost:
    """The steps of a program, unprofiled and recorded, by the same hooks; without warm-up.

    Where they use a GPU, its times count, since the program may be ahead of it.
    """

    unprofiled: Typical  # median time in ns from one step's start to the next one's
    recorded: Typical

    @property
    def ratio(self) -> float:
        """How many times as long a recorded step takes."""
        return self.recorded.value / self.unprofiled.value

    @property
    def is_known(self) -> bool:
        """Whether recording is known to slow the steps."""
        return self.recorded.low > self.unprofiled.high


def measure_cost(analysis: Analysis) -> RecordingCost | None:
    """What recording costs; None where no unprofiled steps were timed."""
    unprofiled = list_unprofiled_steps(analysis)
    if unprofiled.empty:
        return None
    warm_up = int(analysis.steps.groupby("gpu")["warm_up"].sum().max()) if len(analysis.steps) else 1
    times = measure_step_times(unprofiled), measure_step_times(list_annotated_steps(analysis), max(warm_up, 1))
    return RecordingCost(*(find_median(of) if len(of) >= FEWEST_INSTANCES else Typical() for of in times))


def find_recording_cost(analysis: Analysis) -> list[Finding]:
    """The cost in a sentence; none where no unprofiled steps were timed."""
    cost = measure_cost(analysis)
    if cost is None:
        return []
    unprofiled, recorded = (units.format_ns(cost_of.value) for cost_of in (cost.unprofiled, cost.recorded))
    has_intervals = (
        cost.unprofiled.low > 0 and cost.recorded.low > 0
    )  # no step takes 0 ns: such an interval says nothing
    if cost.is_known:
        sentence = (
            f"Profiling slowed a step from {unprofiled} to {recorded} ({cost.ratio:.2f}x); most of the difference is "
            f"idle time"
        )
    elif has_intervals:
        spans = [
            f"{units.format_ns(cost_of.low)} to {units.format_ns(cost_of.high)}"
            for cost_of in (cost.unprofiled, cost.recorded)
        ]
        took = f"a step took {unprofiled} unprofiled ({spans[0]}) and {recorded} profiled ({spans[1]})"
        sentence = f"Whether profiling slowed the steps is inconclusive: {took}"
    else:
        why = "there are too few steps after the warm-up"
        if not math.isnan(cost.unprofiled.low + cost.recorded.low):
            why = (
                f"there are too few steps after the warm-up, and they vary too much: about {unprofiled} unprofiled, "
                f"{recorded} profiled"
            )
        sentence = f"Whether profiling slowed the steps is unknown: {why}"
    return [Finding("recording-cost", Severity.CAUTION, sentence=sentence)]


def without_profiling(idle_pct: float, cost: RecordingCost | None) -> float:
    """The idle share of a time in percent as it would be without a recording, which only adds idle time."""
    if cost is None or not cost.is_known:
        return idle_pct
    added_pct = 100 * (1 - 1 / cost.ratio)
    return max(idle_pct - added_pct, 0.0) / (1 - added_pct / 100)
