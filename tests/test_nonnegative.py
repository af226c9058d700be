"""Least squares with no value below 0, against another method and against what defines the solution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from tcprof.analysis.kernels.constraints import minimize_nonnegative

RIDGE = 1e-10


def system(seed, unknowns, rows, alike=0.0):
    """Normal equations of random rows; some columns are nearly like the one before."""
    generator = np.random.default_rng(seed)
    design = generator.normal(size=(rows, unknowns))
    design[:, 1::2] = (1 - alike) * design[:, 1::2] + alike * design[:, : unknowns - 1 : 2]
    design /= np.linalg.norm(design, axis=0)
    matrix = design.T @ design + RIDGE * np.eye(unknowns)
    return matrix, design.T @ generator.normal(size=rows)


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(0, 40), st.sampled_from([0.0, 0.9, 0.999]))
def test_it_is_what_the_older_method_finds(seed, unknowns, more, alike):
    matrix, right = system(seed, unknowns, unknowns + more, alike)
    lower = np.linalg.cholesky(matrix)
    expected = nnls(lower.T, np.linalg.solve(lower, right))[0]
    found = minimize_nonnegative(matrix, right)
    assert found.min() >= 0
    cost, least = (x @ matrix @ x / 2 - right @ x for x in (found, expected))
    assert cost <= least + 1e-9 * max(abs(least), 1)


@pytest.mark.parametrize("unknowns", [1, 60, 300])
def test_no_change_of_one_value_makes_it_less(unknowns):
    matrix, right = system(7, unknowns, unknowns + 5, alike=0.9 if unknowns > 1 else 0.0)
    found = minimize_nonnegative(matrix, right)
    gradient = matrix @ found - right
    assert np.all(gradient[found == 0] > -1e-9)
    assert np.abs(gradient[found > 0]).max(initial=0) < 1e-9
    assert (found > 0).sum() >= (right > 0).any()


def test_where_all_changes_at_once_lead_in_a_circle_one_at_a_time_ends_it():
    """Of these systems one in sixteen needs it."""
    for seed in range(300):
        matrix, right = system(seed, 6, 6, alike=0.999)
        gradient = matrix @ (found := minimize_nonnegative(matrix, right)) - right
        assert found.min() >= 0
        assert gradient.min() > -1e-7, seed


def test_of_nothing_it_is_nothing():
    assert minimize_nonnegative(np.empty((0, 0)), np.empty(0)).tolist() == []
    assert minimize_nonnegative(np.eye(3), np.array([-1.0, -2.0, 0.0])).tolist() == [0, 0, 0]
