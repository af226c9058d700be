"""Findings that are alike on several GPUs as one: whoever changes the program changes it for all of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tcprof import units
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, Advice, Gain, Option, Subject
from tcprof.findings.words import name_gpus

_SAME = 0.5  # of all names that two findings are about: the same work, but for what one GPU alone does


def join_alike(found: Sequence[Advice]) -> list[Advice]:
    """Advice in which that of one rule, about the same, with prices that agree, is one for all its GPUs.

    Args:
        found: The advice on each GPU; that which comes first lends its figures.
    """
    groups: list[list[Advice]] = []
    for each in found:
        group = next((group for group in groups if _are_alike(group, each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return [group[0] if len(group) == 1 else _join(group) for group in groups]


def _are_alike(group: Sequence[Advice], other: Advice) -> bool:
    first = group[0]
    return (
        first.rule == other.rule
        and all(each.gpu != other.gpu for each in group)
        and [option.title for option in first.options] == [option.title for option in other.options]
        and _is_same(first.about, other.about)
        and all(_agree(each.gain, other.gain) for each in group)
    )


def _is_same(one: Subject, other: Subject) -> bool:
    """Whether two subjects are mostly the same by what tells most: kernels, or else ranges, or else modules."""
    for own, there in ((one.kernels, other.kernels), (one.ranges, other.ranges), (one.modules, other.modules)):
        if own or there:
            return len({*own} & {*there}) >= _SAME * len({*own, *there})
    return True


def _agree(one: Gain, other: Gain) -> bool:
    """Whether the likely gain of one is within what the other expects, so that one figure can stand for both."""
    if not (one.is_known and other.is_known):
        return one.is_known == other.is_known
    within = one.low_pct <= other.likely_pct <= one.high_pct or other.low_pct <= one.likely_pct <= other.high_pct
    return one.of == other.of and within


def _join(group: Sequence[Advice]) -> Advice:
    first = group[0]
    options = tuple(_join_option([each.options[number] for each in group]) for number in range(len(first.options)))
    unsure = min(group, key=lambda each: (LOW, MEDIUM, HIGH).index(each.confidence))
    return replace(
        first,
        gpus=tuple(sorted(each.gpu for each in group)),
        gain=options[0].gain if options else first.gain,
        options=options,
        evidence=(*first.evidence, _tell_figures(group)),
        confidence=unsure.confidence,
        raise_confidence=unsure.raise_confidence,
    )


def _join_option(options: Sequence[Option]) -> Option:
    """What an option wins of all GPUs alike: likely the mean, and the least and the most that any of them expects."""
    gains = [each.gain for each in options]
    if not all(gain.is_known for gain in gains):
        return options[0]
    low, _, high = zip(*(gain.shares_pct for gain in gains), strict=True)
    likely = float(np.mean([gain.likely_pct for gain in gains]))
    step_ns = float(np.mean([gain.step_ns for gain in gains]))
    gain = replace(gains[0], low_pct=min(low), likely_pct=likely, high_pct=max(high), step_ns=step_ns)
    return replace(options[0], gain=gain)


def _tell_figures(group: Sequence[Advice]) -> str:
    told = f"these figures are of {name_gpus([group[0].gpu])}"
    likely = sorted(each.gain.likely_pct for each in group)
    texts = [units.format_pct(each) for each in (likely[0], likely[-1])]
    return told if texts[0] == texts[1] else f"{told}; the likely gain is the mean of {texts[0]} to {texts[1]}"
