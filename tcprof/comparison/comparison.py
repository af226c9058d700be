"""Compare two analyses, range by range."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.errors import UsageError
from tcprof.frames import COMPARISON

_KEYS = ["gpu", "domain", "path", "depth"]
# What is compared, and whether it is a sum over the instances, which becomes a mean per instance.
_QUANTITIES = (
    ("host_ns", True),
    ("gpu_window_ns", True),
    ("kernel_ns", True),
    ("tensor_active_mean_pct", False),
    ("tensor_active_peak_pct", False),
    ("tensor_active_s", True),
    ("tensor_cycles", True),
)


@dataclass(frozen=True)
class Comparison:
    """A baseline and another recording.

    Attributes:
        base: The baseline.
        new: The recording compared with it.
        rows: One row for each GPU, path and quantity, see ``tcprof.frames.COMPARISON``.
        warnings: What differs between the recordings and makes the figures hard to compare.
    """

    base: Analysis
    new: Analysis
    rows: pd.DataFrame
    warnings: tuple[str, ...]


def compare(base: Analysis, new: Analysis) -> Comparison:
    """Match the ranges of two recordings by GPU, domain and path, and compare their figures per instance.

    Args:
        base: The baseline.
        new: The recording to compare with it.

    Raises:
        UsageError: They were analyzed with different windows.
    """
    if base.window != new.window:
        raise UsageError(f"the baseline was analyzed over {base.window} windows, the other over {new.window} windows")
    merged = base.ranges.merge(new.ranges, on=_KEYS, how="outer", suffixes=("_base", "_new"), sort=False)
    parts = [_compare_quantity(merged, quantity, is_sum) for quantity, is_sum in _QUANTITIES]
    rows = pd.concat(parts, ignore_index=True)
    place = rows.merge(_order(base, new), on=_KEYS, how="left")["place"]
    ordered = rows.assign(place=place).sort_values("place", kind="stable")
    return Comparison(base, new, COMPARISON.conform(ordered), _caveats(base, new))


def _order(base: Analysis, new: Analysis) -> pd.DataFrame:
    """The rows of both recordings as a tree is read: those of the baseline, with the new ones where they belong.

    A row that only the new recording has comes first in the row that it lies in, or after the one that it follows there
    and all that lies in that one.
    """
    rows = [list(side.ranges[_KEYS].itertuples(index=False, name=None)) for side in (base, new)]
    start = (None, None, None, -1)  # stands before all rows, and holds them
    after = dict(itertools.pairwise([start, *rows[0], None]))
    open_rows = [start]  # the last row of each depth, outermost first
    for row in rows[1]:
        while open_rows[-1][3] > row[3]:
            open_rows.pop()
        place = open_rows[-1]
        if row not in after:
            if place[3] == row[3]:
                while after[place] is not None and after[place][3] > row[3]:
                    place = after[place]
            after[row], after[place] = after[place], row
        if open_rows[-1][3] == row[3]:
            open_rows.pop()
        open_rows.append(row)
    ordered = []
    row = after[start]
    while row is not None:
        ordered.append(row)
        row = after[row]
    return pd.DataFrame(ordered, columns=_KEYS).assign(place=range(len(ordered)))


def _compare_quantity(merged: pd.DataFrame, quantity: str, is_sum: bool) -> pd.DataFrame:
    """One quantity of every path; a sum over instances becomes a mean per instance."""
    values = {}
    for side in ("base", "new"):
        value = merged[f"{quantity}_{side}"]
        values[side] = value / merged[f"instance_count_{side}"] if is_sum else value
    base, new = values["base"].to_numpy(np.float64), values["new"].to_numpy(np.float64)
    return pd.DataFrame(
        {
            **{key: merged[key] for key in _KEYS},
            "quantity": quantity,
            "base": base,
            "new": new,
            "difference": new - base,
            "ratio": np.divide(new, base, out=np.full(len(base), np.nan), where=base != 0),
            "base_instance_count": merged["instance_count_base"],
            "new_instance_count": merged["instance_count_new"],
        }
    )


def _caveats(base: Analysis, new: Analysis) -> tuple[str, ...]:
    """What differs between two recordings and makes their figures hard to compare."""
    found = []
    gpus = [", ".join(sorted(analysis.gpus["name"])) or "unknown" for analysis in (base, new)]
    if gpus[0] != gpus[1]:
        found.append(f"Different GPUs: {gpus[0]} against {gpus[1]}. Times cannot be compared; shares only with care.")
    sources = {"cycles": "exact cycles", "rounded": "rounded percentages", "none": "no samples"}
    if base.tensor_source != new.tensor_source:
        told = [sources[analysis.tensor_source] for analysis in (base, new)]
        found.append(f"Tensor Active comes from {told[0]} in the baseline and from {told[1]} in the other recording.")
    for what, told in (
        ("driver", [analysis.recording.driver_version or "unknown" for analysis in (base, new)]),
        ("Nsight Systems version", [analysis.recording.nsys_version or "unknown" for analysis in (base, new)]),
        ("sampling frequency", [units.format_hz(analysis.recording.frequency_hz) for analysis in (base, new)]),
    ):
        if told[0] != told[1]:
            found.append(f"Different {what}: {told[0]} against {told[1]}.")
    if not len(base.ranges[["domain", "path"]].merge(new.ranges[["domain", "path"]]).query("path != ''")):
        found.append("The recordings have no range in common: only the whole captures are compared.")
    return tuple(found)
