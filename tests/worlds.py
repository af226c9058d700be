"""Synthetic recordings of known truth: every launch's tensor cycles are known, the samples are what nsys would write.

>>> world = make_world(KERNELS, steps=12, seed=1)
>>> measured = world.measure()          # the frame of kernels beside what is true of each

A world is a program (kernels, in steps) on a GPU whose clock may step, and a sampler that may be late, lose samples,
be locked to the step, or round. Work can run beside it that no trace shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from builders import MS, US, TraceBuilder, count_at, read_back_signed

import tcprof
from tcprof.analysis.kernels.launches import KernelFit, fit_kernels
from tcprof.analysis.kernels.roofline import find_peaks
from tcprof.analysis.kernels.summary import GroupSums, summarize_kernels
from tcprof.analysis.kernels.verdicts import UNRESOLVED
from tcprof.analysis.samples.clock import ENGINE_EARLY_NS, ENGINE_LATE_NS, align_samples, check_clocks
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.annotate.steps import DOMAIN, FORWARD
from tcprof.frames import ACTIVITIES, GPUS, PATHS, SAMPLES

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SMS, PIPES = 132, 4 * 132
GHZ = 1.98
MOST_ACTIVE = 0.99  # of a launch's busiest part: samples above all that there is would be cut off
LEAST_SHARE_PCT = 1.0  # of kernel time: kernels whose intervals must hold
UNTRACED, GRAPH = "untraced", "graph"
MODEL = "Net"


@dataclass(frozen=True)
class Kernel:
    name: str  # its name; ``untraced`` leaves its launches out of the trace
    us: float  # duration at the highest clock
    active: float  # share of the tensor pipes' cycles that it uses
    shape: tuple[float, ...] = (0.4, 1, 1, 1, 1, 1, 0.4)  # shares of its cycles in equal parts of its duration
    vary: float = 0.0  # relative deviation of its launches' cycles
    jitter: float = 0.01  # that of their durations
    tied: bool = False  # whether launches with more cycles last longer
    every: int = 1  # it runs in each step with this number, or
    only: int | None = None  # only in this one
    place: str = ""  # the range that launches it; its name where that is empty
    # From and to: so long before the end of what runs before it, its launches are recorded to start; they count
    # from that end on (programmatic dependent launch)
    early_us: tuple[float, float] = (0, 0)
    waits: bool = True  # whether they do; else they count from their start on

    def runs_in(self, step: int) -> bool:
        return step % self.every == 0 if self.only is None else step == self.only


@dataclass(frozen=True)
class Sampler:
    period: int = 50 * US  # in ns
    late: int = 0  # by how much samples are stamped later than what they show, in ns
    drift: float = 0.0  # by how much that grows each second, in µs: parts in a million
    lost: float = 0.0  # share of the samples that are lost, in runs of ``lost_run``
    lost_run: int = 20
    rounded: bool = False  # whether only whole percentages are written
    with_clock: bool = True  # whether cycles that pass are written
    jitters: bool = True  # whether its period does
    stamps: float = 0.0  # standard deviation by which each stamp of a sample is off, in ns
    launches: float = 0.0  # the same of each launch


@dataclass(frozen=True)
class World:
    """Launches with their cycles, a clock, and idle time around them."""

    kernels: tuple[Kernel, ...]
    kind: Ints  # number of the kernel of each launch, in order of start
    start: Ints  # in ns
    end: Ints  # in ns
    stream: Ints  # number of the stream
    cycles: Floats  # of each launch
    begin: Ints  # when it begins to count
    clock: tuple[Floats, Floats]  # SM clock in GHz at times in ns: borders and values
    seed: int = 0  # for the sampler
    gpu: int = 0  # the GPU's number

    def passed(self, times: Ints | Floats) -> Floats:
        """Cycles of all pipes that have passed at some times."""
        at, ghz = self.clock
        total = np.append(0, np.cumsum(ghz[:-1] * np.diff(at)))
        index = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 1)
        return np.asarray(PIPES * (total[index] + ghz[index] * (times - at[index])))

    def counted(self, times: Ints) -> Ints:
        """Tensor cycles that were counted up to some times."""
        counted = np.zeros(len(times), dtype=np.int64)
        for number, kernel in enumerate(self.kernels):
            of = self.kind == number
            if of.any():
                shape = [np.divide(kernel.shape, sum(kernel.shape))]
                counted += count_at(times, self.begin[of], self.end[of], self.cycles[of], shape)
        return counted

    def samples(self, sampler: Sampler) -> pd.DataFrame:
        """The frame of samples."""
        rng = np.random.default_rng(self.seed + 1000)
        low, high = int(self.begin.min()) - 2 * sampler.period, int(self.end.max()) + 2 * sampler.period
        borders = np.arange(low + int(rng.integers(sampler.period)), high, sampler.period)
        if sampler.jitters:
            borders = borders + rng.integers(-16, 17, len(borders))
        cycles, passed = np.diff(self.counted(borders)).astype(float), np.round(np.diff(self.passed(borders)))
        engine = _union(self.start - ENGINE_EARLY_NS, self.end + ENGINE_LATE_NS)
        busy = count_at(borders, *engine, engine[1] - engine[0])
        stamps = borders + sampler.late + np.round(1e-6 * sampler.drift * (borders - low)).astype(np.int64)
        stamps += (sampler.stamps * rng.standard_normal(len(borders))).astype(np.int64)
        frame = pd.DataFrame(
            {
                "gpu": self.gpu,
                "start_ns": stamps[:-1],
                "end_ns": stamps[1:],
                "tensor_active_pct": 100 * cycles / passed,
                "tensor_cycles": cycles,
                "pipe_cycles": passed,
                "gr_active_pct": np.round(100 * np.diff(busy) / np.diff(borders)),
            }
        )
        if sampler.rounded:
            percent = frame["tensor_active_pct"]
            rounded = np.where(percent > 0, np.maximum(np.round(percent), 1), 0)
            frame = frame.assign(tensor_active_pct=rounded, tensor_cycles=np.nan)
        if not sampler.with_clock:
            frame = frame.assign(pipe_cycles=np.nan)
        if sampler.lost:
            runs = np.arange(len(frame)) // sampler.lost_run
            frame = frame[rng.random(runs.max() + 1)[runs] >= sampler.lost]
        return SAMPLES.conform(frame)

    def recorded(self, sampler: Sampler) -> "World":
        """The world with starts and ends as its trace has them."""
        off = np.random.default_rng(self.seed + 2000).standard_normal(len(self.start))
        off = (sampler.launches * off).astype(np.int64)
        order = np.argsort(self.start + off, kind="stable")
        found = replace(self, start=self.start + off, end=self.end + off)
        names = ("kind", "start", "end", "stream", "cycles", "begin")
        return replace(found, **{name: getattr(found, name)[order] for name in names})

    def activities(self) -> pd.DataFrame:
        names = np.array([kernel.name for kernel in self.kernels])
        kind = np.where(names == GRAPH, "graph", "kernel")
        frame = pd.DataFrame(
            {
                "gpu": self.gpu,
                "kind": pd.Categorical(kind[self.kind]),
                "name": pd.Categorical(names[self.kind]),
                "launch_geometry": pd.Categorical(np.full(len(self.kind), "132x1x1 128x1x1")),
                "host_memory": "",
                "stream": self.stream,
                "process": 1,
                "correlation": np.arange(len(self.kind)),
                "start_ns": self.start,
                "end_ns": self.end,
            }
        )
        return ACTIVITIES.conform(frame[names[self.kind] != UNTRACED])

    def with_counts(self) -> dict[str, "World"]:
        """The same launches with what they count beside tensor cycles, by column; some count nothing."""
        rng, kinds, found = np.random.default_rng(self.seed + 77), len(self.kernels), {}
        mean = np.bincount(self.kind, self.end - self.start, kinds) / np.maximum(np.bincount(self.kind), 1)
        for name, idle in (("instruction_count", 0.0), ("dram_read_bytes", 0.2), ("dram_write_bytes", 0.3)):
            rate = SMS * np.where(rng.random(kinds) < idle, 0, rng.uniform(0.01, 1, kinds))
            shapes = np.array([0.4, 1, 1, 1, 1, 1, 0.4]) * rng.uniform(0.6, 1.4, (kinds, 7))
            kernels = tuple(replace(one, shape=tuple(shape)) for one, shape in zip(self.kernels, shapes, strict=True))
            found[name] = replace(self, kernels=kernels, cycles=np.round((mean * rate)[self.kind]))
        return found

    def measure_counts(self, sampler: Sampler) -> pd.DataFrame:
        """What the kernels count, beside what is true: ``name``, ``held``, ``half_pct`` of the most, ``counts``."""
        truths, names = self.with_counts(), np.array([kernel.name for kernel in self.kernels])[self.kind]
        kernels, parts = self.fit(sampler, counts=truths)[1], []
        for name, world in truths.items():
            true = kernels["name"].map(pd.Series(world.cycles).groupby(names).sum())
            half, most = kernels[f"{name}_error"], SMS * kernels["total_ns"]
            held = (kernels[name] - true).abs() <= half + 1e-6 * most
            counts = kernels["share_pct"] >= LEAST_SHARE_PCT
            parts.append(pd.DataFrame({"held": held, "half_pct": 100 * half / most, "counts": counts}))
        return pd.concat(parts, ignore_index=True)

    def fit(
        self, sampler: Sampler, *others: "World", counts: Mapping[str, "World"] | None = None
    ) -> tuple[KernelFit, pd.DataFrame]:
        """What the analysis finds, of other GPUs too: the fit, and the frame of kernels."""
        worlds = (self, *others)
        activities = pd.concat([world.recorded(sampler).activities() for world in worlds], ignore_index=True)
        activities = ACTIVITIES.conform(activities.sort_values("start_ns", kind="stable"))
        samples = SAMPLES.concat([world.samples(sampler) for world in worlds])
        for name, world in (counts or {}).items():
            samples = samples.assign(**{name: world.samples(sampler)["tensor_cycles"].to_numpy()})
        numbers = [world.gpu for world in worlds]
        gpus = GPUS.conform(pd.DataFrame({"gpu": numbers, "name": "NVIDIA H200", "chip": "GH100", "sm_count": SMS}))
        clocks = check_clocks(activities, samples)
        samples = align_samples(samples, clocks)
        places = np.unique([kernel.place for kernel in self.kernels], return_inverse=True)[1] - 1
        kind = self.recorded(sampler).kind
        traced = np.array([kernel.name != UNTRACED for kernel in self.kernels])[kind]
        path_id = places[kind[traced]] if not others else np.full(len(activities), -1)
        found = fit_kernels(activities, path_id, samples, gpus, clocks)
        found = replace(found, kernel_instances=found.kernel_instances.assign(range=-1, path_id=-1))
        peaks = partial(find_peaks, gpus=gpus, given_tflops=None)
        return found, summarize_kernels(found, activities, PATHS.empty(), peaks)[0]

    def truth(self) -> pd.Series:
        passed = self.passed(self.end) - self.passed(self.start)
        names = np.array([kernel.name for kernel in self.kernels])[self.kind]
        return 100 * pd.Series(self.cycles).groupby(names).sum() / pd.Series(passed).groupby(names).sum()

    def measure_modules(self, sampler: Sampler, kernels: int) -> pd.DataFrame:
        """Groups of so many kernels each, as modules are, beside what is true of them: the columns of ``measure``."""
        found, seen = self.fit(sampler)[0], self.recorded(sampler)
        traced = np.array([kernel.name != UNTRACED for kernel in self.kernels])[seen.kind]
        activity = found.kernel_instances["activity"].to_numpy()
        group = np.unique((seen.kind[traced] // kernels)[activity], return_inverse=True)[1]
        duration = found.kernel_instances["duration_ns"]
        own = (seen.cycles / (seen.passed(seen.end) - seen.passed(seen.start)))[traced][activity]
        total, true, active = (
            np.bincount(group, value)
            for value in (duration, own * duration, found.kernel_instances["tensor_active_ns"])
        )
        half = GroupSums(found, group).active("tensor")[1]
        return pd.DataFrame(
            {
                "error": 100 * np.abs(active - true) / total,
                "held": np.abs(active - true) <= half + 1e-8 * total,
                "half_points": 100 * half / total,
                "counts": 100 * total / total.sum() >= LEAST_SHARE_PCT,
            }
        )

    def measure(self, sampler: Sampler, *others: "World") -> pd.DataFrame:
        """The kernels beside what is true: ``true_pct``, ``error``, ``held``, ``resolved``, ``counts``."""
        kernels = self.fit(sampler, *others)[1]
        kernels = kernels[kernels["name"] != GRAPH]
        truths = {world.gpu: world.truth() for world in (self, *others)}
        true = pd.Series([truths[row.gpu][row.name_] for row in kernels.rename(columns={"name": "name_"}).itertuples()])
        true.index = kernels.index
        low, high = kernels["tensor_active_low_pct"], kernels["tensor_active_high_pct"]
        return kernels.assign(
            true_pct=true,
            error=(kernels["tensor_active_pct"] - true).abs(),
            held=(low - 1e-6 <= true) & (true <= high + 1e-6),
            resolved=kernels["fit"] != UNRESOLVED,
            counts=kernels["share_pct"] >= LEAST_SHARE_PCT,
        )


def measure_places(world: World, sampler: Sampler, folder: Path) -> pd.DataFrame:
    """The ranges and modules of an export beside what is true: ``what``, ``true_pct``, ``held``, ``counts``."""
    analysis = tcprof.read(write_world(world, sampler, folder), warm_up=0)
    seen = world.recorded(sampler)
    traced = np.flatnonzero(np.array([kernel.name != UNTRACED for kernel in world.kernels])[seen.kind])
    launched = analysis.kernel_instances
    row = traced[launched["activity"].to_numpy()]
    counted = launched.assign(
        cycles=seen.cycles[row], passed=world.passed(seen.end[row]) - world.passed(seen.start[row])
    )
    of_module = counted[are_counted(launched, analysis.steps)].groupby("module")[["cycles", "passed"]].sum()
    modules = analysis.modules.join(of_module)
    modules = modules[(modules["depth"] == 2) & (modules["phase"] == FORWARD)]
    found = modules.assign(what="module", true_pct=100 * modules["cycles"] / modules["passed"])
    instances = analysis.instances[analysis.instances["gpu_start_ns"].notna()]
    low, high = (instances[name].to_numpy(np.int64) for name in ("gpu_start_ns", "gpu_end_ns"))
    count = [world.counted(at) for at in (low, high)]
    of_path = (
        instances.assign(cycles=count[1] - count[0], passed=world.passed(high) - world.passed(low), ns=high - low)
        .groupby("path_id")[["cycles", "passed", "ns"]]
        .sum()
    )
    ranges = analysis.ranges.join(of_path, on="path_id", how="inner")
    ranges = ranges[ranges["instance_count"] > 1].rename(columns=lambda name: name.replace("_mean_pct", "_pct"))
    ranges = ranges.assign(
        what="range",
        true_pct=100 * ranges["cycles"] / ranges["passed"],
        share_pct=100 * ranges["ns"] / ranges["ns"].sum(),
    )
    both = pd.concat([found, ranges], ignore_index=True)
    low, high = both["tensor_active_low_pct"], both["tensor_active_high_pct"]
    return both.assign(
        error=(both["tensor_active_pct"] - both["true_pct"]).abs(),
        held=(low - 1e-3 <= both["true_pct"]) & (both["true_pct"] <= high + 1e-3),
        counts=both["share_pct"] >= LEAST_SHARE_PCT,
    )


def _union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    order = np.argsort(start, kind="stable")
    reach = np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.append(True, start[order][1:] > reach[:-1]))
    return start[order][first], reach[np.append(first[1:], len(start)) - 1]


def make_world(
    kernels: Sequence[Kernel],
    steps: int = 12,
    seed: int = 0,
    *,
    repeats: int = 1,  # how often a step runs through them: its layers
    shuffled: bool = False,  # whether in another order each time
    gap_us: float = 1.0,  # pause after each launch; 0 for none at all
    idle: float = 0.05,  # share of the launches after which the GPU waits for ``idle_us``
    idle_us: tuple[float, float] = (5, 60),  # from and to
    step_us: float | None = None,  # A step begins every so many µs: then sampling can be locked to it
    clock: tuple[Sequence[float], float] = ((GHZ,), 1e12),  # the clock steps through these GHz, each for so many µs
    start_ns: int = 0,  # when it begins
) -> World:
    """A program that runs its kernels in order, step by step, on one stream."""
    rng = np.random.default_rng(seed)
    numbers = []
    for step in range(steps):
        once = np.array([i for i, kernel in enumerate(kernels) if kernel.runs_in(step) and kernel.name != UNTRACED])
        order = np.tile(once[[kernels[i].only is None for i in once]], repeats)
        rare = once[[kernels[i].only is not None for i in once]]
        order = rng.permutation(order) if shuffled else order
        numbers.append(np.concatenate([order, rare]))
    kind = np.concatenate(numbers)
    begins = np.zeros(len(kind), dtype=bool)
    begins[np.cumsum([0, *map(len, numbers[:-1])])] = True
    us, active, vary, jitter = (
        np.array([getattr(kernel, name) for kernel in kernels], dtype=float)[kind]
        for name in ("us", "active", "vary", "jitter")
    )
    tied = np.array([kernel.tied for kernel in kernels])[kind]
    most = MOST_ACTIVE * np.array([np.mean(kernel.shape) / max(kernel.shape) for kernel in kernels])[kind]
    work = np.clip(1 + vary * rng.standard_normal(len(kind)), 0.05, most / np.maximum(active, most / 9))
    noise = np.maximum(1 + jitter * rng.standard_normal(len(kind)), 0.3)
    cycles = np.round(US * us * active * work * PIPES * GHZ)
    nominal = US * us * noise * np.where(tied, work, 1)
    pause = US * np.where(
        rng.random(len(kind)) < idle, rng.uniform(*idle_us, len(kind)), gap_us * rng.uniform(0.5, 1.5)
    )
    at, ghz = _clock(*clock, float((nominal + pause).sum() * 2.5), rng)
    early = US * rng.uniform(*np.array([kernel.early_us for kernel in kernels])[kind].T)
    start, end = np.empty(len(kind)), np.empty(len(kind))
    now, step = float(start_ns), -1
    for i in range(len(kind)):
        if begins[i]:
            step += 1
            now = max(now, start_ns + step * step_us * US) if step_us else now
        start[i] = now
        speed = ghz[np.searchsorted(at, now, side="right") - 1] / GHZ
        end[i] = now + nominal[i] / speed
        now = end[i] + (0 if i + 1 < len(kind) and early[i + 1] else pause[i])
    start, end = start.astype(np.int64), end.astype(np.int64)
    end = np.maximum(end, start + 200)
    overlap = np.append(0, np.minimum(early[1:], 0.8 * (end - start)[:-1])).astype(np.int64)
    waits = np.array([kernel.waits for kernel in kernels])[kind]
    return World(
        tuple(kernels),
        kind,
        start - overlap,
        end,
        np.zeros(len(kind), np.int64),
        cycles,
        np.where(waits, start, start - overlap),
        (at, ghz),
        seed,
    )


def _clock(ghz: Sequence[float], last_us: float, until: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    if len(ghz) == 1:
        return np.array([-1e12]), np.array(ghz, dtype=float)
    lengths = US * last_us * rng.uniform(0.3, 1.7, int(until / US / last_us) + 2)
    at = np.append(-1e12, np.cumsum(lengths))
    return at, np.resize(ghz, len(at)).astype(float)


def join_worlds(*worlds: World) -> World:
    """What runs at once on one GPU: streams, or processes beside each other."""
    offsets = np.cumsum([0, *(len(world.kernels) for world in worlds[:-1])])
    columns = {
        "kind": [world.kind + offset for world, offset in zip(worlds, offsets, strict=True)],
        "stream": [world.stream + number for number, world in enumerate(worlds)],
        **{name: [getattr(world, name) for world in worlds] for name in ("start", "end", "cycles", "begin")},
    }
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.argsort(whole["start"], kind="stable")
    kernels = tuple(kernel for world in worlds for kernel in world.kernels)
    return replace(worlds[0], kernels=kernels, **{name: values[order] for name, values in whole.items()})


def beside(world: World, kernel: Kernel, share: float, seed: int = 0) -> World:
    """A world in which another process has slices of a share of the time, at 0.3 to 1 of a kernel's rate."""
    rng, span = np.random.default_rng(seed + 7), int(world.end.max())
    number = max(3, int(share * span / US / kernel.us))
    at = np.sort(rng.integers(0, span, number))
    length = (US * kernel.us * rng.uniform(0.4, 2, number)).astype(np.int64)
    waited = np.append(0, np.cumsum(length))
    start, end, counts = (times + waited[np.searchsorted(at, times)] for times in (world.start, world.end, world.begin))
    cycles = np.round(length * kernel.active * rng.uniform(0.3, 1, number) * PIPES * GHZ)
    none, begin = np.zeros(number, np.int64), at + waited[:-1]
    slices = {"start": begin, "begin": begin, "end": begin + length, "cycles": cycles}
    other = replace(world, kernels=(kernel,), kind=none, stream=none, **slices)
    return join_worlds(replace(world, start=start, end=end, begin=counts), other)


def write_world(world: World, sampler: Sampler, folder: Path, wrapped: bool = False) -> Path:
    """An export of a world, with launches in ranges, or modules, of their kernels; wrapped, as nsys stores counts."""
    trace, samples = TraceBuilder().gpu(world.gpu, "NVIDIA H200", chip="GH100", sm_count=SMS), world.samples(sampler)
    seen, last = world.recorded(sampler), int(world.end.max())
    if any(kernel.place for kernel in world.kernels):
        for name in (FORWARD, MODEL):
            trace.range(name, int(seen.start.min()) - 100, last + MS, domain=DOMAIN)
    for kind, start, end in zip(seen.kind.tolist(), seen.start.tolist(), seen.end.tolist(), strict=True):
        name, place = world.kernels[kind].name, world.kernels[kind].place
        if name != UNTRACED:
            range_name, domain = (f"{MODEL}.{place}", DOMAIN) if place else (name, "")
            trace.range(range_name, start, start + 10, domain=domain)
            trace.kernel(name, start, end, launched=start + 1, gpu=world.gpu)
    read_back = read_back_signed if wrapped else list
    counts = [read_back(samples[name].astype(int).tolist()) for name in ("tensor_cycles", "pipe_cycles")]
    times = samples["start_ns"].tolist()
    trace.cycles(counts[0], sm=[count // 4 for count in counts[1]], times=times, gpu=world.gpu)
    trace.samples(
        samples["gr_active_pct"].astype(int).tolist(), metric="GR Active [Throughput %]", times=times, gpu=world.gpu
    )
    return trace.write(folder)
