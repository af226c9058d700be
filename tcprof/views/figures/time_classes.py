"""The time classes: which are shown, and their colours, the same in every drawing."""

import pandas as pd

from tcprof.analysis.time.timeline import TIME_CLASSES
from tcprof.views.figures.curves import TENSOR_COLOR
from tcprof.views.figures.lanes import BAR_TEXT

# Shown where there are any.
SELDOM = (
    "unresolved_kernel",
    "graph",
    "communication",
    "small_grid",
    "issue_bound",
    "fp32_bound",
    "memory_bound",
)
CLASS_COLORS = {
    "tensor_kernel": TENSOR_COLOR,
    "memory_bound": "#0072B2",
    "fp32_bound": "#CC79A7",
    "issue_bound": "#56B4E9",
    "small_grid": "#A9C4D6",
    "other_kernel": "#7A8CA3",
    "unresolved_kernel": "#B9A7C9",
    "graph": "#7F5FA8",
    "communication": "#009E73",
    "copy": "#E6C229",
    "idle": "rgba(128,128,128,0.22)",
}


def shown_classes(rows: pd.DataFrame) -> list[str]:
    """The time classes that occur, and those that everyone looks for.

    Args:
        rows: Rows of ``tcprof.frames.TIMELINE``.
    """
    return [name for name in TIME_CLASSES if name not in SELDOM or (rows[f"{name}_ns"] > 0).any()]


def text_on(color: str) -> str:
    """The colour of a name in a bar: dark, or white where that is read better.

    Args:
        color: The bar's colour, as #RRGGBB or rgba(…); what lets the page shine through counts as light.
    """
    if not color.startswith("#"):
        return BAR_TEXT
    red, green, blue = (_linear(int(color[place : place + 2], 16) / 255) for place in (1, 3, 5))
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # relative luminance, as the contrast ratio of WCAG takes it
    return BAR_TEXT if light > 0.19 else "#FFFFFF"


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
