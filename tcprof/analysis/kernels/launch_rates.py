"""What samples are shared among: the Tensor Active of every launch, in parts where it was fitted.

This is one layer above the fit; how samples are shared (``analysis.borders``) is below it.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.frames import KERNEL_KINDS

if TYPE_CHECKING:  # what needs no fit should not wait for scipy
    from tcprof.analysis.kernels.launches import GpuFit, KernelFit

NOT_FITTED = 0.3  # deviation of a kernel's Tensor Active (0 to 1) of which nothing is known but the sample


def rate_launches(activities: pd.DataFrame, found: "KernelFit | None") -> pd.DataFrame:
    """What samples are shared among: kernels and graphs with their Tensor Active, in parts if they were fitted.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
        found: The fit, if there is one.

    Returns:
        gpu, start_ns, end_ns; rate, Tensor Active from 0 to 1; error, the standard error that its class has in common;
        spread, that of one launch.
    """
    kernels = activities[activities["kind"].isin(KERNEL_KINDS)]
    unknown = kernels[["gpu", "start_ns", "end_ns"]].assign(rate=NOT_FITTED, error=NOT_FITTED, spread=NOT_FITTED)
    if found is None:
        return unknown
    fitted = {gpu: of_gpu for gpu, of_gpu in found.gpus.items() if "tensor" in of_gpu.fits}
    parts = [_rate_parts(of_gpu).assign(gpu=gpu) for gpu, of_gpu in fitted.items()]
    return pd.concat([unknown[~unknown["gpu"].isin(list(fitted))], *parts], ignore_index=True)


def _rate_parts(of_gpu: "GpuFit") -> pd.DataFrame:
    """The parts of all launches of a GPU; each counts its share of what its launch does."""
    launches, fit = of_gpu.launches, of_gpu.fits["tensor"]
    of_class = np.bincount(of_gpu.part_kind)
    first, number = np.cumsum(of_class) - of_class, of_class[launches.kind]
    launch = np.repeat(np.arange(len(number)), number)
    place = np.arange(len(launch)) - np.repeat(np.cumsum(number) - number, number)
    kind, duration = launches.kind[launch], (launches.end - launches.start)[launch]
    total = np.bincount(of_gpu.part_kind, fit.parts)[kind]
    # Of its class's mean rate; a class that counts nothing does so evenly.
    shape = np.divide(fit.parts[first[kind] + place] * number[launch], total, out=np.ones(len(kind)), where=total > 0)
    error = (np.sqrt(np.diag(fit.covariance))[launches.kind] * launches.weight)[launch] / duration
    low, high = (launches.start[launch] + duration * step // number[launch] for step in (place, place + 1))
    return pd.DataFrame(
        {
            "start_ns": low,
            "end_ns": high,
            "rate": fit.per_launch[launch] / duration * shape,
            "error": error,
            "spread": error * np.sqrt(np.bincount(launches.kind)[kind]),
        }
    )
