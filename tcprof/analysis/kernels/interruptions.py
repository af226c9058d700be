"""Launches that something may have interrupted: they last longer than others in their place, and count otherwise.

Another process that has a slice of the time makes the launch that it interrupts longer, and what it counts meanwhile
looks like the launch's own. A launch that does other work, as a network's last layer, most often has other neighbours.
"""

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.classes import SPLIT_RATIO
from tcprof.analysis.kernels.design import Launches
from tcprof.arrays import Floats, Ints

SAME_RATE = 0.03  # relative: launches that last longer and count as much more do more of the same work


def doubt_interrupted(name: Ints, geometry: Ints, launches: Launches, counted: Floats) -> Floats:
    """How much of what each launch counts may be another process's.

    Args:
        name: Number of the name of each launch.
        geometry: Number of its launch geometry.
        launches: The launches, in order of start.
        counted: What each counts.

    Returns:
        The difference from what the usual launches of its kernel count, where those have the same neighbours and are
        shorter by more than a class holds; else 0.
    """
    kernel = pd.factorize(name * (int(geometry.max(initial=0)) + 1) + geometry)[0]
    count = np.bincount(launches.kind)
    order = np.lexsort((count[launches.kind], kernel))
    last = order[np.append(kernel[order][1:] != kernel[order][:-1], True)]  # a launch of each kernel's largest class
    usual = launches.kind[last][kernel]
    is_usual = launches.kind == usual
    place = pd.factorize((kernel << 32) + (np.append(-1, name[:-1]) + 1 << 16) + np.append(name[1:], -1) + 1)[0]
    usual_places = np.zeros(int(place.max(initial=-1)) + 1, dtype=bool)
    usual_places[place[is_usual]] = True
    duration = (launches.end - launches.start).astype(np.float64)
    of_class = [np.bincount(launches.kind, values) / count for values in (duration, counted)]
    usual_ns, usual_count = (values[usual] for values in of_class)
    more = np.abs(counted * usual_ns - usual_count * duration) > SAME_RATE * usual_count * duration
    interrupted = ~is_usual & usual_places[place] & (duration > SPLIT_RATIO * usual_ns) & more
    return np.where(interrupted, np.abs(counted - usual_count), 0.0)
