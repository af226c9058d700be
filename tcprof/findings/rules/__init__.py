"""The rules of advice. Each module here is one, and its docstring is its documentation, in ``docs/advice.md``.

A rule is a module with ``find(step)``, which gives the advice that it has for a step, or none. What it is called, as in
``--fail-if 'finding fp32-matmul'``, is its module's name with hyphens.
"""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from tcprof.findings.pricing.advice import Advice
from tcprof.findings.pricing.step import Step

Rule = Callable[[Step], list[Advice]]
RULES = tuple(sorted(each.name for each in pkgutil.iter_modules(__path__)))


def load_rule(name: str) -> ModuleType:
    """The module of a rule, one of ``RULES``."""
    return import_module(f"{__name__}.{name}")
