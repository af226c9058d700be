"""The fit applied to a recording: launches of each GPU are classified, fitted, and given their cycles and FLOP."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import ThreadpoolController

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.classes import Classes, classify, doubt_interrupted, join_alike, separate_places
from tcprof.analysis.kernels.constraints import find_enclosure
from tcprof.analysis.kernels.design import Launches, build_design
from tcprof.analysis.kernels.fit import Fit, fit
from tcprof.analysis.kernels.names import read_names
from tcprof.analysis.kernels.sm_clock import fit_capacity, full_activity
from tcprof.analysis.kernels.untraced import find_untraced
from tcprof.analysis.kernels.waiting import find_early
from tcprof.analysis.kernels.work import SHARES, WorkLimits, fit_counts, fit_shares, requests_per_ns
from tcprof.analysis.samples.borders import UNMEASURED_OFFSET_NS
from tcprof.analysis.samples.clock import offset_errors
from tcprof.analysis.samples.copies import Copies, find_copies
from tcprof.analysis.samples.sampling import passed_cycles, tensor_counts
from tcprof.arrays import Bools, Floats, Ints, pick_rows, rows_of_gpu
from tcprof.chips import PIPES_PER_SM, Chip, find_chip
from tcprof.frames import KERNEL_INSTANCES, KERNEL_KINDS

# Columns of ``KERNEL_INSTANCES`` that the fit knows; what was launched where is added in tcprof.analysis.accounting.
_OF_PLACE = ("kernel", "range", "step", "module", "useful_flop")
FITTED = replace(KERNEL_INSTANCES, columns=tuple(c for c in KERNEL_INSTANCES.columns if c.name not in _OF_PLACE))
_LIBRARIES = ThreadpoolController()  # those that numpy and scipy have loaded: finding them takes as long as a small fit


@dataclass(frozen=True)
class GpuFit:
    """What the fit found on one GPU."""

    launches: Launches  # its launches, with their classes
    # The fit of ``tensor`` and of ``tcprof.analysis.kernels.work.SHARES``, where sampled; values are ns of full
    # activity
    fits: dict[str, Fit]
    counts: dict[str, Fit]  # the fit of what else was counted, by column of ``tcprof.frames.WORK``
    part_kind: Ints  # class of each part of the fits
    counted: Fit | None  # the fit of ``tensor_counts``; None where nothing was sampled
    doubt: Floats  # of each launch, ns of full activity that may be another process's
    in_cycles: bool  # whether ``counted`` is of recorded cycles, and not rounded percentages
    capacity: Floats  # cycles that all tensor pipes have in a ns of each launch; 1 where no clock was recorded
    seen: Bools  # of each launch, whether a sample shows any of its class: what others count is unknown
    has_clock: bool = False  # whether a clock was recorded


@dataclass(frozen=True)
class KernelFit:
    """The launches of all kernels with what the fit gives each."""

    # One row for each launch of a kernel or graph, in order of GPU, with the columns of ``FITTED``
    kernel_instances: pd.DataFrame
    gpus: dict[int, GpuFit]  # the fit of each GPU that has launches
    from_samples: bool  # whether the recording has samples of the tensor pipe; otherwise only names decide


VERIFIED_PERIOD_NS = 200_000  # benchmarks compare the fit with Nsight Compute for samples of 5 to 100 µs, which jitter


def fit_kernels(
    activities: pd.DataFrame, path_id: Ints, samples: pd.DataFrame, gpus: pd.DataFrame, clocks: pd.DataFrame
) -> KernelFit:
    """Solve for the Tensor Active of every launch; ``path_id`` is of its innermost range, -1 for none."""
    names = read_names(activities["name"].cat.categories)
    chips = {gpu: find_chip(chip, name) for gpu, chip, name in gpus[["gpu", "chip", "name"]].itertuples(index=False)}
    of_kind = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    errors = offset_errors(clocks)
    parts: list[pd.DataFrame] = []
    fitted: dict[int, GpuFit] = {}
    bandwidths = dict(zip(gpus["gpu"], gpus["dram_bandwidth"], strict=True))
    for gpu in sorted(activities["gpu"].unique().tolist()):
        chip = chips.get(gpu, find_chip(""))
        is_mine = (activities["gpu"] == gpu).to_numpy()
        rows = np.flatnonzero(of_kind & is_mine)
        if not len(rows):
            continue
        kernels = pick_rows(activities, of_kind & is_mine)
        code, geometry = (kernels[name].cat.codes.to_numpy(np.int64) for name in ("name", "launch_geometry"))
        launches, classes = _classify(kernels, code, geometry)
        with _LIBRARIES.limit(limits=1, user_api="blas"):  # for small matrices threads would only wait for each other
            gpu_samples = rows_of_gpu(samples, gpu)
            offset_ns = errors.get(gpu, UNMEASURED_OFFSET_NS)
            peaks = (bandwidths.get(gpu, np.nan), chip.fma_per_cycle)
            copies = find_copies(pick_rows(activities, is_mine & ~of_kind))
            fitted[gpu] = _fit_gpu(launches, (code, geometry, path_id[rows]), gpu_samples, offset_ns, peaks, copies)
            other = find_untraced(gpu_samples, pick_rows(activities, is_mine))
            doubt: Floats = fitted[gpu].doubt + other.doubt((launches.end - launches.start).astype(np.float64))
            seen = fitted[gpu].seen & are_separable(gpu_samples, launches.end - launches.start)
            fitted[gpu] = replace(fitted[gpu], doubt=doubt, seen=seen)
        frame = _launched(gpu, rows, path_id[rows], launches, classes, fitted[gpu])
        parts.append(_with_flop(frame, fitted[gpu].capacity, names, code, chip))
    return KernelFit(FITTED.concat(parts), fitted, bool(samples["tensor_active_pct"].notna().any()))


def are_separable(samples: pd.DataFrame, duration: Ints) -> Bools:
    """Tell which launches the fit may separate: where samples are longer than it is verified for, only longer ones."""
    period = (samples["end_ns"] - samples["start_ns"]).median()
    return np.asarray((duration >= period) | (period <= VERIFIED_PERIOD_NS))


def _classify(kernels: pd.DataFrame, code: Ints, geometry: Ints) -> tuple[Launches, Classes]:
    """Classify the launches of one GPU, without what they wait for others; ``code`` is of names."""
    early = find_early(kernels)
    begin, end = kernels["start_ns"].to_numpy() + early, kernels["end_ns"].to_numpy()
    classes = classify(code, geometry, end - begin)
    opaque = np.bincount(classes.kind, (kernels["kind"] == "graph").to_numpy()) > 0
    return Launches(begin, np.maximum(end, begin + 1), classes.kind, classes.weight, opaque, early), classes


def _fit_gpu(
    launches: Launches,
    names: tuple[Ints, Ints, Ints],
    samples: pd.DataFrame,
    offset_error_ns: float,
    peaks: tuple[float, float],
    copies: Copies,
) -> GpuFit:
    """Fit cycles where they were recorded, else rounded percentages; ``names`` are of names, geometries, ranges."""
    near = (samples["end_ns"] > launches.start.min()) & (samples["start_ns"] < launches.end.max())
    samples = pick_rows(samples, (near & samples["tensor_active_pct"].notna()).to_numpy())
    if samples.empty:
        return _without_samples(launches)
    function = StepFunction(*(samples[name].to_numpy() for name in ("start_ns", "end_ns", "tensor_active_pct")))
    value, error, shift = tensor_counts(samples)
    in_cycles, has_clock = (bool(samples[name].notna().all()) for name in ("tensor_cycles", "pipe_cycles"))
    unit = None if in_cycles else passed_cycles(samples) / 100
    fit_cycles = partial(fit, value=value, error=error, shift=shift, unit=unit, offset_error_ns=offset_error_ns)
    highest = float((passed_cycles(samples) / (function.end - function.start)).max())
    separate = separate_places(launches, names[2])
    if separate is not launches:
        launches = join_alike(
            launches, separate, fit_cycles(separate, build_design(separate, function), ceiling=highest)
        )
    design = build_design(launches, function)
    capacity = fit_capacity(launches, design, samples["pipe_cycles"].to_numpy(), function)
    counted = fit_cycles(launches, design, ceiling=float(capacity.of_launch.max()))
    enclosure = find_enclosure(launches, function.start, function.end, copies.internal)
    counted = replace(counted, bounds=enclosure.bound(value, (error == 0) & (shift == 0)))
    limits = WorkLimits(capacity, has_clock, *peaks, requests_per_ns(samples))
    counts = fit_counts(launches, design, samples, limits, copies, enclosure, offset_error_ns)
    shares = fit_shares(launches, design, samples, counts, limits, offset_error_ns)
    fits = {"tensor": full_activity(counted, capacity), **shares}
    doubt = doubt_interrupted(*names[:2], launches, fits["tensor"].per_launch)
    seen = (np.bincount(design.part_kind, design.shares.sum(axis=0)) > 0)[launches.kind]
    return GpuFit(
        launches, fits, counts, design.part_kind, counted, doubt, in_cycles, capacity.of_launch, seen, has_clock
    )


def _without_samples(launches: Launches) -> GpuFit:
    none = np.zeros(len(launches.start))
    return GpuFit(launches, {}, {}, np.empty(0, np.int64), None, none, False, none + 1, none > 0)


def _launched(gpu: int, rows: Ints, path_id: Ints, launches: Launches, classes: Classes, model: GpuFit) -> pd.DataFrame:
    """List the launches of one GPU with the columns of ``FITTED`` that need no names."""
    duration = launches.end - launches.start + launches.early
    # Only where the share of the memory's bandwidth is of counted bytes, and not of whole percentages.
    has_bytes = "dram" in model.fits and model.counts.keys() >= set(SHARES["dram"][0])
    bytes_ns = model.fits["dram"].per_launch if has_bytes else np.nan
    measured = {
        "tensor_active_ns": np.minimum(model.fits["tensor"].per_launch, duration) if "tensor" in model.fits else np.nan,
        "tensor_cycles": model.counted.per_launch if model.counted and model.in_cycles else np.nan,
        "sm_cycles": model.capacity * duration / PIPES_PER_SM if model.has_clock else np.nan,
        **{name: counted.per_launch for name, counted in model.counts.items()},
        "dram_ideal_ns": bytes_ns,
    }
    return pd.DataFrame(
        {
            "gpu": np.broadcast_to(np.int64(gpu), len(rows)),
            "activity": rows,
            "path_id": path_id,
            "kernel_class": model.launches.kind,
            "pooled": classes.pooled[classes.kind],
            "duration_ns": duration,
            **{name: np.where(model.seen, values, np.nan) for name, values in measured.items()},
        },
        index=pd.RangeIndex(len(rows)),
        copy=False,
    )


def _with_flop(frame: pd.DataFrame, capacity: Floats, names: pd.DataFrame, code: Ints, chip: Chip) -> pd.DataFrame:
    """Launches with their FLOP, and the time these take at the chip's peak and sampled clock; ``code`` is of names."""
    kinds = names[["family", "precision", "accumulator", "shape"]].itertuples(index=False, name=None)
    rate = np.array([chip.flop_per_cycle(*kind) for kind in kinds])[code]
    sums = names[["precision", "accumulator"]].itertuples(index=False, name=None)
    peak = np.array([chip.peak_flop_per_cycle(*kind) for kind in sums])[code]
    flop = frame["tensor_cycles"] * rate
    return FITTED.conform(frame.assign(tensor_flop=flop, tensor_ideal_ns=flop / (peak * capacity)))
