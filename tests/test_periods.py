"""The period of a sequence: repetitions of which the truth is known."""

import numpy as np
import pytest

from tcprof.analysis.steps.periods import Sequence, find_repetitions

LAYER = [10, 11, 12, 13, 10, 14]
STEP = [1, 2, *LAYER * 12, 3, 4, 5]
FLAT = [1, 2, 3, 4, 5, 6, 7]  # without an inner loop


def find(elements, weight=None, starting=(), kinds=None, several=(), whole=None):
    """Starts and lengths of the repetitions; unless ``whole`` says where, any of them may be a whole step."""
    elements = np.array(elements, dtype=np.int64)
    marks, graphs = (np.isin(np.arange(len(elements)), list(places)) for places in (starting, several))
    once = np.ones(len(elements), dtype=bool) if whole is None else np.isin(np.arange(len(elements)), list(whole))
    weight = np.ones(len(elements)) if weight is None else np.array(weight, dtype=float)
    kinds = elements if kinds is None else np.array(kinds, dtype=np.int64)
    start, end = find_repetitions(Sequence(elements, kinds, weight, marks, graphs, once))
    return start.tolist(), (end - start).tolist()


def multiples(length, count, offset=0):
    return [offset + length * number for number in range(count)], [length] * count


@pytest.mark.parametrize(
    "step", [STEP, FLAT, [0, 1], [0, 0, 1]], ids=["inner loop", "flat", "two kernels", "twice the same"]
)
@pytest.mark.parametrize("count", [3, 4, 10])
def test_repetitions_of_a_step(step, count):
    assert find(step * count) == multiples(len(step), count)


@pytest.mark.parametrize(
    "elements", [[], [1], FLAT, FLAT * 2, list(range(500))], ids=["none", "one", "once", "twice", "all other"]
)
def test_what_does_not_repeat_three_times_has_no_period(elements):
    assert find(elements) == ([], [])


def test_a_graph_again_and_again_is_a_step():
    assert find([0] * 6, several=range(6)) == multiples(1, 6)


@pytest.mark.parametrize("kinds", [5, 40, 1000])
def test_what_comes_by_chance_has_no_period(kinds):
    assert find(np.random.default_rng(kinds).integers(0, kinds, 3000)) == ([], [])


def test_what_comes_before_and_after_is_in_no_repetition():
    before, after = [50, 51, 52, 53, 54, 1, 60], [70, 71, 72]
    assert find(before + STEP * 10 + after) == multiples(len(STEP), 10, len(before))


def test_most_of_the_weight_has_to_repeat():
    elements = [99, *FLAT * 6]
    assert len(find(elements, [30, *[1] * 42])[0]) == 6
    assert find(elements, [50, *[1] * 42]) == ([], [])


def test_layers_of_one_step_do_not_pass_for_steps():
    """Four layers that are over half of all work, in a program that takes one step."""
    assert find([1, 2, 3, 4, *LAYER * 4, 5, 6, 7, 8, 9]) == ([], [])


@pytest.mark.parametrize("whole", [(), range(5, 1000, 63)])
def test_a_token_is_more_than_its_layers_however_little(whole):
    """A sum, or a sample, of 0.1 % of the time after twelve layers that nothing shows to be steps."""
    token = [1, 2, 3, 4, 5] * 12 + [6, 7, 8]
    weight = ([10, 20, 30, 10, 30] * 12 + [0.3, 0.3, 0.3]) * 16
    assert find(token * 16, weight, whole=whole) == multiples(63, 16)


def test_what_waits_each_time_is_a_step_and_what_is_logged_makes_none():
    steps = ([1, 2, 3, 4] * 10 + [9]) * 6
    ends = [number for number, kind in enumerate(steps) if kind == 4]
    assert len(find(steps, [0.2 if kind == 9 else 1 for kind in steps], whole=ends)[0]) == 60


def test_many_layers_do_not_hide_the_step():
    step = [1, 2, *LAYER * 48, 3, 4, 5]
    assert find(step * 20) == multiples(len(step), 20)


@pytest.mark.parametrize("share", [0.005, 0.01, 0.02, 0.05])
def test_elements_that_differ_now_and_then(share):
    random = np.random.default_rng(7)
    elements = np.array(STEP * 40)
    elements[random.random(len(elements)) < share] += 100
    assert find(elements) == multiples(len(STEP), 40)


@pytest.mark.parametrize(("epochs", "steps", "evaluations"), [(5, 10, 4), (3, 50, 20)])
def test_an_evaluation_is_in_no_step_and_makes_none(epochs, steps, evaluations):
    """Its forward pass has the kernels of the step's own."""
    evaluation = [1, 2, *LAYER * 4, 20] * evaluations
    epoch = STEP * steps + evaluation
    starts = [number * len(epoch) + len(STEP) * step for number in range(epochs) for step in range(steps)]
    assert find(epoch * epochs) == (starts, [len(STEP)] * len(starts))


def test_a_mark_tells_where_a_repetition_begins():
    """Warm-up runs the end of the step: without marks that would be its beginning."""
    elements = [60, 61, 3, 4, 5, *STEP * 10]
    assert find(elements, starting=[5 + len(STEP) * number for number in range(10)]) == multiples(len(STEP), 10, 5)


def test_an_unfinished_last_repetition_is_left_out():
    assert find(STEP * 6 + STEP[:40]) == multiples(len(STEP), 6)


def test_of_two_loops_of_which_neither_covers_half_both_are_one_step():
    """Four times 32 steps of a rollout and 8 of an update."""
    cycle = [1, 2, 3, 4] * 32 + [5, 6, 7, 8, 9, 6, 7, 8] * 8
    assert find(cycle * 4, ([1] * 128 + [2.2] * 64) * 4, whole=range(3, 1000, 4)) == multiples(len(cycle), 4)
