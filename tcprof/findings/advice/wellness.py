"""Nothing to do: no rule has anything to say of a step.

What: no rule fires that is likely to win 1 % of a step, and the recording hides nothing.

Why: that, too, is an answer: how far the step is from the chip's best, and that no change known here is worth a day.
"""

from tcprof import units
from tcprof.findings.advice.advice import MEDIUM, Advice
from tcprof.findings.advice.making import make_advice
from tcprof.findings.advice.step import Step
from tcprof.findings.advice.subject import about_kernels


def find_all_well(step: Step) -> list[Advice]:
    """That nothing was found, with the distance to the chip's best; nothing where there are no kernels."""
    if step.kernels.empty:
        said = (f"Nothing that tcprof knows of is likely to win 1 % of {step.unit}", "")
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
    said = (f"Nothing that tcprof knows of is likely to win 1 % of {step.unit}", "")
    return [make_advice(step, "all-well", said, (), about_kernels(step, kernels.index), evidence, MEDIUM)]
