"""Useful FLOP of ranges, of their instances, and of whatever else launches are summed over."""

import numpy as np
import pandas as pd

from tcprof.analysis.time.account import Account, Evidence
from tcprof.analysis.time.range_metrics import sum_launches, time_of_instances, time_of_work
from tcprof.arrays import Floats
from tcprof.frames import INSTANCES, LARGEST_UNCOVERED_PCT, RANGES


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


def known_useful(sums: pd.DataFrame) -> "pd.Series[float]":
    """Useful FLOP, where they are known as a whole, from summed ``useful_of_launches``."""
    unknown = sums["useful_unknown_ns"]
    is_whole = 100 * unknown <= LARGEST_UNCOVERED_PCT * (unknown + sums["useful_known_ns"])
    return sums["useful_flop"].where(is_whole)


def rate_useful(sums: pd.DataFrame, window_ns: Floats) -> dict[str, "pd.Series[float]"]:
    """Useful FLOP and their share of a window's peak, where known as a whole, from summed ``useful_of_launches``."""
    flop = known_useful(sums)
    has_peaks = 100 * sums["useful_peakless_flop"] <= LARGEST_UNCOVERED_PCT * flop
    window = pd.Series(window_ns, sums.index).where(window_ns > 0)
    return {"useful_flop": flop, "mfu_pct": 100 * sums["useful_boost_ns"].where(has_peaks) / window}


def add_useful_sums(
    ranges: pd.DataFrame, instances: pd.DataFrame, account: Account, evidence: Evidence
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The range summary and the instances, which are those of the evidence, with their useful FLOP."""
    if not account.kernel_instances["useful_flop"].notna().any():
        return ranges, instances
    values = useful_of_launches(account.kernel_instances, account.kernels).drop(columns="useful_tensor_flop")
    columns = ((str(name), column.to_numpy(np.float64)) for name, column in values.items())
    of_ranges, sums = sum_launches(ranges, account, evidence, columns, values.columns)
    by_path = rate_useful(of_ranges, time_of_work(ranges, evidence))
    by_instance = rate_useful(sums, time_of_instances(instances, evidence.window))
    on_ranges, on_instances = (
        frame["gpu"].isin(account.kernel_instances["gpu"]).to_numpy() for frame in (ranges, instances)
    )
    on_ranges = on_ranges & (ranges["instance_count"] > 0).to_numpy()  # of what lies in warm-up only there is no figure
    rates = {name: column.where(on_ranges).to_numpy() for name, column in by_path.items()}
    of_instances = {name: column.where(on_instances).to_numpy() for name, column in by_instance.items()}
    return RANGES.conform(ranges.assign(**rates)), INSTANCES.conform(instances.assign(**of_instances))
