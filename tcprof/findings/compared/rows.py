"""The rows of a comparison by name, and what in them is shown to differ."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import pandas as pd

from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.comparison.statistics.rows import of_means
from tcprof.comparison.statistics.verdicts import HIGHER, LOWER
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
