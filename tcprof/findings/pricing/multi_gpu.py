"""What a change wins where several GPUs take a step together: it ends when the last of them is done.

What a GPU saves while it waits for the slowest is absorbed there: a step becomes shorter by the least, of all GPUs, of
what they wait and save together. What is alike on several is one finding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.analysis import MOST_GPUS, busiest_gpus
from tcprof.arrays import Floats
from tcprof.findings.finding import name_gpus
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, Advice, Gain, IdleTime, Option, Rule, Subject
from tcprof.findings.pricing.builders import time_of
from tcprof.findings.pricing.step import Step, measure_step

_AS_LONG = 0.05  # of a step: GPUs that work together have steps as long as each other's
_PARTS_PCT = 10.0  # of a step: GPUs that wait so long for what others send are no copies of each other
_NOTABLE = 0.01  # of a price: what changes it by less is not told
_SAME = 0.5  # of all names that two findings are about: the same work, but for what one GPU alone does
_SENDING = "the GPUs send data to each other: whether a step ends earlier depends on what the others do meanwhile"

AdviceByGpu = Mapping[int, Sequence[Advice]]
Rules = Mapping[str, Rule]


def measure_steps(analysis: Analysis, measured: dict[int, Step] | None = None) -> dict[int, Step]:
    """The mean step of each GPU that has one, each with those of all; of the busiest where there are many."""
    measured = {} if measured is None else measured
    busiest = set(busiest_gpus(analysis, MOST_GPUS))  # one may have no name, and so no row of its own
    steps = (measure_step(analysis, int(gpu), measured) for gpu in analysis.gpus["gpu"] if gpu in busiest)
    return {step.gpu: step for step in steps if step is not None}


def times_of_communication(step: Step) -> dict[int, float]:
    """Exposed time of NCCL's kernels in a step, of each GPU that takes part in the same steps."""
    times = {step.gpu: step.communication_ns}
    for gpu, other in step.beside.items() if step.communication_ns > 0 else ():
        is_as_long = abs(other.length_ns - step.length_ns) <= _AS_LONG * step.length_ns
        if gpu != step.gpu and is_as_long and other.communication_ns > 0:
            times[gpu] = other.communication_ns
    return times


def find_sent(step: Step) -> pd.DataFrame:
    """NCCL's kernels that send from one GPU to another, as ``Step.kernels``."""
    return step.kernels[step.kernels["communication"] & step.kernels["is_sent"]]


def waiting_ns(step: Step) -> float:
    """What of a GPU's communication is waiting for the slowest GPU, which waits least."""
    times = times_of_communication(step)
    return times[step.gpu] - min(times.values())


def price_together(steps: Mapping[int, Step], by_gpu: AdviceByGpu, rules: Rules) -> dict[int, list[Advice]]:
    """Advice whose prices are of steps that end with the slowest GPU; the rules are by the names of findings."""
    return {gpu: [_price(steps[gpu], advice, by_gpu, rules) for advice in by_gpu[gpu]] for gpu in by_gpu}


def _price(step: Step, advice: Advice, by_gpu: AdviceByGpu, rules: Rules) -> Advice:
    times = times_of_communication(step)
    if len(times) == 1 or not advice.gain.is_known or rules[advice.rule].of_all_gpus:
        return advice
    if step.share_pct(time_of(find_sent(step))) >= _PARTS_PCT:
        gains = [replace(option.gain, low_pct=min(0.0, option.gain.low_pct)) for option in advice.options]
        return advice.with_gains(gains, _SENDING)
    waits = {gpu: time - min(times.values()) for gpu, time in times.items()}
    is_idle = rules[advice.rule].idle in (IdleTime.FIRST, IdleTime.SHARED, IdleTime.REST)
    gains, limits = [], []
    for option in advice.options:
        saved = {gpu: _saved(step, gpu, advice, option, by_gpu, is_idle) + wait for gpu, wait in waits.items()}
        limits.append(min(saved, key=lambda gpu: float(saved[gpu][1])))
        shares = 100 * np.minimum.reduce(list(saved.values())) / option.gain.step_ns
        gain = option.gain.with_shares(shares.tolist()).because(f"GPU {limits[-1]} would still take as long")
        gains.append(gain if option.gain.is_known else option.gain)
    note = f"the GPUs run in lockstep: GPU {limits[0]} limits the saving"
    if waits[step.gpu] > waits[limits[0]]:
        note += f"; GPU {step.gpu} waits {units.format_ns(waits[step.gpu])} of each step for it"
    is_notable = abs(gains[0].likely_ns - advice.gain.likely_ns) > _NOTABLE * abs(advice.gain.likely_ns)
    return advice.with_gains(gains, *([note] if is_notable else []))


def _saved(step: Step, gpu: int, advice: Advice, option: Option, by_gpu: AdviceByGpu, is_idle: bool) -> Floats:
    """What a GPU saves by the same, in ns: as advised there, or as far as the same is to be saved there."""
    gain = option.gain
    if gpu != step.gpu:
        same = (other for one in by_gpu[gpu] if one.rule == advice.rule for other in one.options)
        gains = (other.gain for other in same if other.title == option.title and other.gain.is_known)
        gain = next(gains, None) or _estimate(step, step.beside[gpu], advice, gain, is_idle)
    return np.array(gain.shares_pct) / 100 * gain.step_ns


def _estimate(step: Step, other: Step, advice: Advice, gain: Gain, is_idle: bool) -> Gain:
    """Nothing at the least; likely in proportion to the time of the same kernels, or to the idle time."""
    if is_idle:
        part = min(1.0, other.idle_ns / step.idle_ns) if step.idle_ns > 0 else 0.0
        return replace(gain, low_pct=0.0, likely_pct=part * gain.likely_pct)
    of_steps = (side.kernels for side in (step, other))
    here, there = (time_of(kernels[kernels["name"].isin(advice.about.kernels)]) for kernels in of_steps)
    part = there / here if here > 0 else 0.0
    return other.price_kernels(part * np.array([0.0, max(0.0, gain.likely_ns), max(0.0, gain.high_ns)]))


def join_alike(findings: Sequence[Advice]) -> list[Advice]:
    """Advice of one rule, about the same, with prices that agree, as one for all GPUs, by the figures of the first."""
    groups: list[list[Advice]] = []
    for advice in findings:
        group = next((group for group in groups if _are_alike(group, advice)), None)
        if group is None:
            groups.append([advice])
        else:
            group.append(advice)
    return [group[0] if len(group) == 1 else _join(group) for group in groups]


def _are_alike(group: Sequence[Advice], other: Advice) -> bool:
    first = group[0]
    return (
        first.rule == other.rule
        and all(advice.gpu != other.gpu for advice in group)
        and [option.title for option in first.options] == [option.title for option in other.options]
        and _is_same(first.about, other.about)
        and all(_agree(advice.gain, other.gain) for advice in group)
    )


def _is_same(one: Subject, other: Subject) -> bool:
    """Whether two subjects are mostly the same by what tells most: kernels, or else ranges, or else modules."""
    for here, there in ((one.kernels, other.kernels), (one.ranges, other.ranges), (one.modules, other.modules)):
        if here or there:
            return len({*here} & {*there}) >= _SAME * len({*here, *there})
    return True


def _agree(one: Gain, other: Gain) -> bool:
    """Whether the likely gain of one is within what the other expects, so that one figure can stand for both."""
    if not (one.is_known and other.is_known):
        return one.is_known == other.is_known
    within = one.low_pct <= other.likely_pct <= one.high_pct or other.low_pct <= one.likely_pct <= other.high_pct
    return one.of == other.of and within


def _join(group: Sequence[Advice]) -> Advice:
    first, unsure = group[0], min(group, key=lambda advice: (LOW, MEDIUM, HIGH).index(advice.confidence))
    gains = [
        _join_gains([option.gain for option in alike]) for alike in zip(*(one.options for one in group), strict=True)
    ]
    note = f"these figures are for {name_gpus([first.gpu])}"
    likely = sorted(advice.gain.likely_pct for advice in group)
    lowest, highest = (units.format_pct(pct) for pct in (likely[0], likely[-1]))
    if lowest != highest:
        note += f"; the saving is the mean over the GPUs ({lowest} to {highest})"
    return replace(
        first.with_gains(gains, note),
        gpus=tuple(sorted(advice.gpu for advice in group)),
        confidence=unsure.confidence,
        raise_confidence=unsure.raise_confidence,
    )


def _join_gains(gains: Sequence[Gain]) -> Gain:
    """What all GPUs win alike: likely the mean, and the least and the most that any of them expects."""
    if not all(gain.is_known for gain in gains):
        return gains[0]
    low, likely, high = zip(*(gain.shares_pct for gain in gains), strict=True)
    step_ns = float(np.mean([gain.step_ns for gain in gains]))
    return replace(gains[0], low_pct=min(low), likely_pct=float(np.mean(likely)), high_pct=max(high), step_ns=step_ns)
