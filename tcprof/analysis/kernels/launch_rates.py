"""What samples are shared among: the Tensor Active of every launch, in parts where it was fitted.

This is one layer above the fit; how samples are shared (``analysis.pieces``) is below it.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tcprof.analysis.samples.sample_splitting import Rates, even_rates
from tcprof.frames import KERNEL_KINDS

if TYPE_CHECKING:  # what needs no fit should not wait for scipy
    from tcprof.analysis.kernels.launches import GpuFit, KernelFit

NOT_FITTED = 0.3  # deviation of a kernel's Tensor Active (0 to 1) of which nothing is known but the sample


def rate_launches(activities: pd.DataFrame, found: "KernelFit | None") -> dict[int, Rates]:
    """What samples are shared among: kernels and graphs with their Tensor Active, in parts if they were fitted.

    Args:
        activities: See ``tcprof.frames.ACTIVITIES``.
        found: The fit, if there is one.

    Returns:
        The launches of each GPU.
    """
    fitted = {gpu: of_gpu for gpu, of_gpu in found.gpus.items() if "tensor" in of_gpu.fits} if found else {}
    kernels = activities[activities["kind"].isin(KERNEL_KINDS)]
    rates = {gpu: _fitted_rates(of_gpu) for gpu, of_gpu in fitted.items()}
    for gpu in set(kernels["gpu"].unique().tolist()) - set(fitted):
        start, end = (kernels.loc[kernels["gpu"] == gpu, name].to_numpy() for name in ("start_ns", "end_ns"))
        rates[gpu] = even_rates(start, end, *[np.full(len(start), NOT_FITTED)] * 3)
    return rates


def _fitted_rates(of_gpu: "GpuFit") -> Rates:
    """The launches of a GPU; each part counts its share of what its launch does."""
    launches, fit = of_gpu.launches, of_gpu.fits["tensor"]
    kind, duration = launches.kind, launches.end - launches.start
    of_class = np.bincount(of_gpu.part_kind)
    total = np.bincount(of_gpu.part_kind, fit.parts)[of_gpu.part_kind]
    # Of its class's mean rate; a class that counts nothing does so evenly.
    parts = fit.parts * of_class[of_gpu.part_kind]
    shape = np.divide(parts, total, out=np.ones(len(total)), where=total > 0)
    error = np.sqrt(np.diag(fit.covariance))[kind] * launches.weight / duration
    return Rates(
        launches.start,
        launches.end,
        rate=fit.per_launch / duration,
        error=error,
        spread=error * np.sqrt(np.bincount(kind)[kind]),
        parts=of_class[kind],
        first=(np.cumsum(of_class) - of_class)[kind],
        shape=shape,
    )
