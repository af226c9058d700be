"""Idle time that several findings are about is in the price of one of them alone."""

from collections.abc import Sequence
from dataclasses import replace

from tcprof import units
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.pricing.step import Step

# What each of them wins is idle time; a GPU that works wins nothing by them.
_OPTIMIZER = "unfused-optimizer"
_WHOLE = 0.99  # of its price: what is lost of more is not told
_REST = "launch-bound"  # has what those leave that name the launches
OF_IDLE_TIME = ("launch-bound", "cpu-work", "synchronizing-calls")


def share_idle_time(step: Step, found: Sequence[Advice]) -> list[Advice]:
    """Advice whose low and likely prices are no more than the idle time together: the highest is left as it is.

    Launches that an optimizer spares, and those between waits, are in the prices of these, not of launch-bound.

    Args:
        found: What the rules have found in it.
    """
    left = [100 * max(0.0, 1 - step.busy_ns / step.alone_ns[tracing]) for tracing in step.tracing]
    shared: dict[str, Advice] = {}
    spared = [each for each in found if each.rule == _OPTIMIZER and each.gain.is_known]
    of_idle_time = [each for each in found if each.rule in OF_IDLE_TIME and each.gain.is_known]
    for advice in sorted(of_idle_time, key=lambda each: (each.rule == _REST, -each.gain.likely_ns)):
        if advice.rule == _REST and spared:
            left = [max(0.0, most - won) for most, won in zip(left, spared[0].gain.shares_pct, strict=True)]
        others = ", ".join([*shared, *[_OPTIMIZER] * (advice.rule == _REST and bool(spared))])
        shared[advice.rule] = _limit(advice, left, others) if others else advice
        left = [most - won for most, won in zip(left, shared[advice.rule].gain.shares_pct, strict=True)]
    return [shared.get(each.rule, each) for each in found]


def _limit(advice: Advice, most_pct: Sequence[float], others: str) -> Advice:
    """Advice that wins no more than what others leave; what they have is evidence."""
    before = advice.gain.shares_pct
    parts = [max(0.0, min(1.0, most / won)) if won > 0 else 1.0 for won, most in zip(before, most_pct, strict=True)]
    parts[2] = max(parts[2], parts[1] * before[1] / before[2] if before[2] > 0 else 0.0)  # high is no less than likely
    gain = advice.gain.with_shares([part * share for part, share in zip(parts, before, strict=True)])
    gain = replace(gain, reason=f"the idle time is in the price of {others}") if gain.is_futile else gain
    told = f"of the idle time {units.format_ns(advice.gain.likely_ns - gain.likely_ns)} is in the price of {others}"
    options = (replace(advice.options[0], gain=gain), *advice.options[1:])
    evidence = (*advice.evidence, *([told] if parts[1] < _WHOLE else []))
    return replace(advice, gain=gain, options=options, evidence=evidence)
