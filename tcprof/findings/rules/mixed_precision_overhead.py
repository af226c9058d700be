"""What mixed precision itself costs: casts of weights and activations, and the unscaling of gradients.

What: where products run in 16 bits, kernels that copy from one precision to another, and those of `GradScaler`. Where
the rule on fusion fires, the casts are in its price, and only the scaler is in this one's.

Why: autocast copies FP32 weights to 16 bits in each step, and a scaler reads and writes all gradients once more.

Thresholds: 2 % of a step. How much of the casts can be saved is assumed, from a tenth to nine tenths: casts of
activations stay.

Do: bfloat16 instead of float16, which needs no scaler; weights in bfloat16 with an optimizer that keeps FP32 copies,
or `torch.compile`, which fuses casts with what follows. Where the model is compiled and casts are left: compile the
loss with it, since the casts of what it returns are made outside of it.

Not when: the model is sensitive to weights in bfloat16 without FP32 copies: they lose small updates.
"""

from collections.abc import Collection

import pandas as pd

from tcprof import units
from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import Priced, advise_on_kernels, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import has_halves, lacks_precision
from tcprof.findings.pricing.step import Step

RULE = Rule(("mixed-precision-overhead",), after=("fusion",))
LEAST_PCT = 2.0
_COMPILE = ("model = torch.compile(model)  # fuses casts with what follows",)
_LOSS = (
    "@torch.compile  # the loss too: its casts are fused with the model's end",
    "def loss_of(inputs, targets): return criterion(model(inputs), targets)",
)
_WEIGHTS = ("model = model.to(torch.bfloat16)  # FP32 copies in the optimizer",)
_SCALER = (
    'with torch.autocast("cuda", dtype=torch.bfloat16):  # instead of float16',
    "    loss = criterion(model(inputs), targets)",
    "loss.backward(); optimizer.step()  # no GradScaler",
)


def find(step: Step, found: Collection[str]) -> list[Advice]:
    """Casts and unscaling, where AMP is on."""
    if not has_halves(step):
        return []
    casts, unscale = (step.kernels[step.kernels[kind]] for kind in ("is_cast", "is_unscaling"))
    casts = casts[:0] if found else casts  # which fusion has in its price
    time = time_of(casts) + time_of(unscale)
    if step.share_pct(time) < LEAST_PCT:
        return []
    is_compiled = bool(step.kernels["is_of_compiler"].any())
    options: list[Priced] = []
    has_bf16 = not lacks_precision(step, "bf16")
    if len(casts):
        code = _LOSS if is_compiled else _COMPILE
        code = (*code, "# or:", *_WEIGHTS) if has_bf16 else code
        options.append(("fewer casts", code, save(MEASURED["assumed"]["casts"], time_of(casts))))
    if len(unscale) and has_bf16:
        options.append(("bfloat16 without a scaler", _SCALER, save((0.9, 1.0, 1.0), time_of(unscale))))
    if not options:
        return []
    options.sort(key=lambda option: -option[2][1])
    take = "take" if len(casts) else "takes"
    what = " and ".join(["casts"] * bool(len(casts)) + ["unscaling"] * bool(len(unscale))).capitalize()
    said = (
        f"{what} of mixed precision {take} {step.tell_share(time)}",
        "The products gain more than that; part of it can be had back.",
    )
    parts = (("casts", casts), ("unscaling", unscale))
    evidence = [", ".join(f"{name} {units.format_ns(time_of(part))}" for name, part in parts if len(part))]
    rows = pd.concat([casts, unscale]).sort_values("exposed_ns", ascending=False)
    return [advise_on_kernels(step, RULE.name, said, rows, options, evidence=evidence)]
