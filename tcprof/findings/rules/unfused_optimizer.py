"""An optimizer in many kernels, each of which reads and writes the parameters' state.

What: kernels of PyTorch's `foreach` operations (`multi_tensor_apply_kernel` with a functor of one operation), without
norms of gradients and the unscaling of AMP; or, where the optimizer loops over the parameters, the element-wise kernels
`addcdiv`, `addcmul` and `lerp` of Adam, which move 44 of its 84 bytes, and stand for the others.

Why: Adam in parts moves about 84 bytes a parameter, fused 28: it is bound by memory, and takes about a third of the
time. In a loop it also takes eight launches for each parameter, where a fused one takes a few for all: where the step
waits for the CPU, that is worth more than the bytes.

Thresholds: 1 % of a step, on the GPU or on the CPU. How much is saved on the GPU is arithmetic of bytes; for optimizers
without second moments it is less. On the CPU it is the time from each of these launches to the thread's next one:
likely 0.95 of it where the optimizer loops (measured once), and 0.7 where it has lists (assumed).

Do: `torch.optim.AdamW(..., fused=True)`; Hugging Face `TrainingArguments(optim="adamw_torch_fused")`. In JAX the whole
step under `jax.jit`.

Not when: the optimizer has no fused form (`fused=True` is known to Adam, AdamW, SGD and Adagrad).
"""

from tcprof import units
from tcprof.findings.pricing.advice import MEDIUM, Advice, IdleTime, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, describe_bytes, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.launching import time_launching
from tcprof.findings.pricing.products import ALL_OF_LOOPED, NOTABLE_SHARE_PCT
from tcprof.findings.pricing.step import Step

RULE = Rule(("unfused-optimizer",), idle=IdleTime.LAUNCHES)
_LAUNCHES_OF_LOOPED = 8 / 3  # of the eight operations of AdamW those that are told apart are three
_CODE = (
    "optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
    '# Hugging Face: TrainingArguments(optim="adamw_torch_fused")',
)
_SGD = ("optimizer = torch.optim.SGD(model.parameters(), lr, fused=True)",)


def find(step: Step) -> list[Advice]:
    """Optimizers in parts."""
    in_lists, looped = (step.kernels[step.kernels[kind]] for kind in ("is_list_optimizer", "is_looped_optimizer"))
    is_looped = time_of(looped) > time_of(in_lists)
    rows = looped if is_looped else in_lists
    time = time_of(rows) * (ALL_OF_LOOPED if is_looped else 1.0)
    on_cpu = time_launching(step, rows) * (_LAUNCHES_OF_LOOPED if is_looped else 1.0)
    if step.share_pct(max(time, on_cpu)) < NOTABLE_SHARE_PCT:
        return []
    is_adam = is_looped or rows["is_second_moment"].any()
    measured = MEASURED["optimizer"]
    shares = measured["saved_adam" if is_adam else "saved_others"]
    spared = save(measured["spared_looped" if is_looped else "spared_in_lists"], on_cpu)
    launched = f", and {units.format_pct(step.share_pct(on_cpu))} for the CPU to launch them" * (on_cpu > time)
    said = (
        f"The optimizer runs in many kernels that each pass over its state: {step.tell_share(time)}{launched}",
        "A fused one passes over it once.",
    )
    options = [("a fused optimizer", _CODE if is_adam else _SGD, save(shares, time))]
    about = "about " * is_looped  # by those that are told apart
    launches = (f"launching them takes the CPU {about}{units.format_ns(on_cpu)}, as recorded",) * (on_cpu > 0)
    evidence = (*launches, *describe_bytes(step, rows))
    return [
        advise_on_kernels(step, RULE.name, said, rows, options, evidence=evidence, confidence=MEDIUM, spared_ns=spared)
    ]
