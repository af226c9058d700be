"""What recording costs the program: its steps under nsys beside its steps alone."""

import math
from dataclasses import dataclass

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.mean_step import Typical, find_median
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.annotate.steps import DOMAIN, INFERENCE, STEP
from tcprof.findings.finding import Finding, Severity


@dataclass(frozen=True)
class RecordingCost:
    """The steps of a program, unprofiled and recorded, by the same hooks and without warm-up.

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


def list_steps(analysis: Analysis) -> pd.DataFrame:
    """Steps that ``tcprof.annotate`` opened, as ``tcprof.frames.UNPROFILED``: of training, else calls of models.

    Where they have work on a GPU, they begin with the first of it.
    """
    ranges = analysis.nvtx_ranges
    ours = ranges[(ranges["domain"] == DOMAIN) & ranges["start_end"]]
    names = ours["name"].astype(str)
    ours = ours[(names == STEP) | names.str.startswith(f"{INFERENCE} ")]
    begins = analysis.instances.groupby("range")["gpu_start_ns"].min().reindex(ours.index)
    if begins.notna().any():
        ours = ours.assign(start_ns=begins)[begins.notna()]
    return _of_one_kind(ours.assign(training=ours["name"] == STEP)[["process", "training", "start_ns", "end_ns"]])


def measure_cost(analysis: Analysis) -> RecordingCost | None:
    """What recording costs; None where the program was not run alone."""
    if analysis.unprofiled.empty:
        return None
    warm_up = int(analysis.steps.groupby("gpu")["warm_up"].sum().max()) if len(analysis.steps) else 1
    unprofiled, recorded = _of_one_kind(analysis.unprofiled), list_steps(analysis)
    if unprofiled.empty or recorded.empty or unprofiled["training"].iloc[0] != recorded["training"].iloc[0]:
        return None
    return RecordingCost(*(_step_time(steps, max(warm_up, 1)) for steps in (unprofiled, recorded)))


def find_recording_cost(analysis: Analysis) -> list[Finding]:
    """The cost in a sentence; none where the program was not run alone."""
    cost = measure_cost(analysis)
    if cost is None:
        return []
    unprofiled, recorded = (units.format_ns(cost_of.value) for cost_of in (cost.unprofiled, cost.recorded))
    has_intervals = (
        cost.unprofiled.low > 0 and cost.recorded.low > 0
    )  # no step takes 0 ns: such an interval says nothing
    if cost.is_known:
        sentence = (
            f"Recording slowed a step from {unprofiled} to {recorded} ({cost.ratio:.2f}x): idle time is overstated "
            "by about that"
        )
    elif has_intervals:
        spans = [
            f"{units.format_ns(cost_of.low)} to {units.format_ns(cost_of.high)}"
            for cost_of in (cost.unprofiled, cost.recorded)
        ]
        took = f"a step took {unprofiled} unprofiled ({spans[0]}) and {recorded} recorded ({spans[1]})"
        sentence = f"Whether recording slowed the steps is inconclusive: {took}"
    else:
        why = "too few follow the warm-up"
        if not math.isnan(cost.unprofiled.low + cost.recorded.low):
            why = (
                f"after the warm-up they are too few and differ too much: about {unprofiled} unprofiled and "
                f"{recorded} recorded"
            )
        sentence = f"Whether recording slowed the steps is unknown: {why}"
    return [Finding("recording-cost", Severity.CAUTION, sentence=sentence)]


def idle_alone(idle_pct: float, cost: RecordingCost | None) -> float:
    """The idle share of a time in percent as it would be without a recording, which only adds idle time."""
    if cost is None or not cost.is_known:
        return idle_pct
    added_pct = 100 * (1 - 1 / cost.ratio)
    return max(idle_pct - added_pct, 0.0) / (1 - added_pct / 100)


def _of_one_kind(steps: pd.DataFrame) -> pd.DataFrame:
    return steps[steps["training"]] if steps["training"].any() else steps


def _step_time(steps: pd.DataFrame, warm_up: int) -> Typical:
    """Over all processes, each without its first steps."""
    ordered = steps.sort_values(["process", "start_ns"])
    distance = ordered.groupby("process")["start_ns"].diff().shift(-1)
    number = ordered.groupby("process").cumcount()
    kept = distance[(number >= warm_up) & distance.notna()]
    return find_median(kept) if len(kept) >= FEWEST_INSTANCES else Typical()
