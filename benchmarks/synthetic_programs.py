"""Synthetic recordings for the benchmark of comparisons: programs whose steps and runs differ as real ones do."""

import itertools
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed
from tcprof.analysis.steps.marked_steps import find_marked_steps
from tcprof.comparison.matching.sides import with_steps
from tcprof.comparison.statistics import estimates
from tcprof.frames import DIAGNOSTICS, INSTANCES, KERNELS, PATHS, RANGES, SCHEMAS
from tcprof.sources import Recording

STEPS_EACH = 40


@dataclass(frozen=True)
class Program:
    """What a step consists of, and how much steps of a run differ.

    Attributes:
        name: What it is called in the tables.
        busy_ns: Time under kernels.
        waiting_ns: Time in which the GPU waits for the CPU.
        deviation: Of the logarithm of a step's time, within a run.
        correlation: Of a step with the one before.
        every: The optimizer runs in every so many steps; 0 for none.
        optimizer: Its time, as a share of a step's.
        tail: Deviation of the logarithm of what is now and then in the way of the CPU, a skewed jitter; 0 for none.
    """

    name: str
    busy_ns: float
    waiting_ns: float
    deviation: float
    correlation: float
    every: int = 0
    optimizer: float = 0.0
    tail: float = 0.0


# As measured on an H200: the transformer, and MNIST with automatic mixed precision.
PROGRAMS = (
    Program("GPU-bound", 10e6, 0.0, 0.002, 0.5),
    Program("launch-bound", 0.4e6, 1.8e6, 0.06, 0.3),
    # Made up: an optimizer in every 4th step, of which a recording has one more or less; and a skewed jitter.
    Program("every 4th step", 10e6, 0.0, 0.002, 0.5, every=4, optimizer=0.36),
    Program("skewed jitter", 0.4e6, 1.8e6, 0.06, 0.3, tail=1.0),
)


def make_recording(
    program: Program,
    generator: np.random.Generator,
    shift: float = 1.0,
    pairs: int = 1000,
    spread: float = estimates.WORK,
    steps: int = STEPS_EACH,
) -> Analysis:
    """One run of so many programs of a kind, each as a path of its own.

    Args:
        program: The kind.
        generator: Where chance comes from.
        shift: What the time under kernels and that of waiting are multiplied by.
        pairs: Number of paths.
        spread: Deviation of runs' logarithm, of the time under kernels.
        steps: How many each has, one right after the other.
    """
    parts = [(program.busy_ns, spread), (program.waiting_ns, estimates.WAITING)]
    busy, waiting = (shift * mean * np.exp(generator.normal(0, deviation, pairs)) for mean, deviation in parts)
    factor = _draw_factors(program, generator, (steps, pairs))
    late = program.tail and 0.1 * np.exp(generator.normal(0, program.tail, factor.shape))
    windows = np.round((busy + waiting) * (factor + late))
    window, start = windows.ravel(), (np.cumsum(windows, axis=0) - windows).ravel()
    path = np.tile(np.arange(pairs), steps)
    kernel = np.round(busy * factor if program.waiting_ns == 0 else np.broadcast_to(busy, factor.shape)).ravel()
    active_ns = 0.3 * np.broadcast_to(program.busy_ns, window.shape)
    instances = pd.DataFrame(
        {
            "gpu": 0,
            "range": np.arange(len(path)),
            "path_id": path,
            "host_start_ns": start,
            "host_end_ns": start + window,
            "gpu_start_ns": start,
            "gpu_end_ns": start + window,
            "activity_count": 1,
            "inherited_count": 0,
            "kernel_count": 1,
            "kernel_ns": kernel,
            "busy_ns": kernel,
            "tensor_active_mean_pct": 100 * active_ns / window,
            "left_out": False,
        }
    )
    return _wrap(INSTANCES.conform(instances), pairs)


def make_steps(program: Program, generator: np.random.Generator, shift: float, count: int) -> Analysis:
    """One run of a program whose path is that of the steps."""
    run = make_recording(program, generator, shift, 1, steps=count)
    return with_steps(run, find_marked_steps(run.instances, run.paths, run.activities, [0]))


def _draw_factors(program: Program, generator: np.random.Generator, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """How many times as long as usual each step takes: a row for each step, a column for each path."""
    steps = generator.normal(0, 1, shape)
    for before, step in itertools.pairwise(steps):
        step *= np.sqrt(1 - program.correlation**2)
        step += program.correlation * before
    factor: npt.NDArray[np.float64] = np.exp(program.deviation * steps)
    if program.every:
        phase = np.arange(shape[0])[:, None] + generator.integers(0, program.every, shape[1])
        factor = factor + program.optimizer * (phase % program.every == 0)
    return factor


def _wrap(instances: pd.DataFrame, pairs: int) -> Analysis:
    """An analysis of which only the instances matter."""
    names = [f"program {number}" for number in range(pairs)]
    paths = PATHS.conform(pd.DataFrame({"domain": "", "path": names, "name": names, "depth": 1, "parent_id": -1}))
    counts = ["instance_count", "activity_count", "inherited_count", "kernel_count", "host_ns", "kernel_ns"]
    schemas = {schema.name: schema for schema in SCHEMAS}
    frames = {field.name: schemas[field.name].empty() for field in fields(Analysis) if field.name in schemas}
    given = {
        "ranges": RANGES.conform(paths.assign(gpu=0, path_id=range(pairs), slow_count=0, **dict.fromkeys(counts, 1))),
        "instances": instances,
        "paths": paths,
    }
    return Analysis(
        recording=Recording("synthetic", "", "", "", "", 1e9, 20_000.0, True),
        window="gpu",
        options={},
        tensor_source="cycles",
        kernels_by_path=KERNELS.empty(),
        observed=Observed(DIAGNOSTICS.empty(), 0, False, None, pairs, pairs, (), 0),
        **frames | given,
    )
