"""What is known about one chip. Unknown figures are NaN, and of an unknown chip everything is unknown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PIPES_PER_SM = 4  # tensor pipes, one in each sub-partition, Volta to Blackwell
NO_MATRIX = "none"  # the family of kernels that are known to have no matrix instruction
FAMILIES = ("mma.sync", "wgmma", "tcgen05")
PRECISIONS = ("fp64", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
IN_FP16 = "_in_fp16"  # behind a precision: where sums in FP16 have a rate of their own, as on GeForce cards
UNKNOWN = float("nan")


@dataclass(frozen=True)
class Metric:
    """A sampled metric, as Nsight Systems has it."""

    names: tuple[str, ...]  # its names in exports, with the unit in brackets; the first that a recording has is read
    counters: tuple[str, ...]  # the hardware counter's names in metric sets, without the unit that counts it
    source: str  # where this is known from
    scale: float = 1.0  # what a recorded value is multiplied by
    shared_pipe: bool = False  # whether the counter also counts plain half-precision arithmetic
    # The sub-metric's name for the exact sum of the counter, which our own metric set adds; empty where nsys's values
    # are what is read.
    sums: str = ""
    # Nsight Systems' own sets lack the counter: ours adds it where they have this one, from the same unit unless the
    # counter names its own.
    beside: str = ""
    # The column that follows from the sum, so that our own metric set leaves out Nsight Systems' metric of it; empty
    # where it follows from none.
    replaces: str = ""
    description: str = ""  # what our own metric set says of it


@dataclass(frozen=True)
class Rate:
    """Floating-point (or integer) operations for each active cycle of one tensor pipe, and where that is known from."""

    flop_per_cycle: float
    source: str


@dataclass(frozen=True)
class Board:
    """A product with the chip; its chips have different numbers of SMs, clocks and memory."""

    names: str = ""  # A regular expression that finds its names in exports, such as NVIDIA H200
    sm_count: float = UNKNOWN  # streaming multiprocessors
    boost_clock_hz: float = UNKNOWN  # the SM clock that its peaks are stated at
    bandwidth_bytes_per_s: float = UNKNOWN  # of its memory
    l2_bandwidth_bytes_per_s: float = UNKNOWN  # the most that its L2 cache was seen to give
    peak_tflops: Mapping[str, float] = field(default_factory=dict)  # stated peaks, dense, by precision
    source: str = ""  # where this is known from
    l2_source: str = ""  # where the bandwidth of the L2 cache is known from

    def stated_peak(self, precision: str, accumulator: str = "") -> float:
        """The peak that is stated for a precision, see ``Chip.flop_per_cycle``; NaN where there is none."""
        return _common(_value_of(self.peak_tflops, name, accumulator) for name in precision.split("/"))


@dataclass(frozen=True)
class Chip:
    """One chip."""

    name: str  # as exports have it, such as GH100
    # By column of ``tcprof.frames.SAMPLES`` (and ``sm_cycles``): those of the chip's own file, then those that all
    # chips share, then those of other chips, since a newer chip may take over an older one's names.
    metrics: Mapping[str, tuple[Metric, ...]]
    # By column: the sums that our own metric set adds, of the chip's own file and those that all chips share.
    sums: Mapping[str, Metric]
    # By instruction family and precision; where shapes of an instruction differ, by ``mma.sync 16x8x16``.
    rates: Mapping[str, Mapping[str, Rate]]
    boards: Mapping[str, Board]  # by name
    board: Board  # the one that is meant; of unknowns, where that is not known
    fma_per_cycle: float  # warp instructions that the FMA pipes of an SM start in a cycle

    def flop_per_cycle(self, family: str, precision: str, accumulator: str = "", shape: str = "") -> float:
        """Operations for each active cycle of one tensor pipe; NaN where not known, 0 without matrix instructions.

        Args:
            family: One of ``FAMILIES``, ``NO_MATRIX``, or empty for unknown.
            precision: One of ``PRECISIONS``, or several that it may be, as in fp16/bf16; empty for unknown.
            accumulator: fp16, fp32, or empty for unknown: then there is a rate where that makes no difference.
            shape: Of an instruction, such as 16x8x16, or empty for unknown: then there is a rate where all shapes of
                the family have the same.
        """
        if family == NO_MATRIX:
            return 0.0
        rates = self.rates.get(f"{family} {shape}", self.rates.get(family, {}))
        return _common(_rate_of(rates, name, accumulator) for name in precision.split("/"))

    def peak_flop_per_cycle(self, precision: str, accumulator: str = "") -> float:
        """The highest rate of any instruction family in that precision; NaN where not known."""
        return _common(self._highest(name, accumulator) for name in precision.split("/"))

    def _highest(self, precision: str, accumulator: str) -> float:
        found = [_rate_of(rates, precision, accumulator) for rates in self.rates.values() if precision in rates]
        return max(found, default=UNKNOWN)


def _rate_of(rates: Mapping[str, Rate], precision: str, accumulator: str) -> float:
    return _value_of({name: rate.flop_per_cycle for name, rate in rates.items()}, precision, accumulator)


def _value_of(values: Mapping[str, float], precision: str, accumulator: str) -> float:
    """The value of a precision with an accumulator; NaN where it is not known."""
    in_fp32 = values.get(precision, UNKNOWN)
    by_accumulator = {"fp32": in_fp32, "fp16": values.get(precision + IN_FP16, in_fp32)}
    return by_accumulator[accumulator] if accumulator else _common(by_accumulator.values())


def _common(values: Iterable[float]) -> float:
    """The only one of some values; NaN where they differ."""
    found = set(values)
    return found.pop() if len(found) == 1 else UNKNOWN
