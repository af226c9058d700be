"""What a page says of a column stands alone: in a tooltip, nothing that it could lean on can be read."""

import re

import pytest
from builders import FIXTURES
from comparison_inputs import render_page as render_comparison

import tcprof
from tcprof.comparison import compare
from tcprof.render.html.pages import render_report

pytestmark = pytest.mark.usefixtures("shared_reads")
_TOOLTIP = re.compile(r'<th scope="col"[^>]*><button type="button" title="([^"]*)">([^<]*)<')
_LEANING = re.compile(r"\blikewise\b|\A(?:These|That|Their mean|The same)\b")


@pytest.fixture(scope="module", params=["mlp_fp32 mlp_fp16"])
def pages(request):
    """The page of a recording, and that of a comparison."""
    base, new = (tcprof.read(FIXTURES / f"{name}.sqlite") for name in request.param.split())
    return render_report(new, new.findings), render_comparison([compare(base, new)])


@pytest.fixture(scope="module")
def tooltips(pages):
    """What is said of each column of both pages, with its title."""
    return {(title, meaning) for page in pages for meaning, title in _TOOLTIP.findall(page)}


def test_it_leans_on_no_other_column(tooltips):
    assert len(tooltips) > 40
    assert [each for each in tooltips if _LEANING.search(each[1])] == []


def test_it_has_no_marks_of_the_documentation(tooltips):
    assert [each for each in tooltips if re.search(r"[*`\\]", each[1])] == []


def test_it_says_more_than_the_title(tooltips):
    words = [[set(re.findall(r"\w+", text.lower())) for text in each] for each in tooltips]
    assert [title for title, meaning in words if not meaning - title] == []


def test_columns_of_the_comparison_are_explained_below_their_tables(pages):
    assert pages[1].count("What the columns mean") >= 3
