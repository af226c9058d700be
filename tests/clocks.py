"""SM clocks as an H200's: they fall within microseconds where a tensor kernel begins, and rise as fast after it.

Samples of 5 µs show 1.62 to 1.67 GHz under tensor kernels, 1.92 to 1.94 under others, and neighbours that differ by
246 MHz at the borders.
"""

import importlib
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from builders import FIXTURES
from worlds import PIPES, US, Bools, Floats, Kernel, World

import tcprof

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
reference = importlib.import_module("reference")

GRID, FALL_US, RISE_US, SLOW_US = US // 2, 1, 2, 30  # of the clock's steps; how fast it falls, rises, and creeps
IDLE_GHZ, OTHER_GHZ, TENSOR_GHZ = 1.98, 1.93, 1.65
OF_LAUNCH, OF_MOMENT, OF_GRID = 0.006, 0.004, 10  # relative deviations: of launches, and of so many steps


def falling(world: World, ghz: float, slow: float = 0.0) -> World:
    """The world with a clock that falls to so many GHz while tensor kernels run, a share of it slowly."""
    is_tensor = np.array([kernel.active > 0 for kernel in world.kernels])[world.kind]
    return replace(world, clock=follow(world, np.where(is_tensor, ghz, OTHER_GHZ), slow=slow))


def follow(world: World, ghz: Floats, random: bool = True, slow: float = 0.0) -> tuple[Floats, Floats]:
    """A clock that goes for each launch where it belongs, with a lag and at random."""
    rng = np.random.default_rng(world.seed + 500)
    at = np.arange(world.start.min() - 200 * US, world.end.max() + 200 * US, GRID)
    goal = np.full(len(at), IDLE_GHZ)
    order = np.argsort(ghz)[::-1]  # of kernels at once, the lowest
    goals = ghz * (1 + random * OF_LAUNCH * rng.standard_normal(len(ghz)))
    places = np.searchsorted(at, [world.start[order], world.end[order]]).T
    for (first, last), value in zip(places, goals[order], strict=True):
        goal[first:last] = value
    fall, rise, creep = (_lag(goal, us) for us in (FALL_US, RISE_US, SLOW_US))
    clock = (1 - slow) * np.minimum(fall, rise) + slow * creep
    moments = np.repeat(rng.standard_normal(len(at) // OF_GRID + 1), OF_GRID)[: len(at)]
    return at.astype(float), np.minimum(clock * (1 + random * OF_MOMENT * moments), IDLE_GHZ)


def _lag(goal: Floats, lag_us: float) -> Floats:
    """What follows a goal exponentially."""
    from scipy.signal import lfilter  # a second to import, and most who import these clocks run none

    kept = np.exp(-GRID / US / lag_us)
    return np.asarray(lfilter([1 - kept], [1, -kept], goal, zi=[kept * goal[0]])[0])


def recorded(name: str, seed: int) -> World:
    """The launches and the clock of a fixture, with cycles of our own, in one shape for each class."""
    plain, is_tensor, ghz, samples = _read(name)
    rng, kind = np.random.default_rng(seed), plain.kind
    share = np.where(is_tensor, rng.uniform(0.05, 0.8, len(is_tensor)), 0)
    kernels = tuple(
        Kernel(f"kernel_{i}", 0, one, tuple(np.array([0.4, 1, 1, 1, 1, 1, 0.4]) * rng.uniform(0.9, 1.1, 7)))
        for i, one in enumerate(share)
    )
    world = replace(plain, kernels=kernels, seed=seed)
    world = replace(world, clock=_as_sampled(follow(world, ghz), samples))
    mean = np.bincount(kind, world.passed(world.end) - world.passed(world.start)) / np.bincount(kind)
    return replace(world, cycles=np.round((share * mean)[kind]))


def _as_sampled(clock: tuple[Floats, Floats], samples: pd.DataFrame) -> tuple[Floats, Floats]:
    """The clock, brought to the cycles that passed in each sample."""
    at, ghz = clock
    row = np.clip(np.searchsorted(samples["start_ns"], at, side="right") - 1, 0, len(samples) - 1)
    mean = np.bincount(row, ghz, len(samples)) / np.maximum(np.bincount(row, minlength=len(samples)), 1)
    length = (samples["end_ns"] - samples["start_ns"]).to_numpy()
    right = samples["pipe_cycles"].to_numpy() / PIPES / length / np.where(mean > 0, mean, 1)
    inside = (at >= samples["start_ns"].to_numpy()[row]) & (at < samples["end_ns"].to_numpy()[row])
    return at, ghz * np.where(inside, right[row], 1)


@cache
def _read(name: str) -> tuple[World, Bools, Floats, pd.DataFrame]:
    """A fixture's launches, which of its classes are tensor kernels, the clock of each launch, and its samples."""
    analysis = tcprof.read(FIXTURES / f"{name}.sqlite")
    kernels, launched = analysis.kernels, analysis.kernel_instances
    activity = analysis.activities.iloc[launched["activity"].to_numpy()]
    start, end = (activity[column].to_numpy() for column in ("start_ns", "end_ns"))
    kind, stream = launched["kernel_class"].to_numpy(), pd.factorize(activity["stream"])[0]
    world = World((), kind, start, end, stream, np.zeros(len(kind)), start, (np.zeros(1), np.ones(1)))
    is_tensor = kernels["tensor_kernel"].to_numpy(bool)
    fast = reference.load(FIXTURES / "reference" / f"{name}.200khz.csv")["clock_ghz"]
    keys = [kernels["name"].map(reference.match_key), kernels["launch_geometry"]]
    seen = fast.reindex(pd.MultiIndex.from_arrays(keys)).to_numpy(copy=True)
    seen = np.where(np.isnan(seen), np.where(is_tensor, TENSOR_GHZ, OTHER_GHZ), seen)
    ghz, of = seen.copy(), launched["kernel"].to_numpy()
    for _ in range(5):  # samples of 5 µs mix neighbours: kernels' own clocks are those that samples would show so
        at, clock = follow(world, ghz[of], random=False)
        until = np.cumsum(clock[: len(clock) // OF_GRID * OF_GRID].reshape(-1, OF_GRID).mean(1)) * OF_GRID * GRID
        total = np.interp([start, end], at[OF_GRID::OF_GRID][: len(until) - 1], until[:-1])
        mixed = np.bincount(of, total[1] - total[0]) / np.bincount(of, end - start)
        ghz = np.clip(ghz + seen - mixed, 1.2, IDLE_GHZ)
    return world, np.bincount(kind, is_tensor[of]) > 0, ghz[of], analysis.samples.dropna(subset="pipe_cycles")
