"""Copies to the GPU with nothing beside them.

What: copies from the host to the GPU during which nothing else runs there.

Why: from pinned memory a copy runs beside kernels, and the CPU does not wait for it; from pageable memory both wait.

Thresholds: 3 % of a step, where something iterates. How much can be hidden is assumed.

Do: `DataLoader(pin_memory=True)` and `.to(device, non_blocking=True)`, the next batch while this one computes; or keep
the data on the GPU.

Not when: the copy takes longer than all kernels: then send less, such as uint8 images that become floats on the GPU.
"""

from tcprof import units
from tcprof.findings.advice.advice import Advice, Option
from tcprof.findings.advice.host import find_launching_ranges
from tcprof.findings.advice.making import make_advice, save, time_of
from tcprof.findings.advice.measured import MEASURED
from tcprof.findings.advice.step import Step
from tcprof.findings.advice.subject import about_ranges

LEAST_PCT = 3.0
_CODE = (
    "loader = DataLoader(dataset, batch_size, pin_memory=True, num_workers=2)",
    "with torch.cuda.stream(copies):  # of the next batch, beside this one",
    "    inputs = inputs.to(device, non_blocking=True)",
)


def find(step: Step) -> list[Advice]:
    """Exposed copies from the host."""
    activities = step.analysis.activities.assign(exposed_ns=step.exposed_ns)
    is_copy = (activities["gpu"] == step.gpu) & (activities["name"] == "host to device")
    copies = activities[is_copy & (activities["exposed_ns"] > 0)]
    time = time_of(copies) / step.count
    if not step.name or step.share_pct(time) < LEAST_PCT:
        return []
    count = units.format_things(len(copies) / step.count, "copy", "copies")
    said = (
        f"Copies to the GPU run with nothing beside them: {step.tell_share(time)}",
        "From pinned memory they can run beside kernels.",
    )
    evidence = [f"{count} in a step, {units.format_ns(time)}"]
    gain = step.price_kernels(save(MEASURED["assumed"]["copies"], time))
    about = about_ranges(step, find_launching_ranges(step.analysis, copies))
    return [make_advice(step, "exposed-copies", said, [Option("copies beside kernels", _CODE, gain)], about, evidence)]
