"""Convolutions in channels-first layout, between kernels that change the layout.

What: cuDNN's kernels between NCHW and NHWC, by name.

Why: convolutions on Tensor Cores work channels last; in another layout cuDNN converts before and after each of them.

Thresholds: 2 % of a step. What is saved is at most the time of these kernels; low is none, since other kernels may be
slower channels last.

Do: `model.to(memory_format=torch.channels_last)`, and the inputs likewise.

Not when: the step waits for the CPU; or layers in between (some norms, custom ones) know only channels first, so that
PyTorch converts as often.
"""

from tcprof.findings.advice.advice import Advice
from tcprof.findings.advice.making import advise_on_kernels, save, time_of
from tcprof.findings.advice.measured import MEASURED
from tcprof.findings.advice.step import Step

LEAST_PCT = 2.0
_CODE = (
    "model = model.to(memory_format=torch.channels_last)",
    "inputs = inputs.to(device, memory_format=torch.channels_last)",
    "# JAX and TensorFlow: NHWC is the default on GPUs",
)


def find(step: Step) -> list[Advice]:
    """Kernels that change layouts."""
    rows = step.kernels[step.kernels["name"].str.contains("nchwToNhwc|nhwcToNchw")]
    time = time_of(rows)
    if step.share_pct(time) < LEAST_PCT:
        return []
    said = (
        f"Kernels that only change the layout around convolutions take {step.tell_share(time)}",
        "Channels last, cuDNN needs none of them.",
    )
    options = [("channels last", _CODE, save(MEASURED["assumed"]["layout"], time))]
    return [advise_on_kernels(step, "layout-changes", said, rows, options)]
