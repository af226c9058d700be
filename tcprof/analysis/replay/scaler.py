"""Waits of ``torch.amp.GradScaler``: it asks the GPU in each step whether all gradients are finite."""

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.arrays import Bools, Ints
from tcprof.frames import KERNEL_KINDS

UNSCALE, UPDATE, _FUSED = "non_finite_check_and_unscale", "amp_update_scale", "FusedOptimizer"


def find_scaler_waits(analysis: Analysis, activities: pd.DataFrame, launch: Ints, waits: pd.DataFrame) -> Bools:
    """Which waits are the scaler's: between its two kernels, but not before an optimizer that looks on the GPU itself.

    Args:
        launch: The row of each one's launch; -1 where it is not known.
        waits: What to tell apart, by start.
    """
    is_kernel = (launch >= 0) & activities["kind"].isin(KERNEL_KINDS).to_numpy()
    names = activities["name"].array[is_kernel].remove_unused_categories()
    marks = {mark: np.array([mark in str(name) for name in names.categories]) for mark in (UNSCALE, UPDATE, _FUSED)}
    if not len(waits) or not len(names) or not marks[UNSCALE].any():
        return np.zeros(len(waits), dtype=bool)
    launched = analysis.api_calls["start_ns"].to_numpy()[launch[is_kernel]]
    order = np.argsort(launched, kind="stable")
    codes = names.codes[order]
    following = np.searchsorted(launched[order], waits["start_ns"].to_numpy(np.int64))
    last = {mark: _last_of(marks[mark][codes], following) for mark in (UNSCALE, UPDATE)}
    is_last = np.append(following[1:] != following[:-1], True)  # of the waits between two launches
    is_fused = np.append(marks[_FUSED][codes], False)[following]
    found: Bools = is_last & (last[UNSCALE] > last[UPDATE]) & ~is_fused
    return found


def _last_of(is_meant: Bools, before: Ints) -> Ints:
    """The last place that is meant before each of others; -1 for none."""
    places = np.flatnonzero(is_meant)
    found: Ints = np.append(places, -1)[np.searchsorted(places, before) - 1]
    return found
