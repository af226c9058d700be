"""The CPU waits for the GPU within the step, and the GPU then waits for the CPU.

What: calls that wait for the GPU (`cudaStreamSynchronize` and its like, which `.item()`, `.cpu()`, `print(tensor)`,
`nonzero()` and a `GradScaler` make, and copies from pageable memory).

Why: after such a call nothing is queued, and each launch that follows finds the GPU idle until the CPU is ahead again.

Thresholds: 1 % of a step, where something iterates. The price is that of the recorded steps played again, once with
the waits and once without: each kernel starts when the one before it has ended and the CPU has launched it. Steps that
are played as they were must be as long as recorded, within 3 %; else there is no price. How many of the calls can be
removed is assumed.

Do: keep losses on the GPU and read them once in many steps; copy with `non_blocking=True` from pinned memory.

Not when: the CPU's own time is as long as the step: then launches are the matter, and the step is as long without
waits.
"""

from tcprof import units
from tcprof.findings.advice.advice import LOW, MEDIUM, NOTABLE_PCT, Advice, Option
from tcprof.findings.advice.host import LAUNCHES, WAITS
from tcprof.findings.advice.making import make_advice
from tcprof.findings.advice.measured import MEASURED
from tcprof.findings.advice.step import Step
from tcprof.findings.advice.subject import about_ranges
from tcprof.untrusted import one_line

LEAST_PCT = NOTABLE_PCT
_CODE = (
    "total += loss.detach()  # stays on the GPU: no .item() or print in each step",
    "if step % 100 == 0: print(total.item() / 100)",
    "loader = DataLoader(dataset, batch_size, pin_memory=True)",
    "inputs = inputs.to(device, non_blocking=True)",
)
_FIND_THEM = "Find the calls with torch.cuda.set_sync_debug_mode('warn')."
_SHOWN = 3


def find(step: Step) -> list[Advice]:
    """Waits for the GPU without which the step is shorter."""
    if not step.name or not len(step.host.waits) or not step.cpu_ns > 0:
        return []
    if step.share_pct(step.host.idle_ns[WAITS] + step.host.idle_ns[LAUNCHES]) < LEAST_PCT:
        return []
    gain = step.price_waits(MEASURED["assumed"]["waits"])
    if not gain.likely_pct >= LEAST_PCT:
        return []
    idle = step.host.idle_ns[WAITS]
    evidence = tuple(
        f"{_describe(str(name))}: {units.format_count(row['count'])} in a step, {units.format_ns(row['time_ns'])}"
        + (f", mostly in “{one_line(row['range'], 40)}”" if row["range"] else "")
        for name, row in step.host.waits.head(_SHOWN).iterrows()
    )
    said = (
        f"The CPU waits for the GPU within the step, and right after that the GPU idles {step.tell_share(idle)}",
        "Without these calls the CPU would run ahead, and the GPU would not wait for launches that follow either.",
    )
    options = [Option("keep results on the GPU", _CODE, gain)]
    about = about_ranges(step, step.host.waits["range"])
    confidence = MEDIUM if step.is_timed_alone else LOW
    return [make_advice(step, "synchronizing-calls", said, options, about, evidence, confidence, _FIND_THEM)]


def _describe(name: str) -> str:
    """A wait as users know it."""
    kinds = {"memcpy": "copies that block", "kernel": "launches that block", "memset": "sets that block"}
    return kinds.get(name, name.partition("_v")[0])
