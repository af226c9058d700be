"""Launches brought to what was sampled: exact counts add up in every stretch between idle moments."""

import numpy as np

from tcprof.analysis.kernels.design import Design, Launches
from tcprof.arrays import Bools, Floats

CONSTANT = 1e-3**2  # squared deviation of launches that were never seen to differ
ROUNDING = 1e-12  # of what was sampled: less is left over by the arithmetic, and differs between CPUs


def conserve(
    counted: Floats,
    variation: Floats,
    launches: Launches,
    design: Design,
    observed: Floats,
    ceiling: float,
    exact: Bools,
) -> Floats:
    """What launches count, brought to the sampled sum of the stretch that they lie in.

    What is left over goes to each launch in proportion to its variance, as the best linear prediction has it
    (Robinson, That BLUP is a good thing, 1991); what then lies outside of what can be is shared in proportion to the
    counts, and finally to the space below the ceiling.

    Args:
        counted: What each launch counts by its class.
        variation: Squared relative deviation of the launches of each class.
        launches: The launches.
        design: See ``build_design``.
        observed: What was sampled in each row.
        ceiling: The most that can be counted in a ns.
        exact: For each stretch, whether all of its samples are: others are left as they are.
    """
    inside = np.flatnonzero((design.launch_stretch >= 0) & exact[design.launch_stretch])
    stretch, total = design.launch_stretch[inside], np.bincount(design.stretch, observed)
    most = ceiling * (launches.end - launches.start)[inside]
    kept = np.minimum(counted[inside], most)
    of_class = np.where(launches.opaque, 1.0, variation + CONSTANT)
    variance = of_class[launches.kind[inside]] * kept**2
    for share in ("variance", "variance", "count", "room"):
        shares = {"variance": variance, "count": kept, "room": most - kept}[share]
        fitted, whole = (np.bincount(stretch, values, len(total)) for values in (kept, shares))
        left = total - fitted
        factor = np.divide(left, whole, out=np.zeros(len(total)), where=(whole > 0) & (np.abs(left) > ROUNDING * total))
        kept = np.clip(kept + factor[stretch] * shares, 0, most)
    found = counted.copy()
    found[inside] = kept
    return found
