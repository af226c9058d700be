"""What launches did beside the tensor pipes' cycles: bytes that they moved, and instructions that they executed.

Without sums of the counters they get shares from whole percentages, which only separate memory-bound from issue-bound
kernels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.constraints import Enclosure, add_bounds
from tcprof.analysis.kernels.design import Design, Launches
from tcprof.analysis.kernels.fit import RESOLUTION, Fit, fit
from tcprof.analysis.kernels.sm_clock import Capacity, constant_capacity, full_activity
from tcprof.analysis.samples.copies import Copies
from tcprof.analysis.samples.sampling import read_rounded
from tcprof.arrays import Floats
from tcprof.chips import PIPES_PER_SM
from tcprof.frames import WORK

# Shares of what the GPU can do: the counts that each is the sum of, and the percentages where there are no counts.
SHARES = {
    "sm_active": (("sm_active_cycles",), ("sm_active_pct",)),
    "sm_issue": (("instruction_count",), ("sm_issue_pct",)),
    "dram": (("dram_read_bytes", "dram_write_bytes"), ("dram_read_pct", "dram_write_pct")),
    "fma": (("fma_instruction_count",), ()),
    "l1": (("l1_wavefront_count",), ()),
    "l2": (("l2_request_count",), ()),
}
_PASSES_OF_COUNTS = 2  # more change what is not a few µs long by about 1 %
_PASSES_OF_PERCENT = 1
_ABOVE_SAMPLED = 10.0  # a rate that no launch exceeds, in terms of the highest sample, where no peak is known


@dataclass(frozen=True)
class WorkLimits:
    """The most that a GPU can do."""

    # cycles of all its tensor pipes while each launch ran, which are PIPES_PER_SM for each cycle of an SM
    capacity: Capacity
    has_clock: bool  # whether these are known
    dram_bandwidth: float  # bytes a second; NaN where not known
    fma_per_cycle: float  # warp instructions of the FMA pipes of an SM in a cycle; NaN where not known
    l2_per_ns: float  # requests that the L2 cache can take in a ns; NaN where not known

    def most(self, share: str) -> Capacity | None:
        """Return the most that can be counted in a ns; None where it is not known."""
        if share == "dram":
            return self._constant(self.dram_bandwidth * 1e-9)
        if share == "l2":
            return self._constant(self.l2_per_ns)
        of_sm = {"sm_active": 1.0, "sm_issue": 4.0, "fma": self.fma_per_cycle, "l1": 1.0}
        of_pipes = of_sm[share] / PIPES_PER_SM
        is_known = self.has_clock and of_pipes > 0
        return self.capacity.times(of_pipes) if is_known else None

    def _constant(self, rate: float) -> Capacity | None:
        sizes = len(self.capacity.of_launch), len(self.capacity.of_class)
        return constant_capacity(*sizes, rate) if rate > 0 else None


def requests_per_ns(samples: pd.DataFrame) -> float:
    """Requests that the L2 cache can take in a ns: one in a cycle and slice; NaN where its cycles were not sampled."""
    passed = (samples["end_ns"] - samples["start_ns"]).sum()
    return float(samples["l2_cycles"].sum(min_count=len(samples)) / passed)


def fit_counts(
    launches: Launches,
    design: Design,
    samples: pd.DataFrame,
    limits: WorkLimits,
    copies: Copies,
    enclosure: Enclosure,
    offset_error_ns: float,
) -> dict[str, Fit]:
    """Fit what each launch of a GPU counts of every counter of ``tcprof.frames.WORK`` that was sampled throughout.

    ``copies`` moved through the memory beside the launches; ``enclosure`` tells the long launches' own samples;
    ``offset_error_ns`` is how well samples and launches are on one clock, at best.
    """
    share_of = {count: share for share, (counts, _) in SHARES.items() for count in counts}
    start, end = (samples[name].to_numpy() for name in ("start_ns", "end_ns"))
    length, fits = end - start, {}
    for name in WORK:
        value = samples[name].to_numpy()
        if np.isnan(value).any():
            continue
        most = limits.most(share_of[name]) if name in share_of else None
        sampled = float((value / np.maximum(length, 1)).max(initial=0))
        ceiling = float(most.of_launch.max()) if most else _ABOVE_SAMPLED * sampled
        moved = copies.move(name, start, end)
        value = np.maximum(value - moved.value, 0)
        error = np.minimum(sampled * moved.internal_ns, moved.internal_most)
        most_sampled = max(ceiling, sampled)
        one = fit(
            *(launches, design, value, error, moved.shift, most_sampled, _PASSES_OF_COUNTS),
            offset_error_ns=offset_error_ns,
        )
        negligible = RESOLUTION * sampled * length
        fits[name] = replace(one, bounds=enclosure.bound(value, error + moved.shift <= negligible))
    return fits


def fit_shares(
    launches: Launches,
    design: Design,
    samples: pd.DataFrame,
    counts: Mapping[str, Fit],
    limits: WorkLimits,
    offset_error_ns: float,
) -> dict[str, Fit]:
    """Fit what each launch did of the sampled ``SHARES``, in ns of full activity; ``counts`` are of ``fit_counts``."""
    fits = {}
    for share, (counted, percentages) in SHARES.items():
        most = limits.most(share)
        if most and counts.keys() >= set(counted):
            fits[share] = full_activity(_sum([counts[name] for name in counted]), most)
        elif percentages and samples[[*percentages]].notna().all(axis=None):
            read = _sum_rounded(samples, percentages)
            fits[share] = fit(*(launches, design, *read, 1.0, _PASSES_OF_PERCENT), offset_error_ns=offset_error_ns)
    return fits


def _sum_rounded(samples: pd.DataFrame, percentages: Iterable[str]) -> tuple[Floats, Floats, Floats]:
    """Sum the ns of full activity of a sample's rounded percentages, with their standard error and shift."""
    value, variance, shift = np.zeros((3, len(samples)))
    length = (samples["end_ns"] - samples["start_ns"]).to_numpy()
    for name in percentages:
        read, error, shifted = (reading / 100 * length for reading in read_rounded(samples[name].to_numpy()))
        value += read
        variance += error**2
        shift += shifted
    return value, np.sqrt(variance), shift


def _sum(fits: list[Fit]) -> Fit:
    """Several counters as one; how their errors hang together is not known, so that the largest sum is taken."""
    names = ("value", "covariance", "bias", "per_launch")
    sums: dict[str, Floats] = {name: np.sum([getattr(one, name) for one in fits], axis=0) for name in names}
    sums["covariance"] *= len(fits)
    return replace(fits[0], **sums, bounds=add_bounds([one.bounds for one in fits]))  # type: ignore[arg-type]
