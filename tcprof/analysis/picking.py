"""Some rows of frames that may have millions: a copy of them takes as much memory again."""

import numpy as np
import pandas as pd

from tcprof.arrays import Bools


def pick_rows(frame: pd.DataFrame, chosen: Bools) -> pd.DataFrame:
    """The chosen rows; where they follow one another, as most often all of one GPU do, as a part of the same memory.

    Args:
        chosen: For each row whether it is chosen.
    """
    rows = np.flatnonzero(chosen)
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return frame.iloc[rows[0] : rows[-1] + 1]
    return frame.iloc[rows]


def rows_of_gpu(frame: pd.DataFrame, gpu: int) -> pd.DataFrame:
    """The rows of one GPU, see ``pick_rows``."""
    return pick_rows(frame, (frame["gpu"] == gpu).to_numpy())
