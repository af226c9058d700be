"""A distribution as a box with its points. plotly's own box would need a bundle that takes twice as long to start."""

import numpy as np

from tcprof.arrays import Floats
from tcprof.views.figures.plain import Settings, scatter

MOST_POINTS = 250  # more are left out, but for those beyond the whiskers
_HALF = 0.35  # of a box's width
_GOLDEN = 0.618034  # its multiples spread evenly
_REACH = 1.5  # of the box's height, for the whiskers


def box_traces(values: Floats, place: float, color: str, name: str) -> list[Settings]:
    """The quartiles of values, whiskers to the last ones within 1.5 times the box, and points beside each other.

    Args:
        place: The middle of the box on its axis.
    """
    first, median, third = np.percentile(values, [25, 50, 75])
    reach = _REACH * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    low, high = inside.min(), inside.max()
    box, cap, gap = (place - _HALF, place + _HALF), (place - _HALF / 2, place + _HALF / 2), np.nan
    outline = scatter(
        x=[*box, *box[::-1], box[0], gap, *box, gap, place, place, gap, *cap, gap, place, place, gap, *cap],
        y=[first] * 2
        + [third] * 2
        + [first, gap, median, median, gap, third, high, gap, high, high, gap, first, low, gap, low, low],
        mode="lines",
        line={"width": 1.5, "color": color},
        meta={"role": "band"},
    )
    shown = values if len(values) <= MOST_POINTS else values[(values < low) | (values > high)]
    points = scatter(
        x=place + _HALF * ((np.arange(len(shown)) * _GOLDEN) % 1 - 0.5),
        y=shown,
        mode="markers",
        marker={"size": 3, "opacity": 0.5, "color": color},
        meta={"role": "band"},
    )
    return [trace.set(name=name, hoverinfo="y") for trace in (outline, points) if len(trace["y"])]
