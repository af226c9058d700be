"""Useful FLOP of ranges, of their instances, and of whatever else launches are summed over."""

import numpy as np
import pandas as pd

from tcprof.arrays import Floats
from tcprof.frames import LARGEST_UNCOVERED_PCT


def useful_of_launches(launched: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """What each launch adds to useful FLOP, those of tensor kernels, and the time of what is not known."""
    of_kernel = launched["kernel"].to_numpy()
    is_tensor = kernels["tensor_kernel"].to_numpy(dtype=bool)[of_kernel]
    peak = kernels["peak_tflops"].to_numpy(dtype=np.float64)[of_kernel]
    flop, duration = launched["useful_flop"], launched["duration_ns"]
    return pd.DataFrame(
        {
            "useful_flop": flop.fillna(0),
            "useful_tensor_flop": flop.where(is_tensor, 0).fillna(0),
            "useful_unknown_ns": duration.where(flop.isna(), 0),
            "useful_known_ns": duration.where(is_tensor & flop.notna(), 0),
            "useful_boost_ns": (flop / peak * 1e-3).fillna(0),
            "useful_peakless_flop": flop.where(np.isnan(peak), 0).fillna(0),
        }
    )


def rate_useful(sums: pd.DataFrame, window_ns: Floats) -> dict[str, "pd.Series[float]"]:
    """Useful FLOP and their share of a window's peak, where known as a whole, from summed ``useful_of_launches``."""
    unknown = sums["useful_unknown_ns"]
    is_whole = 100 * unknown <= LARGEST_UNCOVERED_PCT * (unknown + sums["useful_known_ns"])
    flop = sums["useful_flop"].where(is_whole)
    has_peaks = 100 * sums["useful_peakless_flop"] <= LARGEST_UNCOVERED_PCT * flop
    window = pd.Series(window_ns, sums.index).where(window_ns > 0)
    return {"useful_flop": flop, "mfu_pct": 100 * sums["useful_boost_ns"].where(has_peaks) / window}
