"""Kernels that run below the boost clock.

What: the SM clock under kernels that do not wait for memory, by the cycles that were sampled while they ran, against
the highest that the GPU has.

Why: dense products draw so much power that the GPU lowers its clock; heat, or a clock that was set, does so too. What
is bound by the SMs takes longer by as much.

Thresholds: 5 % of a step, if these kernels ran at the highest clock. No price: whether the limit can be raised is not
recorded.

Do: ask the driver for the reason (`nvidia-smi -q -d PERFORMANCE`), and raise the limit of power or lift the set clock
where the board and its cooling allow it.

Not when: the limit is the board's highest, as it is on most servers: then the clock under load is what the chip can
do, and only fewer FLOP or bytes help. CUDA graphs that were recorded as a whole do not count: some of the kernels that
they hide may wait for memory. Nor does communication, which waits for other GPUs.
"""

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.kernels.summary import L2, MEMORY, UNKNOWN
from tcprof.findings.pricing.advice import HIGH, Advice, Option, Rule
from tcprof.findings.pricing.builders import about_kernels, list_kernels, make_advice
from tcprof.findings.pricing.step import Step

RULE = Rule(("low-clock",), of_program=False)
LEAST_PCT = 5.0
_CODE = (
    "nvidia-smi -q -d PERFORMANCE,POWER,CLOCK  # which limit is active",
    "nvidia-smi -pl WATTS   # as root, up to the board's highest",
    "nvidia-smi -rgc        # as root: no set clock",
)


def find(step: Step) -> list[Advice]:
    """Kernels that would be faster at the highest clock."""
    boost, kernels = float(step.gpu_row["clock_hz"]), step.kernels
    clock = kernels["sm_cycles"] / (kernels["total_ns"] * 1e-9 * step.gpu_row["sm_count"])
    waits = kernels["bound"].isin([MEMORY, L2, UNKNOWN]) | kernels["communication"]  # for bytes, or for other GPUs
    is_of_clock = ~waits & (kernels["work"] != GRAPH) & clock.notna()
    rows, clock = kernels[is_of_clock], clock[is_of_clock]
    lost = float((rows["exposed_ns"] * (1 - clock / boost).clip(lower=0)).sum()) if boost > 0 else 0.0
    if step.share_pct(lost) < LEAST_PCT:
        return []
    mean = float((clock * rows["exposed_ns"]).sum() / rows["exposed_ns"].sum())
    said = (
        f"The clock is {units.format_hz(mean)} and not {units.format_hz(boost)} under kernels that do not wait for "
        f"memory: at the highest they would take {step.tell_share(lost)} less",
        "Dense work at the limit of power looks so, and is no fault of the program.",
    )
    about = about_kernels(step, rows.index)
    return [make_advice(step, RULE.name, said, [Option("find the limit", _CODE)], about, list_kernels(rows), HIGH)]
