"""The rows of a comparison: each quantity of each path on each GPU, with what it proves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import (
    FEWEST_INSTANCES,
    FEWEST_STEP_TIMES,
    Centers,
    find_means,
    find_medians,
)
from tcprof.analysis.steps.step_summary import time_followed_steps
from tcprof.analysis.time.range_metrics import time_of_instances
from tcprof.analysis.unprofiled import time_unprofiled_steps
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu
from tcprof.comparison.matching.sides import KEYS, Renaming, rename_paths
from tcprof.comparison.statistics.estimates import (
    ROUNDED_QUANTITIES,
    Deviations,
    Slack,
    estimate_within,
    rounding_of,
    run_deviations,
)
from tcprof.comparison.statistics.verdicts import (
    HIGHER,
    LOWER,
    NOT_JUDGED,
    Columns,
    Instances,
    RunEstimate,
    compare_runs,
    values_of_sides,
)
from tcprof.frames import COMPARISON, LARGEST_UNCOVERED_PCT, QUANTITIES, quantity_of

PEAK = "tensor_active_peak_pct"
# Further figures, which determine how much a run would differ. Awaited is the time under the GPU's work that the CPU
# spent within the range until that work had ended.
CONTEXT = ("activity_count", "awaited_ns")
MEASURED = (*(quantity.name for quantity in QUANTITIES if quantity.name != PEAK), *CONTEXT)
MEDIAN, MEAN = "median", "mean"
_FIND = {MEDIAN: find_medians, MEAN: find_means}
_VERDICTS = {MEDIAN: "verdict", MEAN: "mean_verdict"}
STEP_TIME, UNPROFILED_TIME = "step_ns", "unprofiled_step_ns"
_FEWEST = {STEP_TIME: FEWEST_STEP_TIMES}  # of others FEWEST_INSTANCES
_TIMES = (UNPROFILED_TIME, STEP_TIME, "gpu_window_ns", "host_ns")

ONE_SAMPLE = "the peak is one sample and has no interval"
TOO_FEW = f"an interval needs {FEWEST_INSTANCES} instances on each side, or several recordings"
WHOLE_GRAPHS = "CUDA graphs were recorded as a whole, so their kernels are unknown: record with --cuda-graph-trace node"
LOWER_BOUNDS = "a lower bound cannot be compared: FLOP of some kernels, or their use of Tensor Cores, is unknown"
LOST_SAMPLES = "a lower bound cannot be compared: samples were lost"
# These are unknown even if both sides have whole graphs; the others are comparable if both have them.
_HIDDEN_IN_GRAPHS = (
    *("kernel_count", "tensor_kernel_share_pct", "tensor_tflops", "hfu_pct", "useful_tflops", "mfu_pct", "dram_bytes"),
)
_UNLIKE_WITH_GRAPHS = ("kernel_ns", "idle_ns")


@dataclass(frozen=True)
class RunFigures:
    """The figures of one recording's instances, and, as one instance each, of the whole capture on each GPU."""

    key: Ints  # index of each instance's path key; those of a key are in order of time
    values: dict[str, Floats]  # for each name of ``MEASURED`` the instances' values; unknown is NaN
    peak_pct: Floats  # the highest sample of Tensor Active of each key
    present: Bools  # whether the recording has the key at all
    whole_graphs: Bools  # whether CUDA graphs recorded as a whole ran in its instances, whose kernels are not known
    missing_pct: dict[str, Floats]  # for each quantity and key the share, in percent, that its values lack
    centers: dict[str, dict[str, Centers]]  # medians and means of each key
    deviations: dict[str, Deviations]  # how much these are assumed to differ in another run
    tensor_source: str


_Sides = tuple[Sequence[RunFigures], Sequence[RunFigures]]


def measure(analysis: Analysis, keys: pd.DataFrame, renaming: Renaming) -> RunFigures:
    """Measure one recording by the path keys of ``tcprof.comparison.matching.sides.list_path_keys``."""
    index = pd.MultiIndex.from_frame(keys[KEYS])
    ranges = rename_paths(analysis.ranges, renaming)
    row_key = index.get_indexer(pd.MultiIndex.from_frame(ranges[KEYS]))
    captures = np.flatnonzero((ranges["depth"] == 0).to_numpy())
    instances = analysis.instances[~analysis.instances["left_out"]].sort_values("host_start_ns", kind="stable")
    figures = [_measure_instances(instances, _step_times(analysis, instances), analysis.window)]
    figures.append(_measure_captures(ranges.iloc[captures]))
    unprofiled = _list_unprofiled(analysis)
    figures.append(
        {name: np.full(len(unprofiled), np.nan) for name in MEASURED}
        | {UNPROFILED_TIME: unprofiled[UNPROFILED_TIME].to_numpy(np.float64)}
    )
    peak = np.full(len(keys), np.nan)
    np.fmax.at(peak, row_key, ranges[PEAK].to_numpy())
    keys_of = (_instance_keys(rows, analysis.paths, index, renaming) for rows in (instances, unprofiled))
    instance_key, unprofiled_key = keys_of
    key = np.concatenate([instance_key, row_key[captures], unprofiled_key])
    values = {name: np.concatenate([part[name] for part in figures]) for name in MEASURED}
    missing_pct = {quantity.name: np.zeros(len(keys)) for quantity in QUANTITIES}
    for quantity in QUANTITIES:
        missing_pct[quantity.name][row_key] = np.nan_to_num(quantity.column.missing_pct(ranges))
    period_ns = float((analysis.samples["end_ns"] - analysis.samples["start_ns"]).median())
    centers, deviations = {}, {}
    for statistic, find in _FIND.items():
        middle = {name: find(key, values[name], len(keys), _FEWEST.get(name, FEWEST_INSTANCES)) for name in MEASURED}
        medians = {**{name: center.value for name, center in middle.items()}, PEAK: peak}
        centers[statistic] = middle
        deviations[statistic] = run_deviations(
            medians, analysis.window, period_ns, rounded=analysis.tensor_source == "rounded"
        )
    present, hidden = np.isin(np.arange(len(keys)), row_key), _has_whole_graphs(analysis, keys, key, values)
    return RunFigures(key, values, peak, present, hidden, missing_pct, centers, deviations, analysis.tensor_source)


def _has_whole_graphs(analysis: Analysis, keys: pd.DataFrame, key: Ints, values: dict[str, Floats]) -> Bools:
    used = analysis.activities.loc[analysis.activities["kind"] == "graph", "gpu"].unique()
    hidden = (values["kernel_ns"] > 0) & np.isnan(values["tensor_kernel_share_pct"])
    has_graphs = np.zeros(len(keys), dtype=bool)
    has_graphs[key[hidden]] = True
    return np.asarray(has_graphs & keys["gpu"].isin(used).to_numpy())


def _instance_keys(instances: pd.DataFrame, paths: pd.DataFrame, index: pd.MultiIndex, renaming: Renaming) -> Ints:
    width = max(len(paths), 1)
    used, code = np.unique(instances["gpu"].to_numpy() * width + instances["path_id"].to_numpy(), return_inverse=True)
    renamed = rename_paths(paths, renaming).iloc[used % width]
    keys = pd.MultiIndex.from_arrays([used // width, renamed["domain"], renamed["path"], renamed["depth"]])
    return np.asarray(index.get_indexer(keys)[code], dtype=np.int64)


def _step_times(analysis: Analysis, instances: pd.DataFrame) -> "pd.Series[float]":
    """Return the step time of each instance that is a step."""
    steps, key = analysis.steps, ["gpu", "range"]
    gpus = steps["gpu"].unique()
    times = [time_followed_steps(steps, analysis.activities, gpu)[[*key, "step_ns"]] for gpu in gpus]
    if not times:
        return pd.Series(np.nan, instances.index)
    step_ns = pd.concat(times).set_index(key)["step_ns"]
    return step_ns.reindex(pd.MultiIndex.from_frame(instances[key])).set_axis(instances.index)


def _list_unprofiled(analysis: Analysis) -> pd.DataFrame:
    """List the unprofiled times of each GPU's steps, with the path that the recorded ones have."""
    rows = [pd.DataFrame({"gpu": [], "path_id": [], UNPROFILED_TIME: []}).astype({"gpu": int, "path_id": int})]
    for gpu in analysis.steps["gpu"].unique():
        times = time_unprofiled_steps(analysis, gpu)
        if len(times):
            steps = rows_of_gpu(analysis.instances, gpu)
            path = steps.loc[steps["range"].isin(analysis.counted_steps(gpu)["range"]), "path_id"].mode().iloc[0]
            rows.append(pd.DataFrame({"gpu": gpu, "path_id": path, UNPROFILED_TIME: times}))
    return pd.concat(rows, ignore_index=True)


def _measure_instances(instances: pd.DataFrame, steps: "pd.Series[float]", over: str) -> dict[str, Floats]:
    window = instances["gpu_end_ns"] - instances["gpu_start_ns"]
    waits = instances["gpu_end_ns"] <= instances["host_end_ns"]
    kernel_ns = instances["kernel_ns"]
    host = instances["host_end_ns"] - instances["host_start_ns"]
    length = time_of_instances(instances, over)
    columns = {
        "step_ns": steps,
        UNPROFILED_TIME: 0 * steps + np.nan,
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
    return {name: column.to_numpy(np.float64) for name, column in columns.items()}


def _measure_captures(rows: pd.DataFrame) -> dict[str, Floats]:
    columns = {name: rows[name] for name in MEASURED if name in rows.columns}
    columns |= {"idle_ns": rows["gpu_window_ns"] - rows["busy_ns"], "awaited_ns": 0 * rows["host_ns"]}
    columns |= dict.fromkeys((STEP_TIME, UNPROFILED_TIME), pd.Series(np.nan, rows.index))
    columns["useful_tflops"] = 1e-3 * rows["useful_flop"] / rows["window_ns"].where(rows["window_ns"] > 0)
    return {name: column.to_numpy(np.float64) for name, column in columns.items()}


def of_means(row: Mapping[Any, Any] | pd.Series) -> dict[Any, Any]:
    """Replace the medians in a row of ``tcprof.frames.COMPARISON`` by its means."""
    row = dict(row)
    return {**row, **{name: row[f"mean_{name}"] for name in row if f"mean_{name}" in row}}


def judged_time(rows: pd.DataFrame) -> pd.Series:
    """Return the row of the judged time: the unprofiled step, else the recorded one, the GPU window, the CPU's."""
    times = [rows[rows["quantity"] == name].iloc[0] for name in _TIMES]
    return next((row for row in times if pd.notna([row["base"], row["new"]]).all()), times[-1])


def sure_statistics(row: Mapping[Any, Any] | pd.Series) -> tuple[str, ...]:
    """Return which of median and mean show a difference."""
    return tuple(name for name, column in _VERDICTS.items() if row[column] in (HIGHER, LOWER))


def list_rows(
    base: Sequence[Analysis], new: Sequence[Analysis], keys: pd.DataFrame, renamings: tuple[Renaming, Renaming]
) -> pd.DataFrame:
    """List all quantities of each path key, see ``tcprof.frames.COMPARISON``."""
    sides: _Sides = (
        [measure(analysis, keys, renamings[0]) for analysis in base],
        [measure(analysis, keys, renamings[1]) for analysis in new],
    )
    counts = {}
    for name, side in zip(("base", "new"), sides, strict=True):
        present = np.stack([run.present for run in side])
        instances = np.stack([run.centers[MEDIAN]["host_ns"].count for run in side]).sum(axis=0)
        counts[f"{name}_instance_count"] = np.where(present.any(axis=0), instances, np.nan)
        counts[f"{name}_recording_count"] = present.sum(axis=0)
    columns = {quantity.name: {**counts, **_compare(quantity.name, sides)} for quantity in QUANTITIES}
    unknown = np.full(len(keys), np.nan)
    cells = {
        name: np.column_stack([part.get(name, unknown) for part in columns.values()]).ravel()
        for name in dict.fromkeys(name for part in columns.values() for name in part)
    }
    repeated = {name: column.repeat(len(columns)).array for name, column in keys.items()}
    quantities = np.tile(np.array(list(columns), dtype=object), len(keys))
    return COMPARISON.conform(pd.DataFrame({**repeated, "quantity": quantities, **cells}))


def _compare(quantity: str, sides: _Sides) -> Columns:
    if quantity == PEAK:
        peaks = [pd.DataFrame([run.peak_pct for run in side]).median().to_numpy(np.float64) for side in sides]
        medians: Columns = {**values_of_sides(*peaks), "verdict": np.full(len(peaks[0]), NOT_JUDGED, dtype=object)}
        is_known = ~np.isnan(peaks[0] + peaks[1])
        marks = dict.fromkeys(("base_lower_bound", "new_lower_bound"), np.zeros_like(is_known))
        reason = np.where(is_known, ONE_SAMPLE, "").astype(object)
        return {**medians, **_mean_columns(medians), **marks, "not_judged": reason}
    in_graphs = _hidden_in_graphs(quantity, sides)
    bounds = [missing > LARGEST_UNCOVERED_PCT for missing in _missing_pct(quantity, sides)]
    hidden = in_graphs | bounds[0] | bounds[1]
    medians = _compare_centers(quantity, MEDIAN, sides, hidden)
    reason = np.where(pd.isna(medians["p_value"]) & ~pd.isna(medians["difference"]), TOO_FEW, "")
    reason = np.where(medians["verdict"] == NOT_JUDGED, reason, "")
    why_bound = LOST_SAMPLES if quantity_of(quantity).column.covered else LOWER_BOUNDS
    reason = np.where(in_graphs, WHOLE_GRAPHS, np.where(hidden, why_bound, reason))
    means = _compare_centers(quantity, MEAN, sides, hidden)
    for columns in (medians, means):
        # The distance to a lower bound is unknown.
        columns |= {name: np.where(bounds[0] | bounds[1], np.nan, columns[name]) for name in ("difference", "ratio")}
    marks = {"base_lower_bound": bounds[0], "new_lower_bound": bounds[1]}
    return {**medians, **_mean_columns(means), **marks, "not_judged": reason.astype(object)}


def _mean_columns(columns: Columns) -> Columns:
    return {f"mean_{name}": column for name, column in columns.items()}


def _hidden_in_graphs(quantity: str, sides: _Sides) -> Bools:
    """Find where CUDA graphs recorded as a whole hide what the quantity counts."""
    base, new = (np.any([run.whole_graphs for run in side], axis=0) for side in sides)
    if quantity in _HIDDEN_IN_GRAPHS:
        return np.asarray(base | new)
    return np.asarray(base != new) if quantity in _UNLIKE_WITH_GRAPHS else np.zeros(len(base), dtype=bool)


def _missing_pct(quantity: str, sides: _Sides) -> list[Floats]:
    """Return for each side the largest share, in percent, that a recording's value missing."""
    return [np.max([run.missing_pct[quantity] for run in side], axis=0) for side in sides]


def _compare_centers(quantity: str, statistic: str, sides: _Sides, hidden: Bools) -> Columns:
    base, new = (
        [RunEstimate(run.centers[statistic][quantity], run.deviations[statistic][quantity]) for run in side]
        for side in sides
    )
    slacks = _bound_slacks(quantity, statistic, sides)
    instances = _list_instances(quantity, sides[0]), _list_instances(quantity, sides[1])
    columns = compare_runs((base, new), slacks, instances if statistic == MEDIAN else None)
    unmasked = {name: columns.pop(name) for name in ("base", "new", "difference", "ratio")}
    verdict = np.where(hidden, NOT_JUDGED, columns.pop("verdict"))
    masked = {name: np.where(hidden, np.nan, column) for name, column in columns.items()}
    return {**unmasked, **masked, "verdict": verdict}


def _bound_slacks(quantity: str, statistic: str, sides: _Sides) -> tuple[Slack, Slack] | None:
    """Bound what lost samples may have done to each side, and rounding where only one has exact cycles."""
    sources = [{run.tensor_source for run in side} - {"none"} for side in sides]
    differ = quantity in ROUNDED_QUANTITIES and sources[0] != sources[1] and all(sources)
    covered = bool(quantity_of(quantity).column.covered)
    if not (differ or covered):
        return None
    slacks = []
    for side, kinds, missing in zip(sides, sources, _missing_pct(quantity, sides), strict=True):
        value, mean_pct = (
            np.nan_to_num(estimate_within([run.centers[statistic][name] for run in side]).value)
            for name in (quantity, ROUNDED_QUANTITIES[0])
        )
        none = np.zeros_like(value)
        below, above = rounding_of(value, mean_pct) if differ and "rounded" in kinds else (none, none)
        # What counts as the whole may be missing all the same, and on one side alone.
        lost = value * missing / np.maximum(100 - missing, 1) if covered else none
        slacks.append((below, above + lost))
    return slacks[0], slacks[1]


def _list_instances(quantity: str, side: Sequence[RunFigures]) -> Instances:
    values = [run.values[quantity] for run in side]
    return np.concatenate([run.key for run in side]), np.concatenate(values)
