"""Select the GPUs of an analysis."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis.analysis import Analysis
from tcprof.frames.schema import Deferred

MOST_GPUS = 16  # more than a machine has today: those with advice, and with figures, a timeline and tables on a page
_KEYS = {"activity": "activities", "kernel": "kernels", "step": "steps", "module": "modules"}  # of launches


def busiest_gpus(analysis: Analysis, most: int) -> list[int]:
    """Return the GPUs that worked longest, in order of their number."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0]
    chosen = captures.sort_values("busy_ns", ascending=False, kind="stable")["gpu"].head(most)
    return sorted(chosen.tolist())


def keep_gpus(analysis: Analysis, gpus: Collection[int]) -> Analysis:
    """Remove all other GPUs from an analysis; facts of the recording as a whole stay."""
    masks = {
        field.name: frame["gpu"].isin(gpus).to_numpy()
        for field in fields(Analysis)
        if field.name != "kernels_by_path"
        and isinstance(frame := getattr(analysis, field.name), pd.DataFrame)
        and "gpu" in frame.columns
    }
    frames: dict[str, Any] = {
        name: getattr(analysis, name)[rows].reset_index(drop=True) for name, rows in masks.items()
    }
    launched = frames["kernel_instances"]
    # New row numbers; -1, for none, stays.
    keys = {key: np.append(np.cumsum(masks[name]) - 1, -1)[launched[key].to_numpy()] for key, name in _KEYS.items()}

    def find_kernels_by_path() -> pd.DataFrame:
        by_path = analysis.kernels_by_path
        return by_path[by_path["gpu"].isin(gpus)].reset_index(drop=True)

    frames |= {"kernel_instances": launched.assign(**keys), "kernels_by_path": Deferred(find_kernels_by_path)}
    return analysis.replace(**frames)
