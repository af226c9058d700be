"""Copies to the GPU with nothing beside them.

What: copies from the host to the GPU during which nothing else runs there.

Why: from pinned memory a copy runs beside kernels, and the CPU does not wait for it; from pageable memory both wait.
Whether it is pinned already stands in the recording, or else calls that return before half of their copy is done tell.

Thresholds: 3 % of a step, where something iterates. How much can be hidden is assumed, and no more than the rest of the
step, beside which they would run.

Do: `DataLoader(pin_memory=True)` and `.to(device, non_blocking=True)`, the next batch while this one computes; or keep
the data on the GPU.

Not when: the copy takes longer than all kernels: then send less, such as uint8 images that become floats on the GPU.
"""

from tcprof import units
from tcprof.analysis.host import find_launching_ranges
from tcprof.findings.pricing.advice import Advice, Option, Rule
from tcprof.findings.pricing.builders import about_ranges, hide, make_advice, time_of
from tcprof.findings.pricing.calibration import MEASURED
from tcprof.findings.pricing.launching import are_pinned, find_copies, tell_guess
from tcprof.findings.pricing.step import Step

RULE = Rule(("exposed-copies",))
LEAST_PCT = 3.0
_PIN = ("loader = DataLoader(dataset, batch_size, pin_memory=True, num_workers=2)",)
_CODE = (
    "with torch.cuda.stream(copies):  # of the next batch, beside this one",
    "    inputs = inputs.to(device, non_blocking=True)",
)
_LESS = (
    "images = images.to(device)  # once, before the first step, if all data fit",
    "images = images.float() / 255  # sent as uint8, converted on the GPU",
)


def find(step: Step) -> list[Advice]:
    """Exposed copies from the host."""
    copies = find_copies(step)
    time = time_of(copies) / step.count
    if not step.name or step.share_pct(time) < LEAST_PCT:
        return []
    count = units.format_things(len(copies) / step.count, "copy", "copies")
    is_pinned = are_pinned(step)
    said = (
        f"Copies to the GPU run with nothing beside them: {step.tell_share(time)}",
        "They come from pinned memory: on a stream of their own they can run beside kernels."
        if is_pinned
        else "From pinned memory they can run beside kernels.",
    )
    evidence = [f"{count} in a step, {units.format_ns(time)}", *tell_guess(step)]
    shares = MEASURED["assumed"]["copies" if is_pinned else "copies_pageable"]
    gain = step.price_kernels(hide(step, shares, time), waits=is_pinned)
    about = about_ranges(step, find_launching_ranges(step.analysis, copies))
    options = [Option("copies beside kernels", _CODE if is_pinned else _PIN + _CODE, gain)]
    if 2 * time > step.length_ns:
        evidence.append("they take longer than all else: most of them have nothing that they could run beside")
        options.append(Option("send less", _LESS))
    return [make_advice(step, RULE.name, said, options, about, evidence)]
