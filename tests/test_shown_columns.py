"""Which columns a page shows before its reader has chosen."""

import re
from urllib.parse import unquote

import pandas as pd
import pytest
from builders import FIXTURES
from report_inputs import HOSTILE

import tcprof
from tcprof.comparison import compare
from tcprof.findings.compared import judge_comparison
from tcprof.views.comparison import view_comparison
from tcprof.views.document import Explorer, Medium, Section
from tcprof.views.paths import kernel_names, link, module_names, range_names
from tcprof.views.recording.show import view_recording

pytestmark = pytest.mark.usefixtures("shared_reads")


def test_a_page_shows_at_most_eight_columns_at_first():
    report = tcprof.read(FIXTURES / "llama.sqlite")
    sections = [
        part
        for part in view_recording(report.analysis, report.findings, report.advice).shown_on(Medium.PAGE)
        if isinstance(part, Section)
    ]
    (explorer,) = (part for section in sections for part in section.parts if isinstance(part, Explorer))
    shown = {each.by: sum(heading.on_page for heading in each.table.headings) for each in explorer.groupings}
    assert {by: count for by, count in shown.items() if by != "gap"} == {"module": 8, "range": 8, "kernel": 8}


# What a page says of a column stands alone: in a tooltip, nothing that it could lean on can be read.

_LEANING = re.compile(r"\blikewise\b|\A(?:These|That|Their mean|The same)\b")


def list_headings(parts):
    for part in parts:
        yield from getattr(part, "headings", ())
        yield from list_headings(getattr(part, "parts", ()))
        yield from list_headings(each.table for each in getattr(part, "groupings", ()))


@pytest.fixture(scope="module")
def tooltips():
    """What is said of each column of the page of a recording, and that of a comparison, with its title."""
    base, new = (tcprof.read(FIXTURES / f"{name}.sqlite") for name in ("mlp_fp32", "mlp_fp16"))
    compared = view_comparison([judge_comparison(compare(base.analysis, new.analysis))])
    documents = view_recording(new.analysis, new.findings, new.advice), compared
    headings = [heading for document in documents for heading in list_headings(document.shown_on(Medium.PAGE))]
    return {(heading.title, heading.meaning) for heading in headings if heading.meaning}


def test_it_leans_on_no_other_column(tooltips):
    assert len(tooltips) > 40
    assert [each for each in tooltips if _LEANING.search(each[1])] == []


def test_it_has_no_marks_of_the_documentation(tooltips):
    assert [each for each in tooltips if re.search(r"[*`\\]", each[1])] == []


def test_it_says_more_than_the_title(tooltips):
    words = [[set(re.findall(r"\w+", text.lower())) for text in each] for each in tooltips]
    assert [title for title, meaning in words if not meaning - title] == []


# What a page's address calls ranges, kernels and modules.


def paths(*rows):
    return pd.DataFrame(rows, columns=["path", "domain"])


def test_names_are_those_that_are_read():
    assert range_names(paths(("step", ""), ("step / forward", ""))) == ["step", "step / forward"]


def test_names_differ_even_where_what_is_read_does_not():
    long = "x" * 300
    names = range_names(paths(("a", ""), ("a", "ops"), (f"{long}1{long}", ""), (f"{long}2{long}", "")))
    assert len(set(names)) == 4
    assert all(len(name) <= 130 for name in names)
    assert names[0].startswith("a~")


def test_hostile_names_are_one_line_and_encoded():
    for name in range_names(paths(*((name, "") for name in HOSTILE))):
        text = link("range", name, 2)
        assert not set("<>\"'& \n") & set(text.removesuffix("&gpu=2"))
        assert unquote(text).removesuffix("&gpu=2") == f"range={name}"


def test_a_kernel_has_one_name_on_all_gpus_and_each_shape_its_own():
    rows = [
        (gpu, name, shape) for gpu in (0, 1) for name, shape in (("gemm", "1 · 2"), ("gemm", "1 · 4"), ("copy", ""))
    ]
    names = kernel_names(pd.DataFrame(rows, columns=["gpu", "name", "launch_geometry"]))
    assert names == 2 * ["gemm 1 · 2", "gemm 1 · 4", "copy"]


def test_phases_of_a_module_share_its_name():
    modules = pd.DataFrame({"module": ["Net", "Net", "Net.0"], "gpu": 0})
    assert module_names(modules) == ["Net", "Net", "Net.0"]
