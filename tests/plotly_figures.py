"""Figures as plotly for Python has them: it refuses settings that it does not know."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

import plotly.graph_objects as go


def as_plotly(make: Callable[..., Any]) -> Callable[..., go.Figure]:
    """What draws a figure, with plotly's check of all its settings, and that a page has of it what plotly writes."""

    @wraps(make)
    def draw(*arguments: Any, **named: Any) -> go.Figure:
        figure = make(*arguments, **named)
        drawn = figure.to_plotly()
        ours, theirs = json.loads(figure.to_json()), json.loads(drawn.to_json())
        assert ours["data"] == theirs["data"]
        assert ours["layout"].items() <= theirs["layout"].items()
        return drawn

    return draw
