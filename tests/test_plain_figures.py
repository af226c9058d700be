"""Figures as plain data: plotly's script gets of them what plotly for Python would give it."""

import json

import numpy as np
import pytest
from plotly_figures import as_plotly

from tcprof.views.figures import PlotlyFigure, Settings


def drawn(**settings):
    figure = PlotlyFigure()
    figure.add_scatter(**settings)
    return figure


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.5, np.nan, 2.0]),
        np.array([0.5, 1.0], dtype=np.float32),
        np.array([-128, 127]),
        np.array([0, 128]),
        np.array([-40_000, 3]),
        np.array([0, 1 << 40]),
        np.array([1, 2], dtype=np.int32),
        np.array([True, False]),
        np.array(["a", "b"]),
        np.array(["a", None], dtype=object),
        np.array([]),
        [1, 2.5, None],
        [1.0, float("nan"), float("inf"), np.float64("nan")],
        [np.int64(3), np.float32(0.5)],
        (1, 2),
    ],
    ids=repr,
)
def test_values_are_what_plotly_makes_of_them(values):
    as_plotly(drawn)(x=values, y=[1, 2, 3], meta={"csv": [[1.0, float("nan")]]})


def test_tables_keep_their_shape():
    figure = drawn(customdata=np.arange(6.0).reshape(3, 2))
    assert figure.to_dict()["data"][0]["customdata"]["shape"] == "3, 2"
    as_plotly(drawn)(customdata=np.arange(6.0).reshape(3, 2))


def test_json_holds_no_number_that_it_does_not_have():
    text = drawn(x=[float("nan")], y=np.array([[np.inf, "text"]], dtype=object)).to_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_settings_within_settings_stay_unless_they_are_set():
    line = {"color": "red", "width": 1}
    trace = Settings().set({"line": line, "name": "a"}).set(line={"width": 2}, name=None)
    assert trace == {"line": {"color": "red", "width": 2}, "name": "a"}
    assert line["width"] == 1, "what is given is not changed"


def test_layouts_notes_and_shapes():
    figure = drawn(x=[1]).update_layout({"xaxis": {"range": [0, 1]}}, title={"text": "A"})
    figure.update_layout(xaxis={"title": {"text": "time"}})
    figure.add_annotation(text="one", font={"size": 9})
    figure.add_annotation(text="two")
    figure.add_shape(type="line", x0=0, x1=1)
    layout = figure.to_plotly().layout
    assert layout.xaxis.range == (0, 1)
    assert layout.xaxis.title.text == "time"
    assert [note.text for note in layout.annotations] == ["one", "two"]
    assert layout.shapes[0].x1 == 1


def test_plotly_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="colour"):
        drawn(line={"colour": "red"}).to_plotly()
