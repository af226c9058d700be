"""The gate's verdicts as JUnit XML, read back by a parser."""

from xml.etree import ElementTree

import pytest
from gate_inputs import make_row, make_rows

from tcprof.comparison.gate import Gate, judge_condition, parse_condition
from tcprof.render.formats.junit import render
from tcprof.views.comparison.gate import view_gate
from tcprof.views.document import Document


def judge(text, path="step"):
    return judge_condition(parse_condition(text), make_rows(make_row(path=path)), path)


JUDGEMENTS = [judge("time > +5%"), judge("time > +9%"), judge("time > +15%")]


def read(judgements, strict=False, base=("base.sqlite",), new=("new.sqlite",)):
    files = {side: [{"file": name} for name in names] for side, names in (("base", base), ("new", new))}
    text = render(Document("comparison", data={"recordings": files}, gate=view_gate(Gate(tuple(judgements), strict))))
    assert text.isascii()
    root = ElementTree.fromstring(text.encode("ascii"))
    assert root.tag == "testsuites"
    (suite,) = root
    assert (suite.tag, suite.get("name")) == ("testsuite", "tcprof")
    return suite


def results(suite):
    """Each test case by its name, with the element that says how it ended, and that one's message."""
    found = {}
    for case in suite.iter("testcase"):
        ended = [child for child in case if child.tag in ("failure", "skipped", "error")]
        assert len(ended) <= 1
        found[case.get("name")] = (ended[0].tag, ended[0].get("message")) if ended else ("passed", None)
        assert all(child.text == child.get("message") for child in ended)
    return found


def counts(suite):
    return {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def test_a_test_case_for_each_condition():
    suite = read(JUDGEMENTS)
    assert counts(suite) == {"tests": 3, "failures": 1, "errors": 0, "skipped": 1}
    assert results(suite) == {
        "time > +5% (step)": ("failure", "fail: +10.0 %, 95 % interval +8.0 % to +12.0 %"),
        "time > +9% (step)": (
            "skipped",
            "inconclusive: +10.0 %, 95 % interval +8.0 % to +12.0 %: the interval includes the bound",
        ),
        "time > +15% (step)": ("passed", None),
    }
    assert {case.get("classname") for case in suite.iter("testcase")} == {"tcprof.compare"}
    assert [case.findtext("system-out") for case in suite.iter("testcase")] == [
        None,
        None,
        "+10.0 %, 95 % interval +8.0 % to +12.0 %",
    ]


def test_what_cannot_be_told_is_a_failure_when_strict():
    suite = read(JUDGEMENTS, strict=True)
    assert counts(suite) == {"tests": 3, "failures": 2, "errors": 0, "skipped": 0}
    assert [ended for ended, _ in results(suite).values()] == ["failure", "failure", "passed"]


def test_the_files_are_properties():
    suite = read(JUDGEMENTS, base=["base-1.sqlite", "base-2.sqlite"], new=["<new> & 'old'.sqlite"])
    assert [(each.get("name"), each.get("value")) for each in suite.iter("property")] == [
        ("base", "base-1.sqlite"),
        ("base", "base-2.sqlite"),
        ("new", "<new> & 'old'.sqlite"),
    ]


def test_no_condition_is_an_empty_suite():
    assert counts(read([])) == {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b\x1b[31m\x0b", "a\ufffdb\ufffd[31m\ufffd"),
        ("a\ud800b\ufffe\uffff", "a\ufffdb\ufffd\ufffd"),
        ("right\u202eto left\nline", "right\ufffdto left\ufffdline"),
        ("]]> <!-- & \"quotes\" 'x' </testcase>", "]]> <!-- & \"quotes\" 'x' </testcase>"),
        ("µ 前向 😀", "µ 前向 😀"),
    ],
)
def test_names_are_text_whatever_they_hold(name, shown):
    suite = read([judge("time > +5%", path=name)], base=[name], new=[name])
    assert [case.get("name") for case in suite.iter("testcase")] == [f"time > +5% ({shown})"]
    assert {each.get("value") for each in suite.iter("property")} == {shown}
