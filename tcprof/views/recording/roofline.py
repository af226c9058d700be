"""The roofline of a recording, and time against Tensor Active: figures, and what they leave out."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.roofline import NO_BYTES, NO_FLOP, has_bytes, place_kernels
from tcprof.views.document import Figure, Notes, Part
from tcprof.views.figures.circles import MOST_KERNELS, describe_symbols, figure_memory_tensor, figure_tensor_time
from tcprof.views.figures.plain import PlotlyFigure
from tcprof.views.figures.roofline import figure_roofline

ROOFLINE, TENSOR_TIME, MEMORY_TENSOR = "roofline", "tensor-time", "memory-tensor"
# What can be drawn by name, each with what it shows.
FIGURES: Mapping[str, tuple[str, "Callable[[Analysis], PlotlyFigure]"]] = MappingProxyType(
    {
        ROOFLINE: ("Roofline: FLOP/s of the kernels over their FLOP for each byte of device memory", figure_roofline),
        TENSOR_TIME: ("Share of the kernel time over Tensor Active of the kernels", figure_tensor_time),
        MEMORY_TENSOR: ("Share of the memory's bandwidth over Tensor Active of the kernels", figure_memory_tensor),
    }
)
NO_ROOFLINE = (
    "There is no roofline: the recording has no bytes of device memory. 'tcprof profile' records them where the GPU "
    "counts them and the installed nsys takes a metric set from a file."
)
_CIRCLES = (
    "The area of a circle is the kernel's time. A click on one selects it; a lasso or a box, from the figure's "
    "toolbar, shows its kernels alone in the table of kernels."
)
_ROOFLINE = (
    "Horizontal lines are the dense peak of each precision, on Tensor Cores and on CUDA cores; the slope is the peak "
    "bandwidth of device memory (DRAM), so bytes that a cache provides do not count; where the L2 cache's bandwidth "
    "is known, its slope and the kernels over their FLOP for each of its bytes are shown by a click on the legend. "
    "What lies far below both is held up by something else: a cache, latency, a small grid, other instructions. FLOP "
    "are those on the Tensor Cores; of FP32 matrix products on CUDA cores, those of the FMA pipe."
)
_TENSOR_TIME = "What lies high and to the left takes long and uses the Tensor Cores little. Colours: bound by what."
_MEMORY_TENSOR = (
    "What lies at the top is held up by memory, what lies at the right keeps the Tensor Cores busy; what is far from "
    "both is held up by something else."
)


def list_rooflines(analysis: Analysis) -> tuple[Part, ...]:
    """The roofline and time against Tensor Active, as far as they were recorded."""
    if analysis.kernels.empty:
        return ()
    shapes = describe_symbols(analysis)
    lines = (f"{_ROOFLINE} {_CIRCLES}" if has_bytes(analysis.kernels) else NO_ROOFLINE, *([shapes] if shapes else []))
    parts: list[Part] = [Notes(lines)]
    if has_bytes(analysis.kernels):
        parts.append(_figure(analysis, ROOFLINE, describe_unplaced(analysis)))
    if analysis.tensor_source != "none":
        parts.append(_figure(analysis, TENSOR_TIME, (_TENSOR_TIME,)))
    if analysis.kernels["dram_pct"].notna().any():
        parts.append(_figure(analysis, MEMORY_TENSOR, (_MEMORY_TENSOR,)))
    return tuple(parts)


def _figure(analysis: Analysis, name: str, notes: tuple[str, ...]) -> Figure:
    caption, make = FIGURES[name]
    return Figure(name, caption, lambda: make(analysis), notes, why_undrawn(analysis, name))


def why_undrawn(analysis: Analysis, name: str) -> str:
    """Why a figure has nothing to draw, if it has not."""
    if name == ROOFLINE:
        if not has_bytes(analysis.kernels):
            return NO_ROOFLINE
        return " ".join(("There is no roofline: no kernel has both.", *describe_unplaced(analysis)))
    if name == MEMORY_TENSOR:
        return "The samples tell Tensor Active and memory bandwidth of no kernel."
    return "The samples tell Tensor Active of no kernel."


def describe_unplaced(analysis: Analysis) -> tuple[str, ...]:
    """Which kernels have no place in the roofline, and why; and those that are too many to be drawn."""
    placed = place_kernels(analysis.kernels, analysis.gpus)
    total = placed["total_ns"].sum()
    said = []
    for reason, why in (
        (NO_FLOP, "no known FLOP"),
        (NO_BYTES, "bytes of device memory that the samples do not resolve"),
    ):
        rows = placed[placed["place"] == reason]
        if len(rows):
            said.append(f"{_count(rows, total)} {'has' if len(rows) == 1 else 'have'} {why}, and so no place here.")
    rest = len(placed) - sum((placed["place"] == reason).sum() for reason in (NO_FLOP, NO_BYTES)) - MOST_KERNELS
    if rest > 0:
        said.append(f"Of the others the {MOST_KERNELS} that took longest are drawn.")
    return tuple(said)


def _count(rows: pd.DataFrame, total_ns: float) -> str:
    share = units.format_pct(100 * rows["total_ns"].sum() / total_ns if total_ns > 0 else None)
    return f"{units.format_count(len(rows))} kernel{'s' * (len(rows) != 1)} with {share} of the kernel time"
