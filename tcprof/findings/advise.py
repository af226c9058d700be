"""Advice: what to do first, and what it saves.

Prices are of exposed time, and no more than the CPU's own time leaves, see ``Step``. No idle time is in two of them.
"""

from collections.abc import Sequence
from dataclasses import replace

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings.faults import lacks_kernels
from tcprof.findings.finding import has_amd_gpu
from tcprof.findings.pricing.advice import MEDIUM, UNPRICED, Advice, IdleTime
from tcprof.findings.pricing.builders import about_launches, make_advice
from tcprof.findings.pricing.multi_gpu import join_alike, measure_steps, price_together, waiting_ns
from tcprof.findings.pricing.step import Step
from tcprof.findings.rules import apply_rules, rules_of_findings
from tcprof.findings.steps import MUCH_OUTSIDE_PCT, measure_outside

_COUNTED = 0.5  # of the kernels' time: by their names alone not enough is known
_NOTABLE = 0.01  # of a price: that so much less is counted elsewhere is said


def advise(analysis: Analysis, measured: dict[int, Step] | None = None) -> tuple[Advice, ...]:
    """Advise on a recording, by the steps that ``judge`` measured: what saves most first, then what has no price."""
    measured = {} if measured is None else measured
    if analysis.kernel_instances.empty or has_amd_gpu(analysis.gpus):
        return ()
    steps = measure_steps(analysis, measured)
    by_gpu = {gpu: share_idle_time(step, apply_rules(step)) for gpu, step in steps.items()}
    advices: list[Advice] = []
    for gpu, of_rules in price_together(steps, by_gpu, rules_of_findings()).items():
        for advice in (*find_all_well(steps[gpu], of_rules), *of_rules):
            named = rules_of_findings().get(advice.rule)  # all-well is of none
            is_of_use = steps[gpu].uses_framework or not advice.gain.is_known or not (named and named.of_framework)
            options = (one if is_of_use and not one.gain.is_futile else replace(one, code=()) for one in advice.options)
            advices.append(replace(advice, options=tuple(options)))
    measured.clear()  # each has all of them beside it: else their launches would be kept until cycles are looked for
    joined = join_alike(sorted(advices, key=_order))
    ordered = tuple(sorted(joined, key=lambda advice: _order(advice, _explains_launches(joined))))
    return _leave_prices_out(ordered) if lacks_kernels(analysis) else ordered


def _leave_prices_out(advices: Sequence[Advice]) -> tuple[Advice, ...]:
    """Keep what kernels show, without prices, and nothing that idle time shows: kernels that are missing ran in it."""
    rules = rules_of_findings()
    kept = [one for one in advices if one.rule in rules and rules[one.rule].idle is IdleTime.NONE]
    return tuple(one.with_gains([UNPRICED] * len(one.options)) for one in kept if one.is_shown)


def find_all_well(step: Step, advices: Sequence[Advice]) -> list[Advice]:
    """Nothing to do in the program: no rule has anything to say of a step."""
    rules = rules_of_findings()
    if any(one.gain.is_notable or (not one.gain.is_known and rules[one.rule].of_program) for one in advices):
        return []
    if step.name and not measure_outside(step.analysis, step.gpu)[0] < MUCH_OUTSIDE_PCT:
        return []
    exposed, counted = step.kernels["exposed_ns"], step.kernels["tensor_active_pct"].notna()
    worked = step.share_pct(step.busy_ns - waiting_ns(step))
    if worked < 90.0 or not exposed[counted].sum() > _COUNTED * exposed.sum():
        return []
    kernels = step.kernels[step.kernels["tensor_kernel"]]
    share = step.share_pct(float(kernels["exposed_ns"].sum()))
    with_hfu = kernels[kernels["hfu_pct"].notna()]
    evidence = [f"the GPU is busy {units.format_pct(step.share_pct(step.busy_ns))} of {step.unit}"]
    evidence.append(f"tensor kernels take {units.format_pct(share)} of it")
    if len(with_hfu):
        weights = with_hfu["exposed_ns"] / with_hfu["exposed_ns"].sum()
        hfu = float((with_hfu["hfu_pct"] * weights).sum())
        evidence.append(f"tensor kernels reach {units.format_pct(hfu)} of the dense peak at the boost clock")
    text = ("Nothing to do in the program", f"No rule finds a saving of 1 % or more of {step.unit}", "")
    about = about_launches(step, kernels.index, "kernel")
    return [make_advice(step, "all-well", text, (), about, evidence, MEDIUM, "")]


def share_idle_time(step: Step, advices: Sequence[Advice]) -> list[Advice]:
    """Limit low and likely prices to the idle time together: the highest is left as it is, and so is each high one."""
    left = [100 * float(max(0.0, 1 - step.busy_ns / step.unprofiled_ns[tracing])) for tracing in step.tracing]
    sharing = [one for one in advices if _idle_of(one) is not IdleTime.NONE]
    shared: dict[str, Advice] = {}
    for advice in sorted(sharing, key=lambda one: (_idle_of(one).value, -one.gain.likely_ns)):
        is_limited = shared and _idle_of(advice) is not IdleTime.LAUNCHES
        shared[advice.rule] = _limit(advice, left, ", ".join(shared)) if is_limited else advice
        saved = shared[advice.rule].gain.shares_pct
        left = [float(max(0.0, most - saving)) for most, saving in zip(left, saved, strict=True)]
    return [shared.get(one.rule, one) for one in advices]


def _limit(advice: Advice, most_pct: Sequence[float], causes: str) -> Advice:
    low, likely, high = advice.gain.shares_pct
    gain = advice.gain.with_shares([min(low, most_pct[0]), min(likely, most_pct[1]), high])
    gain = gain.because(f"this idle time is counted under {causes}")
    counted_ns = advice.gain.likely_ns - gain.likely_ns
    evidence = f"{units.format_ns(counted_ns)} of this idle time is counted under {causes}"
    rest = [option.gain for option in advice.options[1:]]
    return advice.with_gains([gain, *rest], *([evidence] if counted_ns > _NOTABLE * advice.gain.likely_ns else []))


_EXPLAINED_PCT = 10.0  # of a step


def _explains_launches(advices: Sequence[Advice]) -> bool:
    """Whether a specific cause saves so many launches that it comes before what only makes launches cheap."""
    causes = [advice for advice in advices if _idle_of(advice) is IdleTime.LAUNCHES]
    return sum(advice.gain.likely_pct for advice in causes) >= _EXPLAINED_PCT


def _idle_of(advice: Advice) -> IdleTime:
    rule = rules_of_findings().get(advice.rule)  # all-well is of none
    return rule.idle if rule and advice.gain.is_known else IdleTime.NONE


def _order(advice: Advice, has_cause: bool = False) -> tuple[bool, bool, bool, float]:
    rule = rules_of_findings().get(advice.rule)
    is_known, of_recording = advice.gain.is_known, rule is not None and rule.of_recording
    is_generic = has_cause and _idle_of(advice) is IdleTime.REST
    return not is_known, of_recording, is_generic, -advice.gain.likely_pct if is_known else 0.0
