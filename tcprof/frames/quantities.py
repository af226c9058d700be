"""The quantities of a range that are compared between recordings: the only list of them, and its headline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcprof.frames.places import RANGES
from tcprof.frames.schema import FLOAT, Column

USEFUL_RATE = Column(
    "useful_tflops",
    FLOAT,
    "Useful FLOP per second of the window, in 10^12; unknown where tensor_tflops is for a host window.",
    title="Useful FLOP/s",
)
IDLE = Column("idle_ns", FLOAT, "The GPU window, less the time under its work.", title="GPU idle")


@dataclass(frozen=True)
class Quantity:
    """A quantity that is compared."""

    column: Column  # its name, title, unit and meaning
    gate_name: str  # what conditions of a gate call it
    part_of: str = ""  # the quantity below which a table shows it; empty for none
    # What its better values are: higher or lower; empty where a change is neither better nor worse in itself.
    better: str = ""

    @property
    def name(self) -> str:
        """What the rows of a comparison call it."""
        return self.column.name

    def format(self, row: Mapping[Any, Any]) -> str:
        """The value in a row of the ranges, instances or iterations, with its unit."""
        return self.column.format(row[self.name])

    @property
    def in_points(self) -> bool:
        """Whether its change is a difference of percentages in points; else it is a ratio."""
        return self.column.unit == "pct"

    @property
    def change(self) -> str:
        """The column of ``tcprof.frames.COMPARISON`` that has its change."""
        return "difference" if self.in_points else "ratio"


# The figure that tcprof is about: mean Tensor Active, which leads tables and sentences, and the ends of its interval.
HEADLINE = Quantity(RANGES["tensor_active_mean_pct"], "tensor_active", better="higher")
HEADLINE_INTERVAL = ("tensor_active_low_pct", "tensor_active_high_pct")
QUANTITIES = (
    Quantity(RANGES["host_ns"], "host_time", better="lower"),
    Quantity(RANGES["gpu_window_ns"], "time", better="lower"),
    Quantity(RANGES["kernel_ns"], "kernel_time", better="lower"),
    Quantity(IDLE, "gpu_idle", better="lower"),
    Quantity(RANGES["kernel_count"], "kernel_count"),
    HEADLINE,
    Quantity(RANGES["tensor_active_peak_pct"], "tensor_active_peak", part_of=HEADLINE.name),
    Quantity(RANGES["tensor_active_s"], "tensor_active_time"),
    Quantity(RANGES["tensor_cycles"], "tensor_cycles"),
    Quantity(RANGES["tensor_kernel_share_pct"], "tensor_kernel_share"),
    Quantity(RANGES["tensor_tflops"], "tflops", better="higher"),
    Quantity(RANGES["hfu_pct"], "hfu", better="higher"),
    Quantity(USEFUL_RATE, "useful_tflops", better="higher"),
    Quantity(RANGES["mfu_pct"], "mfu", better="higher"),
    Quantity(RANGES["dram_bytes"], "dram_bytes"),
)
# As tables and messages list them: what matters at a glance comes first.
LISTED_QUANTITIES = (QUANTITIES[1], QUANTITIES[0], *QUANTITIES[2:])
_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def quantity_of(name: str) -> Quantity:
    """The quantity of a row of ``tcprof.frames.COMPARISON``."""
    return _BY_NAME[name]
