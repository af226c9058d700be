"""Nothing to do: no rule has anything to say of a step.

What: no rule fires that is likely to win 1 % of a step, the recording hides nothing, tensor cycles were recorded, the
GPU works 90 % of the step, without what it waits for other GPUs, and at most 10 % of its kernel time is in no step,
which no rule looks at. A clock below boost (low-clock) does not count: it
is no fault of the program.

Why: that, too, is an answer: how far the step is from the chip's best, and that no change known here is worth a day.
"""

from collections.abc import Sequence

from tcprof import units
from tcprof.findings.iterations import MUCH_OUTSIDE_PCT, measure_outside
from tcprof.findings.pricing.advice import MEDIUM, Advice
from tcprof.findings.pricing.builders import about_kernels, make_advice
from tcprof.findings.pricing.multi_gpu import waiting_ns
from tcprof.findings.pricing.step import Step
from tcprof.findings.rules import rules_of_findings

LEAST_BUSY_PCT = 90.0
_COUNTED = 0.5  # of the kernels' time: by their names alone not enough is known


def find_all_well(step: Step, found: Sequence[Advice]) -> list[Advice]:
    """That nothing is worth a day, with the distance to the chip's best; nothing where that is not so, or not known."""
    rules = rules_of_findings()
    if any(each.gain.is_notable or (not each.gain.is_known and rules[each.rule].of_program) for each in found):
        return []
    if step.name and not measure_outside(step.analysis, step.gpu)[0] < MUCH_OUTSIDE_PCT:
        return []
    exposed, counted = step.kernels["exposed_ns"], step.kernels["tensor_active_pct"].notna()
    worked = step.share_pct(step.busy_ns - waiting_ns(step))
    if worked < LEAST_BUSY_PCT or not exposed[counted].sum() > _COUNTED * exposed.sum():
        return []
    kernels = step.kernels[step.kernels["tensor_kernel"]]
    share = step.share_pct(float(kernels["exposed_ns"].sum()))
    known = kernels[kernels["hfu_pct"].notna()]
    evidence = [f"the GPU works {units.format_pct(step.share_pct(step.busy_ns))} of {step.unit}"]
    evidence.append(f"tensor kernels have {units.format_pct(share)} of it")
    if len(known):
        weights = known["exposed_ns"] / known["exposed_ns"].sum()
        hfu = float((known["hfu_pct"] * weights).sum())
        evidence.append(f"in which they reach {units.format_pct(hfu)} of the dense peak at the boost clock")
    text = (f"Nothing that tcprof knows of is likely to win 1 % of {step.unit}", "")
    return [make_advice(step, "all-well", text, (), about_kernels(step, kernels.index), evidence, MEDIUM)]
