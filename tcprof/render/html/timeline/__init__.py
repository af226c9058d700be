"""What the page's timeline is drawn from: samples, ranges and work as compressed arrays, and a figure without points.

The page's script fills the figure's traces, which say in their ``meta`` what they are, for the window that is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.drawing import compute_envelope, flop_rate
from tcprof.analysis.gaps import CAUSES, Gaps, list_gaps
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.findings.finding import class_title
from tcprof.render.html.timeline.lanes import (
    MOST_BARS,
    STREAM_ROWS,
    GpuLanes,
    WorkNames,
    cut_names,
    lay_lanes,
    name_work,
)
from tcprof.render.html.timeline.packing import (
    GRAIN_NS,
    MOST_EXACT,
    ArrayStore,
    add_gaps,
    add_instances,
    add_launches,
    add_totals,
    add_waits,
    add_windows,
    coarsen,
    list_threads,
    list_waits,
)
from tcprof.untrusted import one_line
from tcprof.views.figures import (
    AXIS,
    LEGEND,
    PlotlyFigure,
    Settings,
    axis_names,
    base_layout,
    label,
    scatter,
    traces,
    unit_ticks,
)
from tcprof.views.paths import LONGEST_NAME, kernel_names, range_names
from tcprof.views.recording import gpu_title
from tcprof.views.recording.kernels import describe_bound

MOST_VALUES = 8_000_000  # of all curves together: these are 8 to 11 MB in the page
PERCENT_STEP = 0.01
CLOCK_STEP = 1e6  # Hz
RANGE_STEPS = 24  # colours of the scale of Tensor Active
_FINEST_STEPS = 2000  # small percentages have steps of their own
Header = dict[str, Any]


@dataclass(frozen=True)
class PackedTimeline:
    """The timeline of a page."""

    packed: Markup  # the data, see ``tcprof.render.html.timeline.packing``
    gpus: tuple[int, ...]  # numbers of the GPUs, of which the page shows one at a time
    key: tuple[tuple[str, str], ...]  # name and colour of each class of work that occurs
    highest: str  # Tensor Active of the range that has most, as text; empty where it is known of none
    notes: tuple[str, ...]  # what to say about what is drawn


def pack_timeline(analysis: Analysis) -> PackedTimeline | None:
    """Pack what the page's timeline is drawn from; nothing where there is nothing to draw."""
    gpus = traces.shown_gpus(analysis)
    if not gpus:
        return None
    store = ArrayStore()
    works = name_work(analysis)
    several, gaps = len(gpus) > 1, list_gaps(analysis)
    skeletons, headers, notes = [], [], []
    for place, gpu in enumerate(gpus):
        lanes = lay_lanes(analysis, gpu, works, MOST_BARS // len(gpus))
        curves, track, note = _add_samples(store, analysis, gpu, MOST_VALUES // len(gpus), lanes.most)
        head = f"<b>GPU {gpu}</b> · " if several else ""
        skeletons.append(draw_skeleton(analysis, curves, lanes, place, head).to_dict())
        headers.append({"gpu": gpu, "tracks": track, **_add_lanes(store, analysis, gpu, lanes, gaps)})
        if lanes.hidden:
            note.append(f"Not drawn, as they are too deeply nested: {units.format_things(lanes.hidden, 'range')}.")
        if lanes.most > MOST_EXACT:
            note.append(f"Times of bars and samples are rounded to {GRAIN_NS} ns.")
        if lanes.merged:
            merged = units.format_count(lanes.merged)
            note.append(f"{merged} short bars are drawn as fewer: neighbours of one name are merged.")
        notes += [f"{gpu_title(analysis, gpu)}: {line}" for line in note] if several else note
    classes = sorted(set(works.frame["time_class"]))
    header = {"gpus": headers, "figures": skeletons, **_describe_bars(analysis, works, gaps)}
    names = [TIME_CLASSES[number] for number in [*classes, IDLE]] if classes else []
    key = tuple((class_title(name), traces.CLASS_COLORS[name]) for name in names)
    highest = _highest_range(analysis)
    top = units.format_pct(highest) if highest else ""
    return PackedTimeline(Markup(store.pack(header)), tuple(gpus), key, top, tuple(notes))


def _describe_bars(analysis: Analysis, works: WorkNames, gaps: Gaps) -> Header:
    """Describe ranges and work: names (labels of plotly for the pointer, plain text in bars), colours and links."""
    paths, work = analysis.paths, works.frame
    return {
        "highestRange": _highest_range(analysis),
        "rangeColors": traces.paint_scale(RANGE_STEPS),
        "classes": [{"name": class_title(name), **traces.painted(traces.CLASS_COLORS[name])} for name in TIME_CLASSES],
        "paths": {"names": [label(path, 80) for path in paths["path"]], "cuts": cut_names(paths["name"])},
        "links": {"ranges": range_names(paths), "kernels": kernel_names(analysis.kernels)},
        "gpuOfKernel": analysis.kernels["gpu"].tolist(),
        "causes": list(CAUSES),
        "gapWaits": [label(name, 60) for name in list_waits(gaps)],
        "waitNames": [label(str(name), 60) for name in analysis.waits["name"].cat.categories],
        "threads": list_threads(analysis)["thread"].tolist(),
        "works": {
            "names": [label(name, 90) for name in work["name"]],
            "cuts": cut_names(work["name"].map(short_name)),
            "geometry": [label(text) for text in work["launch_geometry"]],
            "class": work["time_class"].tolist(),
            "kernels": len(analysis.kernels),
            "full": [one_line(name, LONGEST_NAME) for name in analysis.kernels["name"]],
            "bound": [describe_bound(kernel) for kernel in analysis.kernels.to_dict("records")],
            "precision": analysis.kernels["precision"].tolist(),
            **{end: [None if x != x else round(float(x), 3) for x in work[end]] for end in ("low", "high")},
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
        note = f"Every sample is in the page: {units.format_count(len(samples))}."
        return peaks, [{**_add_times(store, start, end, bars), "curves": curves}], [note]
    tracks, width = [], 0.0
    for metric, value in values.items():
        bins = compute_envelope(start, end, value, most // (3 * len(values)))
        curve = _add_curve(store, metric, peaks[metric], bins.mean, bins.low, bins.high)
        tracks.append({**_add_times(store, bins.start, bins.end, bars), "curves": [curve]})
        width = max(width, bins.bin_ns)
    note = f"Samples are in the page as smallest, mean and largest of bins of {units.format_ns(width)}."
    return peaks, tracks, [note]


def _add_times(store: ArrayStore, start: Ints, end: Ints, bars: int) -> Header:
    """Starts of all intervals, and the ends of those that do not reach to the next one's start."""
    breaks = np.append(np.flatnonzero(end[:-1] < start[1:]), len(start) - 1)
    start, end = coarsen(start, bars), coarsen(end, bars)
    return {
        "start": store.add(start, ascending=True),
        "breaks": store.add(breaks, ascending=True),
        "ends": store.add(end[breaks], ascending=True),
    }


def _add_curve(store: ArrayStore, metric: traces.Curve, peak: float, *values: Floats) -> Header:
    step = _step_of(metric, peak)
    unit = "FLOP/s" if metric is traces.FLOP_RATE else units.symbol_of(metric.unit)
    kept = [_add_values(store, curve, step) for curve in values]
    return {"metric": metric.name, "unit": unit, "step": step, "values": kept}


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


def _add_values(store: ArrayStore, values: Floats, step: float) -> int:
    """Add values in steps, from 1 on; 0 is unknown."""
    return store.add(np.where(np.isnan(values), 0, np.rint(np.nan_to_num(values) / step) + 1).astype(np.int64))


def _add_steps(store: ArrayStore, analysis: Analysis, gpu: int, bars: int) -> Header:
    """Add when the steps of a GPU did their work on it, of those that did any, and on the CPU."""
    columns = ["gpu", "range", "gpu_start_ns", "gpu_end_ns", "host_start_ns", "host_end_ns"]
    steps = analysis.steps[analysis.steps["gpu"] == gpu].merge(analysis.instances[columns])
    timed = steps[steps["gpu_start_ns"].notna()].sort_values("gpu_start_ns", kind="stable")
    start, end, host_start, host_end = (coarsen(timed[name].to_numpy(np.int64), bars) for name in columns[2:])
    return {
        "number": store.add(timed["number"].to_numpy(np.int64)),
        "start": store.add(start, ascending=True),
        "length": store.add(end - start),
        "hostStart": store.add(host_start),
        "hostLength": store.add(host_end - host_start),
    }


def _add_lanes(store: ArrayStore, analysis: Analysis, gpu: int, lanes: GpuLanes, gaps: Gaps) -> Header:

    def add(bars: pd.DataFrame, number: str, *more: str) -> Header:
        percents = {name: _add_values(store, bars[name].to_numpy(), PERCENT_STEP / 10) for name in more}
        start, end = (coarsen(bars[name].to_numpy(), lanes.most) for name in ("start_ns", "end_ns"))
        return {
            "start": store.add(start, ascending=True),
            "length": store.add(end - start),
            "row": store.add(bars["row"].to_numpy()),
            "id": store.add(bars[number].to_numpy()),
            "merged": store.add(bars["merged"].to_numpy()),
            "percents": percents,
        }

    ranges = {
        kind: {
            **add(bars, "path_id", "tensor_active_mean_pct", "coverage_pct"),
            "kernels": store.add(bars["kernel_count"].to_numpy()),
        }
        for kind, bars in (("host", lanes.host), ("windows", lanes.gpu))
    }
    return {
        **ranges,
        "work": add(lanes.work, "work", "tensor_active_pct"),
        "percentStep": PERCENT_STEP / 10,
        "labels": dict(lanes.labels),
        "rows": STREAM_ROWS,
        "steps": _add_steps(store, analysis, gpu, lanes.most),
        "launches": add_launches(store, analysis, lanes.work),
        "waits": add_waits(store, analysis, gpu, lanes.most),
        "gaps": add_gaps(store, analysis, gpu, gaps, lanes.most),
        "moduleOfWork": store.add(lanes.work["module_id"].to_numpy(np.int64) + 1),
        "instances": add_instances(store, analysis, gpu, lanes.host),
        "hostOfWindow": add_windows(store, lanes.host, lanes.gpu),
        "totals": add_totals(store, analysis, gpu),
        "meanStep": _find_mean_step(analysis, gpu),
    }


def _find_mean_step(analysis: Analysis, gpu: int) -> float | None:
    """Find the length of a GPU's mean step in ns, to which its times are relative; None without steps."""
    steps = rows_of_gpu(analysis.step_summary, gpu)
    return float(steps["total_ns"].iloc[0] / steps["step_count"].iloc[0]) if len(steps) else None


def _highest_range(analysis: Analysis) -> float:
    """Find the largest Tensor Active mean of an instance; 0 where none is known."""
    highest = analysis.instances["tensor_active_mean_pct"].max()
    return float(highest) if highest == highest else 0.0


_RATE_PIXELS, _CLOCK_PIXELS, _ROW_PIXELS = 80, 44, 21

_TITLE_PIXELS = 26
_TOP, _BOTTOM = 44, 52


@dataclass(frozen=True)
class TimelineStrip:
    """One strip of a timeline, with its own vertical axis."""

    title: str
    pixels: int
    traces: Sequence[Settings]  # what is drawn in it; their ``yaxis`` is set when the strips are stacked
    axis: dict[str, object]
    notes: Mapping[int, str] = field(default_factory=dict)  # titles inside of it, by their place on the vertical axis


def draw_skeleton(
    analysis: Analysis, curves: Mapping[traces.Curve, float], lanes: GpuLanes, place: int = 0, head: str = ""
) -> PlotlyFigure:
    """Strips of a GPU one below the other, with traces that have no points.

    Args:
        curves: The largest value of each curve that is known.
        place: The GPU's place among those of the page.
        head: What the first title begins with.
    """
    panels = [*_curve_panels(curves, place, traces.tensor_peak(analysis)), *_lane_panel(lanes, place)]
    if panels:
        panels[0] = replace(panels[0], title=f"{head}{panels[0].title}")
    figure = _stack_panels(panels, analysis)
    return figure.update_layout(hoverdistance=14, margin={"l": 84})


def _curve_panels(curves: Mapping[traces.Curve, float], place: int, peak: float) -> list[TimelineStrip]:
    rate = curves.get(traces.FLOP_RATE, 0.0)
    rates = {"range": [0, 1.1 * (rate or 1.0)], **unit_ticks(0, rate or 1.0, "FLOP/s", 4)}
    clock = curves.get(traces.CLOCK, 1.0)
    clocks = {"range": [0, 1.15 * clock], **unit_ticks(0, clock, "Hz", 3)}
    kinds: tuple[tuple[str, tuple[traces.Curve, ...], int, dict[str, Any], str], ...] = (
        (traces.TENSOR.name, (traces.TENSOR,), traces.TENSOR_PIXELS, traces.tensor_axis(peak), "%"),
        ("Tensor FLOP/s, from the fit of the kernels", (traces.FLOP_RATE,), _RATE_PIXELS, rates, "FLOP/s"),
        ("SM Active and other metrics", traces.METRICS, traces.OTHERS_PIXELS, traces.PERCENT_AXIS, "%"),
        ("Clock of the SMs", (traces.CLOCK,), _CLOCK_PIXELS, clocks, "Hz"),
        *(
            (m.name, (m,), traces.MEASURED_PIXELS, traces.measured_axis(m, curves.get(m, 0.0)), units.symbol_of(m.unit))
            for m in traces.MEASURED
        ),
    )
    panels = []
    for title, metrics, pixels, axis, unit in kinds:
        lines: list[Settings] = []
        for metric in metrics:
            if metric in curves and (metric is not traces.FLOP_RATE or rate > 0):
                meta = {"gpu": place, "curve": metric.name}
                lines += [traces.empty_band().set(meta={**meta, "role": "band"})] if metric is traces.TENSOR else []
                line = traces.empty_line(metric, metric.visible)
                lines.append(line.set(meta={**meta, "role": "curve", "unit": unit}))
        if lines:
            panels.append(TimelineStrip(title, pixels, lines, axis))
    return panels


def _lane_panel(lanes: GpuLanes, place: int) -> list[TimelineStrip]:
    """Draw the axes of a GPU's lanes, and a trace of points for the pointer; the bars are painted below the axes."""
    if not lanes.rows:
        return []
    hover = scatter(
        mode="none",
        hovertemplate="%{text}<extra></extra>",
        name="pointed at",
        showlegend=False,
        meta={"gpu": place, "role": "lanes"},
    )
    axis = {
        "range": [lanes.rows - 0.45, 0.5],  # the strip's own title takes the place of row 0
        "showgrid": False,
        "tickvals": [row + (STREAM_ROWS - 1) / 2 for row in lanes.labels],
        "ticktext": list(lanes.labels.values()),
        "ticks": "",
    }
    first = next(iter(lanes.titles.values()))
    notes = {row: title for row, title in lanes.titles.items() if row > 0}
    return [TimelineStrip(first, _ROW_PIXELS * (lanes.rows - 1), [hover], axis, notes)]


def _stack_panels(panels: Sequence[TimelineStrip], analysis: Analysis) -> PlotlyFigure:
    """Strips one below the other on one axis of time, so that zooming one zooms all."""
    inner = sum(panel.pixels + _TITLE_PIXELS for panel in panels) or 1
    figure = PlotlyFigure()
    figure.update_layout(**base_layout(inner + _TOP + _BOTTOM, _TOP, _BOTTOM))
    legend: set[str] = set()
    position = float(inner)
    for number, panel in enumerate(panels):
        position -= _TITLE_PIXELS
        high, position = position / inner, position - panel.pixels
        axis, name = axis_names("y", number)
        settings = {**AXIS, "domain": [max(position / inner, 0), high], "fixedrange": True}
        figure.update_layout({name: {**settings, **panel.axis, "anchor": "x"}})
        figure.add_title(panel.title, high)
        for place, note in panel.notes.items():
            figure.add_annotation(text=note, xref="paper", yref=axis, x=0, y=place, xanchor="left", showarrow=False)
        for trace in panel.traces:
            first = trace.get("showlegend", True) and trace["name"] not in legend
            legend |= {trace["name"]} if first else set()
            figure.data.append(trace.set(yaxis=axis, showlegend=first))
    last, _ = axis_names("y", max(len(panels) - 1, 0))
    legend_place = {**LEGEND, "yref": "paper"}
    figure.update_layout(xaxis=_time_axis(analysis, last), barmode="overlay", legend=legend_place)
    return figure


def _time_axis(analysis: Analysis, anchor: str) -> dict[str, object]:
    frames = [
        (analysis.samples, "start_ns", "end_ns"),
        (analysis.activities, "start_ns", "end_ns"),
        (analysis.instances, "host_start_ns", "host_end_ns"),
    ]
    spans = [(float(f[start].min()) * 1e-9, float(f[end].max()) * 1e-9) for f, start, end in frames if len(f)]
    low, high = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0.0, 1.0)
    return {
        "range": [low, high],
        "anchor": anchor,
        "tickformat": ".9~f",
        "hoverformat": ".9~f",
        "ticksuffix": " s",
        **AXIS,
        "nticks": 9,
        "title": {"text": "time since the recording began", "standoff": 6},
    }
