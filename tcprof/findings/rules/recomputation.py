"""Activation checkpointing: forward passes that are run again within the backward pass.

What: exposed time of the kernels that the annotation finds in the phase `recompute` (see docs/modules.md).

Why: checkpointing buys memory with time. Where memory is left, the time can be had back.

Thresholds: 1 % of a step. All of that time is won where nothing is checkpointed: the first forward pass has the same
kernels either way; and the CPU is taken to need less, by the share of launches. How much memory is used is not
recorded, so whether it may be spent is for the program to say.

Do: checkpoint no layers, or only some of them, as far as memory allows. Hugging Face
`TrainingArguments(gradient_checkpointing=False)`; JAX: fewer `jax.checkpoint`, or a policy for it.

Not when: the activations do not fit, or the memory goes into a larger batch that wins more.
"""

import numpy as np

from tcprof import units
from tcprof.findings.pricing.advice import MEDIUM, Advice, Gain, Option, Rule
from tcprof.findings.pricing.builders import about_launches, kernels_of, list_kernels, make_advice, save
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import NOTABLE_SHARE_PCT
from tcprof.findings.pricing.step import Step

RULE = Rule(("recomputation",))
_RECOMPUTE = "recompute"
_CODE = (
    "print(torch.cuda.max_memory_allocated() / torch.cuda.mem_get_info()[1])",
    "x = block(x)  # instead of checkpoint(block, x, use_reentrant=False)",
    "# Hugging Face: TrainingArguments(gradient_checkpointing=False)",
)
_SOME = (
    "for number, block in enumerate(self.blocks):  # every second one",
    "    again = functools.partial(checkpoint, block, use_reentrant=False)",
    "    x = again(x) if number % 2 else block(x)",
)


def find(step: Step) -> list[Advice]:
    """Kernels that are run again to have activations that were not kept."""
    phases = step.analysis.modules["phase"].astype(str).to_numpy(object)
    module = step.launches["module"].to_numpy()
    again = step.launches[np.append(phases, "")[module] == _RECOMPUTE]
    time = float(again["exposed_ns"].sum()) / step.count
    if step.share_pct(time) < NOTABLE_SHARE_PCT:
        return []
    said = (
        f"Checkpointed layers run their forward pass again: {step.tell_share(time)}",
        "That buys memory: where the activations fit, the time can be had back. How much is used is not recorded.",
    )
    memory = float(step.gpu_row["memory_bytes"])
    size = (f"the GPU has {units.format_bytes(memory)} of memory",) * (memory > 0)
    rows, fewer = kernels_of(step, again), len(again) / len(step.launches)
    options = [
        Option("no checkpointing", _CODE, _price(step, time, fewer)),
        Option("checkpointing of every second layer", _SOME, _price(step, time / 2, fewer / 2)),
    ]
    look = "Compare torch.cuda.max_memory_allocated() of the program with the GPU's memory."
    about, evidence = about_launches(step, again["activity"]), (*size, *list_kernels(rows))
    return [make_advice(step, RULE.name, said, options, about, evidence, MEDIUM, look)]


def _price(step: Step, time_ns: float, fewer: float) -> Gain:
    """What kernels win that are not run again, where the CPU does not launch that share of them either."""
    return step.price_kernels(save(MEASURED[RULE.name]["saved"], time_ns), (1.0, 1 - fewer, 1 - fewer))
