"""What the fit says about ranges: the share of tensor kernels, tensor-active time, and FLOP on the Tensor Cores."""

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.summary import could_be_tensor
from tcprof.arrays import Bools, Floats
from tcprof.frames import LARGEST_UNCOVERED_PCT


def values_of_launches(launched: pd.DataFrame, kernels: pd.DataFrame, kinds: pd.Series) -> pd.DataFrame:
    """What each launch adds to a range: times, tensor cycles and FLOP.

    Args:
        launched: See ``tcprof.frames.LAUNCHED``.
        kernels: See ``tcprof.frames.KERNELS``.
        kinds: The kind of every activity.
    """
    is_tensor, could_be, is_graph = tensor_launches(launched, kernels, kinds)
    counts, of_kernel = is_tensor | could_be | is_graph, launched["kernel"].to_numpy()
    peak = kernels["peak_tflops"].to_numpy(dtype=np.float64)[of_kernel]
    cycles, flop = launched["tensor_cycles"].where(counts, 0), launched["tensor_flop"]
    return pd.DataFrame(
        {
            "kernel_ns": launched["duration_ns"],
            "tensor_kernel_ns": launched["duration_ns"].where(is_tensor, 0),
            "unresolved_ns": launched["duration_ns"].where(could_be, 0),
            "graph_ns": launched["duration_ns"].where(is_graph, 0),
            "active_ns": launched["tensor_active_ns"],
            "cycles": cycles,
            "unknown_cycles": cycles.where(flop.isna(), 0),
            "flop": flop.fillna(0),
            "ideal_ns": launched["tensor_ideal_ns"].fillna(0),
            "boost_ns": (flop / peak * 1e-3).fillna(0),
            "peakless_flop": flop.where(np.isnan(peak), 0).fillna(0),
        }
    )


def tensor_launches(launched: pd.DataFrame, kernels: pd.DataFrame, kinds: pd.Series) -> tuple[Bools, Bools, Bools]:
    """Which launches are of tensor kernels, which could be of such, and which are whole graphs, which may hold some.

    Args:
        launched: See ``tcprof.frames.LAUNCHED``.
        kernels: See ``tcprof.frames.KERNELS``.
        kinds: The kind of every activity.
    """
    of_kernel = launched["kernel"].to_numpy()
    is_graph = (kinds == "graph").to_numpy()[launched["activity"].to_numpy()]
    is_tensor = kernels["tensor_kernel"].to_numpy(dtype=bool)[of_kernel]
    return is_tensor, could_be_tensor(kernels).to_numpy(dtype=bool)[of_kernel] & ~is_graph, is_graph


def range_rates(sums: pd.DataFrame, window_ns: Floats) -> dict[str, pd.Series]:
    """Columns of ``tcprof.frames.RANGES`` that come from the fit.

    Args:
        sums: What ``values_of_launches`` gives, summed over each range.
        window_ns: Length of each range's windows.
    """
    known = known_flop(sums)
    is_known = known["tensor_flop"].notna()
    has_peaks = (
        100 * sums["peakless_flop"] <= LARGEST_UNCOVERED_PCT * known["tensor_flop"]
    )  # not where these are unknown
    # What a whole graph holds is unknown, and so is a share of it.
    kernel_ns = sums["kernel_ns"].where((sums["kernel_ns"] > 0) & (sums["graph_ns"] == 0))
    window = pd.Series(window_ns).where(window_ns > 0)
    return {
        "tensor_kernel_share_pct": 100 * sums["tensor_kernel_ns"] / kernel_ns,
        "unresolved_kernel_share_pct": 100 * sums["unresolved_ns"] / kernel_ns,
        "fitted_active_s": sums["active_ns"] * 1e-9,
        **known,
        "tensor_tflops": known["tensor_flop"] / window * 1e-3,
        "tensor_peak_pct": 100 * sums["ideal_ns"].where(is_known) / window,
        "hfu_pct": 100 * sums["boost_ns"].where(has_peaks) / window,
    }


def known_flop(sums: pd.DataFrame) -> dict[str, pd.Series]:
    """FLOP as far as they are known, and the share of the cycles that have none.

    Args:
        sums: What ``values_of_launches`` gives, summed.
    """
    cycles = sums["cycles"]
    # Where there are no cycles, nothing is lacking; where they are unknown, so is what they lack.
    uncovered = (100 * sums["unknown_cycles"] / cycles.where(cycles > 0)).where(cycles != 0, 0.0)
    return {"tensor_flop": sums["flop"].where(uncovered < 100), "uncovered_cycles_pct": uncovered}
