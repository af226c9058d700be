"""The GPU waits while the CPU launches kernels.

What: idle time in a step that ends with a launch which came late, with no other long work on the CPU before it; and the
CPU is at work, not waiting for the GPU, at least 80 % of the step.

Why: a launch takes the CPU 5 to 40 µs with its share of Python, so kernels shorter than that leave the GPU idle. Faster
kernels win nothing then. Automatic mixed precision adds launches, and was slower: GAN and MNIST in docs/lessons.md.

Thresholds: 5 % of a step, and 1 % that is left even if recording doubled the CPU's time (a step that the CPU holds up
took 0.38 to 0.82 times as long without nsys, in seven runs). Where that alone would explain it, nothing is concluded:
see the rule on recording. Of the idle time 0.3 goes by fewer launches, which is assumed, and likely 0.95 by a graph
of the
whole step, in which kernels are faster, too: those of a GPU that idles between them take longer.

Do: replay the step as a CUDA graph, `torch.compile(model, mode="reduce-overhead")`, or launch fewer and larger kernels:
a larger batch (its price is that of a sample), fused optimizers (`fused=True`), `zero_grad(set_to_none=True)`. JAX: put
the whole step under `jax.jit`.

Not when: shapes change in each step (graphs are captured anew), or the step has `.item()` and prints in it: these go
first.
"""

from tcprof import units
from tcprof.analysis.host import FULL_QUEUE, LAUNCHES, OF_SCALER, WAITS
from tcprof.findings.pricing.advice import HIGH, LOW, MEDIUM, NOTABLE_PCT, Advice, Gain, IdleTime, Option, Rule
from tcprof.findings.pricing.builders import about_iteration, make_advice
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.launching import replays_graphs
from tcprof.findings.pricing.step import Step
from tcprof.frames import KERNEL_KINDS, OPS_DOMAIN

RULE = Rule(("launch-bound",), idle=IdleTime.REST)
LEAST_PCT = 5.0
_FEW_WAITS = 3  # of a step: fewer may lie between a graph and the next
_GRAPHS = (
    "# CUDA graphs of forward and backward:",
    'model = torch.compile(model, mode="reduce-overhead")',
    "# or of all of a step, with its inputs always in the same memory:",
    "with torch.cuda.graph(graph): step()  # once; then graph.replay()",
    "# one launch for many parameters:",
    "optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # or SGD",
)
_MORE_GRAPHS = (
    "# all of a step in one graph, with its inputs always in the same memory:",
    "with torch.cuda.graph(graph): step()  # once; then graph.replay()",
    *_GRAPHS[-2:],
)
_ABOUT_OPS = (
    "The ranges of PyTorch's ops slow each launch more than is assumed here: record with --annotate modules "
    "--unprofiled."
)
_ABOUT_RECORDING = "Record with --unprofiled: recording adds to each launch, and how much is only assumed here."
_BATCH = ("loader = DataLoader(dataset, 2 * batch_size)  # the gain is that of a sample",)


def has_waits(step: Step) -> bool:
    """Whether calls that wait lie within the step, so that no graph can hold it."""
    waits = step.host.waits
    others = [*KERNEL_KINDS, "memset", "memcpy", FULL_QUEUE, OF_SCALER]
    return float(waits["count"][~waits.index.isin(others)].sum()) >= _FEW_WAITS


def find(step: Step) -> list[Advice]:
    """Idle time for which the launches are the reason."""
    idle = step.host.idle_ns[LAUNCHES]
    if not step.is_cpu_bound or step.host.is_blocking:
        return []
    removed = "removed_beside_waits" if has_waits(step) else "removed"
    # A graph of the whole step also replaces what the CPU does beside launching in ranges that launch.
    gain = step.price_launches(
        MEASURED["graphs"][removed],
        MEASURED["graphs"]["busy"],
        step.host.idle_ns[WAITS] + step.host.work_of_launching_ns,
    )
    if gain.likely_pct < LEAST_PCT or gain.low_pct < NOTABLE_PCT:
        return []
    count, busy = float(step.kernels["launches"].sum()), float(step.kernels["exposed_ns"].sum())
    evidence = (
        f"{units.format_count(count)} kernels run {units.format_ns(busy / max(count, 1))} each on average; the GPU "
        f"works {step.tell_share(step.busy_ns)}",
        f"the CPU is at work {units.format_pct(min(100.0, step.share_pct(step.cpu_ns)))} of it",
    )
    has_ops = bool((step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()) and not step.is_timed_alone
    said = (
        f"The GPU idles {step.tell_share(idle)} while the CPU launches kernels",
        "Mixed precision will not help: it adds launches. Fewer launches do.",
    )
    options = [
        Option("CUDA graphs of more of the step", _MORE_GRAPHS, gain)
        if replays_graphs(step)
        else Option("CUDA graphs", _GRAPHS, gain),
        Option("twice the batch", _BATCH, step.price_batch((0.0, 0.0, 0.0))),
    ]
    surer = _ABOUT_OPS if has_ops else "" if step.is_timed_alone else _ABOUT_RECORDING
    about = about_iteration(step)
    return [make_advice(step, RULE.name, said, options, about, evidence, _confidence(step, gain), surer)]


def _confidence(step: Step, gain: Gain) -> str:
    if step.is_timed_alone and gain.low_pct > LEAST_PCT:
        return HIGH
    has_ops = (step.analysis.nvtx_ranges["domain"] == OPS_DOMAIN).any()
    return LOW if has_ops or not step.name else MEDIUM
