"""Fold rare kernels into one: programs that compile a kernel for each size have more than anyone reads."""

import numpy as np
import pandas as pd

from tcprof.arrays import Ints
from tcprof.frames import ACTIVITIES

MOST_KERNELS = 10_000  # names and grids: tables, comparisons and pages take some 50 kB for each
FOLDED_KERNELS = "(other kernels)"


def fold_kernels(activities: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Rename kernels beyond the ``MOST_KERNELS`` that took longest to ``FOLDED_KERNELS``; also return their count.

    A kernel is a name and a launch geometry, and all are counted; the geometry of renamed ones is left empty.
    """
    name, geometry = (activities[column].array for column in ("name", "launch_geometry"))
    kernels = np.flatnonzero(activities["kind"] == "kernel")
    key = name.codes[kernels].astype(np.int64) * len(geometry.categories) + geometry.codes[kernels]
    codes, keys = pd.factorize(key)
    if len(keys) <= MOST_KERNELS:
        return activities, len(keys)
    lasted = np.bincount(codes, (activities["end_ns"] - activities["start_ns"]).to_numpy()[kernels])
    rare = np.ones(len(keys), dtype=bool)
    rare[np.argsort(-lasted, kind="stable")[:MOST_KERNELS]] = False
    rows = kernels[rare[codes]]
    renamed = {"name": _rename(name, rows, FOLDED_KERNELS), "launch_geometry": _rename(geometry, rows, "")}
    return ACTIVITIES.conform(activities.assign(**renamed)), len(keys)


def _rename(texts: pd.Categorical, rows: Ints, text: str) -> pd.Categorical:
    categories = texts.categories.union([text], sort=False)
    codes = texts.codes.astype(np.int64)
    codes[rows] = categories.get_loc(text)
    return pd.Categorical.from_codes(codes, categories).remove_unused_categories()
