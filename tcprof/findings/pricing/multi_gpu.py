"""What a change wins where several GPUs take a step together: it ends when the last of them is done.

Each GPU waits in its communication for the slowest. What it saves while it waits is absorbed there, so that a step
becomes shorter by the least, of all GPUs, of what they wait and save together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcprof import units
from tcprof.arrays import Floats
from tcprof.findings.pricing.advice import Advice, Gain, Option
from tcprof.findings.pricing.builders import time_of
from tcprof.findings.pricing.communication import find_sent, times_of_communication
from tcprof.findings.pricing.deduplicate_idle import OF_IDLE_TIME
from tcprof.findings.pricing.step import Step

# What these win is of all GPUs already: their prices are made of what each of them waits.
_OF_ALL = ("uneven-gpus", "exposed-communication")
_PARTS_PCT = 10.0  # of a step: GPUs that wait so long for what others send are no copies of each other
_TOLD = 0.01  # of a price: what changes it by less is not told

Found = Mapping[int, Sequence[Advice]]


@dataclass(frozen=True)
class _Others:
    """What the GPUs do that take a step together with another.

    Attributes:
        step: The step of that one.
        waits: What each of them waits for the slowest, in ns of a step; that one too.
        found: The advice on each GPU.
    """

    step: Step
    waits: Mapping[int, float]
    found: Found

    def win(self, advice: Advice, option: Option) -> tuple[int, Gain]:
        """What all of them win by an option of the advice on this one, and which limits it."""
        parts = {gpu: self._saved(gpu, advice, option) + wait for gpu, wait in self.waits.items()}
        limiting = min(parts, key=lambda gpu: float(parts[gpu][1]))
        shares = 100 * np.minimum.reduce(list(parts.values())) / option.gain.step_ns
        gain = option.gain.with_shares(shares.tolist())
        is_held_up = gain.is_futile and not gain.reason
        return limiting, replace(gain, reason=f"GPU {limiting} takes as long") if is_held_up else gain

    def _saved(self, gpu: int, advice: Advice, option: Option) -> Floats:
        """What a GPU saves by the same, in ns: as advised there, or as far as the same is to be saved there."""
        if gpu == self.step.gpu:
            return _levels(option.gain)
        same = (each for one in self.found[gpu] if one.rule == advice.rule for each in one.options)
        known = [each.gain for each in same if each.title == option.title and each.gain.is_known]
        return _levels(known[0] if known else self._estimate(self.step.beside[gpu], advice, option.gain))

    def _estimate(self, other: Step, advice: Advice, gain: Gain) -> Gain:
        """Nothing at the least; likely in proportion to the time of the same kernels, or to the idle time."""
        if advice.rule in OF_IDLE_TIME:
            part = min(1.0, other.idle_ns / self.step.idle_ns) if self.step.idle_ns > 0 else 0.0
            return replace(gain, low_pct=0.0, likely_pct=part * gain.likely_pct)
        own, there = (
            time_of(each.kernels[each.kernels["name"].isin(advice.about.kernels)]) for each in (self.step, other)
        )
        part = there / own if own > 0 else 0.0
        return other.price_kernels((0.0, part * max(0.0, gain.likely_ns), part * max(0.0, gain.high_ns)))


def price_together(steps: Mapping[int, Step], found: Found) -> dict[int, list[Advice]]:
    """Advice whose prices are of steps that end with the slowest GPU.

    Args:
        found: What the rules have found in it.
    """
    return {gpu: _price_of(steps[gpu], found) for gpu in found}


def _price_of(step: Step, found: Found) -> list[Advice]:
    times = times_of_communication(step)
    if len(times) == 1:
        return list(found[step.gpu])
    if step.share_pct(time_of(find_sent(step))) >= _PARTS_PCT:
        return [_without_least(each) for each in found[step.gpu]]
    least = min(times.values())
    others = _Others(step, {gpu: time - least for gpu, time in times.items()}, found)
    return [_with_others(each, others) for each in found[step.gpu]]


def _with_others(advice: Advice, others: _Others) -> Advice:
    if not advice.gain.is_known or advice.rule in _OF_ALL:
        return advice
    limited = [
        others.win(advice, each) if each.gain.is_known else (others.step.gpu, each.gain) for each in advice.options
    ]
    options = tuple(replace(option, gain=gain) for option, (_, gain) in zip(advice.options, limited, strict=True))
    gpu, gain = limited[0]
    is_told = abs(gain.likely_ns - advice.gain.likely_ns) > _TOLD * abs(advice.gain.likely_ns)
    wait = others.waits[others.step.gpu]
    told = f"GPUs that communicate go on together: GPU {gpu} limits what is won"
    if wait > others.waits[gpu]:
        told += f", for which GPU {others.step.gpu} waits {units.format_ns(wait)} of a step"
    return replace(advice, gain=gain, options=options, evidence=(*advice.evidence, *([told] if is_told else [])))


def _without_least(advice: Advice) -> Advice:
    """Advice of which it is not told whether the step becomes shorter at all."""
    if not advice.gain.is_known or advice.rule in _OF_ALL:
        return advice
    options = tuple(
        replace(each, gain=replace(each.gain, low_pct=min(0.0, each.gain.low_pct))) for each in advice.options
    )
    told = "GPUs send to each other: whether a step ends earlier depends on what the others do meanwhile"
    return replace(advice, gain=options[0].gain, options=options, evidence=(*advice.evidence, told))


def _levels(gain: Gain) -> Floats:
    """Low, likely and high, in ns."""
    return np.array(gain.shares_pct) / 100 * gain.step_ns
