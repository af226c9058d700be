"""What is known about one chip. Unknown figures are NaN, and of an unknown chip everything is unknown."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

PIPES_PER_SM = 4  # tensor pipes, one in each sub-partition, Volta to Blackwell
NO_MATRIX = "none"  # the family of kernels that are known to have no matrix instruction
FAMILIES = ("mma.sync", "wgmma", "tcgen05")
PRECISIONS = ("fp64", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
IN_FP16 = "_in_fp16"  # behind a precision: where sums in FP16 have a rate of their own, as on GeForce cards
UNKNOWN = float("nan")
DATA = Path(__file__).parent / "data"

_STATED = ("sm_count", "boost_clock_hz", "bandwidth_bytes_per_s", "nvlink_bytes_per_s")
_VENDOR = "NVIDIA "  # before the names of boards, but not in older exports


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
class Board:
    """A product with the chip; its chips have different numbers of SMs, clocks and memory."""

    names: tuple[str, ...] = ()  # its whole names in exports without the vendor's, such as H200: GB200 is not a B200
    sm_count: float = UNKNOWN  # streaming multiprocessors
    boost_clock_hz: float = UNKNOWN  # the SM clock that its peaks are stated at
    bandwidth_bytes_per_s: float = UNKNOWN  # of its memory
    nvlink_bytes_per_s: float = UNKNOWN  # in one direction
    l2_bandwidth_bytes_per_s: float = UNKNOWN  # the most that its L2 cache was seen to give
    peak_tflops: Mapping[str, float] = field(default_factory=dict)  # stated peaks, dense, by precision
    source: str = ""  # where this is known from
    l2_source: str = ""  # where the bandwidth of the L2 cache is known from

    def stated_peak(self, precision: str, accumulator: str = "") -> float:
        """Return the stated peak of a precision, see ``Chip.flop_per_cycle``; NaN where there is none."""
        return _common(_value_of(self.peak_tflops, name, accumulator) for name in precision.split("/"))


@dataclass(frozen=True)
class Chip:
    """What is known about a chip."""

    name: str  # as exports have it, such as GH100
    # By column of ``tcprof.frames.SAMPLES`` (and ``sm_cycles``): those of the chip's own file, then those that all
    # chips share, then those of other chips, since a newer chip may take over an older one's names.
    metrics: Mapping[str, tuple[Metric, ...]]
    # By column: the sums that our own metric set adds, of the chip's own file and those that all chips share.
    sums: Mapping[str, Metric]
    # Operations for each active cycle of one tensor pipe by instruction family and precision; where shapes of an
    # instruction differ, by ``mma.sync 16x8x16``.
    rates: Mapping[str, Mapping[str, float]]
    board: Board  # the one that is meant; of unknowns, where that is not known
    fma_per_cycle: float  # warp instructions that the FMA pipes of an SM start in a cycle

    def flop_per_cycle(self, family: str, precision: str, accumulator: str = "", shape: str = "") -> float:
        """Return the FLOP of one tensor pipe per active cycle; NaN where unknown, 0 without matrix instructions.

        Args:
            family: One of ``FAMILIES``, or ``NO_MATRIX``.
            precision: One of ``PRECISIONS``, or several that it may be, as in fp16/bf16.
            accumulator: fp16 or fp32; empty if not known: there is a rate if it makes no difference.
            shape: Of an instruction, such as 16x8x16; likewise.
        """
        if family == NO_MATRIX:
            return 0.0
        rates = self.rates.get(f"{family} {shape}", self.rates.get(family, {}))
        return _common(_value_of(rates, name, accumulator) for name in precision.split("/"))

    def peak_flop_per_cycle(self, precision: str, accumulator: str = "") -> float:
        """Return the highest rate of any instruction family in a precision; NaN where unknown."""
        return _common(self._highest(name, accumulator) for name in precision.split("/"))

    def _highest(self, precision: str, accumulator: str) -> float:
        values = (_value_of(rates, precision, accumulator) for rates in self.rates.values() if precision in rates)
        return max(values, default=UNKNOWN)


_Rates = Mapping[str, Mapping[str, float]]


def _value_of(values: Mapping[str, float], precision: str, accumulator: str) -> float:
    """Return the value of a precision with an accumulator; NaN where it is unknown."""
    in_fp32 = values.get(precision, UNKNOWN)
    by_accumulator = {"fp32": in_fp32, "fp16": values.get(precision + IN_FP16, in_fp32)}
    return by_accumulator[accumulator] if accumulator else _common(by_accumulator.values())


def _common(values: Iterable[float]) -> float:
    """Return the only one of some values; NaN where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else UNKNOWN


@dataclass(frozen=True)
class ChipFile:
    """What one file says."""

    chips: tuple[str, ...]  # the chips that it is for; none where it is for all
    metrics: Mapping[str, Metric]  # by column
    rates: _Rates  # by instruction family and precision: those of all boards; NaN where there is one, not known here
    # Those of some boards: a regular expression that finds the boards' names, and the rates; None where those of all
    # boards do not hold for them, and others are in no source.
    rates_of_boards: tuple[tuple[str, _Rates | None], ...]
    boards: Mapping[str, Board]  # by name
    fma_per_cycle: float = UNKNOWN  # see ``Chip``
    # A regular expression that finds the names of GPUs with these chips, for exports that name no chip; empty where
    # nothing needs it.
    gpus: str = ""

    def board_of(self, gpu: str) -> Board | None:
        """Find the board with a GPU's name; None where it is unknown."""
        return next((board for board in self.boards.values() if gpu.removeprefix(_VENDOR) in board.names), None)


def lacks(precision: str, chip: str, gpu: str) -> bool:
    """Tell whether no board with the chip, by its name or the GPU's, has matrix instructions in a precision."""
    file = _find_file(chip, gpu)
    rate_tables = [file.rates, *(rates for _, rates in file.rates_of_boards if rates)] if file else []
    return file is not None and not any(
        precision in rates for family_rates in rate_tables for rates in family_rates.values()
    )


def find_chip(name: str, gpu: str = "") -> Chip:
    """Find what is known of a chip such as GH100, and of the board of a GPU's name; else what all of them share."""
    files = _read_folder(DATA)
    own_file = _find_file(name, gpu) or ChipFile((), {}, {}, (), {})
    common = [file for file in files if not file.chips]
    other_files = [file for file in files if file.chips and file is not own_file]
    metrics: dict[str, tuple[Metric, ...]] = {}
    for file in (own_file, *common, *other_files):
        for column, metric in file.metrics.items():
            metrics[column] = (*metrics.get(column, ()), metric)
    # The chip's own instead of the common one.
    sums = {column: metric for file in (*common, own_file) for column, metric in file.metrics.items() if metric.sums}
    board = own_file.board_of(gpu) or Board()
    return Chip(name, metrics, sums, _rates_of(own_file, gpu), board, own_file.fma_per_cycle)


def read_boards() -> dict[str, tuple[tuple[str, ...], Board]]:
    """Read all boards by name: the chips that each has one of, and what is known about it."""
    return {name: (file.chips, board) for file in _read_folder(DATA) for name, board in file.boards.items()}


def _find_file(chip: str, gpu: str) -> ChipFile | None:
    """Find the file of a chip, or of a GPU's name; None where there is none."""
    files = _read_folder(DATA)
    by_chip = [file for file in files if chip in file.chips]
    by_gpu = [file for file in files if file.board_of(gpu) or (file.gpus and re.search(file.gpus, gpu))]
    return next(iter(by_chip + by_gpu), None)


def _rates_of(file: ChipFile, gpu: str) -> _Rates:
    """Merge the rates of all boards with those of one."""
    merged = {family: dict(rates) for family, rates in file.rates.items()}
    for names, of_boards in file.rates_of_boards:
        if gpu and re.search(names, gpu):
            if of_boards is None:
                return {}
            for family, rates in of_boards.items():
                merged.setdefault(family, {}).update(rates)
    return merged


def metric_names(column: str) -> frozenset[str]:
    """Return all names that a column of the samples has in exports, whatever the chip."""
    return frozenset(name for metric in find_chip("").metrics.get(column, ()) for name in metric.names)


@cache
def _read_folder(folder: Path) -> tuple[ChipFile, ...]:
    return tuple(read_file(path) for path in sorted(folder.glob("*.toml")))


def read_file(path: Path) -> ChipFile:
    """Read one file; the tests hold each to the keys that are read here, and each figure in it to its source."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    sources = content["sources"]
    return ChipFile(
        chips=tuple(content.get("chips", ())),
        metrics={column: _metric(entry, sources) for column, entry in content.get("metrics", {}).items()},
        rates=_read_rates(content.get("flop_per_cycle", {})),
        rates_of_boards=tuple(
            # Where there is only a word on why none is known, that is a source.
            (entry.pop("names"), None if "source" in entry else _read_rates(entry))
            for entry in content.get("flop_per_cycle_of", {}).values()
        ),
        boards={name: _board(name, entry, sources) for name, entry in content.get("boards", {}).items()},
        fma_per_cycle=float(content.get("fma_per_cycle", {}).get("value", UNKNOWN)),
        gpus=content.get("gpus", {}).get("names", ""),
    )


def _metric(entry: dict[str, Any], sources: dict[str, str]) -> Metric:
    lists = {name: tuple(entry[name]) for name in ("names", "counters")}
    return Metric(**entry | lists | {"source": sources[entry["source"]]})


def _read_rates(tables: dict[str, dict[str, Any]]) -> _Rates:
    return {family: {name: float(rate["value"]) for name, rate in rates.items()} for family, rates in tables.items()}


def _board(name: str, entry: dict[str, Any], sources: dict[str, str]) -> Board:
    l2_bandwidth = entry.get("l2_bandwidth_bytes_per_s")
    return Board(
        tuple(entry.get("names", [name])),
        **{key: float(entry.get(key, UNKNOWN)) for key in _STATED},
        l2_bandwidth_bytes_per_s=float(l2_bandwidth["value"]) if l2_bandwidth else UNKNOWN,
        peak_tflops=entry.get("peak_tflops", {}),
        source=sources[entry["source"]],
        l2_source=sources[l2_bandwidth["source"]] if l2_bandwidth else "",
    )
