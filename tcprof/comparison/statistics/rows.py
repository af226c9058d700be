"""The rows of a comparison: each quantity at each place, with what it proves."""

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
from tcprof.arrays import Bools, Floats, Ints
from tcprof.comparison.matching.places import KEYS, Renaming, rename_paths
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
    Known,
    compare_known,
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
STEP_TIME = "step_ns"
_FEWEST = {STEP_TIME: FEWEST_STEP_TIMES}  # of others FEWEST_INSTANCES
_TIMES = (STEP_TIME, "gpu_window_ns", "host_ns")

ONE_SAMPLE = "the peak is one sample and has no interval"
TOO_FEW = f"an interval needs {FEWEST_INSTANCES} instances on each side, or several recordings"
WHOLE_GRAPHS = (
    "CUDA graphs were recorded as a whole, so the kernels in them are not known: record with --cuda-graph-trace node"
)
LOWER_BOUNDS = "a lower bound cannot be compared: FLOP of some kernels, or their use of Tensor Cores, is unknown"
LOST_SAMPLES = "a lower bound cannot be compared: samples were lost"
# These are unknown even if both sides have whole graphs; the others are comparable if both have them.
_HIDDEN_IN_GRAPHS = (
    *("kernel_count", "tensor_kernel_share_pct", "tensor_tflops", "hfu_pct", "useful_tflops", "mfu_pct", "dram_bytes"),
)
_UNLIKE_WITH_GRAPHS = ("kernel_ns", "idle_ns")


@dataclass(frozen=True)
class Measured:
    """The figures of one recording's instances, and, as one instance each, of the whole capture on each GPU."""

    place: Ints  # number of the place of each instance; those of a place are in order of time
    values: dict[str, Floats]  # for each name of ``MEASURED`` the instances' values; unknown is NaN
    peak_pct: Floats  # the highest sample of Tensor Active at each place
    present: Bools  # whether the recording has the place at all
    whole_graphs: Bools  # whether CUDA graphs recorded as a whole ran in its instances, whose kernels are not known
    lacks_pct: dict[str, Floats]  # for each quantity the share, in percent, of what is not in its values at each place
    centers: dict[str, dict[str, Centers]]  # medians and means at each place
    deviations: dict[str, Deviations]  # how much these are assumed to differ in another run
    tensor_source: str


_Sides = tuple[Sequence[Measured], Sequence[Measured]]


def measure(analysis: Analysis, places: pd.DataFrame, renaming: Renaming) -> Measured:
    """The figures of one recording at ``tcprof.comparison.matching.places.list_places``."""
    index = pd.MultiIndex.from_frame(places[KEYS])
    ranges = rename_paths(analysis.ranges, renaming)
    row_place = index.get_indexer(pd.MultiIndex.from_frame(ranges[KEYS]))
    captures = np.flatnonzero((ranges["depth"] == 0).to_numpy())
    instances = analysis.instances[~analysis.instances["left_out"]].sort_values("host_start_ns", kind="stable")
    figures = [_of_instances(instances, _step_times(analysis, instances), analysis.window)]
    figures.append(_of_captures(ranges.iloc[captures]))
    peak = np.full(len(places), np.nan)
    np.fmax.at(peak, row_place, ranges[PEAK].to_numpy())
    place = np.concatenate([_instance_places(instances, analysis.paths, index, renaming), row_place[captures]])
    values = {name: np.concatenate([part[name] for part in figures]) for name in MEASURED}
    lacking = {quantity.name: np.zeros(len(places)) for quantity in QUANTITIES}
    for quantity in QUANTITIES:
        lacking[quantity.name][row_place] = np.nan_to_num(quantity.column.lacks_pct(ranges))
    period_ns = float((analysis.samples["end_ns"] - analysis.samples["start_ns"]).median())
    centers, deviations = {}, {}
    for statistic, find in _FIND.items():
        found = {name: find(place, values[name], len(places), _FEWEST.get(name, FEWEST_INSTANCES)) for name in MEASURED}
        middle = {**{name: center.value for name, center in found.items()}, PEAK: peak}
        centers[statistic] = found
        deviations[statistic] = run_deviations(
            middle, analysis.window, period_ns, rounded=analysis.tensor_source == "rounded"
        )
    present, hidden = np.isin(np.arange(len(places)), row_place), _has_whole_graphs(analysis, places, place, values)
    return Measured(place, values, peak, present, hidden, lacking, centers, deviations, analysis.tensor_source)


def _has_whole_graphs(analysis: Analysis, places: pd.DataFrame, place: Ints, values: dict[str, Floats]) -> Bools:
    used = analysis.activities.loc[analysis.activities["kind"] == "graph", "gpu"].unique()
    hidden = (values["kernel_ns"] > 0) & np.isnan(values["tensor_kernel_share_pct"])
    found = np.zeros(len(places), dtype=bool)
    found[place[hidden]] = True
    return np.asarray(found & places["gpu"].isin(used).to_numpy())


def _instance_places(instances: pd.DataFrame, paths: pd.DataFrame, index: pd.MultiIndex, renaming: Renaming) -> Ints:
    width = max(len(paths), 1)
    used, code = np.unique(instances["gpu"].to_numpy() * width + instances["path_id"].to_numpy(), return_inverse=True)
    of_path = rename_paths(paths, renaming).iloc[used % width]
    wanted = pd.MultiIndex.from_arrays([used // width, of_path["domain"], of_path["path"], of_path["depth"]])
    return np.asarray(index.get_indexer(wanted)[code], dtype=np.int64)


def _step_times(analysis: Analysis, instances: pd.DataFrame) -> "pd.Series[float]":
    """The step time of each instance that is a step."""
    steps, key = analysis.steps, ["gpu", "range"]
    gpus = steps["gpu"].unique()
    times = [time_followed_steps(steps, analysis.activities, gpu)[[*key, "step_ns"]] for gpu in gpus]
    if not times:
        return pd.Series(np.nan, instances.index)
    known = pd.concat(times).set_index(key)["step_ns"]
    return known.reindex(pd.MultiIndex.from_frame(instances[key])).set_axis(instances.index)


def _of_instances(instances: pd.DataFrame, steps: "pd.Series[float]", over: str) -> dict[str, Floats]:
    window = instances["gpu_end_ns"] - instances["gpu_start_ns"]
    waits = instances["gpu_end_ns"] <= instances["host_end_ns"]
    kernel_ns = instances["kernel_ns"]
    host = instances["host_end_ns"] - instances["host_start_ns"]
    length = time_of_instances(instances, over)
    found = {
        "step_ns": steps,
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
    found["step_ns"] = pd.Series(np.nan, rows.index)
    found["useful_tflops"] = 1e-3 * rows["useful_flop"] / rows["window_ns"].where(rows["window_ns"] > 0)
    return {name: column.to_numpy(np.float64) for name, column in found.items()}


def of_means(row: Mapping[Any, Any] | pd.Series) -> dict[Any, Any]:
    """A row of ``tcprof.frames.COMPARISON`` with the figures of means in place of those of medians."""
    row = dict(row)
    return {**row, **{name: row[f"mean_{name}"] for name in row if f"mean_{name}" in row}}


def judged_time(rows: pd.DataFrame) -> pd.Series:
    """The row of the time that verdicts and gates judge, of all rows of a place.

    It is that of the step time; where a side has none of the GPU window, or else of the time on the CPU.
    """
    times = [rows[rows["quantity"] == name].iloc[0] for name in _TIMES]
    return next((row for row in times if pd.notna([row["base"], row["new"]]).all()), times[-1])


def sure_statistics(row: Mapping[Any, Any] | pd.Series) -> tuple[str, ...]:
    """Which of median and mean show a difference."""
    return tuple(name for name, column in _VERDICTS.items() if row[column] in (HIGHER, LOWER))


def list_rows(
    base: Sequence[Analysis], new: Sequence[Analysis], places: pd.DataFrame, renamings: tuple[Renaming, Renaming]
) -> pd.DataFrame:
    """All quantities at each place in turn, see ``tcprof.frames.COMPARISON``."""
    sides: _Sides = (
        [measure(analysis, places, renamings[0]) for analysis in base],
        [measure(analysis, places, renamings[1]) for analysis in new],
    )
    counts = {}
    for name, side in zip(("base", "new"), sides, strict=True):
        present = np.stack([each.present for each in side])
        instances = np.stack([each.centers[MEDIAN]["host_ns"].count for each in side]).sum(axis=0)
        counts[f"{name}_instance_count"] = np.where(present.any(axis=0), instances, np.nan)
        counts[f"{name}_recording_count"] = present.sum(axis=0)
    found = {quantity.name: {**counts, **_compare(quantity.name, sides)} for quantity in QUANTITIES}
    unknown = np.full(len(places), np.nan)
    cells = {
        column: np.column_stack([each.get(column, unknown) for each in found.values()]).ravel()
        for column in dict.fromkeys(column for each in found.values() for column in each)
    }
    repeated = {name: column.repeat(len(found)).array for name, column in places.items()}
    quantities = np.tile(np.array(list(found), dtype=object), len(places))
    return COMPARISON.conform(pd.DataFrame({**repeated, "quantity": quantities, **cells}))


def _compare(quantity: str, sides: _Sides) -> Columns:
    if quantity == PEAK:
        peaks = [pd.DataFrame([each.peak_pct for each in side]).median().to_numpy(np.float64) for side in sides]
        told: Columns = {**values_of_sides(*peaks), "verdict": np.full(len(peaks[0]), NOT_JUDGED, dtype=object)}
        known = ~np.isnan(peaks[0] + peaks[1])
        marks = dict.fromkeys(("base_lower_bound", "new_lower_bound"), np.zeros(len(known), dtype=bool))
        return {**told, **_named_means(told), **marks, "not_judged": np.where(known, ONE_SAMPLE, "").astype(object)}
    in_graphs = _hidden_in_graphs(quantity, sides)
    bounds = [lacks > LARGEST_UNCOVERED_PCT for lacks in _lacking(quantity, sides)]
    hidden = in_graphs | bounds[0] | bounds[1]
    told = _compare_centers(quantity, MEDIAN, sides, hidden)
    reason = np.where(pd.isna(told["p_value"]) & ~pd.isna(told["difference"]), TOO_FEW, "")
    reason = np.where(told["verdict"] == NOT_JUDGED, reason, "")
    why_bound = LOST_SAMPLES if quantity_of(quantity).column.covered else LOWER_BOUNDS
    reason = np.where(in_graphs, WHOLE_GRAPHS, np.where(hidden, why_bound, reason))
    means = _compare_centers(quantity, MEAN, sides, hidden)
    for columns in (told, means):
        # How far apart two values are of which one may be larger is not known either.
        columns.update(
            {name: np.where(bounds[0] | bounds[1], np.nan, columns[name]) for name in ("difference", "ratio")}
        )
    marks = {"base_lower_bound": bounds[0], "new_lower_bound": bounds[1]}
    return {**told, **_named_means(means), **marks, "not_judged": reason.astype(object)}


def _named_means(columns: Columns) -> Columns:
    return {f"mean_{name}": column for name, column in columns.items()}


def _hidden_in_graphs(quantity: str, sides: _Sides) -> Bools:
    """Where CUDA graphs recorded as a whole hide what the quantity counts."""
    base, new = (np.any([each.whole_graphs for each in side], axis=0) for side in sides)
    if quantity in _HIDDEN_IN_GRAPHS:
        return np.asarray(base | new)
    return np.asarray(base != new) if quantity in _UNLIKE_WITH_GRAPHS else np.zeros(len(base), dtype=bool)


def _lacking(quantity: str, sides: _Sides) -> list[Floats]:
    """The largest share, in percent, of what is not in a recording's value, for each side."""
    return [np.max([each.lacks_pct[quantity] for each in side], axis=0) for side in sides]


def _compare_centers(quantity: str, statistic: str, sides: _Sides, hidden: Bools) -> Columns:
    base, new = (
        [Known(each.centers[statistic][quantity], each.deviations[statistic][quantity]) for each in side]
        for side in sides
    )
    instances = (_instances_of(quantity, sides[0]), _instances_of(quantity, sides[1])) if statistic == MEDIAN else None
    found = compare_known((base, new), _slacks(quantity, statistic, sides), instances)
    unmasked = {name: found.pop(name) for name in ("base", "new", "difference", "ratio")}
    verdict = np.where(hidden, NOT_JUDGED, found.pop("verdict"))
    return {**unmasked, **{name: np.where(hidden, np.nan, each) for name, each in found.items()}, "verdict": verdict}


def _slacks(quantity: str, statistic: str, sides: _Sides) -> tuple[Slack, Slack] | None:
    """What lost samples may have done to each side, and rounding, where only one of them has exact cycles."""
    sources = [{each.tensor_source for each in side} - {"none"} for side in sides]
    differ = quantity in ROUNDED_QUANTITIES and sources[0] != sources[1] and all(sources)
    covered = bool(quantity_of(quantity).column.covered)
    if not (differ or covered):
        return None
    found = []
    for side, own, lacks in zip(sides, sources, _lacking(quantity, sides), strict=True):
        value, mean_pct = (
            np.nan_to_num(estimate_within([each.centers[statistic][name] for each in side]).value)
            for name in (quantity, ROUNDED_QUANTITIES[0])
        )
        none = np.zeros_like(value)
        below, above = rounding_of(value, mean_pct) if differ and "rounded" in own else (none, none)
        # What counts as the whole may be missing all the same, and on one side alone.
        lost = value * lacks / np.maximum(100 - lacks, 1) if covered else none
        found.append((below, above + lost))
    return found[0], found[1]


def _instances_of(quantity: str, side: Sequence[Measured]) -> Instances:
    values = [each.values[quantity] for each in side]
    return np.concatenate([each.place for each in side]), np.concatenate(values)
