"""What strips of a timeline draw: curves of samples, ranges as bars in lanes, and time classes; and their colours."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.arrays import Floats
from tcprof.frames import COUNTED, SAMPLE_METRICS, SAMPLES

TENSOR_COLOR = "#1D745B"


@dataclass(frozen=True)
class Curve:
    """A curve of the samples."""

    name: str
    columns: tuple[str, ...]  # columns of the samples that are added up
    color: str  # its colour, after Okabe and Ito
    visible: bool = True

    @property
    def unit(self) -> str:
        """Return what its values are measured in."""
        return SAMPLES[self.columns[0]].unit if self.columns else "pct"

    def values(self, samples: pd.DataFrame) -> Floats:
        """Compute its value in each sample; unknown where one of its columns is."""
        return np.asarray(samples[list(self.columns)].sum(axis=1, skipna=False), dtype=np.float64)


def _curve(name: str, color: str, visible: bool = True) -> Curve:
    return Curve(SAMPLES[name].title, (name,), color, visible)


_DRAM = ("dram_read_pct", "dram_write_pct")
TENSOR = _curve("tensor_active_pct", TENSOR_COLOR)
CLOCK = _curve("gpc_clock_hz", "#C46A9F")
_COLORS = {"gr_active_pct": "#8A8F98", "sm_active_pct": "#2E8BC0", "sm_issue_pct": "#B08900"}
_FURTHER_COLORS = ("#9467BD", "#8C564B", "#17BECF", "#BCBD22")
_VISIBLE = ("gr_active_pct", "sm_active_pct")  # before a reader chooses
_DRAWN_ALREADY = (*TENSOR.columns, *CLOCK.columns, *_DRAM)
_REST = tuple(
    _curve(
        column.name,
        _COLORS.get(column.name, _FURTHER_COLORS[place % len(_FURTHER_COLORS)]),
        column.name in _VISIBLE or column.unit != "pct",
    )
    for place, column in enumerate(SAMPLES.columns)
    if column.name in SAMPLE_METRICS and column.unit not in COUNTED and column.name not in _DRAWN_ALREADY
)
METRICS = (*(metric for metric in _REST if metric.unit == "pct"), Curve("DRAM read + write", _DRAM, "#009E73", False))
MEASURED = tuple(metric for metric in _REST if metric.unit != "pct")  # each in a strip of its own, in its unit
FLOP_RATE = Curve("Tensor FLOP/s", (), "#8C6BB1")


def tensor_peak(analysis: Analysis) -> float:
    """Find the largest sample of Tensor Active on any GPU; 0 where there is none."""
    peak = analysis.samples["tensor_active_pct"].max()
    return float(peak) if peak == peak else 0.0


def shown_gpus(analysis: Analysis) -> list[int]:
    """List the GPUs that have samples, activities or ranges, in order."""
    frames = (analysis.samples, analysis.activities, analysis.instances)
    return sorted({int(gpu) for frame in frames for gpu in frame["gpu"].unique()})


UNKNOWN_COLOR = "#A7AEB8"
BAR_TEXT = "#000000"  # on what white is not read on: between them there is no colour on which neither is


def painted(color: str) -> dict[str, str]:
    """Pair a colour with the one in which text is read on it."""
    return {"color": color, "text": text_on(color)}


# Shown where there are any.
SELDOM = ("unresolved_kernel", "graph", "communication", "small_grid", "issue_bound", "fp32_bound", "memory_bound")
# Found by a search: whoever sees red, green or blue less tells any two of them apart, see tests/test_palette.py.
CLASS_COLORS = {
    "tensor_kernel": TENSOR_COLOR,
    "memory_bound": "#DB593F",
    "fp32_bound": "#EE978E",
    "issue_bound": "#E4C51E",
    "small_grid": "#8A3600",
    "other_kernel": "#7B5F83",
    "unresolved_kernel": "#88B9F1",
    "graph": "#2B46AF",
    "communication": "#5975F2",
    "copy": "#87A0B1",
    "idle": "rgba(128,128,128,0.22)",
}


def shown_classes(rows: pd.DataFrame) -> list[str]:
    """List the time classes that occur, and those that everyone looks for."""
    return [name for name in TIME_CLASSES if name not in SELDOM or (rows[f"{name}_ns"] > 0).any()]


def text_on(color: str) -> str:
    """Choose the colour of a name in a bar of #RRGGBB or rgba(…): dark, or white where that is read better."""
    if not color.startswith("#"):
        return BAR_TEXT
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # relative luminance, as the contrast ratio of WCAG takes it
    return BAR_TEXT if light > 0.179 else "#FFFFFF"
