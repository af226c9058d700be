"""Parameters of tests that repeat what others show: left out by default, and run by ``make test-all``."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

MARKED = type(pytest.param())


def slow(parameters: Iterable[Any]) -> list[Any]:
    """The parameters, marked slow; a tuple is the values of several arguments."""

    def mark(each: Any) -> Any:
        if isinstance(each, MARKED):
            return pytest.param(*each.values, marks=[*each.marks, pytest.mark.slow], id=each.id)
        return pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.slow)

    return [mark(each) for each in parameters]


def first(count: int, parameters: Iterable[Any]) -> list[Any]:
    """The parameters, of which those after the first ones are slow: they try the same with other values."""
    every = list(parameters)
    return [*every[:count], *slow(every[count:])]


def one_each(parameters: Iterable[Any], place: int = 0) -> list[Any]:
    """The parameters, of which all are slow whose value at that place another has before them: more of its kind."""
    every, seen = list(parameters), []
    for number, each in enumerate(every):
        kind = (each.values if isinstance(each, MARKED) else each)[place]
        kind = set(kind) if isinstance(kind, dict) else kind
        if kind in seen:
            every[number : number + 1] = slow([each])
        seen.append(kind)
    return every


def first_of(count: int) -> Callable[..., pytest.MarkDecorator]:
    """Parametrize by values of which those after the first ones are slow."""
    return lambda names, values, **options: pytest.mark.parametrize(names, first(count, values), **options)


def one_of_each(place: int) -> Callable[..., pytest.MarkDecorator]:
    """Parametrize by values of which one of each kind is not slow."""
    return lambda names, values, **options: pytest.mark.parametrize(names, one_each(values, place), **options)
