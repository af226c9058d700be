"""A recording as a trace for Perfetto and chrome://tracing: ranges, work on the GPUs, and the counters beside them.

A GPU is a process of the trace, and so is each process that opened ranges. docs/export.md explains how to read it.
"""

import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import OpenIntervals
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.findings import Findings
from tcprof.frames import COUNTED, NCU_METRICS, SAMPLE_METRICS, SAMPLES
from tcprof.outputs import replace_file
from tcprof.units import plain
from tcprof.untrusted import without_surrogates
from tcprof.version import __version__
from tcprof.views.recording import recording_data

OUTSIDE = 1 << 24  # above all numbers of processes and threads in a recording: GPUs are processes from here on
FAULTS = 2 * OUTSIDE  # the process that they are drawn in
_TIDS = 3 * OUTSIDE  # rows that stand for no thread; each is the only one of its number, as old readers want it
ROWS_AT_ONCE, BYTES_AT_ONCE = 100_000, 1 << 25
MOST_ROWS = 64  # rows of a lane for events that overlap; the last one says how many more there are
_COMPRESSION = 4  # two thirds of the time of the usual 6, for an eighth more bytes
_FRACTIONS = pa.array([f".{part:03d}" for part in range(1000)])
_UNITS = {"pct": ("%", 1.0), "hz": ("MHz", 1e-6)}  # unit of a column -> that of its track, and the scale factor
# Column of the samples, name of the track, its unit, and the scale factor.
COUNTERS = tuple(
    (column.name, column.title, *_UNITS.get(column.unit, (column.unit or "value", 1.0)))
    for column in SAMPLES.columns
    if column.name in SAMPLE_METRICS and column.unit not in COUNTED
)
_KERNEL = (
    *("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct", "launch_count", "median_ns"),
    *("bound", "fit", "name_verdict", "precision", "family", "tile"),
)
_TENSOR_ACTIVE = ("tensor_active_pct", NCU_METRICS["tensor_active_pct"])  # the other name is for those who seek it
_INSTANCE = ("tensor_active_mean_pct", "tensor_cycles", "coverage_pct", "kernel_count", "kernel_ns")


def write_chrome_trace(analysis: Analysis, findings: Findings, target: Path) -> None:
    """Write a recording in the Trace Event Format; compressed, if the file's name ends in .gz.

    Times are those of the recording. The format's readers take no negative times: samples from before zero are left
    out, and where a range or work on a GPU began before, all times are counted from the first of them.
    """
    ranges, activities = analysis.nvtx_ranges, analysis.activities
    zero = min([0, *(int(frame["start_ns"].min()) for frame in (ranges, activities) if len(frame))])
    about = {"tcprof": __version__, "recording": plain(recording_data(analysis)), "zero_ns": zero}
    about |= {"faults": findings.faults, "warnings": findings.warnings}
    recorded = {*analysis.samples["gpu"].unique(), *activities["gpu"].unique()}
    with replace_file(target) as path, _open_trace(path, about, zero) as trace:
        if findings.faults:
            frames = (analysis.samples, activities, analysis.instances.rename(columns={"host_end_ns": "end_ns"}))
            end = max([1, *(int(frame["end_ns"].max()) for frame in frames if len(frame))])
            trace.name("process", FAULTS, FAULTS, "tcprof: read this before the figures")
            _draw_stretches(trace, FAULTS, "fault", [("faults", fault, 0, end) for fault in findings.faults])
        for gpu, name in zip(analysis.gpus["gpu"].tolist(), analysis.gpus["name"].tolist(), strict=True):
            if gpu in recorded:
                trace.name("process", OUTSIDE + gpu, OUTSIDE + gpu, f"GPU {gpu}: {name}")
                _draw_samples(trace, OUTSIDE + gpu, rows_of_gpu(analysis.samples, gpu), zero)
                _draw_ranges_of_gpu(trace, analysis, gpu)
                _draw_activities(trace, analysis, gpu)
        for process in np.unique(ranges["process"]).tolist():
            trace.name("process", process, process, f"process {process}")
            _draw_ranges(trace, analysis, process)


def _draw_stretches(trace: "_Trace", pid: int, kind: str, stretches: Sequence[tuple[str, str, int, int]]) -> None:
    """Draw stretches of time: the lane, the name, the start and the end of each."""
    events = pd.DataFrame(stretches, columns=["lane", "name", "start_ns", "end_ns"])
    lane = pd.Categorical(events["lane"], list(dict.fromkeys(events["lane"])))
    trace.draw(pid, events.assign(cat=kind, lane=lane, **{kind: np.arange(len(events))}), ["lane"], "{lane}", [kind])


def _draw_samples(trace: "_Trace", pid: int, samples: pd.DataFrame, zero: int) -> None:
    """Draw the counters of a GPU, and the gaps in which they are drawn at 0 since they are not known."""
    samples = samples[samples["end_ns"] > zero]
    start, end = np.maximum(samples["start_ns"].to_numpy(), zero), samples["end_ns"].to_numpy()
    gaps = _find_gaps("no samples", start, end)
    for column, name, unit, scale in COUNTERS:
        value = samples[column].to_numpy()
        unknown = np.isnan(value)
        if unknown.all():
            continue
        trace.count(pid, name, unit, start, end, value * scale)
        if unknown.any():
            borders = (start[:1], start[:1]), (end[-1:], end[-1:])  # as samples without a length
            sampled = zip(borders[0], (start[~unknown], end[~unknown]), borders[1], strict=True)
            gaps += _find_gaps(f"no {name}", *map(np.concatenate, sampled))
    _draw_stretches(trace, pid, "gap", gaps)


def _find_gaps(name: str, start: Ints, end: Ints) -> list[tuple[str, str, int, int]]:
    gaps = np.flatnonzero(start[1:] > end[:-1])
    return [(name, name, *times) for times in zip(end[gaps].tolist(), start[gaps + 1].tolist(), strict=True)]


def _draw_activities(trace: "_Trace", analysis: Analysis, gpu: int) -> None:
    """Draw the work on a GPU by stream: of each launch its figures from the fit, and those of its kernel."""
    launches = analysis.kernel_instances.set_index("activity")
    launches = launches[["tensor_active_ns", "duration_ns", "tensor_cycles", "kernel"]]
    events = analysis.activities[analysis.activities["gpu"] == gpu].join(launches)
    kernel, length = events["kernel"].fillna(-1).to_numpy(np.int64), events["duration_ns"]
    figures = plain(analysis.kernels[list(_KERNEL)].round(6))
    kernels = [_to_json({name: value for name, value in row.items() if value not in (None, "")}) for row in figures]
    is_tensor = np.append(analysis.kernels["tensor_kernel"].to_numpy(bool), False)[kernel]
    events = events.assign(
        activity=events.index,
        cat=events["kind"].astype(str) + np.where(is_tensor, ",tensor", ""),
        **dict.fromkeys(_TENSOR_ACTIVE, 100 * events["tensor_active_ns"] / length.where(length > 0)),
        grid=events["launch_geometry"].map(lambda text: text.partition(" ")[0]),
        block=events["launch_geometry"].map(lambda text: text.partition(" ")[2]),
        kernel=np.array([*kernels, ""], dtype=object)[kernel],
    )
    names = ["activity", "process", "stream", *_TENSOR_ACTIVE, "tensor_cycles", "grid", "block", "kernel"]
    title = "stream {stream}" + " of process {process}" * (events["process"].nunique() > 1)
    trace.draw(OUTSIDE + gpu, events, ["process", "stream"], title, names)


def _draw_ranges(trace: "_Trace", analysis: Analysis, process: int) -> None:
    """Draw the ranges of a process as on the CPU, a lane for each thread and domain."""
    ranges = analysis.nvtx_ranges[analysis.nvtx_ranges["process"] == process]
    instances = analysis.instances[analysis.instances["range"].isin(ranges.index)]
    used = instances[(instances["activity_count"] > 0) | instances["tensor_active_mean_pct"].notna()]
    paths = instances.drop_duplicates("range", keep="last").set_index("range")["path_id"]
    events, names = ranges.assign(cat="range", range=ranges.index, path=_find_paths(analysis, paths)), ["range"]
    for gpu, gpu_rows in used.groupby("gpu"):
        prefix = f"GPU {gpu} " if used["gpu"].nunique() > 1 else ""
        figures = gpu_rows.set_index("range")[list(_INSTANCE)].add_prefix(prefix)
        events, names = events.join(figures), [*names, *figures.columns]
    trace.draw(process, events, ["thread", "domain"], "thread {thread}{domain}", [*names, "path"])


def _draw_ranges_of_gpu(trace: "_Trace", analysis: Analysis, gpu: int) -> None:
    """Draw the ranges on a GPU, each from its first activity to its last."""
    instances = rows_of_gpu(analysis.instances, gpu).set_index("range")
    instances = instances.loc[instances["gpu_start_ns"].notna(), ["gpu_start_ns", "gpu_end_ns", "path_id", *_INSTANCE]]
    events = instances.join(analysis.nvtx_ranges[["process", "thread", "domain", "name"]])
    times = {f"{end}_ns": events[f"gpu_{end}_ns"].astype(np.int64) for end in ("start", "end")}
    paths = _find_paths(analysis, events["path_id"])
    events = events.assign(**times, cat="range,gpu", range=events.index, path=paths)
    title = "ranges of thread {thread}{domain}" + " of process {process}" * (events["process"].nunique() > 1)
    trace.draw(OUTSIDE + gpu, events, ["process", "thread", "domain"], title, ["range", *_INSTANCE, "path"])


def _find_paths(analysis: Analysis, path_id: "pd.Series[int]") -> "pd.Series[str]":
    return path_id.map(analysis.paths["path"]).fillna("")


def _to_json(value: Any) -> str:
    """Write a value as JSON in one line; lone surrogates, which no UTF-8 can hold, become U+FFFD."""
    return without_surrogates(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _quote(values: Iterable[Any]) -> pa.Array:
    return pa.array([_to_json(value) for value in values], pa.string())


def _encode(column: "pd.Series[Any]") -> pa.Array | npt.NDArray[Any]:
    """Write each text of a column once, as JSON; an empty one, and a number that is not known, is null."""
    if column.dtype.kind in "if":
        return column.to_numpy()
    texts = column.astype("category").cat
    quoted = list(texts.categories) if column.name == "kernel" else [_to_json(text) for text in texts.categories]
    index = pa.array(texts.codes.to_numpy(np.int32), mask=(texts.codes < 0).to_numpy() | (column == "").to_numpy(bool))
    return pa.DictionaryArray.from_arrays(index, pa.array(quoted, pa.string()))


def _microseconds(time: Ints) -> pa.Array:
    """Write times in ns, which are not negative, as microseconds with all their digits."""
    return _join(pa.array(time // 1000).cast(pa.string()), _FRACTIONS.take(pa.array(time % 1000)))


def _numbers(values: npt.NDArray[Any]) -> pa.Array:
    """Write numbers as text, to 6 decimals; null where they are not known."""
    if values.dtype.kind == "i":
        return pa.array(values).cast(pa.string())
    with np.errstate(over="ignore"):
        rounded = np.round(values, 6)
    return pa.array(rounded, mask=~np.isfinite(rounded)).cast(pa.string())


def _take(values: pa.Array | npt.NDArray[Any], rows: Ints) -> pa.Array:
    return _numbers(values[rows]) if isinstance(values, np.ndarray) else values.take(pa.array(rows)).dictionary_decode()


def _join(*parts: pa.Array | str) -> pa.Array:
    """Join the parts of each line; nulls are left out. One part at least is an array."""
    return pc.binary_join_element_wise(*parts, "", null_handling="skip")


def assign_rows(lane: Ints, start: Ints, end: Ints) -> Ints:
    """Find for each event of a lane the row to draw it on, such that the events of a row lie in each other or apart.

    Events come in the order of ``OpenIntervals.order``. Rows are numbered from 0 for each lane; -1 is for events that
    would need more than ``MOST_ROWS`` rows.
    """
    row = np.zeros(len(lane), dtype=np.int64)
    parent = OpenIntervals(lane, start, end).parents()
    crosses = (parent >= 0) & (end > end[parent])
    if not crosses.any():
        return row
    # A cluster is what hangs together; one in which all is nested needs no second row, and no look at each event.
    cluster = np.cumsum(parent < 0)
    current, rows = -1, [[0]]
    for index in np.flatnonzero(np.isin(cluster, cluster[crosses])).tolist():
        if cluster[index] != current:
            current, rows = cluster[index], [[] for _ in range(MOST_ROWS)]
        row[index] = -1
        for number, ends in enumerate(rows):  # the first row on which it fits between or into those before it
            while ends and ends[-1] <= start[index]:
                ends.pop()
            if not ends or end[index] <= ends[-1]:
                ends.append(end[index])
                row[index] = number
                break
    return row


@contextmanager
def _open_trace(path: Path, about: Mapping[str, Any], zero: int) -> Iterator["_Trace"]:
    """Begin a trace, compressed if its name ends in .gz, and end it. The same events give the same bytes."""
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=file, mtime=0)
            file = stack.enter_context(io.BufferedWriter(stack.enter_context(packed), 1 << 20))
        file.write(_to_json({"displayTimeUnit": "ns", "otherData": about})[:-1].encode() + b',"traceEvents":[\n')
        yield _Trace(file, zero)
        file.write(b"\n]}\n")


class _Trace:
    """A trace that is being written, one process after the other; times are counted from ``zero``, in ns."""

    def __init__(self, file: BinaryIO, zero: int) -> None:
        self._file, self._zero = file, zero
        self._between = b""
        self._places, self._tids = count(), count(_TIDS)

    def _write(self, lines: pa.Array) -> None:
        if len(lines):
            joined = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), ",\n")
            self._file.write(self._between)
            self._file.write(joined[0].as_buffer())
            self._between = b",\n"

    def name(self, what: str, pid: int, tid: int, name: str) -> None:
        """Name a ``process`` or a ``thread``, and place it under those before."""
        row = {"ph": "M", "pid": pid, "tid": tid}
        place = {**row, "name": f"{what}_sort_index", "args": {"sort_index": next(self._places)}}
        self._write(_quote([{**row, "name": f"{what}_name", "args": {"name": name}}, place]))

    def draw(self, pid: int, events: pd.DataFrame, keys: list[str], title: str, arguments: Sequence[str]) -> None:
        """Draw events with a duration in lanes; those of a lane that overlap, but do not nest, get further rows.

        Args:
            events: Has ``start_ns``, ``end_ns``, ``name``, ``cat``, and the arguments.
            keys: The columns of which each combination is a lane.
            title: What a lane is called, with its keys; one of a thread without a domain has the thread's number.
        """
        by = events.groupby(keys, observed=True)
        lanes = [dict(zip(keys, key if len(keys) > 1 else [key], strict=True)) for key in by.size().index]
        lane, start, end = by.ngroup().to_numpy(np.int64), events["start_ns"].to_numpy(), events["end_ns"].to_numpy()
        order = OpenIntervals.order(lane, start, end)
        row = assign_rows(lane[order], start[order], end[order])
        left_out = np.bincount(lane[order][row < 0], minlength=len(lanes))
        order, row = order[row >= 0], row[row >= 0]
        place = lane[order] * MOST_ROWS + row
        places = np.unique(place)
        tids = np.array(
            [self._name_row(pid, title, lanes[n // MOST_ROWS], n % MOST_ROWS, left_out[n // MOST_ROWS]) for n in places]
        )
        columns = {name: _encode(events[name]) for name in ("name", "cat", *arguments)}
        texts = [column.dictionary for column in columns.values() if not isinstance(column, np.ndarray)]
        longest = sum(pc.max(pc.binary_length(strings)).as_py() or 0 for strings in texts)
        step = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // (longest + 1)))  # which takes little memory
        for first in range(0, len(order), step):
            rows, tid = order[first : first + step], tids[np.searchsorted(places, place[first : first + step])]
            named, cat, *values = (_take(column, rows) for column in columns.values())
            pairs = zip(arguments, values, strict=True)
            args = [
                pc.binary_join_element_wise(f',"{key}":'[key == arguments[0] :], strings, "") for key, strings in pairs
            ]
            head = (f'{{"ph":"X","pid":{pid},"tid":', _numbers(tid), ',"ts":', _microseconds(start[rows] - self._zero))
            length = (',"dur":', _microseconds(end[rows] - start[rows]))
            self._write(_join(*head, *length, ',"name":', named, ',"cat":', cat, ',"args":{', *args, "}}"))

    def _name_row(self, pid: int, title: str, keys: Mapping[str, Any], level: int, left_out: int) -> int:
        domain = keys.get("domain", "")
        name = title.format(**{**keys, "domain": f" [{domain}]" if domain else ""})
        tid = next(self._tids) if level or domain or not title.startswith("thread") else keys["thread"]
        more = f" ({left_out:,} more not drawn)" if left_out and level == MOST_ROWS - 1 else ""
        self.name("thread", pid, tid, f"{name}, overlapping {level}{more}" if level else name)
        return int(tid)

    def count(self, pid: int, name: str, unit: str, start: Ints, end: Ints, value: Floats) -> None:
        """Draw a track of one process from samples; the format knows no gaps: what is not known is 0."""
        head, key = f'{{"ph":"C","pid":{pid},"ts":', f',"name":"{name}","args":{{"{unit}":'
        drawn = np.nan_to_num(value, nan=-1.0)  # which no counter has
        is_apart = end[:-1] != start[1:]
        begins, ends = np.append(True, is_apart | (drawn[1:] != drawn[:-1])), np.append(is_apart, True)
        times = np.concatenate((start[begins], end[ends]))
        values = np.concatenate((drawn[begins].clip(0), np.zeros(int(ends.sum()))))
        order = np.argsort(times, kind="stable")
        for first in range(0, len(order), ROWS_AT_ONCE):
            some = order[first : first + ROWS_AT_ONCE]
            self._write(_join(head, _microseconds(times[some] - self._zero), key, _numbers(values[some]), "}}"))
