"""One GPU takes longer than the others, which wait for it.

What: kernels of NCCL that take longer, with nothing beside them, on the other GPUs than on this one, in steps that
are equally long: there they wait until this one takes part.

Why: all GPUs go on together, so that a step takes as long as the slowest needs.

Thresholds: 3 % of a step. If all needed as long as the mean of them the step would be shorter by the mean of NCCL's
time less the least; how much of that can be had is assumed: up to a quarter more, since smaller batches are less
efficient, and kernels run more slowly beside those of NCCL that wait.

Do: give each GPU as many samples, tokens and layers: sort by length or pack sequences, balance the stages of a
pipeline and the experts, and keep what only one rank does (logging, checkpoints, evaluation) out of the step.

Not when: another GPU is the slowest in each step, so that on average all wait as long: that is not seen here. Nor where
this GPU waits for its own launches as long, and how long it does so without recording was not measured
(`--unprofiled`).
"""

from tcprof import units
from tcprof.analysis.host import LAUNCHES
from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, save
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.multi_gpu import times_of_communication
from tcprof.findings.pricing.step import Step

RULE = Rule(("uneven-gpus",), of_all_gpus=True)
LEAST_PCT = 3.0
_CODE = (
    "sampler = DistributedSampler(dataset)  # as many samples for each rank",
    "# sequences: sort by length, or pack them; only rank 0 logs, and seldom",
)


def find(step: Step) -> list[Advice]:
    """That the other GPUs wait for this one."""
    times = times_of_communication(step)
    uneven = sum(times.values()) / len(times) - times[step.gpu]
    if times[step.gpu] > min(times.values()) or step.share_pct(uneven) < LEAST_PCT:
        return []
    if not step.is_timed_alone and step.is_cpu_bound and step.host.idle_ns[LAUNCHES] >= uneven:
        return []
    most = units.format_pct(step.share_pct(max(times.values())))
    said = (
        f"Other GPUs wait for GPU {step.gpu}: communication takes {step.tell_share(times[step.gpu])} there, and up to "
        f"{most} on the others",
        "All go on together, at the pace of the slowest.",
    )
    evidence = [
        f"GPU {gpu}: {units.format_ns(time)} of communication with nothing beside it" for gpu, time in times.items()
    ]
    options = [("even work", _CODE, save(MEASURED["assumed"]["uneven"], uneven))]
    rows = step.kernels[step.kernels["communication"]]
    return [advise_on_kernels(step, RULE.name, said, rows, options, evidence=evidence)]
