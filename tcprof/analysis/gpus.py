"""An analysis of some of a recording's GPUs."""

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.arrays import Bools, Ints

_KEYS = {"activity": "activities", "kernel": "kernels", "iteration": "iterations", "module": "modules"}  # of launched

_Any = TypeVar("_Any", bound=Analysis)


def busiest_gpus(analysis: Analysis, most: int) -> list[int]:
    """The GPUs that worked longest, in order of their number."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0]
    chosen = captures.sort_values("busy_ns", ascending=False, kind="stable")["gpu"].head(most)
    return sorted(chosen.tolist())


def keep_gpus(analysis: _Any, gpus: Collection[int]) -> _Any:
    """The analysis with nothing of other GPUs in it; what is known of the recording as a whole stays."""
    kept = {
        field.name: frame["gpu"].isin(gpus).to_numpy()
        for field in fields(Analysis)
        if isinstance(frame := getattr(analysis, field.name), pd.DataFrame) and "gpu" in frame.columns
    }
    frames: dict[str, Any] = {name: getattr(analysis, name)[rows].reset_index(drop=True) for name, rows in kept.items()}
    launched = frames["kernel_instances"]
    keys = {key: _renumber(launched[key].to_numpy(), kept[name]) for key, name in _KEYS.items()}

    def split_by_path() -> pd.DataFrame:
        by_path = analysis.kernels_by_path
        return by_path[by_path["gpu"].isin(gpus)].reset_index(drop=True)

    return replace(analysis, **{**frames, "kernel_instances": launched.assign(**keys), "split_by_path": split_by_path})


def _renumber(rows: Ints, kept: Bools) -> Ints:
    """Rows of a frame as rows of those of it that are kept; -1, for none, stays."""
    return np.append(np.cumsum(kept) - 1, -1)[rows]
