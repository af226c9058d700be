"""What the page's timeline is drawn from: samples, ranges and work as compressed arrays, and what they are called."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.drawing import compute_envelope, flop_rate
from tcprof.analysis.gaps import CAUSES, Gaps
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.findings.finding import class_title
from tcprof.render.html.timeline.lanes import MOST_BARS, GpuLanes, WorkNames, cut_names, lay_lanes, name_work
from tcprof.render.html.timeline.packing import (
    GRAIN_NS,
    MOST_EXACT,
    ArrayStore,
    Reference,
    add_gaps,
    add_instances,
    add_launches,
    add_totals,
    add_windows,
    coarsen,
    list_waits,
)
from tcprof.untrusted import one_line
from tcprof.views.figures import traces
from tcprof.views.paths import LONGEST_NAME, kernel_names, range_names
from tcprof.views.recording import gpu_title

MOST_VALUES = 8_000_000  # of all curves together: these are 8 to 11 MB in the page
PERCENT_STEP = 0.01
CLOCK_STEP = 1e6  # Hz
_NEAR_ALL = 50  # percent: with a sample above it, the axis of Tensor Active reaches to 100 %
_FINEST_STEPS = 2000  # small percentages have steps of their own
Header = dict[str, Any]


@dataclass(frozen=True)
class PackedTimeline:
    """The timeline of a page."""

    packed: Markup  # the data, see ``tcprof.render.html.timeline.packing``
    gpus: tuple[int, ...]  # numbers of the GPUs, of which the page shows one at a time
    key: tuple[tuple[str, str], ...]  # name and colour of each class of work that occurs
    notes: tuple[str, ...]  # what to say about what is drawn


def pack_timeline(analysis: Analysis, gaps: Gaps) -> PackedTimeline | None:
    """Pack what the page's timeline is drawn from; nothing where there is nothing to draw."""
    gpus = traces.shown_gpus(analysis)
    if not gpus:
        return None
    store = ArrayStore()
    works = name_work(analysis)
    several, peak = len(gpus) > 1, traces.tensor_peak(analysis)
    headers, notes = [], []
    for gpu in gpus:
        lanes = lay_lanes(analysis, gpu, works, MOST_BARS // len(gpus))
        curves, track, note = _add_samples(store, analysis, gpu, MOST_VALUES // len(gpus), lanes.most)
        drawn = {"gpu": gpu, "tracks": track, "strips": list_strips(curves, peak)}
        headers.append({**drawn, **_add_lanes(store, analysis, gpu, lanes, gaps)})
        if lanes.hidden:
            note.append(f"Not drawn (nested too deeply): {units.format_things(lanes.hidden, 'range')}.")
        if lanes.most > MOST_EXACT:
            note.append(f"Times of bars and samples are rounded to {GRAIN_NS} ns.")
        if lanes.merged:
            merged = units.format_count(lanes.merged)
            note.append(f"{merged} short bars are merged with neighbours of the same name.")
        notes += [f"{gpu_title(analysis, gpu)}: {line}" for line in note] if several else note
    classes = sorted(set(works.frame["time_class"]))
    header = {"gpus": headers, "range": _time_range(analysis), **_describe_bars(analysis, works, gaps)}
    names = [TIME_CLASSES[number] for number in [*classes, IDLE]] if classes else []
    key = tuple((class_title(name), traces.CLASS_COLORS[name]) for name in names)
    return PackedTimeline(Markup(store.pack(header)), tuple(gpus), key, tuple(notes))


def _describe_bars(analysis: Analysis, works: WorkNames, gaps: Gaps) -> Header:
    """Describe ranges and work: names (for the pointer, and cut for bars), colours and links."""
    paths, work = analysis.paths, works.frame
    return {
        "classes": [{"name": class_title(name), **traces.painted(traces.CLASS_COLORS[name])} for name in TIME_CLASSES],
        "paths": {"names": [one_line(path, 90) for path in paths["path"]], "cuts": cut_names(paths["name"])},
        "links": {"ranges": range_names(paths), "kernels": kernel_names(analysis.kernels)},
        "gpuOfKernel": analysis.kernels["gpu"].tolist(),
        "causes": list(CAUSES),
        "gapWaits": [one_line(name, 60) for name in list_waits(gaps)],
        "works": {
            "names": [one_line(name, LONGEST_NAME) for name in work["name"]],
            "cuts": cut_names(work["name"].map(short_name)),
            "geometry": work["launch_geometry"].map(one_line).tolist(),
            "class": work["time_class"].tolist(),
        },
    }


def _add_samples(
    store: ArrayStore, analysis: Analysis, gpu: int, most: int, bars: int
) -> tuple[dict[traces.Curve, float], list[Header], list[str]]:
    """Add the curves of one GPU; return the largest value of each, tracks of curves that share times, and notes."""
    samples = rows_of_gpu(analysis.samples, gpu)
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    values = {
        metric: metric.values(samples) for metric in (traces.TENSOR, *traces.METRICS, traces.CLOCK, *traces.MEASURED)
    }
    values[traces.FLOP_RATE] = flop_rate(analysis, gpu, start, end)
    values = {metric: value for metric, value in values.items() if np.isfinite(value).any()}
    peaks = {metric: float(np.nanmax(value)) for metric, value in values.items()}
    if not values:
        return {}, [], []
    if len(samples) * len(values) <= most:
        curves = [_add_curve(store, metric, peaks[metric], value) for metric, value in values.items()]
        note = f"The page has every sample: {units.format_count(len(samples))}."
        return peaks, [{**_add_times(store, start, end, bars), "curves": curves}], [note]
    tracks, width = [], 0.0
    for metric, value in values.items():
        bins = compute_envelope(start, end, value, most // (3 * len(values)))
        curve = _add_curve(store, metric, peaks[metric], bins.mean, bins.low, bins.high)
        tracks.append({**_add_times(store, bins.start, bins.end, bars), "curves": [curve]})
        width = max(width, bins.bin_ns)
    note = f"The page has the minimum, mean and maximum of the samples in bins of {units.format_ns(width)}."
    return peaks, tracks, [note]


def _add_times(store: ArrayStore, start: Ints, end: Ints, bars: int) -> Header:
    """Starts of all intervals, and the ends of those that do not reach to the next one's start."""
    breaks = np.append(np.flatnonzero(end[:-1] < start[1:]), len(start) - 1)
    start, end = coarsen(start, bars), coarsen(end, bars)
    times = {"start": start, "ends": end[breaks]}
    return {
        "breaks": store.add(breaks, differences=True),
        **{name: store.add(values, "f8", differences=True, scale=1e-9) for name, values in times.items()},
    }


def _add_curve(store: ArrayStore, metric: traces.Curve, peak: float, *values: Floats) -> Header:
    step = _step_of(metric, peak)
    kept = [_add_values(store, curve, step) for curve in values]
    return {"metric": metric.name, "unit": _symbol_of(metric), "step": step, "values": kept}


def _symbol_of(metric: traces.Curve) -> str:
    return "FLOP/s" if metric is traces.FLOP_RATE else units.symbol_of(metric.unit)


def _step_of(metric: traces.Curve, peak: float) -> float:
    """Choose the step in which values are kept: 0.01 % or finer, 1 MHz, or a 60,000th of the largest value."""
    if metric is traces.CLOCK:
        return CLOCK_STEP
    if metric in (traces.FLOP_RATE, *traces.MEASURED):
        return max(peak, 1.0) / 60_000
    step = PERCENT_STEP
    while 0 < peak < _FINEST_STEPS * step and step > 1e-5:
        step /= 10
    return step


def _add_values(store: ArrayStore, values: Floats, step: float) -> Reference:
    """Add values in steps, from 1 on; 0 is unknown."""
    return store.add(np.where(np.isnan(values), 0, np.rint(np.nan_to_num(values) / step) + 1).astype(np.int64), "u2")


def _add_steps(store: ArrayStore, analysis: Analysis, gpu: int, bars: int) -> Header:
    """Add when the steps of a GPU did their work on it, of those that did any, and on the CPU."""
    columns = ["gpu", "range", "gpu_start_ns", "gpu_end_ns", "host_start_ns", "host_end_ns"]
    steps = analysis.steps[analysis.steps["gpu"] == gpu].merge(analysis.instances[columns])
    timed = steps[steps["gpu_start_ns"].notna()].sort_values("gpu_start_ns", kind="stable")
    start, end, host_start, host_end = (coarsen(timed[name].to_numpy(np.int64), bars) for name in columns[2:])
    return {
        "number": store.add(timed["number"].to_numpy(np.int64)),
        **store.add_spans(start, end),
        "host": store.add_spans(host_start, host_end),
    }


def _add_bars(store: ArrayStore, bars: pd.DataFrame, most: int, number: str, *percents: str) -> Header:
    start, end = (coarsen(bars[name].to_numpy(), most) for name in ("start_ns", "end_ns"))
    return {
        **store.add_spans(start, end),
        "row": store.add(bars["row"].to_numpy(), "u1"),
        "id": store.add(bars[number].to_numpy()),
        "merged": store.add(bars["merged"].to_numpy()),
        "percents": {name: store.add_rounded(bars[name].to_numpy(), PERCENT_STEP / 10) for name in percents},
    }


def _add_lanes(store: ArrayStore, analysis: Analysis, gpu: int, lanes: GpuLanes, gaps: Gaps) -> Header:
    ranges = {
        kind: {
            **_add_bars(store, bars, lanes.most, "path_id", "tensor_active_mean_pct"),
            "kernels": store.add(bars["kernel_count"].to_numpy()),
        }
        for kind, bars in (("host", lanes.host), ("windows", lanes.gpu))
    }
    return {
        "lanes": {
            **ranges,
            "work": _add_bars(store, lanes.work, lanes.most, "work", "tensor_active_pct"),
            "calls": _add_bars(store, lanes.calls, lanes.most, "call"),
            "callNames": lanes.call_names,
            "streams": lanes.streams,
        },
        "details": {
            "gaps": add_gaps(store, analysis, gpu, gaps, lanes.most),
            "steps": _add_steps(store, analysis, gpu, lanes.most),
            "launched": add_launches(store, lanes.work),
            "moduleOf": store.add(lanes.work["module_id"].to_numpy(np.int64), "i4"),
            "instances": add_instances(store, analysis, gpu, lanes.host),
            "hostOfWindow": add_windows(store, lanes.host, lanes.gpu),
            **add_totals(store, analysis, gpu),
        },
    }


def list_strips(curves: Mapping[traces.Curve, float], peak: float) -> list[Header]:
    """List the strips of curves from the top: what each is called, its highest value, and its curves.

    Args:
        curves: The largest value of each curve that is known.
        peak: The largest sample of Tensor Active on any GPU: GPUs have one scale.
    """
    top = 100.0 if peak > _NEAR_ALL else max(1.15 * peak, 1.0)
    kinds: tuple[tuple[str, tuple[traces.Curve, ...], float], ...] = (
        (traces.TENSOR.name, (traces.TENSOR,), top),
        ("Tensor FLOP/s (fitted)", (traces.FLOP_RATE,), curves.get(traces.FLOP_RATE, 0.0)),
        ("Other metrics", traces.METRICS, 100.0),
        ("SM clock", (traces.CLOCK,), curves.get(traces.CLOCK, 0.0)),
        *((metric.name, (metric,), curves.get(metric, 0.0)) for metric in traces.MEASURED),
    )
    strips = []
    for title, metrics, high in kinds:
        lines = [{"name": m.name, "color": m.color, "isHidden": not m.visible} for m in metrics if m in curves]
        if lines and high > 0:
            strips.append({"title": title, "high": high, "unit": _symbol_of(metrics[0]), "curves": lines})
    return strips


def _time_range(analysis: Analysis) -> list[float]:
    """Find when what is drawn begins and ends, in seconds."""
    frames = [
        (analysis.samples, "start_ns", "end_ns"),
        (analysis.activities, "start_ns", "end_ns"),
        (analysis.instances, "host_start_ns", "host_end_ns"),
    ]
    spans = [(float(f[start].min()) * 1e-9, float(f[end].max()) * 1e-9) for f, start, end in frames if len(f)]
    return [min(low for low, _ in spans), max(high for _, high in spans)]
