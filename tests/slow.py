"""Parameters of tests that repeat what others show: left out by default, and run by ``make test-slow``."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow(parameters: Iterable[Any]) -> list[Any]:
    """The parameters, marked slow; a tuple is the values of several arguments."""
    values = (each if isinstance(each, tuple) else (each,) for each in parameters)
    return [pytest.param(*each, marks=pytest.mark.slow) for each in values]
