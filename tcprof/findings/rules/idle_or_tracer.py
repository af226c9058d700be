"""Idle time of which recording may be the reason, since nsys adds to each launch.

What and why: the GPU idles while the CPU launches kernels, and the CPU is at work nearly all of the step; but less work
for it, as without nsys, would explain that, too.

Thresholds: 20 % of a step idle while the CPU launches, which half the CPU's time would explain: where launch-bound does
not fire. There is no price.

Do: `tcprof profile --unprofiled`.

Not when: the time of a step with and without recording is known: then that is what counts.
"""

from collections.abc import Collection

from tcprof.analysis.host import LAUNCHES
from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import about_iteration, record_again
from tcprof.findings.pricing.multi_gpu import times_of_communication
from tcprof.findings.pricing.step import Step

RULE = Rule(("idle-or-tracer",), of_recording=True, after=("launch-bound",))
LEAST_PCT = 20.0


def find(step: Step, found: Collection[str]) -> list[Advice]:
    """Idle time that may not be the program's."""
    idle = step.host.idle_ns[LAUNCHES]  # nsys adds to calls of CUDA, not to other work of the CPU
    of_all = (step.beside.get(gpu, step).host.idle_ns[LAUNCHES] for gpu in times_of_communication(step))
    if step.is_timed_alone or step.share_pct(min(of_all)) < LEAST_PCT:  # beside a GPU that works it waits for that one
        return []
    if not step.is_cpu_bound or found:
        return []
    said = (
        f"The GPU idles {step.tell_share(idle)} while the CPU launches kernels, and recording may be the reason: it "
        "slows each launch",
        "Whether the program waits for the CPU when it runs alone cannot be told.",
    )
    return [record_again(step, RULE.name, said, ("tcprof profile --unprofiled ...",), about_iteration(step))]
