"""The CPU waits for the GPU within the step, and the GPU then waits for the CPU.

What: idle time right after a call that waits for the GPU (`cudaStreamSynchronize` and its like, which `.item()`,
`.cpu()`, `print(tensor)`, `nonzero()` and a `GradScaler` make, and copies from pageable memory); while the CPU, but for
these waits, would be done before the GPU, also the idle time until it has caught up.

Why: after such a call nothing is queued, and each launch that follows finds the GPU idle.

Thresholds: 2 % of a step, where something iterates, and no more than what is left when the CPU runs ahead: the step
gets no shorter than the CPU's own time, or the GPU's.

Do: keep losses on the GPU and read them once in many steps; copy with `non_blocking=True` from pinned memory.

Not when: the CPU's own time is as long as the step: then launches are the matter, and the rule does not fire.
"""

from tcprof import units
from tcprof.findings.advice.advice import LOW, MEDIUM, Advice, Option
from tcprof.findings.advice.host import LAUNCHES, WAITS
from tcprof.findings.advice.making import make_advice, save
from tcprof.findings.advice.rules.launch_bound import is_cpu_bound
from tcprof.findings.advice.step import Step
from tcprof.findings.advice.subject import about_ranges
from tcprof.untrusted import one_line

LEAST_PCT = 2.0
_REMOVED = (0.3, 0.8, 1.0)
_CODE = (
    "total += loss.detach()  # stays on the GPU: no .item() or print in each step",
    "if step % 100 == 0: print(total.item() / 100)",
    "loader = DataLoader(dataset, batch_size, pin_memory=True)",
    "inputs = inputs.to(device, non_blocking=True)",
)
_FIND_THEM = "Find the calls with torch.cuda.set_sync_debug_mode('warn')."
_SHOWN = 3


def find(step: Step) -> list[Advice]:
    """Idle time for which waiting for the GPU is the reason."""
    idle = step.host.idle_ns[WAITS] + (0.0 if is_cpu_bound(step) else step.host.idle_ns[LAUNCHES])
    if not step.name or not len(step.host.waits) or not step.cpu_ns > 0:
        return []
    gain = step.price_idle(save(_REMOVED, idle), step.cpu_ns)
    if gain.likely_pct < LEAST_PCT:
        return []
    evidence = tuple(
        f"{_describe(str(name))}: {units.format_count(row['count'])} in a step, {units.format_ns(row['time_ns'])}"
        + (f", mostly in “{one_line(row['range'], 40)}”" if row["range"] else "")
        for name, row in step.host.waits.head(_SHOWN).iterrows()
    )
    said = (
        f"The CPU waits for the GPU within the step, and the GPU then idles {step.tell_share(idle)}",
        "Without these calls the CPU would run ahead.",
    )
    options = [Option("keep results on the GPU", _CODE, gain)]
    about = about_ranges(step, step.host.waits["range"])
    confidence = MEDIUM if step.is_timed_alone else LOW
    return [make_advice(step, "synchronizing-calls", said, options, about, evidence, confidence, _FIND_THEM)]


def _describe(name: str) -> str:
    """A wait as users know it."""
    kinds = {"memcpy": "copies that block", "kernel": "launches that block", "memset": "sets that block"}
    return kinds.get(name, name.partition("_v")[0])
