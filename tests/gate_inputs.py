"""Rows of a comparison, as a gate judges them."""

import math
from typing import Any

import pandas as pd

UNKNOWN = math.nan
_TEXTS = ("domain", "path", "quantity", "verdict", "mean_verdict", "not_judged")
_OF_MEANS = ("base", "new", "difference", "ratio", "p_value", "verdict")
Row = dict[str, Any]


def make_row(**changes: Any) -> Row:
    """A GPU window that grew from 10 ms to 11 ms: by 8 % to 12 %. Means are as medians, unless they are given."""
    row = {
        "gpu": 0,
        "domain": "",
        "path": "step",
        "depth": 1,
        "quantity": "gpu_window_ns",
        **_figure("base", 10e6, 9.9e6, 10.1e6),
        **_figure("new", 11e6, 10.9e6, 11.1e6),
        **_figure("difference", 1e6, 0.8e6, 1.2e6),
        **_figure("ratio", 1.10, 1.08, 1.12),
        "p_value": 0.001,
        "verdict": "higher",
        "not_judged": "",
    }
    means = {f"mean_{name}": name for name in row if name.removesuffix("_low").removesuffix("_high") in _OF_MEANS}
    assert changes.keys() <= row.keys() | means.keys()
    row |= changes
    return row | {mean: changes.get(mean, row[name]) for mean, name in means.items()}


def make_share(**changes: Any) -> Row:
    """Tensor Active that fell from 40 % to 35 %: by 4 to 6 points."""
    share = {
        "quantity": "tensor_active_mean_pct",
        **_figure("base", 40.0, 39.5, 40.5),
        **_figure("new", 35.0, 34.5, 35.5),
        **_figure("difference", -5.0, -6.0, -4.0),
        **_figure("ratio", 0.875, 0.85, 0.90),
        "verdict": "lower",
    }
    return make_row(**(share | changes))


def _figure(name: str, value: float, low: float, high: float) -> Row:
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def without_interval(row: Row) -> Row:
    return {name: UNKNOWN if name.endswith(("_low", "_high")) else value for name, value in row.items()}


def make_rows(*rows: Row) -> pd.DataFrame:
    """A frame of rows; texts are objects, as in every frame, since names may hold what is no UTF-8."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return pd.DataFrame(
        {name: pd.Series(cells, dtype=object if name in _TEXTS else None) for name, cells in columns.items()}
    )
