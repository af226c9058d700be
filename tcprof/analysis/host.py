"""What the CPU does while a GPU works and idles: launches, waits for the GPU, and other work."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.intervals import OpenIntervals, StepFunction, open_times
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER_DOMAIN
from tcprof.annotate.steps import DOMAIN, STEP
from tcprof.arrays import Bools, Ints, pick_rows
from tcprof.frames import DEVICE_TO_HOST, HOST_TO_DEVICE, KERNEL_KINDS, OPS_DOMAIN, PAGEABLE, PINNED

LONG_NS = 200_000  # between two calls: more than the 5 to 40 µs that a launch takes with its share of Python
VERY_LONG_NS = 1_000_000  # the same in a range that launches kernels itself: more than autograd takes to begin
BLOCKED_NS = 50_000  # a launch that lasts so long waits: for the queue of launches, or for a copy to come to its turn
CALL_NS = 5_000  # what a launch takes where its end was not recorded
_BLOCKING = 0.5  # of the kernels' launches: see the rule blocking-launches
LAUNCH_THAT_BLOCKS, OF_SCALER, FULL_QUEUE = "launch that blocks", "GradScaler", "full queue"
_DEEP = 100  # activities that are queued where a launch waits for room: CUDA queues 1,020, fewer where they are large
# Copies that the CPU waits for. Other launches that block do so for the queue: they say nothing about the program.
FROM_GPU, TO_GPU = "copies from the GPU", "copies to the GPU"
FROM_MEMORY = {PAGEABLE: "copies from pageable memory", PINNED: "copies from pinned memory"}
OF_QUEUE = (*KERNEL_KINDS, "memset", "memcpy")
_OF_STREAM = "cu(?:da)?(?:Stream|Event)Synchronize"  # of the device programs ask by themselves
_SOON_NS = 20_000  # from a copy's call to that which waits for it: PyTorch makes both, one after the other
LAUNCHES, WAITS, WORK, GPU_SIDE = "launches", "waits", "work", "on the GPU"
UNSCALE, UPDATE, _FUSED = "non_finite_check_and_unscale", "amp_update_scale", "FusedOptimizer"
Pair = tuple[Ints, Ints]


@dataclass(frozen=True)
class Host:
    """The CPU of a mean step."""

    # Time in which it does not wait for the GPU; NaN where no calls were recorded, or those of several processes
    cpu_ns: float
    waits: pd.DataFrame  # time in which it waits, by call, with count and range; empty for none
    # Time in which the GPU idles, by cause: the CPU launches, it has just waited, it works long in a range that
    # launches nothing, or the launch was early
    idle_ns: Mapping[str, float]
    # Of idle time while the CPU works long between launches, by the range that is open then; empty for none
    work: "pd.Series[float]"
    launching: frozenset[str]  # those of these ranges that launch kernels, too
    steady: frozenset[str]  # those in which the GPU idles in most steps: the rest are stalls, and bursts of a loader
    loading: frozenset[str]  # those whose work mostly ends with a copy to the GPU
    # Of the launches of a step, those in the longest run without a wait: what a CUDA graph can hold
    run_share: float

    @property
    def is_blocking(self) -> bool:
        """Tell whether launches wait until their kernel has ended."""
        return LAUNCH_THAT_BLOCKS in self.waits.index

    @property
    def work_of_launching_ns(self) -> float:
        """Sum the idle time of long CPU work in ranges that launch kernels, too."""
        return float(self.work[self.work.index.isin(self.launching)].sum())


def find_host(analysis: Analysis, activities: pd.DataFrame, inside: StepFunction, on_cpu: Pair, count: int) -> Host:
    """Find what the CPU does in a mean step; ``inside`` is 1 in the steps' windows on the GPU."""
    gaps = explain_gaps(analysis, activities)
    waits = gaps.waits
    idle, work = _sum_idle(gaps, inside)
    alike = work.index.str.replace(r"\d+", "", regex=True)  # ranges that number epochs
    steps, waited = open_times(*on_cpu), open_times(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
    wait_ns = float(steps.integral(waited.start, waited.end).sum())
    several = gaps.process_count != 1
    return Host(
        cpu_ns=float("nan") if several else (steps.known_ns - wait_ns) / count,
        waits=_sum_waits(analysis, waits, steps, int(activities["process"].iloc[0]), count),
        idle_ns={name: value / count for name, value in idle.items()},
        work=work["sum"] / count,
        launching=gaps.launching,
        steady=frozenset(work.index[2 * work["size"].groupby(alike).transform("sum") >= count]),
        loading=frozenset(work.index[2 * work["loading_ns"] > work["sum"]]),
        run_share=_find_longest_runs(analysis, activities, waits, on_cpu),
    )


def _find_longest_runs(analysis: Analysis, activities: pd.DataFrame, waits: pd.DataFrame, steps: Pair) -> float:
    """Find the share of the steps' launches that is in the longest run of each without a wait; 1 without launches."""
    launch = launches_of(analysis.api_calls, activities)
    launched = np.sort(analysis.api_calls["start_ns"].to_numpy()[launch[launch >= 0]])
    launched = launched[open_times(*steps).covered(launched, launched + 1) > 0]
    if not len(launched):
        return 1.0
    waited = waits["start_ns"][~waits["name"].isin([*OF_QUEUE, FULL_QUEUE, OF_SCALER])].to_numpy(np.int64)
    places = np.unique(np.searchsorted(launched, np.concatenate([launched[:1], steps[0], waited])))
    places = places[places < len(launched)]
    runs = pd.Series(np.diff(places, append=len(launched)))
    return float(runs.groupby(np.searchsorted(steps[0], launched[places], side="right")).max().sum() / len(launched))


def launching_time(analysis: Analysis, activities: pd.DataFrame) -> Pair:
    """Return the time from the first launch of some activities to the last one's end; empty without launches."""
    launch = launches_of(analysis.api_calls, activities)
    rows = analysis.api_calls.iloc[launch[launch >= 0]]
    start = rows["start_ns"].to_numpy()
    end = rows["returned_ns"].fillna(rows["start_ns"] + CALL_NS).to_numpy(np.int64)
    return (start.min(keepdims=True), end.max(keepdims=True)) if len(rows) else (start, end)


def list_waits(analysis: Analysis, activities: pd.DataFrame, launch: Ints) -> pd.DataFrame:
    """List when the CPU waits for the GPU: in calls that do nothing else, and in launches and copies."""
    waits = analysis.waits[analysis.waits["process"].isin(activities["process"].unique())]
    started = np.full(len(analysis.api_calls), np.iinfo(np.int64).max)
    is_launched = launch >= 0
    np.minimum.at(started, launch[is_launched], activities["start_ns"].to_numpy()[is_launched])
    calls = analysis.api_calls.assign(until=np.minimum(analysis.api_calls["returned_ns"].fillna(-1), started))
    blocked = calls[calls["until"] - calls["start_ns"] >= BLOCKED_NS]
    kind = _name_launches(activities[is_launched], launch[is_launched])
    names = kind.reindex(blocked.index)
    begun, until = np.sort(activities["start_ns"].to_numpy()[is_launched]), blocked["until"].to_numpy(np.int64)
    launched = np.sort(analysis.api_calls["start_ns"].to_numpy()[launch[is_launched]])
    queued = np.searchsorted(launched, blocked["start_ns"]) - np.searchsorted(begun, until)
    names[names.notna() & (queued >= _DEEP)] = FULL_QUEUE
    blocked_waits = pd.DataFrame({"name": names.to_numpy(), "start_ns": blocked["start_ns"], "end_ns": until})
    parts = [_name_waits(waits, analysis.api_calls, kind), blocked_waits[blocked_waits["name"].notna()]]
    is_kernel = is_launched & activities["kind"].isin(KERNEL_KINDS).to_numpy()
    returned = np.append(analysis.api_calls["returned_ns"].to_numpy(), np.nan)[launch]
    is_blocking = is_kernel & (returned >= activities["end_ns"].to_numpy())
    if is_blocking.sum() > _BLOCKING * is_kernel.sum():  # then they wait from their kernel's start on
        times = {"start_ns": activities["start_ns"][is_blocking], "end_ns": returned[is_blocking].astype(np.int64)}
        parts.append(pd.DataFrame({"name": LAUNCH_THAT_BLOCKS, **times}).astype({"name": object}))
    every = pd.concat(parts, ignore_index=True).sort_values("start_ns", kind="stable", ignore_index=True)
    every.loc[find_scaler_waits(analysis, activities, launch, every), "name"] = OF_SCALER
    return every


def _name_launches(activities: pd.DataFrame, launch: Ints) -> "pd.Series[str]":
    """Name what each launch starts: a copy by its direction and the host's memory, else its kind; by launch."""
    kind = activities["kind"].astype(object).to_numpy(copy=True)
    direction, memory = (activities[name].astype(object) for name in ("name", "host_memory"))
    is_copy = kind == "memcpy"
    kind[is_copy & (direction == DEVICE_TO_HOST)] = FROM_GPU
    to_gpu = is_copy & (direction == HOST_TO_DEVICE).to_numpy()
    kind[to_gpu] = memory.map(FROM_MEMORY).fillna(TO_GPU).to_numpy()[to_gpu]
    names = pd.Series(kind, index=launch, dtype=object)
    return names[~names.index.duplicated()]


def _name_waits(waits: pd.DataFrame, launches: pd.DataFrame, kind: "pd.Series[str]") -> pd.DataFrame:
    """Name calls that wait: by the copy that the same thread started just before, else by their own name."""
    columns = ["process", "thread"]
    calls = launches[[*columns, "start_ns", "returned_ns"]].assign(row=np.arange(len(launches)))
    calls["returned_ns"] = calls["returned_ns"].fillna(calls["start_ns"] + CALL_NS)
    before = pd.merge_asof(
        waits.sort_values("start_ns", kind="stable"),
        calls.sort_values("start_ns", kind="stable").rename(columns={"start_ns": "began_ns"}),
        left_on="start_ns", right_on="began_ns", by=columns, allow_exact_matches=False,
    )  # fmt: skip
    copied = before["row"].map(kind).where(before["start_ns"] - before["returned_ns"] <= _SOON_NS)
    is_of_copy = copied.isin([FROM_GPU, TO_GPU, *FROM_MEMORY.values()]) & before["name"].str.contains(_OF_STREAM)
    names = before["name"].astype(object).mask(is_of_copy, copied)
    return before[["start_ns", "end_ns"]].assign(name=names)


def _sum_waits(analysis: Analysis, waits: pd.DataFrame, steps: StepFunction, process: int, count: int) -> pd.DataFrame:
    """Sum time and number of waits in a step, by call, with the range that is mostly open then."""
    time = steps.integral(waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64))
    inside = waits.assign(time_ns=time)[time > 0]
    summary = inside.groupby("name")["time_ns"].agg(["sum", "size"]) / count
    start = inside["start_ns"].to_numpy(np.int64)
    names = open_ranges(analysis, np.full(len(start), process), start)
    by_range = inside.assign(range=names).groupby(["name", "range"])["time_ns"].sum().sort_values()
    summary["range"] = by_range.reset_index("range").groupby(level=0)["range"].last()
    return summary.rename(columns={"sum": "time_ns", "size": "count"}).sort_values("time_ns", ascending=False)


@dataclass(frozen=True)
class IdleGaps:
    """The times in which a GPU idles between two activities, and what the CPU did until the launch that ended each."""

    # ``start_ns`` and ``end_ns``; ``following``, the row of the activity that ends it; ``launch``, that of its call in
    # ``api_calls``, -1 for none; ``launched_ns``, when this began, within the gap; ``wait``, the row in ``waits`` of
    # what the CPU last waited for, -1 for none; ``wait_to_ns``, until when it waited, within the gap; ``asked_ns``, a
    # time whose range tells what the CPU did; ``cause``: LAUNCHES, WAITS, WORK or GPU_SIDE; and ``loads``, whether a
    # copy to the GPU ends it
    frame: pd.DataFrame
    range_names: npt.NDArray[np.object_]  # of long work of the CPU the range that is open then; else empty
    waits: pd.DataFrame  # see ``list_waits``
    launching: frozenset[str]  # ranges that launch kernels
    process_count: int  # processes that launch


def explain_gaps(analysis: Analysis, activities: pd.DataFrame) -> IdleGaps:
    """Find each time in which the GPU of some activities idles, with what the CPU did until the next launch."""
    launch = launches_of(analysis.api_calls, activities)
    waits = list_waits(analysis, activities, launch)
    is_own = analysis.api_calls["process"].isin(activities["process"].unique()).to_numpy()
    calls = pick_rows(analysis.api_calls, is_own)
    returned = calls["returned_ns"].fillna(calls["start_ns"] + CALL_NS).to_numpy(np.int64)
    launching = _name_launching(analysis, activities)
    begins, ends = (activities[name].to_numpy() for name in ("start_ns", "end_ns"))
    busy = open_times(begins, ends)
    start, end = busy.end[:-1], busy.start[1:]
    order = np.argsort(begins, kind="stable")
    following = order[np.searchsorted(begins[order], end)]
    row = launch[following]
    launched = np.where(row >= 0, np.append(analysis.api_calls["start_ns"].to_numpy(), 0)[row], start)
    launched = np.clip(launched, start, end)
    waited, wait = _last_end(waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64), launched)
    at_work = open_times(
        np.concatenate([calls["start_ns"], waits["start_ns"]]), np.concatenate([returned, waits["end_ns"]])
    )
    long_ns, work_from, work_to = _find_long_work(at_work, start, launched)
    is_long = 2 * (work_to - work_from) > launched - start
    middle = np.where(is_long, (work_from + work_to) // 2, launched)
    names = np.full(len(middle), "", dtype=object)
    names[is_long] = open_ranges(analysis, activities["process"].to_numpy()[following[is_long]], middle[is_long])
    of_steps = {str(path).rpartition(SEPARATOR)[2] for path in analysis.steps["path"].unique()}  # launch within
    is_launching = pd.Series(names).isin(launching | of_steps).to_numpy()  # numpy would compare all pairs of texts
    step_count = int(analysis.steps["gpu"].isin(activities["gpu"].unique()).sum())
    longest_ns = min(VERY_LONG_NS, LONG_NS * len(calls) / step_count) if step_count else VERY_LONG_NS
    is_work = is_long & (~is_launching | (long_ns >= longest_ns))  # few calls in a step explain no long time
    is_after_wait = waited >= start - BLOCKED_NS
    cause = np.select([launched <= start, is_work, is_after_wait], [GPU_SIDE, WORK, WAITS], LAUNCHES)
    asked = np.select([is_work, is_after_wait], [middle, np.append(waits["start_ns"].to_numpy(), 0)[wait]], launched)
    columns = {"start_ns": start, "end_ns": end, "following": following, "launch": row, "launched_ns": launched}
    wait_to = np.where(is_work & (waited > work_to), start, np.clip(waited, start, launched))
    columns |= {"wait": wait, "wait_to_ns": wait_to, "asked_ns": asked, "cause": cause}
    columns["loads"] = (activities["name"] == HOST_TO_DEVICE).to_numpy()[following]
    return IdleGaps(pd.DataFrame(columns), names, waits, launching, int(calls["process"].nunique()))


def _find_long_work(at_work: StepFunction, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Find in each of some times the longest work of the CPU between two calls or waits: how long it is, from and to.

    0 for none. The work may begin before the time, or end after it.
    """
    begin, finish = at_work.end[:-1], at_work.start[1:]
    is_long = finish - begin >= LONG_NS
    begin, finish = begin[is_long], finish[is_long]
    place, gap, overlap = StepFunction(begin, finish, np.ones(len(begin))).overlaps(start, end)
    longest = np.lexsort((overlap, place))  # the last of each place stays
    place, gap = place[longest], gap[longest]
    longest_work = np.zeros((3, len(start)), dtype=np.int64)
    longest_work[0, place] = (finish - begin)[gap]
    longest_work[1, place] = np.maximum(start[place], begin[gap])
    longest_work[2, place] = np.minimum(end[place], finish[gap])
    return longest_work[0], longest_work[1], longest_work[2]


def _name_launching(analysis: Analysis, activities: pd.DataFrame) -> frozenset[str]:
    kernels = pick_rows(activities, activities["kind"].isin(KERNEL_KINDS).to_numpy())
    ranges = analysis.kernel_instances["range"].unique()
    around = analysis.nvtx_ranges["name"].loc[ranges[ranges >= 0]].unique()
    return frozenset({*around, *find_launching_ranges(analysis, kernels)} - {""})


def _sum_idle(gaps: IdleGaps, inside: StepFunction) -> tuple[dict[str, float], pd.DataFrame]:
    """Sum the GPU's idle time in the steps by cause; list the CPU's long work by range."""
    start, end, wait_to = (gaps.frame[name].to_numpy() for name in ("start_ns", "end_ns", "wait_to_ns"))
    cause, waited_ns = gaps.frame["cause"].to_numpy(), inside.integral(start, wait_to)
    idle_ns = inside.integral(start, end) - waited_ns
    parts = {name: float(idle_ns[cause == name].sum()) for name in (LAUNCHES, WAITS, WORK, GPU_SIDE)}
    parts[WAITS] += float(waited_ns.sum())
    is_work = (cause == WORK) & (idle_ns > 0)
    loading_ns = np.where(gaps.frame["loads"], idle_ns, 0.0)
    pieces = pd.DataFrame({"idle_ns": idle_ns, "loading_ns": loading_ns}, gaps.range_names, dtype=float)[is_work]
    work = pieces.groupby(level=0)["idle_ns"].agg(["sum", "size"])
    work["loading_ns"] = pieces["loading_ns"].groupby(level=0).sum()
    return parts, work.sort_values("sum", ascending=False)


def _last_end(start: Ints, end: Ints, time: Ints) -> Pair:
    """Return when the last interval that begins before a time ends, at most the time, and which it is, -1 for none."""
    if not len(start):
        return np.full(len(time), np.iinfo(np.int64).min // 4), np.full(len(time), -1)
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order])
    last = order[np.maximum.accumulate(np.where(end[order] == reach, np.arange(len(end)), 0))]
    index = np.searchsorted(start[order], time, side="left") - 1
    row = np.maximum(index, 0)
    until = np.where(index >= 0, np.minimum(reach[row], time), np.iinfo(np.int64).min // 4)
    return until, np.where(index >= 0, last[row], -1)


def find_launching_ranges(analysis: Analysis, activities: pd.DataFrame) -> list[str]:
    """Name the innermost ranges that are open when activities are launched; empty for none."""
    launch = launches_of(analysis.api_calls, activities)
    is_launched = launch >= 0
    time = analysis.api_calls["start_ns"].to_numpy()[launch[is_launched]]
    return open_ranges(analysis, activities["process"].to_numpy()[is_launched], time)


def open_ranges(analysis: Analysis, process: Ints, time: Ints) -> list[str]:
    """Name the range of each process that opened last before a time and is still open then; empty for none."""
    row, names = find_open_ranges(analysis, process, time), analysis.nvtx_ranges["name"]
    if not len(names):
        return [""] * len(time)
    code, texts = names.cat.codes.to_numpy(), names.cat.categories.to_numpy(dtype=object)
    return list(np.append(texts, "")[np.where(row >= 0, code[row], -1)])


def find_open_ranges(analysis: Analysis, process: Ints, time: Ints) -> Ints:
    """Find the range that ``open_ranges`` names, by its row in ``nvtx_ranges``; -1 for none.

    A step of the annotation may begin within an optimizer that calls the model: it counts where nothing else is open.
    """
    domain, names = analysis.nvtx_ranges["domain"], analysis.nvtx_ranges["name"]
    is_step = ((domain == DOMAIN) & (names == STEP)).to_numpy()
    is_inner = ~domain.isin([OPS_DOMAIN, KERNEL_ORDER_DOMAIN]).to_numpy() & ~is_step
    inner, step = (_find_innermost(analysis, np.flatnonzero(rows), process, time) for rows in (is_inner, is_step))
    return np.where(inner >= 0, inner, step)


def _find_innermost(analysis: Analysis, rows: Ints, process: Ints, time: Ints) -> Ints:
    if not len(rows) or not len(time):
        return np.full(len(time), -1, dtype=np.int64)
    columns = [analysis.nvtx_ranges[name].to_numpy()[rows] for name in ("process", "start_ns", "end_ns")]
    order = OpenIntervals.order(*columns)
    innermost = OpenIntervals(*(column[order] for column in columns)).at(process, time)
    return np.append(rows[order], -1)[innermost]


def find_scaler_waits(analysis: Analysis, activities: pd.DataFrame, launch: Ints, waits: pd.DataFrame) -> Bools:
    """Find the waits, in order of start, between the scaler's kernels, but for optimizers that check for themselves."""
    is_kernel = (launch >= 0) & activities["kind"].isin(KERNEL_KINDS).to_numpy()
    names = activities["name"].array[is_kernel].remove_unused_categories()
    marks = {mark: np.array([mark in str(name) for name in names.categories]) for mark in (UNSCALE, UPDATE, _FUSED)}
    if not len(waits) or not len(names) or not marks[UNSCALE].any():
        return np.zeros(len(waits), dtype=bool)
    launched = analysis.api_calls["start_ns"].to_numpy()[launch[is_kernel]]
    order = np.argsort(launched, kind="stable")
    codes = names.codes[order]
    following = np.searchsorted(launched[order], waits["start_ns"].to_numpy(np.int64))
    marked = {mark: np.flatnonzero(marks[mark][codes]) for mark in (UNSCALE, UPDATE)}
    last = {mark: np.append(index, -1)[np.searchsorted(index, following) - 1] for mark, index in marked.items()}
    is_last = np.append(following[1:] != following[:-1], True)  # of the waits between two launches
    is_fused = np.append(marks[_FUSED][codes], False)[following]
    return np.asarray(is_last & (last[UNSCALE] > last[UPDATE]) & ~is_fused)
