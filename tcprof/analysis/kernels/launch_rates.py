"""What samples are shared among: the Tensor Active of every launch, in parts where it was fitted."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.samples.borders import BORDER_NS, IN_PART
from tcprof.analysis.samples.sample_splitting import Rates, even_rates, sum_open
from tcprof.arrays import Ints
from tcprof.frames import KERNEL_KINDS

if TYPE_CHECKING:  # what needs no fit should not wait for scipy
    from tcprof.analysis.kernels.launches import GpuFit, KernelFit

NOT_FITTED = 0.3  # deviation of a kernel's Tensor Active (0 to 1) of which nothing is known but the sample
EDGE = 0.1  # how far the rate near an end of a launch may be off, of the launch's


def rate_launches(activities: pd.DataFrame, kernel_fit: "KernelFit | None") -> dict[int, Rates]:
    """List the kernels and graphs of each GPU with their Tensor Active, in parts if they were fitted."""
    fitted = {gpu: fit for gpu, fit in kernel_fit.gpus.items() if "tensor" in fit.fits} if kernel_fit else {}
    kernels = activities[activities["kind"].isin(KERNEL_KINDS)]
    rates = {gpu: _fitted_rates(fit) for gpu, fit in fitted.items()}
    for gpu in set(kernels["gpu"].unique().tolist()) - set(fitted):
        start, end = (kernels.loc[kernels["gpu"] == gpu, name].to_numpy() for name in ("start_ns", "end_ns"))
        rates[gpu] = even_rates(start, end, *[np.full(len(start), NOT_FITTED)] * 3)
    return rates


def _fitted_rates(gpu_fit: "GpuFit") -> Rates:
    """List the launches of a GPU; each part counts its share of what its launch does."""
    launches, fit = gpu_fit.launches, gpu_fit.fits["tensor"]
    kind, duration = launches.kind, launches.end - launches.start
    of_class = np.bincount(gpu_fit.part_kind)
    of_launch = np.bincount(gpu_fit.part_kind, fit.parts)
    total = of_launch[gpu_fit.part_kind]
    # Of its class's mean rate; a class that counts nothing does so evenly.
    parts = fit.parts * of_class[gpu_fit.part_kind]
    shape = np.divide(parts, total, out=np.ones(len(total)), where=total > 0)
    error = np.sqrt(np.diag(fit.covariance))[kind] * launches.weight / duration
    return Rates(
        launches.start,
        launches.end,
        rate=fit.per_launch / duration,
        error=error,
        spread=error * np.sqrt(np.bincount(kind)[kind]),
        parts=np.where(of_launch > 0, of_class, 1)[kind],
        first=(np.cumsum(of_class) - of_class)[kind],
        shape=shape,
        inside=_count_inside(gpu_fit, of_class[kind]),
        late_ns=fit.late_ns,
        stamp_ns=fit.stamp_ns,
    )


def _count_inside(gpu_fit: "GpuFit", parts: Ints) -> StepFunction:
    """Sum by how much more, with each ns, what launches have counted since they began may be off.

    By nothing at their borders, inside by how much the rate within a part may change, and by what dependent launches
    count before the one before them ends.
    """
    launches, fit = gpu_fit.launches, gpu_fit.fits["tensor"]
    start, end, early = launches.start, launches.end, launches.early
    duration = end - start
    slope = EDGE * fit.per_launch / duration
    most = np.hypot(BORDER_NS, IN_PART * duration / parts) / EDGE
    rise = np.minimum(most, duration / 2).astype(np.int64)
    waits = np.flatnonzero(early)
    begin, finish, early, duration = start[waits], end[waits], early[waits], duration[waits]
    ahead = fit.early[launches.kind[waits]] * fit.per_launch[waits] / (duration + early)
    low = np.concatenate([start, end - rise, begin - early, begin])
    high = np.concatenate([start + rise, end, begin, finish])
    return sum_open(low, high, np.concatenate([slope, -slope, ahead, -ahead * early / duration]))[0]
