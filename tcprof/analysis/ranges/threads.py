"""What threads of autograd's and of DataParallel's run for one that waits, brought to where that one is."""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import Nesting
from tcprof.annotate.ranges import DOMAIN
from tcprof.annotate.steps import BACKWARD, FORWARD, NAMES, RECOMPUTE
from tcprof.arrays import Ints


def bring_home(parent: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """Have what other threads run for one that waits lie where that one is.

    Recomputations on threads of autograd lie in the backward pass. A replica that DataParallel calls lies beside the
    call of its module, whose name it has: both are in the forward pass.

    Args:
        parent: For each range the row of the one that it lies in on its own thread, -1 for none.
        ranges: See ``tcprof.frames.NVTX_RANGES``; in the order of ``OpenIntervals.order``.
        lane: Lane of each range: its thread and domain.

    Returns:
        For each range the row of the one that it lies in, on its own thread or on another.
    """
    outermost = (ranges["domain"] == DOMAIN).to_numpy() & (parent < 0)
    name = ranges["name"]
    code = name.cat.codes.to_numpy()
    again = np.flatnonzero(outermost & (name == RECOMPUTE).to_numpy())
    backward = np.full(len(again), name.cat.categories.get_indexer([BACKWARD])[0])
    found = parent.copy()
    found[again] = _find_open(BACKWARD, again, backward, ranges, lane, nesting)
    called = np.flatnonzero(outermost & ~name.isin(NAMES).to_numpy() & ~ranges["start_end"].to_numpy())
    found[called] = np.append(parent, -1)[_find_open(FORWARD, called, code[called], ranges, lane, nesting)]
    return found


def _find_open(phase: str, rows: Ints, sought: Ints, ranges: pd.DataFrame, lane: Ints, nesting: Nesting) -> Ints:
    """For each range the one of a name that is open on another lane of its process; -1 for none, or for several.

    Args:
        phase: Of the lanes that are looked at: one that has ranges of this name.
        sought: The name that the innermost open range must have, as its number among the names.
    """
    process, start = (ranges[column].to_numpy() for column in ("process", "start_ns"))
    code = ranges["name"].cat.codes.to_numpy()
    count, found = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), -1, dtype=np.int64)
    has_phase = ((ranges["domain"] == DOMAIN) & (ranges["name"] == phase)).to_numpy()
    for each in np.unique(lane[has_phase]) if len(rows) else ():
        around = nesting.at(np.full(len(rows), each), start[rows])
        is_open = (lane[rows] != each) & (around >= 0) & (code[around] == sought) & (process[around] == process[rows])
        count += is_open
        found = np.where(is_open, around, found)
    return np.where(count == 1, found, -1)
