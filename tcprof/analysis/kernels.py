"""Kernels: what each did on the Tensor Cores, from the fit, and what its name says about it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.chips import flop_per_cycle
from tcprof.analysis.classes import Classes, classify
from tcprof.analysis.design import Launches
from tcprof.analysis.fit import fit
from tcprof.analysis.instances import KERNEL_KINDS
from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.names import read_names
from tcprof.analysis.sampling import read_rounded
from tcprof.frames import KERNELS, LAUNCHED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TENSOR_KERNEL_PCT = 5.0  # below this, index arithmetic shows on the same pipe
RESOLVED_POINTS, RESOLVED_SHARE = 5.0, 0.1  # half the interval of a resolved kernel: in points, or of its value
NORMAL_95 = 1.96
RESOLVED, POOLED, UNRESOLVED, NOT_SAMPLED = "resolved", "pooled", "unresolved", "not sampled"
FROM_NAMES = "estimated from kernel names"


@dataclass(frozen=True)
class KernelFit:
    """The launches of all kernels with what the fit gives each, and what is needed to sum them up.

    Attributes:
        launched: One row for each launch of a kernel or graph, see ``tcprof.frames.LAUNCHED``.
        covariances: For each GPU that was sampled, of its classes' values in ns of full tensor activity.
        biases: For each such GPU, by how much these may be off together.
        weights: For each GPU, what each of its launches counts relative to its class.
        sampled: For each GPU, what the samples under kernels hold: tensor cycles, or ns of full activity.
    """

    launched: pd.DataFrame
    covariances: dict[int, Floats]
    biases: dict[int, Floats]
    weights: dict[int, Floats]
    sampled: dict[int, float]


def fit_kernels(activities: pd.DataFrame, path_id: Ints, samples: pd.DataFrame, gpus: pd.DataFrame) -> KernelFit:
    """Solve for the Tensor Active of every launch.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``, with launch geometry.
        path_id: For each activity the path of the innermost range that it belongs to, -1 for none.
        samples: See ``tcprof.frames.SAMPLES``.
        gpus: See ``tcprof.frames.GPUS``.
    """
    names = read_names(activities["name"].cat.categories)
    chips = dict(zip(gpus["gpu"], gpus["chip"], strict=True))
    of_kind = activities["kind"].isin(KERNEL_KINDS).to_numpy()
    parts: list[pd.DataFrame] = []
    covariances, biases, weights, sampled = {}, {}, {}, {}
    for gpu in sorted(activities["gpu"].unique().tolist()):
        rows = np.flatnonzero(of_kind & (activities["gpu"] == gpu).to_numpy())
        if not len(rows):
            continue
        kernels = activities.iloc[rows]
        start, end = kernels["start_ns"].to_numpy(), kernels["end_ns"].to_numpy()
        code = kernels["name"].cat.codes.to_numpy(np.int64)
        classes = classify(code, kernels["launch_geometry"].cat.codes.to_numpy(np.int64), end - start)
        launches = Launches(start, np.maximum(end, start + 1), classes.kind, classes.weight)
        found = _fit_gpu(launches, samples[samples["gpu"] == gpu])
        if found is not None:
            covariances[gpu], biases[gpu], sampled[gpu] = found.covariance, found.bias, found.sampled
        weights[gpu] = classes.weight
        rates = np.array(
            [flop_per_cycle(chips.get(gpu, ""), *key) for key in zip(names["family"], names["precision"], strict=True)]
        )
        parts.append(_launched(gpu, rows, path_id[rows], launches, classes, found, rates[code]))
    return KernelFit(LAUNCHED.concat(parts), covariances, biases, weights, sampled)


@dataclass(frozen=True)
class _Found:
    """What the fit gives the launches of one GPU."""

    active_ns: Floats
    cycles: Floats
    covariance: Floats
    bias: Floats
    sampled: float


def _fit_gpu(launches: Launches, samples: pd.DataFrame) -> _Found | None:
    """The fit on cycles where they were recorded, else on rounded percentages; None without samples."""
    near = (samples["end_ns"] > launches.start.min()) & (samples["start_ns"] < launches.end.max())
    samples = samples[near & samples["tensor_active_pct"].notna()]
    if samples.empty:
        return None
    start, end = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    percent, cycles = samples["tensor_active_pct"].to_numpy(), samples["tensor_cycles"].to_numpy()
    if np.isnan(cycles).any():
        length = end - start
        value, error, shift = (reading / 100 * length for reading in read_rounded(percent))
        found = fit(launches, StepFunction(start, end, value), error, shift)
        return _Found(
            found.per_launch, np.full(len(launches.start), np.nan), found.covariance, found.bias, found.sampled
        )
    none = np.zeros(len(cycles))
    found = fit(launches, StepFunction(start, end, cycles), none, none)
    capacity = _capacity(launches, start, end, cycles, percent)
    scale = float(np.median(capacity))
    return _Found(found.per_launch / capacity, found.per_launch, found.covariance / scale**2, found.bias, found.sampled)


def _capacity(launches: Launches, start: Ints, end: Ints, cycles: Floats, percent: Floats) -> Floats:
    """Cycles that all tensor pipes have in a ns, at the time of each launch: the clock may change."""
    active = (cycles > 0) & (percent > 0) & (percent < 100)
    if not active.any():
        return np.ones(len(launches.start))
    rate = cycles[active] / (percent[active] / 100) / (end - start)[active]
    middle = (start + end)[active] / 2
    return np.interp((launches.start + launches.end) / 2, middle, rate)


def _launched(
    gpu: int, rows: Ints, path_id: Ints, launches: Launches, classes: Classes, found: _Found | None, rates: Floats
) -> pd.DataFrame:
    duration = launches.end - launches.start
    frame = pd.DataFrame(
        {
            "gpu": gpu,
            "activity": rows,
            "path_id": path_id,
            "kernel_class": classes.kind,
            "pooled": classes.pooled[classes.kind],
            "duration_ns": duration,
            "tensor_active_ns": np.nan if found is None else np.minimum(found.active_ns, duration),
            "tensor_cycles": np.nan if found is None else found.cycles,
        }
    )
    return LAUNCHED.conform(frame.assign(tensor_flop=frame["tensor_cycles"] * rates))


def summarize_kernels(
    kernel_fit: KernelFit, activities: pd.DataFrame, paths: pd.DataFrame, by_path: bool = False
) -> pd.DataFrame:
    """One row for each GPU, kernel and launch geometry, and path if asked for; those that took longest first.

    Args:
        kernel_fit: See ``fit_kernels``.
        activities: As given to ``fit_kernels``.
        paths: See ``tcprof.frames.PATHS``.
        by_path: Whether a kernel that is launched in several ranges has a row for each.
    """
    launched = kernel_fit.launched
    if launched.empty:
        return KERNELS.empty()
    activity = activities.iloc[launched["activity"].to_numpy()]
    keys = {
        "gpu": launched["gpu"].to_numpy(),
        "name": activity["name"].cat.codes.to_numpy(),
        "geometry": activity["launch_geometry"].cat.codes.to_numpy(),
        **({"path_id": launched["path_id"].to_numpy()} if by_path else {}),
    }
    group, rows = _group(keys)
    names = read_names(activities["name"].cat.categories).iloc[rows["name"]].reset_index(drop=True)
    texts = {"name": activities["name"].cat.categories[rows["name"]]}
    texts["launch_geometry"] = activities["launch_geometry"].cat.categories[rows["geometry"]]
    path_id = _longest_path(group, launched)
    labels = np.append(paths["path"].to_numpy(dtype=object), "")
    measured = _measure(kernel_fit, launched, group)
    frame = rows.assign(**texts, path=labels[path_id], **measured, **names)
    frame = frame.assign(share_pct=100 * frame["total_ns"] / frame.groupby("gpu")["total_ns"].transform("sum"))
    frame = frame.assign(**_judge(frame))
    return KERNELS.conform(frame.sort_values(["gpu", "total_ns"], ascending=[True, False], kind="stable"))


def _group(keys: dict[str, Ints]) -> tuple[Ints, pd.DataFrame]:
    """Number of the group of each launch, and the groups' keys."""
    group, unique = pd.MultiIndex.from_arrays(list(keys.values()), names=list(keys)).factorize()
    return group.astype(np.int64), unique.to_frame(index=False, name=list(keys))


def _longest_path(group: Ints, launched: pd.DataFrame) -> Ints:
    """The path of each group in which it spent most time; -1 for outside of all ranges."""
    time = launched.groupby([group, launched["path_id"].to_numpy()])["duration_ns"].sum()
    longest = time.groupby(level=0).idxmax()
    return np.array([path for _, path in longest], dtype=np.int64)


def _measure(kernel_fit: KernelFit, launched: pd.DataFrame, group: Ints) -> dict[str, Floats]:
    """Times, Tensor Active with its interval, cycles and FLOP/s of each group."""
    by = launched.groupby(group)
    total = by["duration_ns"].sum().to_numpy()
    count = by.size().to_numpy()
    active = by["tensor_active_ns"].sum(min_count=1).to_numpy()
    cycles, flop = (by[name].sum(min_count=1).to_numpy() for name in ("tensor_cycles", "tensor_flop"))
    flop = np.where(by["tensor_flop"].count().to_numpy() == count, flop, np.nan)
    half = np.concatenate(list(_half_intervals(kernel_fit, launched, group)))
    percent = 100 * active / total
    points = 100 * half / total
    return {
        "launch_count": count,
        "total_ns": total,
        "median_ns": by["duration_ns"].median().to_numpy(),
        "tensor_active_pct": percent,
        "tensor_active_low_pct": np.clip(percent - points, 0, 100),
        "tensor_active_high_pct": np.clip(percent + points, 0, 100),
        "tensor_cycles": cycles,
        "tensor_cycles_per_launch": cycles / count,
        "tensor_flop": flop,
        "tensor_tflops": flop / total * 1e-3,
        "pooled": by["pooled"].mean().to_numpy(),
    }


def _half_intervals(kernel_fit: KernelFit, launched: pd.DataFrame, group: Ints) -> Iterator[Floats]:
    """For the groups of one GPU after the other, half the interval of their sums a'x, from a'Ca and a'b."""
    gpu = launched["gpu"].to_numpy()
    for number in np.unique(gpu).tolist():
        mine = gpu == number
        first = int(group[mine].min())
        size = int(group[mine].max()) - first + 1
        covariance = kernel_fit.covariances.get(number)
        if covariance is None:
            yield np.full(size, np.nan)
            continue
        counts = np.zeros((size, len(covariance)))
        place = (group[mine] - first, launched["kernel_class"].to_numpy()[mine])
        np.add.at(counts, place, kernel_fit.weights[number])
        variance = np.einsum("ij,jk,ik->i", counts, covariance, counts, optimize=True)
        yield NORMAL_95 * np.sqrt(np.maximum(variance, 0)) + np.abs(counts @ kernel_fit.biases[number])


def _judge(frame: pd.DataFrame) -> dict[str, npt.NDArray[np.object_] | pd.Series]:
    """Whether the fit can tell, whether the kernel used the Tensor Cores, and whether its name says the same."""
    half = (frame["tensor_active_high_pct"] - frame["tensor_active_low_pct"]) / 2
    narrow = half <= np.maximum(RESOLVED_POINTS, RESOLVED_SHARE * frame["tensor_active_pct"])
    measured = frame["tensor_active_pct"].notna()
    found = np.select([~measured, ~narrow, frame["pooled"] > 0.5], [NOT_SAMPLED, UNRESOLVED, POOLED], RESOLVED)
    counted = (frame["tensor_active_low_pct"] > TENSOR_KERNEL_PCT).to_numpy()
    named = frame["named_tensor"].to_numpy(dtype=bool)
    if not measured.any():
        return {"fit": np.full(len(frame), FROM_NAMES), "tensor_kernel": named, "name_verdict": _verdict(named, named)}
    return {"fit": found, "tensor_kernel": counted, "name_verdict": _verdict(counted, named)}


def _verdict(counted: npt.NDArray[np.bool_], named: npt.NDArray[np.bool_]) -> npt.NDArray[np.object_]:
    found = np.select([counted & named, counted, named], ["agrees", "counter only", "name only"], "neither")
    return np.asarray(found, dtype=object)
