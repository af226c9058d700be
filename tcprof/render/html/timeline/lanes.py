"""The bars of the page's timeline: ranges by depth, and work by stream, each on a row of its GPU's lanes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import distinct, run_starts
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.time.account import TIME_CLASSES, classes_of_activities
from tcprof.arrays import Floats, Ints, pick_rows, return_freed_memory, rows_of_gpu
from tcprof.frames import OPS_DOMAIN
from tcprof.untrusted import one_line

MOST_DEPTHS = 10  # of ranges
MOST_BARS = 1_200_000  # of all GPUs together: beyond, short ones are merged
MOST_STREAMS = 12
MOST_THREADS = 3  # with a row of calls each; further ones share the last
LEAST_STREAM = 1e-3  # of the time of the busiest one: of less nothing would be seen on a row of its own
_LAUNCH = "launch"
_MEANS = ("tensor_active_mean_pct",)  # of ranges that are merged
CUTS = (8, 12, 16, 22, 30, 42, 60)  # lengths of a name: a bar shows the longest for which it is wide enough


@dataclass(frozen=True)
class GpuLanes:
    """Bars of one GPU. Their frames have ``start_ns``, ``end_ns`` and ``row``, and are sorted by start."""

    streams: list[str]  # their names, by the row of their work
    host: pd.DataFrame  # ranges on the CPU, with the columns of ``tcprof.frames.INSTANCES``
    gpu: pd.DataFrame  # the same from first activity to last, where they have any
    # Activities, with ``work``, the number of their name, ``tensor_active_pct``, ``launched_ns`` and ``module_id``,
    # which is -1 for none and where bars are merged.
    work: pd.DataFrame
    calls: pd.DataFrame  # calls of the CUDA API, with ``call``, the number of their name
    call_names: list[str]
    hidden: int  # ranges left out: nested too deep
    merged: int  # bars that are drawn merged with others, as there are too many

    @property
    def most(self) -> int:
        """Return the number of bars of the lane that has most."""
        return max(len(bars) for bars in (self.host, self.gpu, self.work))


@dataclass(frozen=True)
class WorkNames:
    """What the activities are: the rows of ``analysis.kernels``, and behind them the other kinds of work."""

    frame: pd.DataFrame  # ``name``, ``launch_geometry`` and ``time_class`` (a place in ``TIME_CLASSES``)
    of_activity: Ints  # row of the frame, for each activity
    tensor_active_pct: Floats  # Tensor Active of each activity, from the fit
    launched_ns: Ints  # when the CPU launched each; -1 where that is unknown
    module_id: Ints  # the innermost module that each belongs to; -1 for none


def name_work(analysis: Analysis) -> WorkNames:
    """Number the kinds of work, and give each activity its number, its class and its fitted Tensor Active."""
    activities, launched, kernels = analysis.activities, analysis.kernel_instances, analysis.kernels
    rows = launched["activity"].to_numpy()
    time_class = classes_of_activities(activities, launched, kernels)
    number = np.full(len(activities), -1, dtype=np.int64)
    number[rows] = launched["kernel"].to_numpy()
    rest = np.flatnonzero(number < 0)
    is_kernel = (activities["kind"] == "kernel").to_numpy()
    time_class[rest[is_kernel[rest]]] = TIME_CLASSES.index("other_kernel")  # it was not fitted
    kinds = activities[["kind", "name"]].iloc[rest].astype(str)
    number[rest] = kinds.groupby(["kind", "name"], sort=False).ngroup() + len(kernels)
    other_kinds = kinds.drop_duplicates().itertuples(index=False, name=None)
    names = [name if name == kind else f"{_VERBS.get(kind, '')}{name}" for kind, name in other_kinds]
    fitted = kernels[["name", "launch_geometry"]]
    unknown = pd.DataFrame({"name": names, "launch_geometry": ""})
    frame = pd.concat([part for part in (fitted, unknown) if len(part)], ignore_index=True) if len(names) else fitted
    classes = np.full(len(frame), TIME_CLASSES.index("idle"), dtype=np.int64)
    classes[number] = time_class
    active = np.full(len(activities), np.nan)
    active[rows] = 100 * launched["tensor_active_ns"] / launched["duration_ns"].where(launched["duration_ns"] > 0)
    launch = launches_of(analysis.api_calls, activities)
    begun = np.append(analysis.api_calls["start_ns"].to_numpy(np.int64), -1)[launch]
    module = np.full(len(activities), -1, dtype=np.int64)
    module[rows] = np.append(analysis.modules["module_id"].to_numpy(np.int64), -1)[launched["module"].to_numpy()]
    return WorkNames(frame.assign(time_class=classes), number, active, begun, module)


_VERBS = {"memcpy": "copy ", "memset": ""}


def cut_names(names: pd.Series) -> list[list[str]]:
    """Cut each name in several lengths, shortest first, as plain text that is painted."""
    return [list(dict.fromkeys(one_line(name, length) for length in CUTS)) for name in names]


def lay_lanes(analysis: Analysis, gpu: int, works: WorkNames, most: int) -> GpuLanes:
    """Lay out the rows of one GPU's lanes, and at most so many bars on them."""
    instances = rows_of_gpu(analysis.instances, gpu)
    place = _places(analysis.paths).to_numpy()[instances["path_id"].to_numpy()]
    shallow = place <= MOST_DEPTHS
    bars: dict[str, pd.DataFrame] = {}
    for kind in ("host", "gpu"):
        chosen = shallow & instances[f"{kind}_start_ns"].notna().to_numpy()
        timed = pick_rows(instances[["range", "path_id", *_MEANS, "kernel_count"]], chosen)
        start, end = (instances[f"{kind}_{side}_ns"].to_numpy()[chosen].astype(np.int64) for side in ("start", "end"))
        timed = timed.assign(start_ns=start, end_ns=end, row=place[chosen] - 1)
        bars[kind] = merge_bars(timed, most // 3, "path_id", _MEANS, ("kernel_count",), ("range",))
        return_freed_memory()
    is_here = (analysis.activities["gpu"] == gpu).to_numpy()
    activities = pick_rows(analysis.activities, is_here)
    stream, names = _streams(activities)
    work = activities[["start_ns", "end_ns"]].assign(
        row=stream,
        work=works.of_activity[is_here],
        tensor_active_pct=works.tensor_active_pct[is_here],
        launched_ns=works.launched_ns[is_here],
        module_id=works.module_id[is_here],
    )
    drawn = merge_bars(work, most // 3, "work", ("tensor_active_pct",), firsts=("launched_ns", "module_id"))
    bars["work"] = drawn.assign(module_id=drawn["module_id"].where(drawn["merged"] == 1, -1))
    calls, call_names = _calls(analysis, set(activities["process"]))
    bars["calls"] = merge_bars(calls, most // 6, "call")
    return_freed_memory()
    merged = sum(int(drawn.loc[drawn["merged"] > 1, "merged"].sum()) for drawn in bars.values())
    hidden = len(instances) - int(shallow.sum())
    return GpuLanes(names, bars["host"], bars["gpu"], bars["work"], bars["calls"], call_names, hidden, merged)


def _calls(analysis: Analysis, processes: set[int]) -> tuple[pd.DataFrame, list[str]]:
    """Lay out the CUDA API calls of some processes, a row for each thread: those that start work, and waits by name."""
    launches, waits = analysis.api_calls, analysis.waits
    names = [_LAUNCH, *dict.fromkeys(one_line(name, CUTS[-1]) for name in waits["name"].astype(str))]
    number = {name: place for place, name in enumerate(names)}
    numbers = waits["name"].astype(str).map(lambda name: number[one_line(name, CUTS[-1])]).astype(np.int64)
    end = launches["returned_ns"].fillna(launches["start_ns"]).astype(np.int64)
    columns = ["process", "thread", "start_ns", "end_ns", "call"]
    parts = [launches.assign(end_ns=end, call=0)[columns], waits.assign(call=numbers)[columns]]
    calls = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    calls = calls[calls["process"].isin(processes)]
    row = calls.groupby(["process", "thread"]).ngroup().clip(upper=MOST_THREADS - 1)
    return calls.drop(columns=["process", "thread"]).assign(row=row), names


def _places(paths: pd.DataFrame) -> pd.Series:
    """Choose the row of each path among its GPU's: by depth, each NVTX domain below the one before.

    The default domain, which has no name, is the first; ops of PyTorch, which are many and short, are the last.
    """
    deepest = paths.groupby("domain")["depth"].max()
    deepest = deepest.loc[sorted(deepest.index, key=lambda domain: (domain == OPS_DOMAIN, domain))]
    return (paths["depth"] + paths["domain"].map(deepest.cumsum() - deepest)).astype(np.int64).rename("place")


def _streams(activities: pd.DataFrame) -> tuple[Ints, list[str]]:
    """Number the stream of each activity, and name the streams; those with the least time share the last number."""
    if not len(activities):
        return np.empty(0, dtype=np.int64), []
    by = activities.groupby(["process", "stream"])
    codes, streams = by.ngroup().to_numpy(np.int64), by.size().index
    time = np.bincount(codes, activities["end_ns"] - activities["start_ns"], minlength=len(streams))
    longest = np.argsort(-time, kind="stable")
    count = min(int((time >= LEAST_STREAM * time.max()).sum()), MOST_STREAMS)
    kept = np.sort(longest[: count if len(streams) > count + 1 else MOST_STREAMS])
    place = np.full(len(streams), len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    several = activities["process"].nunique() > 1
    names = [f"{process}: {stream}" if several else f"stream {stream}" for process, stream in streams[kept]]
    return place[codes], names + ["other streams"] * (len(streams) > len(kept))


def merge_bars(
    bars: pd.DataFrame,
    most: int,
    number: str,
    means: tuple[str, ...] = (),
    sums: tuple[str, ...] = (),
    firsts: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Merge bars until they are few enough, by start, with ``merged``: how many each stands for.

    A quarter of those that there is space for are the longest ones, each as it is. Between two of them, the bars of a
    row that start within the same short time are merged, those of one number each, to one as long as they are together.
    So each number keeps its time and its count in every window that is long against that short time.

    Args:
        number: The column that says what a bar is an instance of.
        means: Columns of which a merged bar has the mean over the time of the bars where they are known.
        sums: Columns of which it has the sum.
        firsts: Columns of which it has the first value.
    """
    columns = ["start_ns", "end_ns", "row", number, *means, *sums, *firsts]
    if len(bars) <= most:
        return bars[columns].assign(merged=1).sort_values("start_ns", kind="stable", ignore_index=True)
    ordered = bars[columns].sort_values(["row", "start_ns"], kind="stable", ignore_index=True)
    start, row, numbers = (ordered[name].to_numpy() for name in ("start_ns", "row", number))
    longest = np.argsort(start - ordered["end_ns"].to_numpy(), kind="stable")
    alone, span = most // 4, int(np.ptp(start)) + 1
    width = span // max(alone, 1) + 1
    while True:
        kept = np.zeros(len(ordered), dtype=bool)
        kept[longest[:alone]] = True
        first = np.zeros(int(np.count_nonzero(~kept)), dtype=np.int64)
        first[run_starts(row[~kept], np.cumsum(kept)[~kept], (start // width)[~kept])] = 1
        place = np.cumsum(first)
        pairs = place * (int(numbers.max()) + 2) + numbers[~kept] + 1  # a number may be -1, for none
        if alone + len(distinct(pairs)) <= most or not (alone or width <= span):
            merged = _merge(ordered[~kept].assign(place=place), number, means, sums, firsts)
            both = pd.concat([ordered[kept].assign(merged=1), merged])
            return both.sort_values("start_ns", kind="stable", ignore_index=True)
        alone, width = alone // 2, 2 * width


def _merge(
    bars: pd.DataFrame, number: str, means: tuple[str, ...], sums: tuple[str, ...], firsts: tuple[str, ...]
) -> pd.DataFrame:
    """Merge the bars of one place and number into one; those of a place follow each other."""
    length = bars["end_ns"] - bars["start_ns"]
    weighed = {f"{name} time": length.where(bars[name].notna(), 0) for name in means}
    weighed |= {name: (bars[name] * length).fillna(0) for name in means}
    bars = bars.assign(length=length, **weighed, merged=1)
    by = bars.groupby(["place", number], sort=True)
    merged = by[["length", *weighed, *sums, "merged"]].sum().join(by[["row", *firsts]].first()).reset_index()
    begin = bars.groupby("place")["start_ns"].min()
    before = merged["length"].cumsum() - merged["length"]
    start = merged["place"].map(begin) + before - before.groupby(merged["place"]).transform("first")
    weighted = {name: merged[name] / merged[f"{name} time"].where(merged[f"{name} time"] > 0) for name in means}
    columns = ["start_ns", "end_ns", "row", number, *means, *sums, *firsts, "merged"]
    return merged.assign(start_ns=start, end_ns=start + merged["length"], **weighted)[columns]
