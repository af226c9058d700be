"""Kernels between the two products of an attention that is computed in parts."""

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import PRODUCT, parse_name
from tcprof.arrays import rows_of_gpu
from tcprof.findings.pricing.step import Step

_MOST_BETWEEN = 8  # kernels from a softmax to the product before or after it
_DRAWN = "(?:normal|uniform)_and_transform"  # random numbers, as of a next layer's weights: no attention draws them
_LEAST_BETWEEN = 3  # kernels between the products: below that there is little to fuse


def find_between_products(step: Step) -> pd.DataFrame:
    """Launches between a product and the next one, where a softmax, or its gradient, is among them.

    Returns:
        ``kernel`` and ``exposed_ns`` of each launch in the steps, and ``activity``.
    """
    found = find_attention(step)
    return found[~found["is_product"]].drop(columns="is_product")


def find_attention(step: Step) -> pd.DataFrame:
    """The same with the products before and after, as ``is_product`` tells."""
    launched = step.analysis.kernel_instances
    launched = rows_of_gpu(launched, step.gpu)
    activity = launched["activity"].to_numpy()
    times = step.analysis.activities[["stream", "start_ns"]].to_numpy()[activity]
    order = np.lexsort((times[:, 1], times[:, 0]))
    kernels = step.analysis.kernels
    is_product = np.array([parse_name(name).work == PRODUCT for name in kernels["name"]], dtype=bool)
    is_softmax = (
        kernels["name"].str.contains("softmax", case=False) & ~kernels["name"].str.contains("log_?softmax", case=False)
    ).to_numpy(dtype=bool)
    of_launch = launched["kernel"].to_numpy()[order]
    products = np.flatnonzero(is_product[of_launch])
    rows = np.flatnonzero(is_softmax[of_launch])
    found = pd.DataFrame({"kernel": of_launch, "exposed_ns": step.exposure.exposed_ns[activity[order]]})
    found["activity"] = activity[order]
    place = np.searchsorted(products, rows)
    inside = (place > 0) & (place < len(products))
    before, after = products[place[inside] - 1], products[place[inside]]
    near = (rows[inside] - before <= _MOST_BETWEEN) & (after - rows[inside] <= _MOST_BETWEEN)
    near &= after - before > _LEAST_BETWEEN
    draws = kernels["name"].str.contains(_DRAWN).to_numpy(dtype=bool)[of_launch]
    chosen, found["is_product"] = np.zeros(len(found), dtype=bool), is_product[of_launch]
    for first, last in set(zip(before[near].tolist(), after[near].tolist(), strict=True)):
        chosen[first : last + 1] |= not draws[first + 1 : last].any()
    return found[chosen & (found["exposed_ns"] > 0)]
