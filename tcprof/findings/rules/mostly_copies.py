"""Programs without a framework in which nothing iterates, and copies take longer than kernels.

What: copies to and from the GPU, and within it, with nothing beside them.

Why: data that are sent for one kernel take longer than what it does with them.

Thresholds: 30 % of the GPU's work from first activity to last, and twice what kernels have. There is no price: which
data could stay is not recorded.

Do: keep data on the GPU for all that is computed with them; pinned memory.

Not when: the program sends its data once, and computes for longer as it is used.
"""

from tcprof import units
from tcprof.findings.pricing.advice import MEDIUM, Advice, Option, Rule, Subject
from tcprof.findings.pricing.builders import make_advice, time_of
from tcprof.findings.pricing.launching import is_mostly_pinned
from tcprof.findings.pricing.step import Step

RULE = Rule(("mostly-copies",))
LEAST_PCT = 30.0
_OF_KERNELS = 2.0  # times as long as kernels take
_PINNED = ("cudaMallocHost(&data, bytes);  // in place of malloc: pinned memory",)


def find(step: Step) -> list[Advice]:
    """Copies that take longer than kernels."""
    if step.name or step.is_of_framework or not len(step.kernels):
        return []
    time, kernels = time_of(step.copies), time_of(step.kernels)
    if step.share_pct(time) < LEAST_PCT or time < _OF_KERNELS * kernels:
        return []
    is_pageable = not is_mostly_pinned(step.copies)
    said = (
        f"Copies take {step.tell_share(time)}, and kernels {units.format_pct(step.share_pct(kernels))}",
        "Data that stay on the GPU are copied once" + (", and pinned memory is copied faster." if is_pageable else "."),
    )
    evidence = [
        f"{way}: {units.format_ns(row['exposed_ns'])} for {units.format_bytes(row['moved_bytes'])}"
        for way, row in step.copies.groupby("name", observed=True)[["exposed_ns", "moved_bytes"]].sum().iterrows()
    ]
    options = [Option("keep data on the GPU", _PINNED * is_pageable)]
    return [make_advice(step, RULE.name, said, options, Subject(), evidence, MEDIUM)]
