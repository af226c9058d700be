"""A step of the program on one GPU, as rules see it: its length, its kernels' exposed time, and what the CPU does."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.host import LAUNCHES, WORK, Host, Pair, find_host, launching_time
from tcprof.analysis.intervals import open_times
from tcprof.analysis.kernels.names import OPTIMIZER, parse_name
from tcprof.analysis.kernels.patterns import count_blocks, read_traits
from tcprof.analysis.replay import Replay, Waits, find_windows, make_replay
from tcprof.analysis.time.account import Exposure, find_exposure
from tcprof.annotate.steps import BACKWARD
from tcprof.arrays import Floats, pick_rows, rows_of_gpu
from tcprof.chips import Chip, find_chip
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import PER_SAMPLE, UNPRICED, Gain
from tcprof.findings.steps import measure_cost
from tcprof.sources.remedies import Remedies

_OF_LAUNCHES = ["activity", "kernel", "path_id", "step", "module"]
Levels: TypeAlias = Floats  # low, likely, high
_LEFT, _AGREES = np.linspace(0.1, 1.0, 10), 1.02  # of the CPU's time; how far a step played again may be off
_AS_LONG = 0.01  # by which steps may differ
CPU_BUSY = 0.8  # of a step: as in tcprof.findings.steps
ALL, NONE = np.ones(3), np.zeros(3)
_Pricing = Callable[[int, float, float], float]  # what is won by level, what tracing leaves, and the step without it


@dataclass(frozen=True)
class Step:
    """The mean step of one GPU."""

    analysis: Analysis
    gpu: int
    name: str  # what iterates; empty where nothing does
    count: int  # how many steps it is the mean of
    length_ns: float
    busy_ns: float  # the part of its length under any activity
    exposure: Exposure  # what activities have for themselves in all steps
    host: Host  # what the CPU does
    windows: Pair  # the steps on the GPU
    # Those of all GPUs of the recording, by number, where they are known
    beside: Mapping[int, "Step"] = field(default_factory=dict, repr=False, compare=False)

    @property
    def remedies(self) -> Remedies:
        """What users change in how they record."""
        return self.analysis.recording.remedies

    @property
    def idle_ns(self) -> float:
        """The part under none."""
        return self.length_ns - self.busy_ns

    @property
    def cpu_ns(self) -> float:
        """Time in which the CPU does not wait for the GPU, at most all of it; 0 where that is not known."""
        return float(np.nan_to_num(min(self.host.cpu_ns, self.length_ns)))

    @property
    def unit(self) -> str:
        """What shares are of: a recorded step, where that is not as long as those that prices are of."""
        is_longer = abs(self.unprofiled_ns[self.tracing[1]] / self.length_ns - 1) > _AS_LONG
        step = "the recorded step" if is_longer else "the step"
        return step if self.name else "the GPU's work from first activity to last"

    @property
    def is_cpu_bound(self) -> bool:
        """Whether the CPU is at work nearly all of the step."""
        return bool(self.cpu_ns >= CPU_BUSY * self.length_ns)

    @cached_property
    def gpu_row(self) -> pd.Series:
        """The GPU's row of ``tcprof.frames.GPUS``."""
        return self.analysis.gpus.set_index("gpu").loc[self.gpu]

    @cached_property
    def chip(self) -> Chip:
        """What is known of it."""
        return find_chip(str(self.gpu_row["chip"]), str(self.gpu_row["name"]))

    @cached_property
    def is_cost_known(self) -> bool:
        """Whether it is known what recording costs."""
        return not math.isnan(self._measured_ns)

    @cached_property
    def launches(self) -> pd.DataFrame:
        """The GPU's launches that run in steps, what each is of, and its ``exposed_ns`` in all of them."""
        launched = self.analysis.kernel_instances
        exposed_ns = self.exposure.exposed_ns[launched["activity"].to_numpy()]
        chosen = (launched["gpu"] == self.gpu).to_numpy() & (exposed_ns > 0)
        return pick_rows(launched[_OF_LAUNCHES], chosen).assign(exposed_ns=exposed_ns[chosen])

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """The GPU's rows of ``tcprof.frames.KERNELS`` that run in steps, by their index there, with what rules ask for.

        ``exposed_ns`` and ``launches`` of a step, ``work`` and traits by name, and ``blocks`` of the grid, NaN where
        not read.
        """
        sums = self.launches.groupby("kernel")["exposed_ns"].agg(["sum", "size"]) / max(self.count, 1)
        rows = self.analysis.kernels.loc[sums.index]
        rows = rows.assign(
            exposed_ns=sums["sum"],
            launches=sums["size"],
            work=[parse_name(name).work for name in rows["name"]],
            blocks=[count_blocks(str(geometry)) for geometry in rows["launch_geometry"]],
        )
        return rows.join(read_traits(rows["name"])).sort_values("exposed_ns", ascending=False)

    @cached_property
    def copies(self) -> pd.DataFrame:
        """The GPU's copies, as ``tcprof.frames.ACTIVITIES``, with their ``exposed_ns`` in all steps."""
        activities = self.analysis.activities
        is_copy = ((activities["gpu"] == self.gpu) & (activities["kind"] == "memcpy")).to_numpy()
        return activities[is_copy].assign(exposed_ns=self.exposure.exposed_ns[is_copy])

    @cached_property
    def communication_ns(self) -> float:
        """Exposed time of NCCL's kernels in a step."""
        return float(self.kernels["exposed_ns"][self.kernels["communication"]].sum())

    @cached_property
    def trains(self) -> bool:
        """Tell whether the step updates parameters, or computes gradients."""
        has_backward = (self.analysis.modules["phase"].astype(str) == BACKWARD).any()
        return bool(has_backward or (self.kernels["is_pytorch_optimizer"] | (self.kernels["work"] == OPTIMIZER)).any())

    @cached_property
    def uses_framework(self) -> bool:
        """Whether kernels of PyTorch, JAX, TensorFlow or what these call run: else their code is of no use."""
        return bool(self.kernels["uses_framework"].any())

    def share_pct(self, time_ns: float) -> float:
        """Of the step."""
        return 100 * time_ns / self.length_ns

    def format_share(self, time_ns: float) -> str:
        """The same in words, with what it is of."""
        return f"{units.format_pct(self.share_pct(time_ns))} of {self.unit}"

    def format_length(self) -> str:
        """How long it is, in words."""
        return f"{units.format_ns(self.length_ns)} {self.unit.removeprefix('the ')}"

    @cached_property
    def tracing(self) -> list[float]:
        """The share of the CPU's time that is left without recording: what agrees with the step's length then."""
        has_shapes = (self.analysis.nvtx_ranges["sizes"] != "").any()
        assumed: Levels = MEASURED["tracing"]["left_shapes" if has_shapes else "left"]
        alone = self._measured_ns
        if math.isnan(alone) or not self.cpu_ns > 0:
            return list(assumed)
        lengths = np.maximum.accumulate([self._find_alone(left) for left in _LEFT])
        least, most = np.interp([alone / _AGREES, alone * _AGREES], lengths, _LEFT)
        return list(np.clip(assumed, least, most))

    @cached_property
    def _measured_ns(self) -> float:
        """Return the step without recording, where such steps were timed; NaN where none were."""
        cost = measure_cost(self.analysis)
        is_known = cost is not None and cost.recorded.value > 0 and cost.unprofiled.value > 0
        return min(1.0, cost.unprofiled.value / cost.recorded.value) * self.length_ns if cost and is_known else math.nan

    @cached_property
    def unprofiled_ns(self) -> Mapping[float, float]:
        """The step without recording, by the share of the CPU's time that is left then."""
        return {left: self._find_alone(left) for left in set(self.tracing)}

    def _find_alone(self, left: float) -> float:
        launching_ns = max(0.0, self.cpu_ns - self.host.idle_ns[WORK])  # recording slows calls, not other work
        shorter = self.busy_ns + max(0.0, self.idle_ns - (1 - left) * launching_ns)
        return self._play(left) if self.replay else shorter

    def _play(
        self, cpu: float, gpu: float = 1.0, waits: Waits = Waits.ALL, work: float = 1.0, gaps: float = 1.0
    ) -> float:
        """Its length where the CPU and the GPU take so many times as long: that of steps played again."""
        assert self.replay is not None
        return self.length_ns * self.replay.length_ns(cpu, waits, gpu, work, gaps) / self.replay.recorded_ns

    def price_kernels(
        self,
        saved_ns: Levels,
        cpu: Levels = ALL,
        spared_ns: Levels = NONE,
        work_ns: Levels = NONE,
        waits: Waits = Waits.ALL,
    ) -> Gain:
        """What less kernel time wins: no more than the CPU's own time leaves.

        Args:
            saved_ns: Exposed time of kernels; at the least, what communication beside them leaves.
            cpu: How many times as long the CPU then takes: most, likely and least.
            spared_ns: CPU time, as recorded, that is saved: what idle time it makes is saved, too.
            work_ns: Likewise of the CPU's long work between launches.
            waits: The waits of the CPU that are left.
        """
        saved_ns = np.minimum(saved_ns, saved_ns * np.array([self.exposure.certain, 1.0, 1.0]))

        def gain(level: int, tracing: float, alone: float) -> float:
            spared_share = spared_ns[level] / max(self._calling_ns, 1.0)  # of the launches, and of the pauses between
            left = tracing * max(0.0, cpu[level] - spared_share)
            limit, waited = self.cpu_ns * left, 0.0
            if self.replay and not math.isnan(saved_ns[level]):
                work = max(0.0, 1 - work_ns[level] / max(self.replay.work_ns, 1.0))
                gpu = max(0.0, 1 - saved_ns[level] / self.busy_ns)
                limit = self._play(left, gpu, waits, work, max(0.0, 1 - spared_share))
                waited = alone - self._play(tracing, waits=waits) if waits is not Waits.ALL else 0.0
            spared = min(tracing * spared_ns[level] + work_ns[level] + waited, max(0.0, alone - self.busy_ns))
            return float(alone - max(alone - saved_ns[level] - spared, limit))

        if saved_ns[1] > 0:
            why = "the step waits for the CPU" + (", which this change slows" if cpu[1] > 1 else "")
        else:
            why = f"it {'adds more work to the GPU than it saves' if saved_ns[1] < 0 else 'saves no work of the GPU'}"
        return self._price(gain).because(why)

    def price_batch(self, saved_ns: Levels) -> Gain:
        """What twice the batch wins of a sample: the CPU's time is that of two, and so is that of some kernels.

        Not its time of loading: at the least all in which it neither launches nor waits, likely that in ranges without
        launches.
        """
        work = self.host.idle_ns[WORK]
        loading = (work, work - self.host.work_of_launching_ns, 0.0)

        def gain(level: int, tracing: float, alone: float) -> float:
            gpu = self.busy_ns - saved_ns[level]
            cpu = tracing * MEASURED["assumed"]["cpu_of_batch"][level] / 2
            limit = self._play(cpu, gpu / self.busy_ns) if self.replay else cpu * self.cpu_ns
            return float(alone - min(alone, max(gpu, limit + tracing * loading[level] / 2)))

        return replace(self._price(gain), of=PER_SAMPLE)

    def price_idle(self, saved_ns: Levels) -> Gain:
        """What less idle time wins that is not of launches: recording does not lengthen the CPU's long work.

        Work that makes recorded steps longer than those that were timed is of few steps, such as the first of a shape.
        """

        def gain(level: int, tracing: float, alone: float) -> float:
            long = min(saved_ns[level], self.replay.work_ns) if self.replay else saved_ns[level]
            only_here = max(0.0, np.nan_to_num(alone - _AGREES * self._measured_ns))
            saved = long + tracing * (saved_ns[level] - long) - only_here
            return float(max(0.0, min(saved, max(0.0, alone - self.busy_ns))))

        return self._price(gain)

    def price_launches(self, shares: Levels, of_busy: Levels, more_ns: float) -> Gain:
        """What fewer launches win: shares of the idle time left without recording, and ``of_busy`` of the GPU's work.

        That is as much less as the GPU idles less. At the most ``more_ns`` of other idle time as well.
        """
        other_idle_ns = self.idle_ns - self.host.idle_ns[LAUNCHES]

        def gain(level: int, _: float, alone: float) -> float:
            saved = shares[level] * max(0.0, alone - self.busy_ns - other_idle_ns)
            idle = min(saved + more_ns * (level == 2), alone - self.busy_ns)
            return float(idle + of_busy[level] * self.busy_ns * max(0.0, 1 - self.busy_ns / alone))

        return self._price(gain)

    def price_waits(self, shares: Levels, cpu: Levels = ALL, but_for_copies: bool = False) -> Gain:
        """What a CPU wins that does not wait, by the shares of waits that can be removed; unpriced without a replay."""
        if self.replay is None:
            return UNPRICED

        def gain(level: int, tracing: float, alone: float) -> float:
            saved = self.time_waiting(tracing, tracing * cpu[level], but_for_copies)
            return float(shares[level] * min(saved, max(0.0, alone - self.busy_ns)))

        return self._price(gain)

    def time_waiting(self, before: float = 1.0, after: float = 1.0, but_for_copies: bool = False) -> float:
        """How much shorter a replayed step is without waits; the CPU takes so many times as long before and after."""
        waits = Waits.BUT_FOR_COPIES if but_for_copies else Waits.ALL
        return max(0.0, self._play(before, waits=waits) - self._play(after, waits=Waits.NONE))

    def price_copies(self, shares: Levels, saved_ns: Levels, spared_ns: float) -> Gain:
        """What copies that no longer block win: their time, the waits for them, and what the CPU does in between.

        Args:
            shares: The shares of all that, at low, likely and high.
            saved_ns: Exposed time of the copies.
            spared_ns: CPU time, as recorded, of their calls.
        """
        if self.replay is None:
            return self.price_kernels(saved_ns)
        work_ns = self.replay.work_ns

        def gain(level: int, tracing: float, alone: float) -> float:
            is_long = spared_ns <= work_ns
            cpu = tracing * max(0.0, 1 - (0.0 if is_long else spared_ns) / max(self._calling_ns, 1.0))
            work = max(0.0, 1 - (spared_ns if is_long else 0.0) / max(work_ns, 1.0))
            gpu = max(0.0, 1 - saved_ns[level] / self.busy_ns)
            return float(shares[level] * max(0.0, alone - self._play(cpu, gpu, Waits.BUT_FOR_COPIES, work)))

        return self._price(gain).because("the step waits for the CPU")

    @cached_property
    def replay(self) -> Replay | None:
        """Its steps, to be played again; None where that does not give what was recorded."""
        return make_replay(self.analysis, self.gpu, self.windows) if self.name and self.cpu_ns > 0 else None

    @property
    def _calling_ns(self) -> float:
        """Return the CPU's time without its long work between calls: what a replay makes shorter."""
        return self.cpu_ns - (self.replay.work_ns if self.replay else 0.0)

    def _price(self, gain: _Pricing) -> Gain:
        """The lowest of low, the likely, and the highest of high gains over what recording may cost."""
        alone = [(tracing, self.unprofiled_ns[tracing]) for tracing in self.tracing]
        saved_ns = np.array([[gain(level, *of_level) for of_level in alone] for level in range(3)])
        saved_ns[np.abs(saved_ns) < 1] = 0.0  # less than 1 ns is rounding
        shares = 100 * saved_ns / [alone_ns for _, alone_ns in alone]
        # Steps that are played again may be a little too long; recording makes no step shorter.
        length = min(self.unprofiled_ns[self.tracing[1]], self.length_ns)
        base = Gain(step_ns=length, of="the step" if self.name else "all work")
        return base.with_shares([shares[0].min().item(), shares[1, 1].item(), shares[2].max().item()])


def measure_step(analysis: Analysis, gpu: int, measured: dict[int, Step] | None = None) -> Step | None:
    """The mean step of a GPU, kept in ``measured``; None where next to no work was traced, or all in no time."""
    measured = {} if measured is None else measured
    if gpu in measured:
        return measured[gpu]
    activities = rows_of_gpu(analysis.activities, gpu)
    if activities.empty or not analysis.is_busy_known(gpu):
        return None
    start, end = (activities[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    whole = start[:1], end.max(keepdims=True)
    steps = find_windows(analysis, gpu)
    name, count, windows, on_cpu = steps or ("", 1, whole, launching_time(analysis, activities))
    inside, busy = open_times(*windows), open_times(start, end)
    if not inside.known_ns:
        return None
    measured[gpu] = Step(
        analysis=analysis,
        gpu=gpu,
        name=name,
        count=count,
        length_ns=inside.known_ns / count,
        busy_ns=float(inside.integral(busy.start, busy.end).sum()) / count,
        exposure=find_exposure(analysis.activities, gpu, inside),
        host=find_host(analysis, activities, inside, on_cpu, count),
        windows=windows,
        beside=measured,
    )
    return measured[gpu]
