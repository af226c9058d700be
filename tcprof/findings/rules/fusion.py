"""Work between the products in kernels of their own: element-wise, norms, casts, reductions.

What: such kernels of PyTorch, by name, without those that another rule prices (attention in parts, layouts, the
optimizer); and no kernels of torch.compile or XLA in the step, nor CUDA graphs that were recorded as a whole: these
hide whether a compiler was at work.

Why: each of them reads and writes all its tensors, and waits for memory. A compiler makes one of several.

Thresholds: 10 % of a step, and 10 kernels. How much is saved was measured once: 43 % of their time, in the transformer
of docs/lessons.md; low and high are assumed around it. Since a compiler fuses what lies in attention too, high has that
as well, though it is the price of another rule. The CPU, which launches fewer kernels then, is taken to need 0.8 times
as long, and 0.65 times in high.

Do: `model = torch.compile(model)`; JAX `jax.jit` around the whole step.

Not when: shapes change in each step, or the model has much Python in its forward pass that breaks the graph.
"""

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.findings.pricing.advice import Advice, Rule
from tcprof.findings.pricing.builders import advise_on_kernels, describe_bytes, save, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.products import find_between_products, find_looped
from tcprof.findings.pricing.step import Step

RULE = Rule(("fusion",))
LEAST_PCT, FEWEST = 10.0, 10  # share of a step, and kernels in it
_FUSED, _ROUNDING_NS = "fused kernels", 1.0
_WORKS = ("element-wise kernels", "normalization", "copies and casts", "reductions", "softmax")
_CODE = ("model = torch.compile(model)", "# JAX: jax.jit around the whole step, optimizer included")


def find(step: Step) -> list[Advice]:
    """Kernels that a compiler could fuse."""
    kernels = step.kernels
    if not step.name or kernels["work"].isin([_FUSED, GRAPH]).any():  # without steps nothing is known of neighbours
        return []
    is_between = kernels["work"].isin(_WORKS)
    between = find_between_products(step)
    of_attention = between.groupby("kernel")["exposed_ns"].sum() / step.count
    # Of what is indexed the places are not known before: a compiler makes these no smaller.
    is_left = ~kernels["is_looped_optimizer"] & kernels["is_pytorch_native"] & ~kernels["is_indexed"]
    rows = kernels[is_between & is_left].copy()
    of_loop = find_looped(step).groupby("kernel")["exposed_ns"].agg(["sum", "size"]).reindex(rows.index).fillna(0.0)
    rows["exposed_ns"] -= of_attention.reindex(rows.index).fillna(0.0) + of_loop["sum"] / step.count
    rows["launches"] -= of_loop["size"] / step.count
    rows = rows[rows["exposed_ns"] > _ROUNDING_NS].sort_values("exposed_ns", ascending=False)
    time = time_of(rows)
    if step.share_pct(time) < LEAST_PCT or rows["launches"].sum() < FEWEST:
        return []
    count = units.format_count(rows["launches"].sum())
    said = (
        f"Work between the products runs in {count} kernels of its own: {step.tell_share(time)}",
        "A compiler fuses them, so that less is read and written.",
    )
    low, likely, high = save(MEASURED[RULE.name]["saved"], time)
    high += MEASURED[RULE.name]["saved"][2] * float(of_attention.sum())  # a compiler fuses these, too
    options = [("torch.compile", _CODE, (low, likely, high))]
    moved = describe_bytes(step, rows)
    return [advise_on_kernels(step, RULE.name, said, rows, options, evidence=moved, cpu=MEASURED[RULE.name]["cpu"])]
