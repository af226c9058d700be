"""Figures of ranges from the fit: the share of tensor kernels, tensor-active time, and FLOP, executed and useful."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.verdicts import could_be_tensor
from tcprof.analysis.ranges.instances import Evidence, number_groups, prepare_sums
from tcprof.arrays import Bools, Floats, Ints
from tcprof.frames import LARGEST_UNCOVERED_PCT

_OF_INSTANCES = frozenset(
    {
        *("kernel_ns", "unseen_ns", "tensor_kernel_ns", "unresolved_ns", "graph_ns", "dram_bytes"),
        *("cycles", "unknown_cycles", "flop", "boost_ns", "peakless_flop"),
        *("useful_flop", "useful_unknown_ns", "useful_known_ns", "useful_boost_ns", "useful_peakless_flop"),
    }
)


def add_rates(
    ranges: pd.DataFrame, instances: pd.DataFrame, launches: pd.DataFrame, kernels: pd.DataFrame, evidence: Evidence
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add the columns from the fit to ranges, in order of GPU, capture and paths, and to instances."""
    values = values_of_launches(launches, kernels, evidence.activities["kind"])
    has_useful = bool(launches["useful_flop"].notna().any())
    if has_useful:
        useful = useful_of_launches(launches, kernels).drop(columns="useful_tensor_flop")
        values = chain(values, ((str(name), column.to_numpy(np.float64)) for name, column in useful.items()))
    group, _ = number_groups(evidence.instances, evidence.hierarchy.paths)
    by_range, by_instance = sum_launches(ranges, launches, evidence, group, values)
    # Length of the windows that the work lies in; unknown where some end before their work does.
    window: Floats = ranges["window_ns"].to_numpy(dtype=np.float64, copy=True)
    late = group[end_before_work(evidence.instances, evidence.window)]
    window[np.flatnonzero((ranges["depth"] > 0).to_numpy())[np.unique(late[late >= 0])]] = np.nan
    instance_window = time_of_instances(instances, evidence.window)
    rates, flop = range_rates(by_range, window), sum_known_flop(by_instance)
    instance_rates = {
        **flop,
        "dram_bytes": by_instance["dram_bytes"].where(are_seen(by_instance)),
        "hfu_pct": _hfu(by_instance, flop["tensor_flop"], instance_window),
    }
    if has_useful:
        rates |= rate_useful(by_range, window)
        instance_rates |= rate_useful(by_instance, instance_window)
    # Without any traced kernel of a GPU, a sum over nothing is unknown, not 0.
    traced, traced_instances = (rows["gpu"].isin(launches["gpu"]).to_numpy() for rows in (ranges, instances))
    counts = traced & (ranges["instance_count"] > ranges["slow_count"]).to_numpy()  # not what is left out whole
    times = by_instance[["tensor_kernel_ns", "unresolved_ns"]].where(by_instance["graph_ns"] == 0)
    return ranges.assign(**{name: column.where(counts).to_numpy() for name, column in rates.items()}), instances.assign(
        tensor_kernel_ns=times["tensor_kernel_ns"].to_numpy(),  # unknown where whole graphs ran
        unresolved_kernel_ns=times["unresolved_ns"].to_numpy(),
        **{name: column.where(traced_instances).to_numpy() for name, column in instance_rates.items()},
    )


def time_of_instances(instances: pd.DataFrame, window: str) -> Floats:
    """Return the length of each instance's window; unknown where it ends before its work does."""
    length = {
        "host": instances["host_end_ns"] - instances["host_start_ns"],
        "gpu": instances["gpu_end_ns"] - instances["gpu_start_ns"],
        "busy": instances["busy_ns"],
    }[window]
    return np.asarray(length.where(~end_before_work(instances, window) & (length > 0)), dtype=np.float64)


def end_before_work(instances: pd.DataFrame, window: str) -> Bools:
    """Find the instances whose windows end before their work on the GPU: only those of the host may."""
    return np.asarray((instances["gpu_end_ns"] > instances["host_end_ns"]) & (window == "host"))


def sum_launches(
    ranges: pd.DataFrame, launched: pd.DataFrame, evidence: Evidence, group: Ints, values: Iterable[tuple[str, Floats]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum the launches' values, one by one as they are many, over each row of the ranges and each instance."""
    is_capture = (ranges["depth"] == 0).to_numpy()
    row_of_path, row_of_gpu = np.flatnonzero(~is_capture), np.flatnonzero(is_capture)
    captured = pd.Series(row_of_gpu, index=ranges["gpu"].to_numpy()[row_of_gpu])
    capture_row = captured[launched["gpu"].to_numpy()].to_numpy()
    launch_row = np.full(len(evidence.activities), len(launched), dtype=np.int64)  # what is no launch adds nothing
    launch_row[launched["activity"].to_numpy()] = np.arange(len(launched))
    launch_row = launch_row[evidence.attribution.activity]
    add_up = prepare_sums(evidence.instances, evidence.work)
    totals: dict[str, Floats] = {}
    sums: dict[str, Floats] = {}
    counted = group >= 0
    for name, value in values:
        totals[name] = np.bincount(capture_row, value, minlength=len(ranges)).astype(np.float64)
        of_instance: Floats = add_up(np.append(value, 0.0)[launch_row])
        totals[name][row_of_path] = np.bincount(group[counted], of_instance[counted], minlength=len(row_of_path))
        if name in _OF_INSTANCES:
            sums[name] = of_instance
    return pd.DataFrame(totals), pd.DataFrame(sums, copy=False)


def values_of_launches(launched: pd.DataFrame, kernels: pd.DataFrame, kinds: pd.Series) -> Iterator[tuple[str, Floats]]:
    """Yield what each launch adds to a range: times, tensor cycles and FLOP, one after the other."""
    is_tensor, could_be, is_graph = tensor_launches(launched, kernels, kinds)
    peak = kernels["peak_tflops"].to_numpy(dtype=np.float64)[launched["kernel"].to_numpy()]
    # What no sample shows adds nothing but its time, see are_seen.
    unseen = launched["tensor_active_ns"].isna().to_numpy()
    active, all_cycles, *bytes_moved, dram_ns = (
        np.where(unseen, 0.0, launched[name])
        for name in ("tensor_active_ns", "tensor_cycles", "dram_read_bytes", "dram_write_bytes", "dram_ideal_ns")
    )
    duration, flop = (launched[name].to_numpy(np.float64) for name in ("duration_ns", "tensor_flop"))
    cycles, is_unknown = np.where(is_tensor | could_be | is_graph, all_cycles, 0), np.isnan(flop)
    yield "kernel_ns", duration
    yield "unseen_ns", np.where(unseen, duration, 0)
    for name, chosen in (("tensor_kernel_ns", is_tensor), ("unresolved_ns", could_be), ("graph_ns", is_graph)):
        yield name, np.where(chosen, duration, 0)
    yield "active_ns", active
    yield "all_cycles", all_cycles
    yield "cycles", cycles
    yield "unknown_cycles", np.where(is_unknown, cycles, 0)
    yield "flop", np.where(is_unknown, 0, flop)
    yield "ideal_ns", launched["tensor_ideal_ns"].fillna(0).to_numpy()
    boost = flop / peak * 1e-3
    yield "boost_ns", np.where(np.isnan(boost), 0, boost)
    yield "dram_bytes", np.sum(bytes_moved, axis=0)
    yield "dram_ns", dram_ns
    yield "peakless_flop", np.where(np.isnan(peak) & ~is_unknown, flop, 0)


def tensor_launches(launched: pd.DataFrame, kernels: pd.DataFrame, kinds: pd.Series) -> tuple[Bools, Bools, Bools]:
    """Find the launches of tensor kernels, of what could be such, and of whole graphs, which may hold some."""
    of_kernel = launched["kernel"].to_numpy()
    is_graph = (kinds == "graph").to_numpy()[launched["activity"].to_numpy()]
    is_tensor = kernels["tensor_kernel"].to_numpy(dtype=bool)[of_kernel]
    return is_tensor, could_be_tensor(kernels).to_numpy(dtype=bool)[of_kernel] & ~is_graph, is_graph


def range_rates(sums: pd.DataFrame, window_ns: Floats) -> dict[str, pd.Series]:
    """Compute the columns of ``tcprof.frames.RANGES`` from the fit, from summed ``values_of_launches``."""
    flop = sum_known_flop(sums)
    is_known, is_seen = flop["tensor_flop"].notna(), are_seen(sums)
    # What a whole graph holds is unknown, and so is a share of it.
    kernel_ns = sums["kernel_ns"].where((sums["kernel_ns"] > 0) & (sums["graph_ns"] == 0))
    window = pd.Series(window_ns).where(window_ns > 0)
    return {
        "tensor_kernel_share_pct": 100 * sums["tensor_kernel_ns"] / kernel_ns,
        "unresolved_kernel_share_pct": 100 * sums["unresolved_ns"] / kernel_ns,
        "fitted_active_s": sums["active_ns"].where(is_seen) * 1e-9,
        "fitted_cycles": sums["all_cycles"].where(is_seen),
        **flop,
        "tensor_tflops": flop["tensor_flop"] / window * 1e-3,
        "tensor_peak_pct": 100 * sums["ideal_ns"].where(is_known) / window,
        "hfu_pct": _hfu(sums, flop["tensor_flop"], window_ns),
        "dram_bytes": sums["dram_bytes"].where(is_seen),
        # Reads and writes are fitted one by one; where something untraced ran beside, they are too much together.
        "dram_pct": (100 * sums["dram_ns"].where(is_seen) / window).clip(upper=100),
    }


def are_seen(sums: pd.DataFrame) -> pd.Series:
    """Find where samples show nearly all kernels, by their time: what the others did is unknown, not 0."""
    return 100 * sums["unseen_ns"] <= LARGEST_UNCOVERED_PCT * sums["kernel_ns"]


def _hfu(sums: pd.DataFrame, flop: pd.Series, window_ns: Floats) -> pd.Series:
    """Compute hardware FLOP utilization where nearly all FLOP have a peak; unknown where they are."""
    has_peaks = 100 * sums["peakless_flop"] <= LARGEST_UNCOVERED_PCT * flop
    return 100 * sums["boost_ns"].where(has_peaks) / pd.Series(window_ns, sums.index).where(window_ns > 0)


def sum_known_flop(sums: pd.DataFrame) -> dict[str, pd.Series]:
    """Sum the known FLOP, and the share of the cycles without."""
    cycles = sums["cycles"]
    # Without cycles nothing is uncovered; of unknown cycles that is unknown.
    uncovered = (100 * sums["unknown_cycles"] / cycles.where(cycles > 0)).where(cycles != 0, 0.0).where(are_seen(sums))
    flop = sums["flop"].where(uncovered < 100)
    return {"tensor_flop": flop, "uncovered_cycles_pct": uncovered}


def useful_of_launches(launched: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """Return what each launch adds to useful FLOP, to those of tensor kernels, and to unknown time."""
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
    """Compute useful FLOP and their share of a window's peak, where known, from summed ``useful_of_launches``."""
    unknown = sums["useful_unknown_ns"]
    is_whole = 100 * unknown <= LARGEST_UNCOVERED_PCT * (unknown + sums["useful_known_ns"])
    flop = sums["useful_flop"].where(is_whole)
    has_peaks = 100 * sums["useful_peakless_flop"] <= LARGEST_UNCOVERED_PCT * flop
    window = pd.Series(window_ns, sums.index).where(window_ns > 0)
    return {"useful_flop": flop, "mfu_pct": 100 * sums["useful_boost_ns"].where(has_peaks) / window}
