"""Convolutions in channels-first layout, between kernels that change the layout.

What: cuDNN's kernels between NCHW and NHWC, by name; beside them batch norms and pooling channels first.

Why: convolutions on Tensor Cores work channels last; in another layout cuDNN converts before and after each of them.
Norms and pooling are slower channels first, since the values of a pixel are far apart, and so are convolutions of 1 x
1.

Thresholds: 2 % of a step in all, and 0.5 % in changes of layout. How much of each is saved was measured in two
networks.

Do: `model.to(memory_format=torch.channels_last)`, and the inputs likewise.

Not when: the step waits for the CPU; or layers in between (some norms, custom ones) know only channels first, so that
PyTorch converts as often.
"""

import pandas as pd

from tcprof.findings.pricing.advice import MEDIUM, Advice, Rule
from tcprof.findings.pricing.builders import add, advise_on_kernels, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import is_product
from tcprof.findings.pricing.step import Step

RULE = Rule(("layout-changes",))
LEAST_PCT, LEAST_OF_CHANGES_PCT = 2.0, 0.5
_KINDS = ("is_layout_change", "is_norm_channels_first", "is_pooling_channels_first")
_CODE = (
    "model = model.to(memory_format=torch.channels_last)",
    "inputs = inputs.to(device, memory_format=torch.channels_last)",
    "# JAX and TensorFlow: NHWC is the default on GPUs",
)


def find(step: Step) -> list[Advice]:
    """Kernels that change layouts."""
    measured = MEASURED["channels_last"]
    changes, norms, pooling = (step.kernels[step.kernels[kind]] for kind in _KINDS)
    rows = pd.concat([changes, norms, pooling]).sort_values("exposed_ns", ascending=False)
    time, of_changes = time_of(rows), time_of(changes)
    if step.share_pct(time) < LEAST_PCT or step.share_pct(of_changes) < LEAST_OF_CHANGES_PCT:
        return []
    said = (
        f"Convolutions run channels first: changes of their layout take {step.tell_share(of_changes)}, and "
        f"norms and pooling in this layout {step.tell_share(time - of_changes)}",
        "Channels last, cuDNN changes no layout, and norms, pooling and convolutions are faster.",
    )
    kinds = {"layout": changes, "norms": norms, "pooling": pooling, "products": step.kernels[is_product(step)]}
    options = [("channels last", _CODE, add(save(measured[kind], time_of(part)) for kind, part in kinds.items()))]
    return [advise_on_kernels(step, RULE.name, said, rows, options, confidence=MEDIUM, cpu=measured["cpu"])]
