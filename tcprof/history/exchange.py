"""A store's points as other tools read them: Bencher, github-action-benchmark and Otava."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from tcprof.errors import UsageError
from tcprof.history.figures import METRICS
from tcprof.history.store import Store
from tcprof.history.trends import check_metrics
from tcprof.untrusted import one_line

_SMALLER_IS_BETTER = ("step_ns", "gpu_idle_pct", "gpu_window_ns", "kernel_ns")


def _name(row: pd.Series) -> str:
    """A series by what it is of."""
    place = f"{row['scope']} {one_line(str(row['subject']))}".strip()
    return f"{place} (GPU {row['gpu']})" if row["gpu"] else place


def _of_newest_run(points: pd.DataFrame) -> pd.DataFrame:
    return points[points["run_id"] == points["run_id"].iloc[-1]] if len(points) else points


def write_bmf(points: pd.DataFrame) -> str:
    """The newest run in Bencher Metric Format: measures by benchmark, with the ends of their intervals."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for _, row in _of_newest_run(points).iterrows():
        ends = {"lower_value": row["low"], "upper_value": row["high"]}
        known = {name: float(value) for name, value in ends.items() if np.isfinite(value)}
        measure = str(row["metric"]).replace("_", "-")
        found.setdefault(_name(row), {})[measure] = {"value": float(row["value"]), **known}
    return json.dumps(found, indent=2) + "\n"


def write_github_action_benchmark(points: pd.DataFrame) -> str:
    """The newest run as ``customSmallerIsBetter`` or ``customBiggerIsBetter`` of github-action-benchmark.

    Raises:
        UsageError: There are figures of both directions, and a file has one.
    """
    newest = _of_newest_run(points)
    if newest["metric"].isin(_SMALLER_IS_BETTER).nunique() > 1:
        raise UsageError(
            "github-action-benchmark takes figures of one direction a file",
            f"Choose some: --metric {' --metric '.join(_SMALLER_IS_BETTER)}",
        )
    rows = [
        {
            "name": f"{METRICS[str(row['metric'])].title}, {_name(row)}",
            "unit": "%" if row["unit"] == "pct" else str(row["unit"]),
            "value": float(row["value"]),
            **({"range": f"{row['low']:.6g} to {row['high']:.6g}"} if np.isfinite(row["low"]) else {}),
        }
        for _, row in newest.iterrows()
    ]
    return json.dumps(rows, indent=2) + "\n"


def write_otava(points: pd.DataFrame) -> str:
    """All runs as the CSV that Otava imports: time, commit and branch, and a column for each series."""
    columns = {
        number: f"{rows.iloc[0]['metric']} {_name(rows.iloc[0])}" for number, rows in points.groupby("series_id")
    }
    wide = points.pivot_table(index="run_id", columns="series_id", values="value", sort=False)
    runs = points.drop_duplicates("run_id").set_index("run_id").loc[wide.index]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["time", "commit", "branch", *(columns[number] for number in wide.columns)])
    for run_id, values in wide.iterrows():
        run = runs.loc[run_id]
        cells = ["" if np.isnan(value) else repr(float(value)) for value in values]
        writer.writerow([run["ordered_utc"], *(one_line(str(run[name])) for name in ("commit", "branch")), *cells])
    return text.getvalue()


# By the name of the tool: of points, in the order of their runs, with the columns of their series and runs.
EXCHANGES: MappingProxyType[str, Callable[[pd.DataFrame], str]] = MappingProxyType(
    {"bmf": write_bmf, "github-action-benchmark": write_github_action_benchmark, "otava": write_otava}
)


def write_for(tool: str, store: Store, branch: str | None = None, metrics: Sequence[str] = ()) -> str:
    """The points of a store, or some, as the tool reads them.

    Raises:
        UsageError: There is no such tool or metric, or the tool cannot take these together.
    """
    if tool not in EXCHANGES:
        raise UsageError(f"there is no format {tool!r}", f"Formats: {', '.join(EXCHANGES)}.")
    check_metrics(metrics)
    runs = store.runs(branch).rename_axis("place").reset_index()
    points = store.points().merge(store.series(), on="series_id").merge(runs, on="run_id")
    chosen = points[points["metric"].isin(metrics)] if metrics else points
    return EXCHANGES[tool](chosen.sort_values(["place", "series_id"], kind="stable"))
