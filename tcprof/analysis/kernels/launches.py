"""The fit applied to a recording: launches of each GPU are classified, fitted, and given their cycles and FLOP."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from tcprof.analysis.clock import offset_errors
from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.capacity import fit_capacity, unknown_capacity
from tcprof.analysis.kernels.classes import Classes, classify
from tcprof.analysis.kernels.design import Design, Launches, build_design
from tcprof.analysis.kernels.fit import LEAST_OFFSET_NS, PASSES, Fit, fit
from tcprof.analysis.kernels.interruptions import doubt_interrupted
from tcprof.analysis.kernels.names import read_names
from tcprof.analysis.projection import Attribution, Hierarchy, ranges_of_activities
from tcprof.analysis.sampling import read_rounded
from tcprof.arrays import Floats, Ints
from tcprof.chips import Chip, find_chip
from tcprof.frames import KERNEL_KINDS, LAUNCHED
from tcprof.memory import return_freed_memory

# Other counters that are fitted where they were sampled, and the columns of the samples that they are the sum of.
OTHER_METRICS = {
    "sm_active": ("sm_active_pct",),
    "sm_issue": ("sm_issue_pct",),
    "dram": ("dram_read_pct", "dram_write_pct"),
}
_OTHER_PASSES = 1  # these only separate memory-bound from issue-bound kernels: more would not change them


@dataclass(frozen=True)
class GpuFit:
    """What the fit found on one GPU.

    Attributes:
        launches: Its launches, with their classes.
        fits: The fit of ``tensor`` and of ``OTHER_METRICS``, where sampled; values are ns of full activity.
        part_kind: Class of each part of the fits.
        counted: The fit of ``tensor_counts``; None where nothing was sampled.
        doubt: Of each launch, ns of full activity that may be another process's.
        in_cycles: Whether that counts recorded cycles, and not rounded percentages.
        capacity: Cycles that all tensor pipes have in a ns of each launch; 1 where no clock was recorded.
    """

    launches: Launches
    fits: dict[str, Fit]
    part_kind: Ints
    counted: Fit | None
    doubt: Floats
    in_cycles: bool
    capacity: Floats


@dataclass(frozen=True)
class KernelFit:
    """The launches of all kernels with what the fit gives each.

    Attributes:
        launched: One row for each launch of a kernel or graph, see ``tcprof.frames.LAUNCHED``; in order of GPU.
        gpus: The fit of each GPU that has launches.
        from_samples: Whether the recording has samples of the tensor pipe; otherwise only names decide.
    """

    launched: pd.DataFrame
    gpus: dict[int, GpuFit]
    from_samples: bool


def fit_launches(
    activities: pd.DataFrame,
    hierarchy: Hierarchy,
    attribution: Attribution,
    samples: pd.DataFrame,
    gpus: pd.DataFrame,
    clocks: pd.DataFrame,
) -> KernelFit:
    """The fit of all launches, each with its path and innermost range.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        hierarchy: The nested ranges.
        attribution: Which activity belongs to which range.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        clocks: See ``tcprof.frames.CLOCKS``.
    """
    innermost = ranges_of_activities(attribution, len(activities))
    path_id = np.append(hierarchy.path_id, -1)[innermost]  # -1, for none, is the last
    found = fit_kernels(activities, path_id, samples, gpus, clocks)
    return_freed_memory()
    return replace(found, launched=found.launched.assign(range=innermost[found.launched["activity"].to_numpy()]))


def fit_kernels(
    activities: pd.DataFrame, path_id: Ints, samples: pd.DataFrame, gpus: pd.DataFrame, clocks: pd.DataFrame
) -> KernelFit:
    """Solve for the Tensor Active of every launch.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        path_id: For each activity the path of the innermost range that it belongs to, -1 for none.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
        clocks: See ``tcprof.frames.CLOCKS``.
    """
    names = read_names(activities["name"].cat.categories)
    chips = {gpu: find_chip(chip, name) for gpu, chip, name in gpus[["gpu", "chip", "name"]].itertuples(index=False)}
    of_kind = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    errors = offset_errors(clocks)
    parts: list[pd.DataFrame] = []
    fitted: dict[int, GpuFit] = {}
    for gpu in sorted(activities["gpu"].unique().tolist()):
        rows = np.flatnonzero(of_kind & (activities["gpu"] == gpu).to_numpy())
        if not len(rows):
            continue
        kernels = activities.iloc[rows]
        start, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
        code = kernels["name"].cat.codes.to_numpy(np.int64)
        geometry = kernels["launch_geometry"].cat.codes.to_numpy(np.int64)
        classes = classify(code, geometry, end - start)
        opaque = np.bincount(classes.kind, (kernels["kind"] == "graph").to_numpy()) > 0
        launches = Launches(start, np.maximum(end, start + 1), classes.kind, classes.weight, opaque)
        with threadpool_limits(1, user_api="blas"):  # the matrices are small: threads would only wait for each other
            mine = samples[samples["gpu"] == gpu]
            fitted[gpu] = _fit_gpu(launches, (code, geometry), mine, errors.get(gpu, LEAST_OFFSET_NS))
        frame = _launched(gpu, rows, path_id[rows], launches, classes, fitted[gpu])
        parts.append(_with_flop(frame, fitted[gpu].capacity, names, code, chips.get(gpu, find_chip(""))))
    return KernelFit(LAUNCHED.concat(parts), fitted, bool(samples["tensor_active_pct"].notna().any()))


def _fit_gpu(launches: Launches, names: tuple[Ints, Ints], samples: pd.DataFrame, offset_error_ns: float) -> GpuFit:
    """The fit on cycles where they were recorded, else on rounded percentages; no fits without samples.

    Args:
        launches: The launches.
        names: Numbers of their names and launch geometries.
        samples: Those of the GPU.
        offset_error_ns: How well both are on one clock, at best.
    """
    near = (samples["end_ns"] > launches.start.min()) & (samples["start_ns"] < launches.end.max())
    samples = samples[near & samples["tensor_active_pct"].notna()]
    if samples.empty:
        return GpuFit(
            launches,
            {},
            np.empty(0, np.int64),
            None,
            np.zeros(len(launches.start)),
            False,
            np.ones(len(launches.start)),
        )
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    percent = samples["tensor_active_pct"].to_numpy()
    function = StepFunction(start, end, percent)
    design = build_design(launches, function)
    fits = {
        name: _solve_rounded(launches, design, samples[[*columns]].to_numpy(), end - start)
        for name, columns in OTHER_METRICS.items()
        if samples[[*columns]].notna().all(axis=None)
    }
    capacity = unknown_capacity(launches)
    if samples["pipe_cycles"].notna().all():
        capacity = fit_capacity(launches, design, samples["pipe_cycles"].to_numpy(), function)
    value, error, shift = tensor_counts(samples)
    in_cycles = bool(samples["tensor_cycles"].notna().all())
    unit = None if in_cycles else _passed(samples) / 100
    counted = fit(launches, design, value, error, shift, float(capacity.of_launch.max()), PASSES, unit, offset_error_ns)
    active = replace(
        counted,
        value=counted.value / capacity.of_class,
        covariance=counted.covariance / np.outer(capacity.of_class, capacity.of_class)
        + np.diag((capacity.error * counted.value / capacity.of_class) ** 2),
        bias=counted.bias / capacity.of_class,
        per_launch=counted.per_launch / capacity.of_launch,
    )
    doubt = doubt_interrupted(*names, launches, active.per_launch)
    return GpuFit(launches, {"tensor": active, **fits}, design.part_kind, counted, doubt, in_cycles, capacity.of_launch)


def tensor_counts(samples: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """What the tensor pipes did in each sample, its standard error, and by how much all may be off together.

    Cycles where they were recorded. Else the rounded percentages of the cycles that passed, or, where the clock was not
    recorded either, of the time.

    Args:
        samples: See ``tcprof.frames.SAMPLES``; of one GPU, with Tensor Active known.
    """
    cycles = samples["tensor_cycles"].to_numpy()
    if not np.isnan(cycles).any():
        return cycles, np.zeros(len(cycles)), np.zeros(len(cycles))
    readings = read_rounded(samples["tensor_active_pct"].to_numpy())
    value, error, shift = (reading / 100 * _passed(samples) for reading in readings)
    return value, error, shift


def _passed(samples: pd.DataFrame) -> Floats:
    """What a sample of 100 % counts: the cycles that passed, or, where the clock was not recorded, the time."""
    passed: Floats = samples["pipe_cycles"].to_numpy()
    length: Floats = (samples["end_ns"] - samples["start_ns"]).to_numpy(np.float64)
    return length if np.isnan(passed).any() else passed


def _solve_rounded(launches: Launches, design: Design, percent: Floats, length: Ints) -> Fit:
    """The fit on the sum of columns of whole percentages, in ns of full activity."""
    value, error, shift = (reading / 100 * length[:, None] for reading in read_rounded(percent))
    deviation = np.sqrt((error**2).sum(axis=1))
    return fit(launches, design, value.sum(axis=1), deviation, shift.sum(axis=1), 1.0, _OTHER_PASSES)


def _launched(gpu: int, rows: Ints, path_id: Ints, launches: Launches, classes: Classes, found: GpuFit) -> pd.DataFrame:
    """The launches of one GPU with the columns of ``LAUNCHED`` that need no names."""
    duration = launches.end - launches.start
    return pd.DataFrame(
        {
            "gpu": gpu,
            "activity": rows,
            "kernel": -1,  # known once all kernels are in order of time: summarize_kernels
            "path_id": path_id,
            "range": -1,  # known to the attribution: fit_launches
            "iteration": -1,  # likewise, and module: what was launched where
            "module": -1,
            "kernel_class": classes.kind,
            "pooled": classes.pooled[classes.kind],
            "duration_ns": duration,
            "tensor_active_ns": (
                np.minimum(found.fits["tensor"].per_launch, duration) if "tensor" in found.fits else np.nan
            ),
            "tensor_cycles": found.counted.per_launch if found.counted and found.in_cycles else np.nan,
        }
    )


def _with_flop(frame: pd.DataFrame, capacity: Floats, names: pd.DataFrame, code: Ints, chip: Chip) -> pd.DataFrame:
    """Launches with their FLOP, and the time these would take at the chip's peak and the sampled clock.

    Args:
        frame: The launches of one GPU.
        capacity: See ``GpuFit``.
        names: See ``read_names``.
        code: Row of each launch's name there.
        chip: The GPU's chip.
    """
    kinds = names[["family", "precision", "accumulator"]].itertuples(index=False, name=None)
    rate = np.array([chip.flop_per_cycle(*kind) for kind in kinds])[code]
    sums = names[["precision", "accumulator"]].itertuples(index=False, name=None)
    peak = np.array([chip.peak_flop_per_cycle(*kind) for kind in sums])[code]
    flop = frame["tensor_cycles"] * rate
    return LAUNCHED.conform(frame.assign(tensor_flop=flop, tensor_ideal_ns=flop / (peak * capacity)))
