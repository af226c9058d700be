"""How far the figures of a recording can be trusted: what was checked, with what was found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.verdicts import RESOLVED
from tcprof.analysis.ranges.projection import AFTER_STEPS, BEFORE_STEPS
from tcprof.analysis.samples.clock import FEWEST_EDGES, LOWEST_AGREEMENT_PCT
from tcprof.analysis.time.account import ACTIVITY_TIME, KERNEL_TIME
from tcprof.findings.steps import StepFigures

GOOD, POOR, UNKNOWN = "good", "poor", "unknown"
_ENOUGH_PCT = 95.0
_Row = tuple[str, str, str]  # name, state and sentence
_MARKS = {GOOD: ("✓", "passes"), POOR: ("!", "needs attention"), UNKNOWN: (units.UNKNOWN, "not known")}


@dataclass(frozen=True)
class Check:
    """One thing that was checked on a GPU, with its state, one of the three above, and what was found."""

    gpu: int
    name: str
    state: str
    sentence: str

    @property
    def mark(self) -> str:
        """A sign for the state, which works without colour."""
        return _MARKS[self.state][0]

    @property
    def spoken(self) -> str:
        """The state in words, for those who cannot see the sign."""
        return _MARKS[self.state][1]


def list_checks(analysis: Analysis, row: pd.Series, figures: StepFigures | None, has_faults: bool) -> tuple[Check, ...]:
    """What a reader must know before trusting the figures of one GPU, by its row of the whole capture."""
    gpu = int(row["gpu"])
    coverage = row["coverage_pct"] if figures is None else figures.coverage_pct
    whose = "the capture" if figures is None else "the steps' time"
    checks = [_samples(analysis, gpu)]
    if analysis.tensor_source != "none":
        checks.append(("Coverage", _enough(coverage), f"samples cover {units.format_pct(coverage)} of {whose}"))
    what = "Lost kernels" if analysis.tensor_source == "none" else "Lost samples or kernels"
    lost = (POOR, "see the warnings") if has_faults else (GOOD, "none found")
    checks.append((what, *lost))
    checks += _clock(analysis, gpu)
    resolved = _share(analysis, gpu, KERNEL_TIME, RESOLVED)
    outside = sum(_share(analysis, gpu, ACTIVITY_TIME, entry) for entry in (BEFORE_STEPS, AFTER_STEPS))
    in_ranges = _share(analysis, gpu, ACTIVITY_TIME, "in a range") / max(1 - outside / 100, 1e-9)
    if not math.isnan(resolved) and analysis.tensor_source != "none":
        sentence = f"{units.format_pct(resolved)} of kernel time is attributed per kernel"
        checks.append(("Kernel attribution", _enough(resolved), sentence))
    if not math.isnan(in_ranges):
        whose = "the GPU's time" + " from the first step to the last" * (outside > 0)
        checks.append(("Work in ranges", _enough(in_ranges), f"{units.format_pct(in_ranges)} of {whose}"))
    return tuple(Check(gpu, *check) for check in checks)


def _enough(share: float) -> str:
    return UNKNOWN if math.isnan(share) else GOOD if share >= _ENOUGH_PCT else POOR


def _samples(analysis: Analysis, gpu: int) -> _Row:
    is_sampled = (analysis.samples["gpu"] == gpu) & analysis.samples["tensor_active_pct"].notna()
    samples = analysis.samples[["start_ns", "end_ns"]][is_sampled]
    if not len(samples):
        return "Samples", POOR, "no samples of Tensor Active"
    period = units.format_ns((samples["end_ns"] - samples["start_ns"]).median())
    if analysis.tensor_source == "rounded":
        return "Samples", POOR, f"sampled every {period}, rounded to whole percentages: small means are too high"
    return "Samples", GOOD, f"exact tensor cycles, every {period}"


def _clock(analysis: Analysis, gpu: int) -> list[_Row]:
    """Whether samples and kernels have the same clock; nothing to check where one of them is missing."""
    rows = analysis.clocks[analysis.clocks["gpu"] == gpu]
    if not len(rows):
        return []
    row = rows.iloc[0]
    state = POOR if row["agreement_pct"] < LOWEST_AGREEMENT_PCT else UNKNOWN if pd.isna(row["offset_ns"]) else GOOD
    return [("Clock check", state, _describe_clock(row))]


def _share(analysis: Analysis, gpu: int, account: str, entry: str) -> float:
    """An entry's share of an account; 0 if only the others have one, NaN where an account is missing or empty."""
    ledger = analysis.ledger[(analysis.ledger["gpu"] == gpu) & (analysis.ledger["account"] == account)]
    is_known = ledger["share_pct"].notna().any()
    return float(ledger["share_pct"][ledger["entry"] == entry].sum()) if is_known else math.nan


def describe_clocks(clocks: pd.DataFrame) -> list[str]:
    """Whether samples and trace agree on the time, a line for each GPU."""
    several = len(clocks) > 1
    return [
        f"{f'GPU {gpu}: ' if several else ''}Clock check: {_describe_clock(row)}."
        for gpu, row in clocks.set_index("gpu").iterrows()
    ]


def _describe_clock(row: pd.Series) -> str:
    edges = "edge between busy and idle" if row["edge_count"] == 1 else "edges between busy and idle"
    edges = f"{units.format_count(row['edge_count'])} {edges}"
    if row["edge_count"] < FEWEST_EDGES:
        return f"not possible: the samples show {edges}, but {FEWEST_EDGES} are needed"
    if math.isnan(row["agreement_pct"]):
        return f"not possible: GR Active hardly changes at {edges}"
    if row["agreement_pct"] < LOWEST_AGREEMENT_PCT:
        return f"GR Active does not follow the kernels at {edges}"
    if math.isnan(row["offset_ns"]):
        return f"not possible: the program repeats so exactly that several offsets fit the {edges}"
    shifts = row["shift_ns"], row["last_shift_ns"]
    if any(shifts):
        moved = f"sample timestamps were {describe_shift(*shifts)} than the kernels'; tcprof corrected them"
        return f"{moved} ({edges} agree to {units.format_ns(row['error_ns'])})"
    low, high = (units.format_signed_ns(row[name]) for name in ("offset_low_ns", "offset_high_ns"))
    return f"samples and trace share one clock ({low} to {high}, judged by {edges})"


def describe_shift(first_ns: int, last_ns: int) -> str:
    """How much later or earlier samples are stamped, at the beginning and at the end where the clocks drift apart."""
    first, last = (f"{units.format_ns(abs(ns))} {'later' if ns >= 0 else 'earlier'}" for ns in (first_ns, last_ns))
    return first if first_ns == last_ns else f"{first} at the beginning and {last} at the end"


def count_checks(checks: Sequence[Check]) -> str:
    """How many of some checks pass, and which do not, in one line."""
    rest = [check for check in checks if check.state != GOOD]
    passed = f"{len(checks) - len(rest)} of {len(checks)} checks passed"
    names = ", ".join(dict.fromkeys(check.name for check in rest))
    return f"{passed} (not passed: {names})" if rest else f"All {len(checks)} checks passed"


def summarize_checks(checks: Sequence[Check]) -> list[str]:
    """Checks in lines: how many pass, and those that do not."""
    rest = [check for check in checks if check.state != GOOD]
    passed = f"all {len(checks)}" if not rest else f"{len(checks) - len(rest)} of {len(checks)}"
    lines = [f"Checks: {passed} passed."]
    several = len({check.gpu for check in checks}) > 1
    for check in rest:
        where = f"GPU {check.gpu}: " if several else ""
        lines.append(f"Check: {where}{check.name} ({check.spoken}): {check.sentence}.")
    return lines
