"""What drawings of a recording are made of: fewer bars and points for the same picture, and the rate of FLOP."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.analysis.intervals import StepFunction
from tcprof.arrays import Floats, Ints, rows_of_gpu

MOST_DEPTHS = 10


@dataclass(frozen=True)
class Lanes:
    """Ranges that are drawn for one GPU, in frames of ``start_ns``, ``length_ns``, ``depth``, ``count`` and figures."""

    host: pd.DataFrame
    gpu: pd.DataFrame  # bars from the instances' first activity on the GPU to their last
    hidden: int  # instances that are not drawn, since they are nested too deep, or since even shared bars are too many


def choose_lanes(analysis: Analysis, gpu: int, most: int) -> Lanes:
    """The bars for one GPU: one for each instance, or where these are too many, one for short neighbours together."""
    instances = analysis.instances[analysis.instances["gpu"] == gpu]
    named = instances.join(analysis.paths[["path", "name", "depth"]], on="path_id")
    bars, hidden = {}, 0
    for window in ("host", "gpu"):
        start, end = f"{window}_start_ns", f"{window}_end_ns"
        timed = named[named[start].notna()]
        timed = timed.assign(start_ns=timed[start].astype(float), end_ns=timed[end].astype(float))
        shallow = timed[timed["depth"] <= MOST_DEPTHS]
        merged = _merge(shallow, _merge_width(shallow, most))
        bars[window] = merged.nlargest(most, "length_ns").sort_values("start_ns", ignore_index=True)
        hidden += len(timed) - int(bars[window]["count"].sum())
    return Lanes(bars["host"], bars["gpu"], hidden)


def _merge_width(rows: pd.DataFrame, most: int) -> float:
    """The shortest time such that few enough bars are left when all shorter neighbours within it share one."""
    if len(rows) <= most:
        return 0.0
    span = float(rows["end_ns"].max() - rows["start_ns"].min())
    widths = [span / most * 1.25**step for step in range(24)]
    return next((width for width in widths if len(np.unique(_shared_bar(rows, width))) <= most), widths[-1])


def _shared_bar(rows: pd.DataFrame, width: float) -> Ints:
    alone = np.arange(len(rows))
    if not width:
        return alone
    place = ((rows["start_ns"] - rows["start_ns"].min()) // width).to_numpy(np.int64)
    short = (rows["end_ns"] - rows["start_ns"]).to_numpy() < width
    return np.where(short, place * (MOST_DEPTHS + 1) + rows["depth"].to_numpy(), -1 - alone)


def _merge(rows: pd.DataFrame, width: float) -> pd.DataFrame:
    """One row for each bar; the Tensor Active of several instances is their mean, weighted by length."""
    length = (rows["end_ns"] - rows["start_ns"]).clip(lower=1)
    mean = rows["tensor_active_mean_pct"]
    weighed = rows.assign(weight=length.where(mean.notna(), 0), product=(mean * length).fillna(0))
    bars = weighed.groupby(_shared_bar(rows, width), sort=False).agg(
        start_ns=("start_ns", "min"),
        end_ns=("end_ns", "max"),
        depth=("depth", "first"),
        count=("depth", "size"),
        path=("path", "first"),
        name=("name", "first"),
        kernel_count=("kernel_count", "sum"),
        coverage_pct=("coverage_pct", "first"),
        weight=("weight", "sum"),
        product=("product", "sum"),
    )
    known = bars["weight"].where(bars["weight"] > 0)
    return bars.assign(length_ns=bars["end_ns"] - bars["start_ns"], tensor_active_mean_pct=bars["product"] / known)


@dataclass(frozen=True)
class Envelope:
    """A step function as it is drawn."""

    start: Ints  # starts of the intervals in ns, ascending
    end: Ints  # their ends; where one lies before the next start, the function is unknown between them
    mean: Floats  # mean over the known part of the interval, weighted by time
    low: Floats  # smallest value in the interval
    high: Floats  # largest value in the interval
    bin_ns: float  # width of a bin; 0 where the intervals are the samples themselves

    def __len__(self) -> int:
        return len(self.start)


def compute_envelope(start: Ints, end: Ints, value: Floats, bins: int) -> Envelope:
    """At most twice so many bins' samples as they are, else smallest, mean and largest value of bins of equal width.

    Samples do not overlap; NaN counts as a gap.
    """
    samples = StepFunction(start, end, value)
    if len(samples.start) <= 2 * bins:
        return Envelope(samples.start, samples.end, samples.value, samples.value, samples.value, 0.0)
    edges = np.linspace(samples.start[0], samples.end[-1], bins + 1).round().astype(np.int64)
    left, right = edges[:-1], edges[1:]
    covered = samples.covered(left, right)
    seen = np.flatnonzero(covered > 0)
    left, right = left[seen], right[seen]
    first = np.searchsorted(samples.end, left, side="right")
    last = np.searchsorted(samples.start, right, side="left")
    pairs = np.column_stack((first, last)).ravel()  # every pair holds at least one sample
    padded = np.append(samples.value, 0.0)  # so that the end of the last pair is an index
    low, high = np.minimum.reduceat(padded, pairs)[::2], np.maximum.reduceat(padded, pairs)[::2]
    mean = np.clip(samples.integral(left, right) / covered[seen], low, high)  # a running sum rounds
    return Envelope(left, right, mean, low, high, float(edges[-1] - edges[0]) / bins)


def step_points(envelope: Envelope, values: Floats) -> tuple[Floats, Floats]:
    """Points in seconds of a line that steps at the starts (plotly's ``hv``), broken by NaN where values are unknown.

    There is a value for each interval, or a row of values.
    """
    if not len(envelope):
        return np.empty(0), np.empty((0, *values.shape[1:]))
    broken = np.append(np.flatnonzero(envelope.start[1:] > envelope.end[:-1]), len(envelope) - 1)
    at = np.repeat(broken + 1, 2)
    x = np.insert(envelope.start * 1e-9, at, np.repeat(envelope.end[broken] * 1e-9, 2))
    closing = np.repeat(values[broken], 2, axis=0)
    closing[1::2] = np.nan
    return x, np.insert(values, at, closing, axis=0)


def band_points(envelope: Envelope) -> tuple[Floats, Floats]:
    """Outline of the area from the smallest to the largest value, one closed polygon between two gaps."""
    breaks = np.flatnonzero(envelope.start[1:] > envelope.end[:-1]) + 1
    xs: list[npt.NDArray[Any]] = []
    ys: list[npt.NDArray[Any]] = []
    gap = np.array([np.nan])
    for run in np.split(np.arange(len(envelope)), breaks) if len(envelope) else []:
        x = np.column_stack((envelope.start[run], envelope.end[run])).ravel() * 1e-9
        xs += [x, x[::-1], gap]
        ys += [np.repeat(envelope.high[run], 2), np.repeat(envelope.low[run], 2)[::-1], gap]
    return (np.concatenate(xs), np.concatenate(ys)) if xs else (np.empty(0), np.empty(0))


def flop_rate(analysis: Analysis, gpu: int, start: Ints, end: Ints) -> Floats:
    """FLOP per second on the Tensor Cores in each interval, in ascending order; unknown where a launch's FLOP are."""
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    flop = launched["tensor_flop"].to_numpy()
    if analysis.tensor_source == "none" or np.isnan(flop).all() or not len(start):
        return np.full(len(start), np.nan)
    of_launch = analysis.activities.iloc[launched["activity"].to_numpy()]
    begin, finish = of_launch["start_ns"].to_numpy(), of_launch["end_ns"].to_numpy()
    amount = _between(begin, finish, np.nan_to_num(flop), start, end)
    unknown = _between(begin, finish, np.where(np.isnan(flop), finish - begin, 0.0), start, end) >= 1
    return np.where(unknown | (end <= start), np.nan, np.maximum(amount, 0) / np.maximum(end - start, 1) * 1e9)


def _between(begin: Ints, finish: Ints, amount: Floats, start: Ints, end: Ints) -> Floats:
    """How much of amounts, which are spread evenly from begin to finish, lies in each interval."""
    rate = amount / np.maximum(finish - begin, 1)
    times = np.concatenate([begin, finish])
    order = np.argsort(times, kind="stable")
    times = times[order]
    slope = np.cumsum(np.concatenate([rate, -rate])[order])
    total = np.append(0.0, np.cumsum(slope[:-1] * np.diff(times)))
    return np.asarray(np.interp(end, times, total) - np.interp(start, times, total))
