"""Where the kernels of both sides lie in the roofline, and which are matched."""

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.kernels.roofline import PLACED, place_kernels
from tcprof.comparison.comparison import Comparison

MOST_MOVED = 60  # kernels of a side: those that take most; more lines would hide each other
_KEY = ["gpu", "name", "geometry"]
_FIGURES = ["arithmetic", "tflops", "intensity", "roof_pct", "memory_pct", "roof_tflops", "peak_source", "place"]


def list_moved(comparison: Comparison, gpu: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The kernels of both sides that have a place, by their number among the pairs; those of one number are matched.

    Returns:
        Of each side its kernels, longest first, with ``time_ns`` of an iteration and what
        ``tcprof.analysis.kernels.roofline.place_kernels`` tells of them.
    """
    changes = comparison.matching.changes
    names = [f"{side}_{part}" for side in ("base", "new") for part in ("name", "geometry")]
    sums = changes[changes["gpu"] == gpu].groupby(["gpu", *names], sort=False)[["base_ns", "new_ns"]].sum()
    pairs = sums.reset_index()
    base, new = (
        _place(side.typical, pairs, role) for role, side in (("base", comparison.base), ("new", comparison.new))
    )
    return base, new


def _place(analysis: Analysis, pairs: pd.DataFrame, role: str) -> pd.DataFrame:
    """The kernels of a side; one that is matched with several is one circle for each."""
    placed = place_kernels(analysis.kernels, analysis.gpus).rename(columns={"launch_geometry": "geometry"})
    placed = placed[placed["place"] == PLACED]
    own = pairs.rename(columns={f"{role}_name": "name", f"{role}_geometry": "geometry", f"{role}_ns": "time_ns"})
    found = own[["time_ns", *_KEY]].assign(pair=own.index).merge(placed[[*_KEY, *_FIGURES]], on=_KEY)
    return found.nlargest(MOST_MOVED, "time_ns").assign(l2_intensity=np.nan)  # the cache's roof is not drawn here
