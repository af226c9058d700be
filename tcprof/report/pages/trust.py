"""How far the figures of a recording can be trusted: what was checked, with what was found."""

import math
from dataclasses import dataclass

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.clock import LARGEST_OFFSET_NS, LOWEST_CORRELATION
from tcprof.analysis.kernels.summary import RESOLVED
from tcprof.analysis.ledger import ACTIVITY_TIME, KERNEL_TIME
from tcprof.report.pages.iterations import IterationFigures
from tcprof.report.text.timeline import describe_clocks

GOOD, POOR, UNKNOWN = "good", "poor", "unknown"
_ENOUGH_PCT = 95.0
_MARKS = {GOOD: ("✓", "in order"), POOR: ("!", "mind this"), UNKNOWN: (units.UNKNOWN, "not known")}


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes:
        title: What.
        text: What was found.
        state: ``good``, ``poor`` or ``unknown``.
    """

    title: str
    text: str
    state: str

    @property
    def mark(self) -> str:
        """A sign for the state, which tells it without a colour."""
        return _MARKS[self.state][0]

    @property
    def spoken(self) -> str:
        """The state in words, for those who cannot see the sign."""
        return _MARKS[self.state][1]


def list_checks(analysis: Analysis, row: pd.Series, figures: IterationFigures | None) -> tuple[Check, ...]:
    """What a reader must know before trusting the figures of one GPU.

    Args:
        analysis: The recording.
        row: The GPU's whole capture in the range summary.
        figures: Its iterations, if there are any.
    """
    gpu = int(row["gpu"])
    coverage = row["coverage_pct"] if figures is None else figures.coverage_pct
    whose = "the capture" if figures is None else "the iterations' time"
    checks = [_samples(analysis, gpu)]
    if analysis.tensor_source != "none":
        checks.append(Check("Coverage", f"samples cover {units.format_pct(coverage)} of {whose}", _enough(coverage)))
    what = "Lost kernels" if analysis.tensor_source == "none" else "Lost samples or kernels"
    lost = ("see the red box above", POOR) if analysis.faults else ("no sign of any", GOOD)
    checks.append(Check(what, *lost))
    checks += [*_clock(analysis, gpu), *_fit(analysis, gpu), *_attribution(analysis, gpu)]
    return tuple(checks)


def _enough(share: float) -> str:
    return UNKNOWN if math.isnan(share) else GOOD if share >= _ENOUGH_PCT else POOR


def _samples(analysis: Analysis, gpu: int) -> Check:
    samples = analysis.samples[(analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()]
    if not len(samples):
        return Check("Samples", "none of Tensor Active", POOR)
    period = units.format_ns((samples["end_ns"] - samples["start_ns"]).median())
    if analysis.tensor_source == "rounded":
        return Check("Samples", f"rounded to whole percentages, one each {period}: small means are too high", POOR)
    return Check("Samples", f"exact tensor cycles, one each {period}", GOOD)


def _clock(analysis: Analysis, gpu: int) -> list[Check]:
    """Whether samples and kernels have the same clock; nothing to check where one of them is missing."""
    rows = analysis.clocks[analysis.clocks["gpu"] == gpu]
    if not len(rows):
        return []
    offset, correlation = float(rows["offset_ns"].iloc[0]), float(rows["correlation"].iloc[0])
    agree = abs(offset) <= LARGEST_OFFSET_NS and correlation >= LOWEST_CORRELATION
    found = describe_clocks(rows)[0].removeprefix("Clock check: ").removesuffix(".")
    return [Check("Clock check", found, UNKNOWN if math.isnan(offset) else GOOD if agree else POOR)]


def _fit(analysis: Analysis, gpu: int) -> list[Check]:
    share = _share(analysis, gpu, KERNEL_TIME, RESOLVED)
    if math.isnan(share) or analysis.tensor_source == "none":
        return []
    return [Check("Kernels told apart", f"{units.format_pct(share)} of the kernel time", _enough(share))]


def _attribution(analysis: Analysis, gpu: int) -> list[Check]:
    share = _share(analysis, gpu, ACTIVITY_TIME, "in a range")
    if math.isnan(share):
        return []
    return [Check("Work in ranges", f"{units.format_pct(share)} of the GPU's time", _enough(share))]


def _share(analysis: Analysis, gpu: int, account: str, entry: str) -> float:
    """An entry's share of an account; 0 if only the others have one, NaN where there is no account."""
    ledger = analysis.ledger[(analysis.ledger["gpu"] == gpu) & (analysis.ledger["account"] == account)]
    return float(ledger["share_pct"][ledger["entry"] == entry].sum()) if len(ledger) else math.nan
