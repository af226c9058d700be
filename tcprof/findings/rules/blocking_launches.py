"""Each launch waits until its kernel has ended.

What: launches that return after their kernel has ended, where more than half do. With `CUDA_LAUNCH_BLOCKING=1` all of
them do; without it the most was 17 %, of six kernels.

Why: the CPU prepares nothing while a kernel runs, so the GPU idles after each of them until the next launch arrives.

Thresholds: 1 % of a step. The price is that of the recorded steps played again without these waits. How much shorter a
launch is that does not wait was measured once. Launch-bound and synchronizing-calls say nothing then: both are about
the same idle time.

Do: unset `CUDA_LAUNCH_BLOCKING`, which is for finding the launch that fails.

Not when: the program is being debugged, or a tool such as compute-sanitizer makes launches wait.
"""

from tcprof import units
from tcprof.analysis.host import LAUNCH_THAT_BLOCKS
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Option, Rule
from tcprof.findings.pricing.builders import about_iteration, make_advice
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.step import Step

RULE = Rule(("blocking-launches",))
_CODE = ("unset CUDA_LAUNCH_BLOCKING  # in the shell, and where the program sets it",)
_AGAIN = "Record again without it: other advice may change."


def find(step: Step) -> list[Advice]:
    """Launches that wait."""
    if not step.host.is_blocking:
        return []
    gain = step.price_waits((1.0, 1.0, 1.0), MEASURED["blocking"]["cpu"])
    if gain.is_known and gain.likely_pct < NOTABLE_PCT:
        return []
    waits = step.host.waits.loc[LAUNCH_THAT_BLOCKS]
    launches = units.format_things(waits["count"], "launch", "launches")
    said = (
        f"Launches wait until their kernel has ended, and the GPU idles {step.tell_share(step.idle_ns)}",
        "CUDA_LAUNCH_BLOCKING=1, which is for debugging, makes them wait.",
    )
    evidence = (f"{launches} in a step return after their kernel has ended: {units.format_ns(waits['time_ns'])}",)
    options = [Option("unset CUDA_LAUNCH_BLOCKING", _CODE, gain)]
    about = about_iteration(step)
    return [make_advice(step, RULE.name, said, options, about, evidence, MEDIUM, _AGAIN)]
