"""The same sides with another one of them as the baseline."""

import pytest
from comparison_inputs import compare_several, read_steps

from tcprof.comparison import Side, compare
from tcprof.comparison.comparison import MOST_SIDES, compare_other_ways, put_first
from tcprof.comparison.gate.judge import Gate, judge_condition
from tcprof.comparison.gate.parse import parse_condition
from tcprof.findings.compared import judge_comparison
from tcprof.views.comparison.page import ComparedSide, view_comparison_page
from tcprof.views.document import Summary

pytestmark = pytest.mark.usefixtures("shared_reads")


def side(folder, name, ranges=("forward",), length=100):
    return Side(name, (read_steps(folder, f"{name}.sqlite", (("gemm", length),), ranges=ranges),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("baselines")


def test_another_side_changes_places_with_the_baseline():
    assert put_first("abcd", 2) == ["c", "b", "a", "d"]


def test_each_other_side_is_the_baseline_of_the_others(folder):
    sides = [side(folder, name, length=length) for name, length in (("a", 100), ("b", 200), ("c", 300))]
    ways = compare_other_ways(sides, {})
    assert [[(each.base.name, each.new.name) for each in way] for way in ways] == [
        [("b", "a"), ("b", "c")],
        [("c", "b"), ("c", "a")],
    ]
    straight = compare(sides[1], sides[0])
    assert ways[0][0].rows.equals(straight.rows)


@pytest.mark.slow
def test_names_are_mapped_back(folder):
    sides = [side(folder, "old", ("fwd",)), side(folder, "x", ("forward",)), side(folder, "y", ("forward",))]
    ways = compare_other_ways(sides, {"fwd": "forward"})
    assert len(ways) == 2
    for comparison in (each for way in ways for each in way):
        path = "step / fwd" if comparison.new.name == "old" else "step / forward"
        rows = comparison.rows
        (row,) = rows[(rows["path"] == path) & (rows["quantity"] == "kernel_ns")].to_dict("records")
        assert min(row["base"], row["new"]) > 0


def test_there_is_none_where_names_cannot_be_mapped_back_or_sides_are_many(folder):
    sides = [side(folder, "one", ("fwd",)), side(folder, "two", ("forward",))]
    assert compare_other_ways(sides, {"fwd": "forward", "f": "forward"}) == []
    assert compare_other_ways(sides, {"fwd": "nowhere"}) == []
    assert compare_other_ways([sides[0]] * (MOST_SIDES + 1), {}) == []


@pytest.mark.slow
def test_the_gate_says_which_baseline_it_judged_with(folder):
    sides = [side(folder, "before"), side(folder, "after", length=200)]
    first = compare(*sides)
    gate = Gate((judge_condition(parse_condition("time > +5%"), first.rows, first.iteration_path, ()),))
    ((other,),) = compare_other_ways(sides, {})
    documents = [
        view_comparison_page([judge_comparison(each)], gate, place=place, choosable=True)
        for place, each in enumerate((first, other))
    ]
    said = "It was judged with before as the baseline."
    assert [said in document.gate.advice for document in documents] == [False, True]
    assert documents[0].gate.outcome == documents[1].gate.outcome
    numbers = [[part.baseline for part in each.parts if isinstance(part, ComparedSide)] for each in documents]
    assert numbers == [[1, 2], [2, 1]]


@pytest.mark.slow
def test_verdicts_on_several_sides_stand_below_their_names(folder):
    comparisons = compare_several(folder, (1,))
    document = view_comparison_page([judge_comparison(each) for each in comparisons])
    assert [part.title for part in document.parts if isinstance(part, Summary)] == ["middle", "fast"]


def test_a_side_keeps_its_colour_with_any_baseline(folder):
    sides = [side(folder, name, length=length) for name, length in (("a", 100), ("b", 200), ("c", 300))]
    ways = [[compare(sides[0], each) for each in sides[1:]], *compare_other_ways(sides, {})]
    colors = []
    for comparisons in ways:
        document = view_comparison_page([judge_comparison(each) for each in comparisons])
        shown = [part for part in document.parts if isinstance(part, ComparedSide)]
        colors.append({part.title: part.color for part in shown})
    assert colors[0] == colors[1] == colors[2]
    assert len(set(colors[0].values())) == 3
