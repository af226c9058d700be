"""The rules of advice, in modules by what they are about. ``docs/advice.md`` says of each what it finds, and why.

A rule is a function ``find(step)`` under ``@rule(...)``, which names its findings. It is found wherever it stands here.
"""

import pkgutil
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module

from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.step import Step


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules, by their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    rules = [value for module in modules for value in vars(module).values() if isinstance(value, Rule)]
    return tuple(sorted(rules, key=lambda rule: rule.names))


@cache
def rules_of_findings() -> dict[str, Rule]:
    """By the name of each finding, the rule that it is of."""
    return {name: rule for rule in load_rules() for name in rule.names}


def apply_rules(step: Step) -> list[Advice]:
    """What all rules find, in their order; those that ask for other findings come after these."""
    findings: dict[tuple[str, ...], list[Advice]] = {}
    rules = rules_of_findings()
    order = TopologicalSorter({rule: {rules[name] for name in rule.after} for rule in load_rules()})
    for rule in order.static_order():
        names = {advice.rule for advices in findings.values() for advice in advices}
        findings[rule.names] = rule.find(step, names & {*rule.after}) if rule.after else rule.find(step)
    return [advice for rule in load_rules() for advice in findings[rule.names]]
