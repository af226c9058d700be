"""Communication between GPUs with nothing beside it.

What: kernels of NCCL during which nothing else runs on the GPU, as far as they take as long on the GPU where they are
shortest: the rest is waiting for that one, see uneven-gpus.

Why: gradients can be sent while the rest of the backward pass computes; what is hidden costs nothing.

Thresholds: 3 % of a step. How much can be hidden is assumed, and no more than the rest of the step.

Do: `DistributedDataParallel` with its buckets (`bucket_cap_mb`, `gradient_as_bucket_view=True`), FSDP with prefetching,
gradients in bfloat16; fewer, larger steps (`no_sync()` while gradients accumulate). Where GPUs send to each other: more
micro-batches in a pipeline, and all-to-all in parts.

Not when: the GPUs wait for the slowest one: NCCL's kernels run while they wait, and what is uneven is the data.
"""

from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, hide, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.multi_gpu import find_sent, waiting_ns
from tcprof.findings.pricing.step import Step

RULE = Rule(("exposed-communication",), of_all_gpus=True)
LEAST_PCT = 3.0
_CODE = (
    "model = DistributedDataParallel(model, gradient_as_bucket_view=True)",
    "with model.no_sync():  # in all but the last step of an accumulation",
    "    loss.backward()",
)
_SENT = (
    "# stages of a pipeline: more micro-batches, or an interleaved schedule",
    "# all to all: in parts, each beside the computation on the part before",
)


def find(step: Step) -> list[Advice]:
    """Exposed kernels of NCCL."""
    rows = step.kernels[step.kernels["communication"]]
    time = step.communication_ns - waiting_ns(step)  # for a slower GPU, which is another rule's
    if step.share_pct(time) < LEAST_PCT:
        return []
    said = (
        f"Communication runs with nothing beside it: {step.tell_share(time)}",
        "Beside computation it would cost nothing.",
    )
    is_sent = 2 * time_of(find_sent(step)) > step.communication_ns
    options = [("overlap", _SENT if is_sent else _CODE, hide(step, MEASURED["assumed"]["communication"], time))]
    return [advise_on_kernels(step, RULE.name, said, rows, options)]
