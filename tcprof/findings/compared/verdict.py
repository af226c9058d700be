"""The verdict on a comparison: is it faster, by how much, how sure, and why."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd

from tcprof import units
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.rows import WHOLE_GRAPHS, of_means
from tcprof.comparison.statistics.verdicts import EQUAL, HIGHER, INCONCLUSIVE, LOWER
from tcprof.comparison.waterfall import COMMUNICATION, COPIES, IDLE, IN_GRAPHS, TIME, largest_part
from tcprof.findings.iterations import find_bound, measure_iterations
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line

ALIKE = 0.01  # ratios so near to 1 are reported as no difference
_LONGEST_NAME = 40
Row: TypeAlias = Mapping[Any, Any] | pd.Series  # of ``tcprof.frames.COMPARISON``


def side_names(comparison: Comparison) -> tuple[str, str]:
    """What both sides are called: their names, as texts of one line that are not escaped."""
    names = [one_line(side.name, _LONGEST_NAME) for side in (comparison.base, comparison.new)]
    return names[0], names[1]


def iteration_name(comparison: Comparison) -> str:
    """What the compared unit is called: the innermost name of the iterations, or the capture."""
    path = comparison.iteration_path
    return one_line(path.rpartition(SEPARATOR)[2], _LONGEST_NAME) if path else "capture"


def list_gpus(comparison: Comparison) -> list[int]:
    """The GPUs on which the iterations have work; one that was only sampled has rows of the capture alone."""
    rows = comparison.rows
    return sorted({int(gpu) for gpu in rows.loc[rows["path"] == comparison.iteration_path, "gpu"]})


def find_row(comparison: Comparison, gpu: int, quantity: str, path: str | None = None) -> pd.Series:
    """The row of a quantity, of the iterations unless a path is given."""
    rows = comparison.rows
    path = comparison.iteration_path if path is None else path
    found = rows[(rows["gpu"] == gpu) & (rows["quantity"] == quantity) & (rows["path"] == path)]
    return found.iloc[0]


def time_row(comparison: Comparison, gpu: int) -> pd.Series:
    """The row of the iterations' time: the GPU window, or where there is none the time on the CPU."""
    window = find_row(comparison, gpu, "gpu_window_ns")
    unknown = math.isnan(window["base"]) or math.isnan(window["new"])
    return find_row(comparison, gpu, "host_ns") if unknown or comparison.base.first.window == "host" else window


def is_shown(row: Row) -> bool:
    """Whether a difference is claimed."""
    return row["verdict"] in (HIGHER, LOWER)


def mean_differs(row: Row) -> bool:
    """Whether the mean says something else than the median: another verdict, or a change well outside its interval."""
    mean = of_means(row)
    if is_shown(row) != is_shown(mean) or (is_shown(row) and row["verdict"] != mean["verdict"]):
        return True
    far = abs(mean["ratio"] - row["ratio"]) >= ALIKE * row["ratio"]
    return is_shown(row) and bool(far and not row["ratio_low"] <= mean["ratio"] <= row["ratio_high"])


def decisive(row: Row) -> Row:
    """The row of a quantity: of medians, or of means where only these show a difference."""
    mean = of_means(row)
    return mean if is_shown(mean) and not is_shown(row) else row


def judge_change(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    """What the iterations of a GPU show, in sentences, the verdict first."""
    return (*_verdict(comparison, gpu), *_tensor(comparison, gpu), *_cause(comparison, gpu))


def _verdict(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    row, (_, name), unit = time_row(comparison, gpu), side_names(comparison), iteration_name(comparison)
    times = _times(row)
    if math.isnan(row["base"]) or math.isnan(row["new"]):
        return (f"The time per {unit} is not known of both: {times}.",)
    mean = of_means(row)
    if is_shown(mean) and not is_shown(row):
        some = "take longer" if mean["verdict"] == HIGHER else "take less time"
        same = "is unchanged" if abs(row["ratio"] - 1) < ALIKE else "is not shown to differ"
        median = f"The median {unit} {same} ({times}; {_interval(row)})"
        said = f"{median}, but the mean {_changed(mean)}: {_times(mean)}. Some iterations {some}."
        return said, *_survives(mean)
    if not is_shown(row):
        return (_not_shown(row, name, unit),)
    said = f"{name} {_changed(row, f' per {unit}')}: {times}."
    if not mean_differs(row):
        return said, *_survives(row)
    told = _changed(mean) if is_shown(mean) else f"is not shown to differ ({_interval(mean)})"
    return said, f"The mean {told}: {_times(mean)}.", *_survives(row)


def _times(row: Row) -> str:
    return f"{units.format_ns(row['base'])} → {units.format_ns(row['new'])}"


def _interval(row: Row) -> str:
    return f"{units.format_ratio(row['ratio_low'])} to {units.format_ratio(row['ratio_high'])}"


def _changed(row: Row, per: str = "") -> str:
    """How a time that is shown to differ has changed: "is 1.26x faster (1.24x to 1.28x)"."""
    ratio, low, high = row["ratio"], row["ratio_low"], row["ratio_high"]
    if row["verdict"] == HIGHER:
        return f"takes {units.format_ratio(ratio)} as long{per} ({_interval(row)})"
    faster = [units.format_ratio(1 / value) for value in (ratio, high, low)]
    return f"is {faster[0]} faster{per} ({faster[1]} to {faster[2]})"


def _not_shown(row: Row, name: str, unit: str) -> str:
    times = _times(row)
    if row["verdict"] == EQUAL:
        return f"Both take the same time per {unit}: {units.format_ns(row['new'])}."
    if math.isnan(row["ratio_low"]):
        return f"{times} per {unit} is inconclusive: {row['not_judged'] or 'there is too little for an interval'}."
    if abs(row["ratio"] - 1) < ALIKE:
        return f"No difference in time per {unit} is shown: {times} ({_interval(row)})."
    said = (
        f"In these recordings {name} takes {units.format_ratio(row['ratio'])} as long per {unit} ({times}), but that "
    )
    return f"{said}is inconclusive: other runs of the program would lie anywhere from {_interval(row)}. {_advice(row)}"


def _survives(row: Row) -> tuple[str, ...]:
    """How much of what was assumed a claim needs; nothing where it was measured."""
    if math.isnan(row["survives_spread_pct"]):
        return ()
    most, assumed = (units.format_pct(row[f"{name}_spread_pct"]) for name in ("survives", "assumed"))
    return (
        f"This holds as long as runs of one program differ by less than {most} (assumed: {assumed}); record each side "
        "several times to measure it.",
    )


def _advice(row: Row) -> str:
    needed = row["needed_count"]
    if math.isnan(needed):
        return "Record each side several times: tcprof profile --repeat 5."
    of = "recordings" if min(row["base_recording_count"], row["new_recording_count"]) > 1 else "iterations"
    return f"About {units.format_count(needed)} {of} a side would show such a difference."


def _tensor(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    row = find_row(comparison, gpu, HEADLINE.name)
    values = f"{units.format_pct(row['base'])} → {units.format_pct(row['new'])}"
    rounded = "rounded" in {side.first.tensor_source for side in (comparison.base, comparison.new)}
    source = " It comes from rounded samples, which make small means too high." if rounded else ""
    if math.isnan(row["base"]) and math.isnan(row["new"]):
        return ("Its Tensor Active is not known.",)
    shown = " (inconclusive)" if row["verdict"] == INCONCLUSIVE and row["base"] != row["new"] else ""
    return (f"Tensor Active {values}{shown}.{source}",)


def _cause(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    row = decisive(time_row(comparison, gpu))
    part = largest_part(comparison.waterfall, gpu, TIME)
    # Medians are compared, and means divided into parts: what the means do not share needs no cause.
    if (
        part is None
        or row["verdict"] == EQUAL
        or abs(row["ratio"] - 1) < ALIKE
        or part["change"] * row["difference"] < 0
    ):
        return _launch_bound(comparison, gpu)
    return (
        f"Most of the difference: {_replaced(comparison, gpu, part) or _describe_part(part)}.",
        *_launch_bound(comparison, gpu),
    )


def _replaced(comparison: Comparison, gpu: int, largest: pd.Series) -> str:
    """New kernels in place of removed ones, where both together are more than the largest part."""
    parts = comparison.waterfall
    parts = parts[(parts["gpu"] == gpu) & (parts["quantity"] == TIME)]
    gone, come = (parts[parts["part"] == name] for name in ("removed kernels", "new kernels"))
    change = gone["change"].sum() + come["change"].sum()
    if gone.empty or come.empty or change * largest["change"] <= 0:
        return ""
    if largest["part"] not in ("removed kernels", "new kernels") and abs(change) < abs(largest["change"]):
        return ""
    told = [
        f"{units.format_ns(rows[side].sum())} of "
        + (", " if len(rows) > 2 else " and ").join(rows.nlargest(2, side)[f"{side}_class"])
        + " and others" * (len(rows) > 2)
        for rows, side in ((gone, "base"), (come, "new"))
    ]
    return f"{told[0]} are gone, {told[1]} are new"


def _describe_part(part: pd.Series) -> str:
    """A part of the waterfall of time: "11.1 ms of FP32 products became 1.80 ms of FP16 tensor kernels"."""
    base, new = units.format_ns(part["base"]), units.format_ns(part["new"])
    if part["part"] == IN_GRAPHS:
        return f"{part['part']} {base} → {new}; to see them record with --cuda-graph-trace node"
    if part["base_class"] and part["new_class"]:
        if part["base_class"] == part["new_class"]:
            return f"{part['base_class']} by other kernels took {base}, and now take {new}"
        return f"{base} of {part['base_class']} became {new} of {part['new_class']}"
    if part["part"] in (IDLE, COMMUNICATION, COPIES):
        return f"{part['part']} time {base} → {new}" if part["part"] == IDLE else f"{part['part']} {base} → {new}"
    if part["base_class"] or part["new_class"]:
        return f"{part['part']} ({part['base_class'] or part['new_class']}) {base} → {new}"
    return f"{part['part']} {base} → {new}"


def _launch_bound(comparison: Comparison, gpu: int) -> tuple[str, ...]:
    """Says so where the CPU holds the GPU up, with the kernels launched; by the rule of the verdict on a recording."""
    measured = [measure_iterations(side.typical, gpu) for side in (comparison.base, comparison.new)]
    bounds = [find_bound(figures) if figures else "" for figures in measured]
    if not any(bounds) or not comparison.iteration_path:
        return ()
    idle, window = (find_row(comparison, gpu, name) for name in ("idle_ns", "gpu_window_ns"))
    shares = [100 * idle[side] / window[side] for side in ("base", "new")]
    kernels = find_row(comparison, gpu, "kernel_count")
    if kernels["not_judged"] == WHOLE_GRAPHS:  # which hide idle time, and launch what is not counted
        return ()
    counts = [units.format_count(kernels[side]) for side in ("base", "new")]
    launches = f"{counts[0]} → {counts[1]} kernels" if counts[0] != counts[1] else f"{counts[1]} kernels as before"
    told = " → ".join(units.format_pct(share) for share in shares)
    unit = iteration_name(comparison)
    base, new = side_names(comparison)
    runs = f"the run is {bounds[1]}"
    if bounds[0] != bounds[1]:
        runs = " and ".join(f"{name} is {bound}" for name, bound in ((base, bounds[0]), (new, bounds[1])) if bound)
    return (f"The GPU is idle {told} of the {unit}, while the CPU launches {launches}: {runs}.",)
