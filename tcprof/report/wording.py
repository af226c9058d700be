"""Words that the terminal and the pages share."""

from collections.abc import Callable
from typing import SupportsFloat

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.summary import POOLED, UNDECIDED

Format = Callable[[SupportsFloat | None], str]

WINDOW_MEANINGS = {
    "gpu": "gpu windows: from a range's first activity on the GPU to its last",
    "host": "host windows: the range as on the CPU",
    "busy": "busy windows: the time under at least one of the range's activities",
}
SOURCE_MEANINGS = {
    "cycles": "exact tensor cycles",
    "rounded": "rounded samples: whole percentages",
    "none": "no samples",
}


def name_gpus(analysis: Analysis) -> list[str]:
    """The GPUs' names, equal ones counted: "2 × NVIDIA H200". They come from the report and are not escaped."""
    names = analysis.gpus["name"].value_counts(sort=False)
    return [f"{count} × {name}" if count > 1 else str(name) for name, count in names.items()]


def format_fitted(value: float, fit: str, text: Callable[[float], str]) -> str:
    """A figure from the fit of a kernel: unknown where the fit cannot tell, and marked where it is a pool's.

    Args:
        value: The figure.
        fit: What the fit can tell, see ``tcprof.frames.KERNELS``.
        text: How ``tcprof.units`` writes such a number.
    """
    if fit in UNDECIDED:
        return units.UNKNOWN
    return f"{text(value)} {POOLED}" if fit == POOLED else text(value)


def format_interval(low: float, high: float, text: Format) -> str:
    """Both ends of an interval: "13.5 … 15.5 %"; empty where it is unknown, or both ends read the same.

    Args:
        low: The lower end.
        high: The upper end.
        text: How ``tcprof.units`` writes such a number.
    """
    ends = text(low), text(high)
    if not low <= high or ends[0] == ends[1]:
        return ""
    (first, _, unit), (_, _, same) = ends[0].rpartition(" "), ends[1].rpartition(" ")
    return f"{first if first and unit == same else ends[0]} … {ends[1]}"


def lower_first(text: str) -> str:
    """A sentence as a part of another."""
    return text[:1].lower() + text[1:]
