"""What a notebook shows."""

from html.parser import HTMLParser

import pytest
from builders import FIXTURES, TraceBuilder

import tcprof
from tcprof.views.recording.advice import view_best

pytestmark = pytest.mark.usefixtures("shared_reads")

HOSTILE = '</script><img src=x onerror="alert(1)"> $x^2$ & "\''


class Seen(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    builder = TraceBuilder().gpu()
    for at in range(0, 800_000, 100_000):
        builder.range(HOSTILE, at, at + 90_000).kernel(HOSTILE, at + 5_000, at + 80_000, launched=at + 1_000)
    return builder.samples([50] * 80).write(tmp_path_factory.mktemp("hostile"))


def test_an_analysis_shows_its_verdict_its_advice_and_what_loses_most():
    report = tcprof.read(FIXTURES / "mnist_amp.sqlite")
    seen = Seen(report._repr_html_())
    assert "mnist_amp.sqlite" in seen.text
    assert "backward" in seen.text
    assert view_best(report.analysis, report.advice)[0].startswith("1. ")
    assert all(line in seen.text for line in view_best(report.analysis, report.advice))
    assert seen.tags.count("table") == 2


def test_a_comparison_shows_its_verdict_and_its_steps():
    base, new = (tcprof.read(FIXTURES / f"mlp_{name}.sqlite") for name in ("fp32", "tf32"))
    seen = Seen(tcprof.compare(base, new)._repr_html_())
    assert "new is faster: 0.43" in seen.text
    assert "Step time" in seen.text


@pytest.mark.slow
def test_names_are_text(hostile):
    analysis = tcprof.read(hostile)
    for shown in (analysis, tcprof.compare(analysis, analysis)):
        seen = Seen(shown._repr_html_())
        assert set(seen.tags) <= {"div", "p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td"}
        assert HOSTILE[:20] in seen.text


@pytest.mark.parametrize("name", ["roofline", "tensor_time"])
def test_a_figure_without_data_says_why(name, tmp_path):
    analysis = tcprof.read(TraceBuilder().gpu().write(tmp_path))
    figure = getattr(analysis, f"figure_{name}")()
    assert not figure.data
    (annotation,) = figure.layout.annotations
    assert annotation.text.startswith(("There is no", "The samples do not resolve"))
    assert not figure.layout.xaxis.visible
