"""Replay the steps of a recording: as they were, with a faster CPU, or without its waits for the GPU.

An activity starts when the one before it on the GPU has ended and the CPU has launched it; the CPU goes on at its own
pace, but for waits, which end with the activities that they wait for. Durations are as recorded.
"""

import math
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.host import (
    FROM_MEMORY,
    FULL_QUEUE,
    LAUNCH_THAT_BLOCKS,
    OF_QUEUE,
    TO_GPU,
    VERY_LONG_NS,
    Pair,
    list_waits,
)
from tcprof.analysis.intervals import open_times
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.steps.step_summary import are_followed
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu
from tcprof.frames import PAGEABLE
from tcprof.untrusted import one_line

_MOST = 20_000  # activities that are played: as many steps as fit
_QUEUED_NS = 2_000  # an activity launched so long before the one before it ended was waiting in the queue
# Between queued kernels, where launches that block leave none to measure: the median of 22 fixtures of H100 and H200 is
# 1,550, the means of 20 of them are 1,260 to 2,720, the largest 4,850.
_GAP_NS = 1_500.0
_PAST = -1e18
_MISPLAYED = 0.03  # of a step: steps played again that differ by more are not understood


class Waits(Enum):
    """Which waits of the CPU a replay keeps."""

    ALL = auto()
    BUT_FOR_COPIES = auto()  # to the GPU, from memory that is not pinned
    NONE = auto()


@dataclass(frozen=True)
class Replay:
    """The activities of a GPU in the order in which they started, and the waits of the CPU that launched them."""

    launched_ns: Floats  # how long the CPU was at work, waits left out, when it launched each
    worked_ns: Floats  # what of that was long work between calls, which recording does not slow
    # From the end of the activity before it on the GPU to its start where it was queued, else from the launching call
    after_ns: Floats
    queued: Bools  # whether it was queued
    duration_ns: Floats  # what it added to the GPU's busy time
    gap_ns: float  # mean time between queued activities
    latency_ns: float  # median time from a launch to its start on an idle GPU
    waited_ns: Floats  # how long the CPU was at work when it began to wait
    last: Ints  # of each wait, the last activity that it waited for; -1 for none
    returned_ns: Floats  # from the end of that activity to that of the wait
    for_copies: Bools  # whether it waited for a copy to the GPU alone
    steps: Pair  # first activity of each step, and of what follows at once
    recorded_ns: float  # mean length of these steps as they were recorded
    # Rules ask for the same.
    _played: dict[tuple[float, Waits, float, float, float], float] = field(default_factory=dict, init=False)

    def length_ns(
        self, cpu: float = 1.0, waits: Waits = Waits.ALL, gpu: float = 1.0, work: float = 1.0, gaps: float = 1.0
    ) -> float:
        """Predict the mean time from step to step with some of the waits.

        Args:
            cpu: How many times as long launching takes.
            waits: The waits that are left.
            gpu: How many times as long the GPU takes.
            work: How many times as long the CPU's long work between calls takes.
            gaps: How many times as long the GPU pauses between queued activities: less where there are fewer.
        """
        key = cpu, waits, gpu, work, gaps
        if key not in self._played:
            start = np.array(self._play(*key))
            self._played[key] = float((start[self.steps[1]] - start[self.steps[0]]).mean())
        return self._played[key]

    @property
    def work_ns(self) -> float:
        """Mean long work of the CPU between the launches of a step."""
        return float((self.worked_ns[self.steps[1]] - self.worked_ns[self.steps[0]]).mean())

    def _play(self, cpu: float, kept: Waits, gpu: float, work: float, pauses: float) -> list[float]:
        order = np.argsort(self.launched_ns)
        worked = np.interp(self.waited_ns, self.launched_ns[order], self.worked_ns[order])
        waited = cpu * self.waited_ns + (work - cpu) * worked
        columns = (self.waited_ns, waited, self.last, self.returned_ns)
        is_kept = ~self.for_copies if kept is Waits.BUT_FOR_COPIES else np.full(len(self.last), kept is Waits.ALL)
        waits = iter(zip(*(column[is_kept].tolist() for column in columns), strict=True))
        gaps = (pauses * np.where(self.queued, self.after_ns, self.gap_ns)).tolist()
        latencies = np.where(self.queued, self.latency_ns, self.after_ns).tolist()
        starts: list[float] = []
        ends: list[float] = []
        end, delay, never = _PAST, 0.0, (math.inf, 0.0, -1, 0.0)
        began, begins, last, returned = next(waits, never)
        scaled = cpu * self.launched_ns + (work - cpu) * self.worked_ns
        times = (self.launched_ns, scaled, gpu * self.duration_ns)
        rows = zip(*(column.tolist() for column in times), gaps, latencies, strict=True)
        for recorded, launched, duration, gap, latency in rows:
            while began <= recorded:
                until = ends[min(last, len(ends) - 1)] if last >= 0 and ends else _PAST
                delay = max(begins + delay, until) + returned - begins
                began, begins, last, returned = next(waits, never)
            queued, idle = end + gap, launched + delay + latency
            start = queued if queued > idle else idle  # max() would take as long as all else here
            end = start + duration
            starts.append(start)
            ends.append(end)
        return starts


def make_replay(analysis: Analysis, gpu: int, windows: Pair) -> Replay | None:
    """Prepare to replay steps; None where the replay does not match the recording.

    That is so where nothing follows at once, where launches are unknown, or where the replay lacks some activity.
    """
    activities = rows_of_gpu(analysis.activities, gpu).sort_values("start_ns", kind="stable")
    begins = activities["start_ns"].to_numpy()
    launch = launches_of(analysis.api_calls, activities)
    steps = np.searchsorted(begins, windows[0]), np.searchsorted(begins, windows[1])
    is_followed = np.append(begins, -1)[steps[1]] == windows[1]  # by a step of whatever role
    begin = int(steps[0][is_followed].min(initial=len(begins)))  # steps on several streams may run in another order
    is_near = is_followed & (steps[1] - begin < _MOST)
    if not is_near.any():
        return None
    reach = slice(begin, int(steps[1][is_near].max()) + 1)
    activities, launch = activities.iloc[reach], launch[reach]
    if (launch < 0).any():
        return None
    steps = steps[0][is_near] - reach.start, steps[1][is_near] - reach.start
    waits = list_waits(analysis, activities, launch)
    waits = waits[~waits["name"].isin(OF_QUEUE)]
    replay = _build(activities, analysis.api_calls["start_ns"].to_numpy()[launch], waits, steps)
    return replay if abs(replay.length_ns() - replay.recorded_ns) <= _MISPLAYED * replay.recorded_ns else None


def _build(activities: pd.DataFrame, launched: Ints, waits: pd.DataFrame, steps: Pair) -> Replay:
    start = activities["start_ns"].to_numpy()
    reach = np.maximum.accumulate(activities["end_ns"].to_numpy())
    before = np.append(start[0], reach[:-1])
    queued = launched <= before - _QUEUED_NS
    after = np.maximum(0, start - np.where(queued, before, np.maximum(launched, before))).astype(np.float64)
    waited = open_times(waits["start_ns"].to_numpy(np.int64), waits["end_ns"].to_numpy(np.int64))
    began, ended = waited.start, waited.end
    index = np.searchsorted(began, waits["start_ns"].to_numpy(np.int64), side="right") - 1
    for_queue, for_copies = (
        np.bincount(index[~waits["name"].isin(names).to_numpy(bool)], minlength=len(began)) == 0
        for names in ([FULL_QUEUE], [TO_GPU, FROM_MEMORY[PAGEABLE]])
    )
    played = ~for_queue  # how long the queue is full follows from the GPU's work, also that before the played steps
    last = np.searchsorted(reach, ended, side="right") - 1
    done = np.where(last >= 0, reach[np.maximum(last, 0)], 0)
    on_idle = ~queued & (launched > before)
    gap = _GAP_NS if waits["name"].eq(LAUNCH_THAT_BLOCKS).any() else after[queued].mean() if queued.any() else 0.0
    launched_ns = _subtract_waits(began, ended, launched)
    return Replay(
        launched_ns=launched_ns,
        worked_ns=_sum_long_work(launched_ns),
        after_ns=after,
        queued=queued,
        duration_ns=np.maximum(0, reach - np.maximum(before, start)).astype(np.float64),
        gap_ns=float(gap),
        latency_ns=float(np.median(after[on_idle])) if on_idle.any() else 0.0,
        waited_ns=_subtract_waits(began, ended, began)[played],
        last=last[played],
        for_copies=for_copies[played],
        returned_ns=(ended - np.maximum(began, done)).clip(0).astype(np.float64)[played],
        steps=steps,
        recorded_ns=float((start[steps[1]] - start[steps[0]]).mean()),
    )


def _sum_long_work(launched_ns: Floats) -> Floats:
    """Sum the long work before each launch, in whichever order the GPU ran them."""
    order = np.argsort(launched_ns, kind="stable")
    between = np.diff(launched_ns[order], prepend=launched_ns[order[:1]])
    worked = np.zeros(len(launched_ns))
    worked[order] = np.cumsum(np.where(between >= VERY_LONG_NS, between, 0.0))
    return worked


def _subtract_waits(began: Ints, ended: Ints, time: Ints) -> Floats:
    """Subtract earlier waits from each time."""
    total = np.append(0, np.cumsum(ended - began))
    index = np.searchsorted(began, time, side="right")
    still = np.where(index > 0, np.maximum(0, np.append(ended, 0)[index - 1] - time), 0)
    return np.asarray(time - total[index] + still, dtype=np.float64)


def find_windows(analysis: Analysis, gpu: int) -> tuple[str, int, Pair, Pair] | None:
    """Return name and number of the counted steps, and their windows on the GPU and on the CPU."""
    rows = analysis.steps[(analysis.steps["gpu"] == gpu) & ~analysis.steps["warm_up"]]
    columns = ["gpu", "range", "gpu_end_ns", "host_start_ns", "host_end_ns"]
    steps = rows.merge(analysis.instances[columns], on=["gpu", "range"]).sort_values("number")
    has_times = steps[["gpu_start_ns", "gpu_end_ns", "host_start_ns", "host_end_ns"]].notna().all(axis=1)
    steps = steps[(steps["gpu_window_ns"] > 0) & has_times]
    number, kind, counted = (steps[name].to_numpy() for name in ("number", "kind", "counted"))
    if not counted.any():
        return None
    work = np.sort(rows_of_gpu(analysis.activities, gpu)["start_ns"].to_numpy(np.int64))
    on_gpu = steps["gpu_start_ns"].to_numpy(np.float64), steps["gpu_end_ns"].to_numpy(np.float64)
    followed = are_followed(number, kind, *on_gpu, work)
    windows: list[Pair] = []
    for side in ("gpu", "host"):
        start, end = (steps[f"{side}_{name}_ns"].to_numpy(np.float64) for name in ("start", "end"))
        end = np.maximum(start, np.where(followed, np.append(start[1:], np.nan), end))
        windows.append((start[counted].astype(np.int64), end[counted].astype(np.int64)))
    return one_line(str(steps["path"][counted].iloc[0]), 60), int(counted.sum()), windows[0], windows[1]
