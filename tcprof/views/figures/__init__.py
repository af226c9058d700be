"""Figures of plotly as plain data, as its script takes them, and what their layouts share: frames in, figures out.

plotly's own classes check each setting when it is set, which takes longer than all else of a page. They are made for
notebooks and files alone, and by the tests of each figure. Backgrounds are transparent and colours are those that read
on light and dark, so that a page needs to change only the colour of the text.
"""

import base64
import json
import math
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tcprof.arrays import Floats
from tcprof.untrusted import one_line

if TYPE_CHECKING:
    import plotly.graph_objects as go


# Arrays that plotly's script takes as their bytes, by the type of their numbers; of 8 bytes it takes no integers.
_TYPES = {"int8": "i1", "int16": "i2", "int32": "i4", "float32": "f4", "float64": "f8"}
_INTEGERS = [np.iinfo(name) for name in ("int8", "int16", "int32")]


class Settings(dict[str, Any]):
    """Settings of a trace or of a layout, one within the other."""

    def set(self, *more: Mapping[str, Any], **named: Any) -> Self:
        """Set some; those within one that is there already stay, but for the same. None sets nothing."""
        for given in (*more, named):
            for name, value in given.items():
                if isinstance(value, Mapping):
                    self[name] = Settings(self.get(name, {})).set(value)
                elif value is not None:
                    self[name] = value
        return self


def scatter(**settings: Any) -> Settings:
    """Make a trace of points, lines or areas; where ``hovertext`` is set, hovering shows only that."""
    return _trace("scatter", settings)


def bar(**settings: Any) -> Settings:
    """Make a trace of bars, likewise."""
    return _trace("bar", settings)


def _trace(kind: str, settings: Mapping[str, Any]) -> Settings:
    hover = {"hovertemplate": "%{hovertext}<extra></extra>"} if "hovertext" in settings else {}
    return Settings().set(hover, settings, type=kind)


class PlotlyFigure:
    """A figure."""

    def __init__(self) -> None:
        self.data: list[Settings] = []
        self.layout = Settings()

    def add_scatter(self, **settings: Any) -> None:
        """Draw points, lines or areas."""
        self.data.append(scatter(**settings))

    def add_bar(self, **settings: Any) -> None:
        """Draw bars."""
        self.data.append(bar(**settings))

    def add_annotation(self, **settings: Any) -> None:
        """Write something."""
        self.layout.setdefault("annotations", []).append(Settings().set(settings))

    def add_title(self, text: str, y: float) -> None:
        """Write the title of a strip above its upper left corner, in shares of the figure."""
        place = {"xref": "paper", "yref": "paper", "x": 0.0, "y": y, "xanchor": "left", "yanchor": "bottom"}
        self.add_annotation(text=text, showarrow=False, **place)

    def add_shape(self, **settings: Any) -> None:
        """Draw a line or an area that is no trace."""
        self.layout.setdefault("shapes", []).append(Settings().set(settings))

    def update_layout(self, *more: Mapping[str, Any], **named: Any) -> Self:
        """Set some settings, see ``Settings.set``."""
        self.layout.set(*more, **named)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Turn the figure into what plotly's script takes, in types that JSON has."""
        return {"data": _encode(self.data), "layout": _encode(self.layout)}

    def to_json(self) -> str:
        """Write the same as text."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)

    def to_plotly(self) -> "go.Figure":
        """Turn the figure into one of plotly for Python, which checks all its settings."""
        import plotly.graph_objects as go

        return go.Figure({"data": self.data, "layout": self.layout})


def say_absent(text: str) -> PlotlyFigure:
    """Draw a figure that says why there is nothing to draw."""
    figure = PlotlyFigure()
    lines = "<br>".join(label(line, _WRAPPED) for line in wrap(text, _WRAPPED))
    figure.add_annotation(text=lines, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5)
    return figure.update_layout(base_layout(200), xaxis={"visible": False}, yaxis={"visible": False})


def _encode(value: Any) -> Any:
    """Encode a value for JSON: of an array its bytes, where plotly's script takes them."""
    if isinstance(value, Mapping):
        return {name: _encode(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _encode_array(values: Floats) -> Any:
    if values.dtype == np.int64 and values.size:
        fitting = (info for info in _INTEGERS if info.min <= values.min() and values.max() <= info.max)
        values = values.astype(next((info.dtype for info in fitting), values.dtype))
    kind = _TYPES.get(str(values.dtype))
    if kind is None or not values.size:
        return _encode(values.tolist())
    encoded = {"dtype": kind, "bdata": base64.b64encode(values.tobytes()).decode("ascii")}
    return encoded | ({"shape": str(values.shape)[1:-1]} if values.ndim > 1 else {})


_STEPS = (1, 2, 5, 10)
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def unit_ticks(low: float, high: float, unit: str, most: int = 5) -> dict[str, object]:
    """Choose round values from one to another, with the unit and its prefix: "50 ms", "500 TFLOP/s"."""
    if not high > low:
        return {"tickvals": [low], "ticktext": [_tick(low, unit)]}
    least = (high - low) / most
    size = 10 ** math.floor(math.log10(least))
    step = next(factor * size for factor in _STEPS if factor * size >= least * (1 - 1e-9))
    values = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {"tickvals": values.tolist(), "ticktext": [_tick(value, unit) for value in values.tolist()]}


def log_ticks(low: float, high: float, unit: str) -> dict[str, object]:
    """Choose those of a logarithmic axis: 1, 2 and 5 of each power of ten, which a zoom needs."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [value for power in powers for value in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)]
    ticks = [value for value in values if low <= value <= high]
    return {"tickvals": ticks, "ticktext": [_tick(value, unit) for value in ticks]}


def _tick(value: float, unit: str) -> str:
    exponent = 3 * math.floor(math.log10(abs(value)) / 3 + 1e-9) if value else 0
    exponent = min(max(exponent, min(_PREFIXES)), max(_PREFIXES))
    return f"{value / 10.0**exponent:.9g} {_PREFIXES[exponent] if value else ''}{unit}".rstrip()


GRID = "rgba(128,128,128,0.22)"
AXIS = {"gridcolor": GRID, "zeroline": False}
LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
LABEL_LENGTH = 60
_MOST_TICKS = 12
_WRAPPED = 80  # characters of a line of text


def label(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut any text to one short line that plotly shows as it is: nothing in it is markup, or a formula."""
    escaped = one_line(text, length).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("$", "&#36;")


def axis_names(number: int) -> tuple[str, str]:
    """Name a vertical axis, counted from 0, for traces and for the layout: ("y", "yaxis"), ("y2", "yaxis2")."""
    nth = str(number + 1) if number else ""
    return f"y{nth}", f"yaxis{nth}"


def base_layout(height: int, top: int = 30, bottom: int = 40) -> dict[str, object]:
    """Make the layout that all figures share."""
    return {
        "height": height,
        "margin": {"l": 52, "r": 12, "t": top, "b": bottom},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12},
        "uniformtext": {"mode": "hide", "minsize": 10},
        "dragmode": "zoom",
        "hovermode": "closest",
        "template": {"data": {"scatter": [{"type": "scatter"}]}},  # "none" of plotly for Python
    }


def number_axis(anchor: str, last: float) -> dict[str, object]:
    """Make an axis of the numbers of steps, from 0 on."""
    return {
        "anchor": anchor,
        "range": [-0.5, last + 0.5],
        **AXIS,
        "tickformat": ",d",
        **({"dtick": 1} if last < _MOST_TICKS else {"nticks": _MOST_TICKS}),  # else numbers would come twice
        "title": {"text": "step", "standoff": 6},
    }
