"""What one rank contributes to a job: the few frames that are left of its recording, wherever that lies."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis, analyze
from tcprof.analysis.host import list_waits
from tcprof.analysis.intervals import StepFunction, open_times
from tcprof.analysis.kernels.patterns import read_traits
from tcprof.analysis.kernels.untraced import find_busy_beyond
from tcprof.analysis.mean_step import measure_mean_step
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.steps.marked_steps import are_steady
from tcprof.analysis.time.account import TIME_CLASSES, classes_of_activities, compute_timeline
from tcprof.analysis.time.range_metrics import rate_useful, useful_of_launches
from tcprof.analysis.unprofiled import time_unprofiled_steps
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.files import read_unchanged
from tcprof.frames import COLLECTIVES, IN_NO_MODULE, RANK_PARTS, RANK_STEPS, python_string_storage
from tcprof.identity import Rank
from tcprof.saved import load
from tcprof.sources.registry import find_type
from tcprof.sources.saved import SAVED

MERGED = "its processes"  # of merged traces, which are of several ranks
MOST_COLLECTIVES = 4096  # of one rank, so that a job of many ranks stays small
MOST_PARTS = 1000  # of one rank, those with most time
INPUT_RANGES = ("data", "dataloader")  # the first is what the annotation calls it
_PART_OF_CLASS = {"communication": "communication_ns", "copy": "copy_ns", "idle": "idle_ns"}  # else compute_ns


@dataclass(frozen=True)
class ReducedRank:
    """What is left of the recording of one rank; ``rank`` of the frames is -1 until the job knows it."""

    rank: Rank | None  # None where the recording does not know it
    file: str
    content: str  # SHA-256 of what was read, to know copies by
    job: str  # alias; empty where not known, as the others
    host: str
    gpu_alias: str
    gpu_name: str
    program: str
    steps: pd.DataFrame  # see ``RANK_STEPS``, without waiting
    collectives: pd.DataFrame
    parts: pd.DataFrame
    stage: float = np.nan  # of a pipeline; NaN where not known
    power_w: float = np.nan  # mean over the steps, see ``STEP_SUMMARY``
    unprofiled_ns: float = np.nan  # mean of its unprofiled steps
    rank_from: str = ""  # what gave the rank where the recording does not say it
    gpu: int = 0  # its number in the recording


@python_string_storage()
def reduce_file(path: str) -> list[ReducedRank]:
    """Reduce a recording or saved analysis to its ranks, one for each GPU that steps ran on; else InputError."""
    file = Path(path)
    source_type = find_type(file)
    if source_type is SAVED:
        return reduce_analysis(load(file))
    export = source_type.find(file)

    def reduce_content(content: str) -> list[ReducedRank]:
        return [replace(rank, content=content) for rank in reduce_analysis(analyze(source_type.open(export)))]

    return read_unchanged(export, reduce_content)


def reduce_analysis(analysis: Analysis) -> list[ReducedRank]:
    """Reduce a recording to its ranks: one for each GPU that steps ran on, of the process that used it most."""
    recording, identity = analysis.recording, analysis.recording.identity
    by_process = {process_rank.process: process_rank for process_rank in identity.ranks}
    names, power = analysis.gpus.set_index("gpu")["name"], analysis.step_summary.set_index("gpu")["power_w"]
    reduced = []
    for gpu in sorted(analysis.steps["gpu"].unique().tolist()):
        whole = rows_of_gpu(analysis.steps, gpu)
        whole = whole[whole["step_ns"].notna() & are_steady(whole)]
        if whole.empty:
            continue
        activities = rows_of_gpu(analysis.activities, gpu)
        busy = (activities["end_ns"] - activities["start_ns"]).groupby(activities["process"]).sum()
        rank = by_process.get(int(busy.idxmax())) or identity.rank
        steps, collectives = _measure_steps(analysis, gpu, whole)
        of_host = (identity.job, identity.host, identity.gpus.get(gpu, ""), str(names[gpu]), identity.program)
        parts = _measure_parts(analysis, gpu)
        stage = rank.stage if rank else None
        named = (recording.file, recording.content, *of_host)
        unprofiled_ns = float(time_unprofiled_steps(analysis, gpu).mean())
        facts = np.nan if stage is None else float(stage), float(power.get(gpu, np.nan)), unprofiled_ns
        is_merged = recording.recorder == "torch" and rank is not None and rank.process is not None
        reduced.append(ReducedRank(rank, *named, steps, collectives, parts, *facts, MERGED if is_merged else "", gpu))
    return reduced


def _measure_steps(analysis: Analysis, gpu: int, steps: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    low = steps["gpu_start_ns"].to_numpy(np.int64)
    high = low + steps["step_ns"].to_numpy().astype(np.int64)
    activities = rows_of_gpu(analysis.activities, gpu)
    time_class = classes_of_activities(analysis.activities, analysis.kernel_instances, analysis.kernels)
    begin, end = (activities[name].to_numpy() for name in ("start_ns", "end_ns"))
    timeline = compute_timeline(begin, end, time_class[activities.index.to_numpy()])
    window_end = _last_ends(begin, end, low, high)
    launched = rows_of_gpu(analysis.kernel_instances, gpu)
    started = analysis.activities["start_ns"].to_numpy()[launched["activity"].to_numpy()]
    step = np.searchsorted(low, started, "right") - 1
    inside = (step >= 0) & (started < high[step])
    launched, step = launched[inside], step[inside]
    sums = {
        name: np.bincount(step, launched[name].to_numpy(), len(low)) for name in ("tensor_active_ns", "tensor_flop")
    }
    measured = pd.DataFrame(
        {
            "rank": -1,
            "step": steps["number"].to_numpy(),
            "start_ns": low,
            "step_time_ns": (high - low).astype(np.float64),
            **_sum_classes(timeline, low, window_end),
            "between_ns": (high - window_end).astype(np.float64),
            "input_ns": _wait_for_input(analysis, begin, end, low, high),
            "untraced_ns": _time_untraced(analysis, gpu, activities, low, high),
            "cpu_ns": _time_cpu(analysis, activities, low, high),
            **sums,
            **_rate_useful(analysis, launched, step, high - low),
            "clock_hz": _mean_clock(analysis, gpu, low, high),
        }
    )
    measured = measured if analysis.is_busy_known(gpu) else measured.assign(idle_ns=np.nan)
    return RANK_STEPS.conform(measured), _list_collectives(analysis, gpu, launched, measured["step"].to_numpy()[step])


def _rate_useful(analysis: Analysis, launched: pd.DataFrame, step: Ints, length: Ints) -> dict[str, "pd.Series[float]"]:
    """Rate the useful FLOP of each step, and MFU, where the sizes of operands were recorded."""
    if not analysis.kernel_instances["useful_flop"].notna().any():
        return {}
    sums = useful_of_launches(launched, analysis.kernels).groupby(step).sum().reindex(range(len(length)), fill_value=0)
    return rate_useful(sums, length.astype(np.float64))


def _last_ends(begin: Ints, end: Ints, low: Ints, high: Ints) -> Ints:
    """Find when the last activity that begins in a step ends; what reaches into the next counts up to that."""
    order = np.argsort(begin, kind="stable")
    reach = np.maximum.accumulate(end[order])
    return np.asarray(np.clip(reach[np.searchsorted(begin[order], high) - 1], low, high))


def _sum_classes(timeline: StepFunction, low: Ints, high: Ints) -> dict[str, Floats]:
    """Sum the time of each part of a step, by the columns of ``RANK_STEPS``."""
    step, piece, length = timeline.overlaps(low, high)
    part = np.array([_PART_OF_CLASS.get(name, "compute_ns") for name in TIME_CLASSES])
    of_piece = part[timeline.value[piece].astype(np.int64)]
    return {
        name: np.bincount(step[of_piece == name], length[of_piece == name], len(low)).astype(np.float64)
        for name in ("compute_ns", *_PART_OF_CLASS.values())
    }


def _wait_for_input(analysis: Analysis, begin: Ints, end: Ints, low: Ints, high: Ints) -> Floats:
    """Measure how long the GPU was idle while the program was in a range that gets its next batch."""
    ranges = analysis.nvtx_ranges
    rows = ranges[ranges["name"].astype(str).str.lower().isin(INPUT_RANGES)]
    waits = open_times(*(rows[name].to_numpy() for name in ("start_ns", "end_ns")))
    hidden = open_times(begin, end)
    step, piece, length = waits.overlaps(low, high)
    first = np.maximum(waits.start[piece], low[step])
    return np.bincount(step, length - hidden.integral(first, first + length), len(low)).astype(np.float64)


def _time_untraced(analysis: Analysis, gpu: int, activities: pd.DataFrame, low: Ints, high: Ints) -> Floats:
    samples = rows_of_gpu(analysis.samples, gpu)
    if samples.empty:
        return np.full(len(low), np.nan)
    rows, _, beyond = find_busy_beyond(samples, activities)
    begin = rows["start_ns"].to_numpy()
    step = np.searchsorted(low, begin, "right") - 1
    inside = (step >= 0) & (begin < high[step])
    return np.asarray(np.bincount(step[inside], beyond[inside], len(low)), dtype=np.float64)


def _time_cpu(analysis: Analysis, activities: pd.DataFrame, low: Ints, high: Ints) -> Floats:
    """Measure how long the CPU works, from the launch of a step's first activity to that of the next."""
    launch = launches_of(analysis.api_calls, activities)
    started = activities["start_ns"].to_numpy()
    order = np.argsort(started, kind="stable")
    ends = [order[np.minimum(np.searchsorted(started[order], edge), len(order) - 1)] for edge in (low, high)]
    if activities["process"].nunique() != 1 or any((launch[end] < 0).any() for end in ends):
        return np.full(len(low), np.nan)
    begin, end = (analysis.api_calls["start_ns"].to_numpy()[launch[end]] for end in ends)
    waits = list_waits(analysis, activities, launch)
    waited = open_times(waits["start_ns"].to_numpy(), waits["end_ns"].to_numpy())
    return np.asarray(np.maximum(end - begin - waited.covered(begin, end), 0), dtype=np.float64)


def _mean_clock(analysis: Analysis, gpu: int, low: Ints, high: Ints) -> Floats:
    samples = rows_of_gpu(analysis.samples, gpu)
    if "gpc_clock_hz" not in samples or samples.empty:
        return np.full(len(low), np.nan)
    clock = StepFunction(*(samples[name].to_numpy() for name in ("start_ns", "end_ns", "gpc_clock_hz")))
    covered = clock.covered(low, high)
    return np.asarray(clock.integral(low, high) / np.where(covered > 0, covered, np.nan))


def _list_collectives(analysis: Analysis, gpu: int, launched: pd.DataFrame, step: Ints) -> pd.DataFrame:
    kernels = analysis.kernels
    is_collective = (kernels["communication"] & ~read_traits(kernels["name"])["is_sent"]).to_numpy()
    chosen = is_collective[launched["kernel"].to_numpy()]
    rows = launched[chosen]
    begin = analysis.activities["start_ns"].to_numpy()[rows["activity"].to_numpy()]
    order = np.argsort(begin, kind="stable")
    frame = pd.DataFrame(
        {
            "rank": -1,
            "step": step[chosen][order],
            "name": kernels["name"].to_numpy(object)[rows["kernel"].to_numpy()[order]],
            "start_ns": begin[order],
            "duration_ns": rows["duration_ns"].to_numpy()[order],
            "sm_pct": _sm_shares(analysis, gpu)[rows["kernel"].to_numpy()[order]],
            "message_bytes": analysis.activities["moved_bytes"].to_numpy()[rows["activity"].to_numpy()[order]],
        }
    ).head(MOST_COLLECTIVES)
    return COLLECTIVES.conform(frame.assign(place=frame.groupby("step").cumcount()))


def _sm_shares(analysis: Analysis, gpu: int) -> Floats:
    """Share of the GPU's SMs that the blocks of each kernel hold, in percent, at one block an SM."""
    sizes = analysis.kernels["launch_geometry"].str.extract(r"^(\d+)x(\d+)x(\d+) ").astype(np.float64)
    sms = float(analysis.gpus.set_index("gpu")["sm_count"].get(gpu, np.nan))
    return np.asarray(np.minimum(100 * sizes.prod(axis=1, skipna=False) / sms, 100), dtype=np.float64)


def _measure_parts(analysis: Analysis, gpu: int) -> pd.DataFrame:
    mean = measure_mean_step(analysis, gpu)
    if mean is None:
        return RANK_PARTS.empty()
    parts = mean.parts.nlargest(MOST_PARTS, "time_ns")
    names, phases = analysis.modules["module"], analysis.modules["phase"]
    says_phase = names.str.startswith(tuple(IN_NO_MODULE.format(phase=phase) for phase in set(phases)))
    modules = names.where(says_phase, names + " " + phases).to_numpy(object)
    texts = {
        "path_id": ("path", analysis.paths["path"].to_numpy(object)),
        "module": ("module", modules),
        "kernel": ("kernel", analysis.kernels["name"].to_numpy(object)),
    }
    named = {title: np.append(names, "")[parts[key].to_numpy()] for key, (title, names) in texts.items()}
    frame = pd.DataFrame(
        {
            **named,
            "time_class": np.array(TIME_CLASSES, dtype=object)[parts["time_class"].to_numpy()],
            "time_ns": parts["time_ns"].to_numpy(),
            "launch_count": parts["launch_count"].to_numpy(),
        }
    )
    keys = ["path", "module", "time_class", "kernel"]
    return RANK_PARTS.conform(frame.groupby(keys, as_index=False, sort=False).sum().assign(rank=-1))
