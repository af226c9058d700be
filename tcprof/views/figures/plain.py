"""Figures of plotly as plain data, as its script takes them.

plotly's own classes check each setting when it is set, which takes longer than all else of a page. They are made for
notebooks and files alone, and by the tests of each figure.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tcprof.arrays import Floats

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
    """A trace of points, lines or areas."""
    return Settings().set(settings, type="scatter")


def bar(**settings: Any) -> Settings:
    """A trace of bars."""
    return Settings().set(settings, type="bar")


class PlotlyFigure:
    """A figure.

    Attributes:
        data: Its traces.
        layout: Its axes, titles and all else.
    """

    def __init__(self) -> None:
        self.data: list[Settings] = []
        self.layout = Settings()

    def add_trace(self, trace: Settings) -> None:
        """Draw something."""
        self.data.append(trace)

    def add_scatter(self, **settings: Any) -> None:
        """Draw points, lines or areas."""
        self.add_trace(scatter(**settings))

    def add_bar(self, **settings: Any) -> None:
        """Draw bars."""
        self.add_trace(bar(**settings))

    def add_annotation(self, **settings: Any) -> None:
        """Write something."""
        self.layout.setdefault("annotations", []).append(Settings().set(settings))

    def add_shape(self, **settings: Any) -> None:
        """Draw a line or an area that is no trace."""
        self.layout.setdefault("shapes", []).append(Settings().set(settings))

    def update_layout(self, *more: Mapping[str, Any], **named: Any) -> Self:
        """Set some settings, see ``Settings.set``."""
        self.layout.set(*more, **named)
        return self

    def to_dict(self) -> dict[str, Any]:
        """What plotly's script takes, of what JSON has."""
        return {"data": _encode(self.data), "layout": _encode(self.layout)}

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False)

    def to_plotly(self) -> "go.Figure":
        """The figure as plotly for Python has it, which checks all its settings."""
        import plotly.graph_objects as go

        return go.Figure({"data": self.data, "layout": self.layout})


def _encode(value: Any) -> Any:
    """What JSON has for a value: of an array its bytes, where plotly's script takes them."""
    if isinstance(value, Mapping):
        return {name: _encode(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, list | tuple):
        return [_encode(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _encode_array(values: Floats) -> Any:
    if values.dtype == np.int64 and values.size:
        fitting = (each for each in _INTEGERS if each.min <= values.min() and values.max() <= each.max)
        values = values.astype(next((each.dtype for each in fitting), values.dtype))
    kind = _TYPES.get(str(values.dtype))
    if kind is None or not values.size:
        return _encode(values.tolist())
    encoded = {"dtype": kind, "bdata": base64.b64encode(values.tobytes()).decode("ascii")}
    return encoded | ({"shape": str(values.shape)[1:-1]} if values.ndim > 1 else {})
