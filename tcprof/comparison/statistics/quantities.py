"""What is compared: figures of each instance of a range, without those of the warm-up."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.time.range_metrics import time_of_instances
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.matching.places import KEYS, Renaming, rename_paths
from tcprof.frames import QUANTITIES

PEAK = "tensor_active_peak_pct"
# Further figures, which determine how much a run would differ. Awaited is the time under the GPU's work that the CPU
# spent within the range until that work had ended.
CONTEXT = ("activity_count", "awaited_ns")
MEASURED = (*(quantity.name for quantity in QUANTITIES if quantity.name != PEAK), *CONTEXT)


@dataclass(frozen=True)
class Measured:
    """The figures of one recording's instances, and, as one instance each, of the whole capture on each GPU."""

    place: Ints  # number of the place of each instance; those of a place are in order of time
    values: dict[str, Floats]  # for each name of ``MEASURED`` the instances' values; unknown is NaN
    peak_pct: Floats  # the highest sample of Tensor Active at each place
    present: Bools  # whether the recording has the place at all
    whole_graphs: Bools  # whether CUDA graphs recorded as a whole ran in its instances, whose kernels are not known
    lacks_pct: dict[str, Floats]  # for each quantity the share, in percent, of what is not in its values at each place


def measure(analysis: Analysis, places: pd.DataFrame, renaming: Renaming) -> Measured:
    """The figures of one recording at ``tcprof.comparison.matching.places.list_places``."""
    index = pd.MultiIndex.from_frame(places[KEYS])
    ranges = rename_paths(analysis.ranges, renaming)
    row_place = index.get_indexer(pd.MultiIndex.from_frame(ranges[KEYS]))
    captures = np.flatnonzero((ranges["depth"] == 0).to_numpy())
    instances = analysis.instances[~analysis.instances["warm_up"]].sort_values("host_start_ns", kind="stable")
    figures = [_of_instances(instances, analysis.window), _of_captures(ranges.iloc[captures])]
    peak = np.full(len(places), np.nan)
    np.fmax.at(peak, row_place, ranges[PEAK].to_numpy())
    place = np.concatenate([_instance_places(instances, analysis.paths, index, renaming), row_place[captures]])
    values = {name: np.concatenate([part[name] for part in figures]) for name in MEASURED}
    lacking = {quantity.name: np.zeros(len(places)) for quantity in QUANTITIES}
    for quantity in QUANTITIES:
        lacking[quantity.name][row_place] = np.nan_to_num(quantity.column.lacks_pct(ranges))
    return Measured(
        place,
        values,
        peak,
        np.isin(np.arange(len(places)), row_place),
        _has_whole_graphs(analysis, places, place, values),
        lacking,
    )


def _has_whole_graphs(analysis: Analysis, places: pd.DataFrame, place: Ints, values: dict[str, Floats]) -> Bools:
    """Whether graphs recorded as a whole ran at each place: there the share of tensor kernels is unknown."""
    used = analysis.activities.loc[analysis.activities["kind"] == "graph", "gpu"].unique()
    hidden = (values["kernel_ns"] > 0) & np.isnan(values["tensor_kernel_share_pct"])
    found = np.zeros(len(places), dtype=bool)
    found[place[hidden]] = True
    return np.asarray(found & places["gpu"].isin(used).to_numpy())


def _instance_places(instances: pd.DataFrame, paths: pd.DataFrame, index: pd.MultiIndex, renaming: Renaming) -> Ints:
    """The place of each instance: looked up once for each path on each GPU."""
    width = max(len(paths), 1)
    used, code = np.unique(instances["gpu"].to_numpy() * width + instances["path_id"].to_numpy(), return_inverse=True)
    of_path = rename_paths(paths, renaming).iloc[used % width]
    wanted = pd.MultiIndex.from_arrays([used // width, of_path["domain"], of_path["path"], of_path["depth"]])
    return np.asarray(index.get_indexer(wanted)[code], dtype=np.int64)


def _of_instances(instances: pd.DataFrame, over: str) -> dict[str, Floats]:
    window = instances["gpu_end_ns"] - instances["gpu_start_ns"]
    waits = instances["gpu_end_ns"] <= instances["host_end_ns"]
    kernel_ns = instances["kernel_ns"]
    host = instances["host_end_ns"] - instances["host_start_ns"]
    length = time_of_instances(instances, over)
    found = {
        "host_ns": host,
        "gpu_window_ns": window,
        "kernel_ns": kernel_ns,
        "idle_ns": window - instances["busy_ns"],
        "kernel_count": instances["kernel_count"],
        "tensor_active_mean_pct": instances["tensor_active_mean_pct"],
        "tensor_active_s": instances["tensor_active_s"],
        "tensor_cycles": instances["tensor_cycles"],
        "tensor_kernel_share_pct": 100 * instances["tensor_kernel_ns"] / kernel_ns.where(kernel_ns > 0),
        "tensor_tflops": 1e-3 * instances["tensor_flop"] / length,
        "hfu_pct": instances["hfu_pct"],
        "useful_tflops": 1e-3 * instances["useful_flop"] / length,
        "mfu_pct": instances["mfu_pct"],
        "dram_bytes": instances["dram_bytes"],
        "activity_count": instances["activity_count"],
        "awaited_ns": instances["busy_ns"].where(waits, 0),
    }
    return {name: column.to_numpy(np.float64) for name, column in found.items()}


def _of_captures(rows: pd.DataFrame) -> dict[str, Floats]:
    found = {name: rows[name] for name in MEASURED if name in rows.columns}
    found |= {"idle_ns": rows["gpu_window_ns"] - rows["busy_ns"], "awaited_ns": 0 * rows["host_ns"]}
    found["useful_tflops"] = 1e-3 * rows["useful_flop"] / rows["window_ns"].where(rows["window_ns"] > 0)
    return {name: column.to_numpy(np.float64) for name, column in found.items()}
