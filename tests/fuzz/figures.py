"""Numbers that no recording can have: shares above the whole, negative lengths, a mean above its own peak."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tcprof.frames import SCHEMAS

POINTS = 0.5  # by rounding, percentages of counters pass 100
RELATIVE = 1e-6
LONGEST_NS = 2.0**63
# Lengths and counts, of which none is negative.
COUNTED = ("_ns", "_s", "_count", "_cycles", "_flop", "_bytes", "_hz", "_tflops", "_per_launch")
# Times of an event, shifts, differences, and what a change wins, which below 0 costs.
SIGNED = {column.name for schema in SCHEMAS for column in schema.columns if column.limits[0] < 0} | {"time_ns"}
# Ends of intervals that reach to infinity where a side may be 0, and instances that no number of would do.
UNBOUNDED = ("ratio_low", "ratio_high", "mean_ratio_low", "mean_ratio_high", "needed_count", "mean_needed_count")
PAIRS = (  # the first is never above the second
    ("tensor_active_mean_pct", "tensor_active_peak_pct"),
    ("tensor_active_p95_pct", "tensor_active_peak_pct"),
    ("tensor_active_low_pct", "tensor_active_mean_pct"),
    ("tensor_active_mean_pct", "tensor_active_high_pct"),
    ("tensor_active_low_pct", "tensor_active_high_pct"),
    ("low_ns", "likely_ns"),
    ("likely_ns", "high_ns"),
    ("low_pct", "likely_pct"),
    ("likely_pct", "high_pct"),
    ("start_ns", "end_ns"),
    ("host_start_ns", "host_end_ns"),
    ("gpu_start_ns", "gpu_end_ns"),
    ("kernel_ns", "total_ns"),
    ("inherited_count", "activity_count"),
    ("kernel_count", "activity_count"),
)
CLASSES = (
    *("tensor_kernel_ns", "memory_bound_ns", "fp32_bound_ns", "issue_bound_ns", "small_grid_ns", "other_kernel_ns"),
    *("unresolved_kernel_ns", "graph_ns", "communication_ns", "copy_ns", "idle_ns"),
)
Row = Mapping[str, Any]


def find_impossible(value: Any, where: str = "") -> Iterator[str]:
    """Numbers that cannot be, in data of JSON's kind; each with where it is, without its row's number."""
    if isinstance(value, Mapping):
        yield from check_row(value, where)
        for name, each in value.items():
            yield from find_impossible(each, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        yield from check_rows([each for each in value if isinstance(each, Mapping)], where)
        for each in value:
            yield from find_impossible(each, where)


def check_row(row: Row, where: str) -> Iterator[str]:
    """The numbers of one row, by the names of its columns."""
    numbers = {name: float(value) for name, value in row.items() if _is_number(value)}
    quantity = str(row.get("quantity", ""))
    for name, value in numbers.items():
        kind = quantity if name in ("base", "new", "mean_base", "mean_new") else name
        if problem := _problem(kind, value):
            yield f"{where}: {name} is {problem} ({value:.6g})"
    for low, high in PAIRS:
        if low in numbers and high in numbers and numbers[low] > numbers[high] + _slack(low, numbers[high]):
            yield f"{where}: {low} above {high} ({numbers[low]:.6g} > {numbers[high]:.6g})"
    classes = [numbers[name] for name in CLASSES if name in numbers]
    if len(classes) == len(CLASSES) and not math.isclose(
        sum(classes), numbers.get("window_ns", 0), rel_tol=1e-6, abs_tol=9
    ):
        yield f"{where}: classes do not add up to window_ns ({sum(classes):.6g}, {numbers.get('window_ns', 0):.6g})"


def check_rows(rows: Iterable[Row], where: str) -> Iterator[str]:
    """What rows of a table, or roots of a tree, add up to: at most a GPU's kernel time, or all of an account."""
    sums: dict[tuple[Any, Any], float] = defaultdict(float)
    for row in rows:
        is_part = row.get("depth", 1) == 1 and row.get("phase", "all") == "all"
        if _is_number(row.get("share_pct")) and "name" in row and is_part:
            sums[row.get("gpu"), ""] += float(row["share_pct"])
    for total in sums.values():
        if total > 100 + POINTS:
            yield f"{where}: shares add up to more than 100 % ({total:.6g})"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _problem(name: str, value: float) -> str:
    """What is wrong with a value of a column; empty for nothing."""
    if math.isinf(value):
        return "" if name in UNBOUNDED else "not finite"
    if name in SIGNED or not name.endswith((*COUNTED, "_pct")):
        return ""
    if name.endswith("_pct") and "spread" not in name:
        return "negative" if value < -RELATIVE else "above 100 %" if value > 100 + POINTS else ""
    if value < 0:
        return "negative"
    return "longer than 292 years" if name.endswith("_ns") and value >= LONGEST_NS else ""


def _slack(name: str, value: float) -> float:
    return 1e-3 if name.endswith("_pct") else abs(value) * RELATIVE
