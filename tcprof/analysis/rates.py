"""What the fit says about ranges: the share of tensor kernels, tensor-active time, and FLOP on the Tensor Cores."""

import numpy as np
import pandas as pd

from tcprof.analysis.account import Account, Evidence
from tcprof.analysis.instances import groups_of_paths, sum_up
from tcprof.analysis.kernels.summary import could_be_tensor
from tcprof.arrays import Bools, Floats
from tcprof.frames import INSTANCES, LARGEST_UNCOVERED_PCT, RANGES


def add_rates(
    ranges: pd.DataFrame, instances: pd.DataFrame, account: Account, evidence: Evidence
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The range summary and the instances with the columns that come from the fit.

    Args:
        ranges: See ``tcprof.frames.RANGES``: the rows of one GPU after the other, each the capture, then paths.
        instances: See ``tcprof.frames.INSTANCES``; the rows are those of the evidence.
        account: The account.
        evidence: What it was made from.
    """
    values = values_of_launches(account.launched, account.kernels, evidence.activities["kind"])
    of_instances = sum_by_instance(account, evidence, values)
    rates = range_rates(sum_by_path(ranges, account, evidence, values, of_instances), time_of_work(ranges, evidence))
    # Where no kernel of a GPU was traced, what ran there is not known: a sum over nothing is not 0.
    known = ranges["gpu"].isin(account.launched["gpu"]) & (ranges["instance_count"] > 0)
    ranges = RANGES.conform(ranges.assign(**{name: column.where(known) for name, column in rates.items()}))
    return ranges, _add_tensor_work(instances, account, evidence, of_instances)


def time_of_work(ranges: pd.DataFrame, evidence: Evidence) -> Floats:
    """Length of the windows that the work of each row lies in; unknown where some end before their work does.

    Args:
        ranges: See ``add_rates``; the window of the whole capture holds its work in any case.
        evidence: What they were summed from.
    """
    found: Floats = ranges["window_ns"].to_numpy(dtype=np.float64, copy=True)
    group = groups_of_paths(evidence.instances, evidence.hierarchy.paths)
    late = group[end_before_work(evidence.instances, evidence.window)]
    rows = np.flatnonzero((ranges["depth"] > 0).to_numpy())
    found[rows[np.unique(late[late >= 0])]] = np.nan
    return found


def time_of_instances(instances: pd.DataFrame, window: str) -> Floats:
    """Length of the window that the work of each instance lies in; unknown where it ends before the work does.

    Args:
        instances: See ``tcprof.frames.INSTANCES``.
        window: gpu, host or busy.
    """
    length = {
        "host": instances["host_end_ns"] - instances["host_start_ns"],
        "gpu": instances["gpu_end_ns"] - instances["gpu_start_ns"],
        "busy": instances["busy_ns"],
    }[window]
    found: Floats = length.where(~end_before_work(instances, window) & (length > 0)).to_numpy(np.float64)
    return found


def end_before_work(instances: pd.DataFrame, window: str) -> Bools:
    """Which instances have windows that end before their work on the GPU does: only those of the host may.

    Args:
        instances: See ``tcprof.frames.INSTANCES``.
        window: gpu, host or busy.
    """
    return np.asarray((instances["gpu_end_ns"] > instances["host_end_ns"]) & (window == "host"))


def sum_by_path(
    ranges: pd.DataFrame, account: Account, evidence: Evidence, values: pd.DataFrame, of_instances: pd.DataFrame
) -> pd.DataFrame:
    """Sums of the launches' values over each row of the range summary.

    Args:
        ranges: See ``add_rates``.
        account: The account.
        evidence: What it was made from.
        values: One row for each launch.
        of_instances: Their sums over instances.
    """
    group = groups_of_paths(evidence.instances, evidence.hierarchy.paths)
    is_capture = (ranges["depth"] == 0).to_numpy()
    row_of_path, row_of_gpu = np.flatnonzero(~is_capture), np.flatnonzero(is_capture)
    captured = pd.Series(row_of_gpu, index=ranges["gpu"].to_numpy()[row_of_gpu])
    of_gpu = captured[account.launched["gpu"].to_numpy()].to_numpy()
    counted = group >= 0
    sums = {}
    for name in values:
        of_instance = of_instances[name].to_numpy()
        total = np.bincount(of_gpu, values[name], minlength=len(ranges))
        total[row_of_path] = np.bincount(group[counted], of_instance[counted], minlength=len(row_of_path))
        sums[name] = total
    return pd.DataFrame(sums)


def _add_tensor_work(instances: pd.DataFrame, account: Account, evidence: Evidence, sums: pd.DataFrame) -> pd.DataFrame:
    """The instances with the time of the tensor kernels launched in each, and with their FLOP and HFU.

    Times are unknown where whole graphs ran.
    """
    times = sums[["tensor_kernel_ns", "unresolved_ns"]].where(sums["graph_ns"] == 0)
    # Where no kernel of a GPU was traced, what ran there is not known.
    traced = instances["gpu"].isin(account.launched["gpu"]).to_numpy()
    known = known_flop(sums)
    known["dram_bytes"] = sums["dram_bytes"]
    known["hfu_pct"] = _hfu(sums, known["tensor_flop"], time_of_instances(instances, evidence.window))
    found = {name: column.where(traced).to_numpy() for name, column in known.items()}
    return INSTANCES.conform(
        instances.assign(
            tensor_kernel_ns=times["tensor_kernel_ns"].to_numpy(),
            unresolved_kernel_ns=times["unresolved_ns"].to_numpy(),
            **found,
        )
    )


def sum_by_instance(account: Account, evidence: Evidence, values: pd.DataFrame) -> pd.DataFrame:
    """Sums of the launches' values over each instance with all that lies in it.

    Args:
        account: The account.
        evidence: What it was made from.
        values: One row for each launch.
    """
    of_launch = np.full(len(evidence.activities), len(values), dtype=np.int64)  # what is no launch adds nothing
    of_launch[account.launched["activity"].to_numpy()] = np.arange(len(values))
    row = of_launch[evidence.attribution.activity]
    weights = (np.append(values[name].to_numpy(dtype=np.float64), 0.0)[row] for name in values.columns)
    sums = sum_up(evidence.instances, evidence.work, weights)
    return pd.DataFrame(dict(zip(values.columns, sums, strict=True)), copy=False)


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
            "all_cycles": launched["tensor_cycles"],
            "cycles": cycles,
            "unknown_cycles": cycles.where(flop.isna(), 0),
            "flop": flop.fillna(0),
            "ideal_ns": launched["tensor_ideal_ns"].fillna(0),
            "boost_ns": (flop / peak * 1e-3).fillna(0),
            "dram_bytes": launched["dram_read_bytes"] + launched["dram_write_bytes"],
            "dram_ns": launched["dram_ideal_ns"],
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
    # What a whole graph holds is unknown, and so is a share of it.
    kernel_ns = sums["kernel_ns"].where((sums["kernel_ns"] > 0) & (sums["graph_ns"] == 0))
    window = pd.Series(window_ns).where(window_ns > 0)
    return {
        "tensor_kernel_share_pct": 100 * sums["tensor_kernel_ns"] / kernel_ns,
        "unresolved_kernel_share_pct": 100 * sums["unresolved_ns"] / kernel_ns,
        "fitted_active_s": sums["active_ns"] * 1e-9,
        "fitted_cycles": sums["all_cycles"],
        **known,
        "tensor_tflops": known["tensor_flop"] / window * 1e-3,
        "tensor_peak_pct": 100 * sums["ideal_ns"].where(is_known) / window,
        "hfu_pct": _hfu(sums, known["tensor_flop"], window_ns),
        "dram_bytes": sums["dram_bytes"],
        "dram_pct": 100 * sums["dram_ns"] / window,
    }


def _hfu(sums: pd.DataFrame, flop: pd.Series, window_ns: Floats) -> pd.Series:
    """Hardware FLOP utilization, where nearly all FLOP have a peak; unknown where they are."""
    has_peaks = 100 * sums["peakless_flop"] <= LARGEST_UNCOVERED_PCT * flop
    return 100 * sums["boost_ns"].where(has_peaks) / pd.Series(window_ns, sums.index).where(window_ns > 0)


def known_flop(sums: pd.DataFrame) -> dict[str, pd.Series]:
    """FLOP as far as they are known, and the share of the cycles that have none.

    Args:
        sums: What ``values_of_launches`` gives, summed.
    """
    cycles = sums["cycles"]
    # Where there are no cycles, nothing is lacking; where they are unknown, so is what they lack.
    uncovered = (100 * sums["unknown_cycles"] / cycles.where(cycles > 0)).where(cycles != 0, 0.0)
    return {"tensor_flop": sums["flop"].where(uncovered < 100), "uncovered_cycles_pct": uncovered}
