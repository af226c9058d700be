"""Samples and GPU activity over time, as strips of a timeline."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.arrays import Floats
from tcprof.frames import COUNTED, SAMPLE_METRICS, SAMPLES
from tcprof.views.figures.plain import Settings, scatter, unit_ticks

TENSOR_COLOR = "#D55E00"
TENSOR_BAND = "rgba(213,94,0,0.28)"
TENSOR_PIXELS, OTHERS_PIXELS, MEASURED_PIXELS = 170, 110, 80


@dataclass(frozen=True)
class Metric:
    """A curve of the samples."""

    name: str
    columns: tuple[str, ...]  # columns of the samples that are added up
    color: str  # its colour, after Okabe and Ito
    visible: bool | str = True
    width: float = 1.1

    @property
    def unit(self) -> str:
        """What its values are measured in."""
        return SAMPLES[self.columns[0]].unit if self.columns else "pct"

    def values(self, samples: pd.DataFrame) -> Floats:
        """Its value in each sample; unknown where one of its columns is."""
        return np.asarray(samples[list(self.columns)].sum(axis=1, skipna=False), dtype=np.float64)


def _metric(name: str, color: str, visible: bool | str = True, width: float = 1.1) -> Metric:
    return Metric(SAMPLES[name].title, (name,), color, visible, width)


_DRAM = ("dram_read_pct", "dram_write_pct")
TENSOR = _metric("tensor_active_pct", TENSOR_COLOR, width=1.6)
CLOCK = _metric("gpc_clock_hz", "#C46A9F")
_COLORS = {"gr_active_pct": "#8A8F98", "sm_active_pct": "#2E8BC0", "sm_issue_pct": "#B08900"}
_FURTHER_COLORS = ("#9467BD", "#8C564B", "#17BECF", "#BCBD22")
_SHOWN = ("gr_active_pct", "sm_active_pct")  # before anything is clicked in the legend
_DRAWN_ALREADY = (*TENSOR.columns, *CLOCK.columns, *_DRAM)
_OTHERS = tuple(
    _metric(
        column.name,
        _COLORS.get(column.name, _FURTHER_COLORS[place % len(_FURTHER_COLORS)]),
        True if column.name in _SHOWN or column.unit != "pct" else "legendonly",
    )
    for place, column in enumerate(SAMPLES.columns)
    if column.name in SAMPLE_METRICS and column.unit not in COUNTED and column.name not in _DRAWN_ALREADY
)
METRICS = (
    *(metric for metric in _OTHERS if metric.unit == "pct"),
    Metric("DRAM read + write", _DRAM, "#009E73", "legendonly"),
)
MEASURED = tuple(metric for metric in _OTHERS if metric.unit != "pct")  # each in a strip of its own, in its unit
BUSY = Metric("GPU busy (kernels, copies, sets)", (), "#9C7FC4")
FLOP_RATE = Metric("Tensor FLOP/s", (), "#8C6BB1")


def measured_axis(metric: Metric, peak: float) -> dict[str, object]:
    """The axis of a metric that is no percentage, from 0 to its largest value."""
    top = 1.1 * (peak or 1.0)
    return {"range": [0, top], **unit_ticks(0, top, units.symbol_of(metric.unit), 4)}


def tensor_axis(peak: float) -> dict[str, object]:
    """The axis of Tensor Active: to 100 % where a sample comes near, else to the largest sample."""
    return {"range": [0, 104.0 if peak > 50 else max(peak * 1.15, 1.0)], "ticksuffix": " %", "nticks": 6}


PERCENT_AXIS: dict[str, object] = {"range": [0, 104], "ticksuffix": " %", "nticks": 4}


def tensor_peak(analysis: Analysis) -> float:
    """The largest sample of Tensor Active on any GPU; 0 where there is none."""
    peak = analysis.samples["tensor_active_pct"].max()
    return float(peak) if peak == peak else 0.0


def empty_line(metric: Metric, visible: bool | str) -> Settings:
    """The line of a metric, as steps, without points."""
    return scatter(
        name=metric.name,
        legendgroup=metric.name,
        mode="lines",
        line={"color": metric.color, "width": metric.width, "shape": "hv"},
        connectgaps=False,
        visible=visible,
    )


def empty_band() -> Settings:
    """The area below or around Tensor Active, without points."""
    return scatter(
        name=f"{TENSOR.name}, smallest to largest",
        legendgroup=TENSOR.name,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=TENSOR_BAND,
        hoverinfo="skip",
        showlegend=False,
    )


def shown_gpus(analysis: Analysis) -> list[int]:
    """The GPUs that have samples, activities or ranges, in order."""
    frames = (analysis.samples, analysis.activities, analysis.instances)
    return sorted({int(gpu) for frame in frames for gpu in frame["gpu"].unique()})
