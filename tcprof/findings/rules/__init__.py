"""The rules of advice. Each module here is one, and its docstring is its documentation, in ``docs/advice.md``.

A rule is a module with ``RULE``, which declares what its findings are called, as in ``--fail-if 'finding fp32-matmul'``
(the module as the first of them), and ``find(step)``, which gives the advice that it has for a step, or none.
"""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.step import Step

RULES = tuple(sorted(each.name for each in pkgutil.iter_modules(__path__)))


def load_rule(name: str) -> ModuleType:
    """The module of a rule, one of ``RULES``."""
    return import_module(f"{__name__}.{name}")


@cache
def rules_of_findings() -> dict[str, Rule]:
    """By the name of each finding, the rule that it is of."""
    rules: list[Rule] = [load_rule(name).RULE for name in RULES]
    return {name: rule for rule in rules for name in rule.names}


def apply_rules(step: Step) -> list[Advice]:
    """What all rules find, in their order; those that ask for other findings come after these."""
    modules = [load_rule(name) for name in RULES]
    found: dict[str, Sequence[Advice]] = {each.__name__: each.find(step) for each in modules if not each.RULE.after}
    names = {advice.rule for advices in found.values() for advice in advices}
    found |= {each.__name__: each.find(step, names & {*each.RULE.after}) for each in modules if each.RULE.after}
    return [advice for each in modules for advice in found[each.__name__]]
