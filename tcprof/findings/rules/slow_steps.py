"""Rule on steps that take longer than their work explains, again and again, for a cause that the calls show."""

from tcprof import units
from tcprof.analysis.steps.counted_steps import ALLOCATES, COMPILES, LOADS, TRIES
from tcprof.arrays import rows_of_gpu
from tcprof.findings.pricing import CODE
from tcprof.findings.pricing.advice import MEDIUM, NOTABLE_PCT, Advice, Gain, Option, rule
from tcprof.findings.pricing.builders import about_step, make_advice
from tcprof.findings.pricing.step import Step

_FEWEST = 2  # slow steps of a cause: it recurs
_CERTAIN = 0.5  # of the excess: so much the cause is known to fill, see ``tcprof.frames.STEPS``
_FEW_SIZES = "pad inputs to a few sizes, so that each size is prepared once"
_REMEDIES = {  # of each cause: what to do, in more words, and its code
    ALLOCATES: ("Keep allocated memory", "use expandable segments", "expandable_segments"),
    LOADS: (
        "Load kernels before the first step",
        "load all kernels at the start; if shapes change, pad to a few sizes",
        "eager_loading",
    ),
    TRIES: ("Autotune for fewer sizes", f"{_FEW_SIZES}, or turn autotuning off", "no_autotuning"),
    COMPILES: ("Compile for fewer shapes", _FEW_SIZES, "few_lengths"),
}


@rule("slow-steps")
def slow_steps(step: Step) -> list[Advice]:
    """Slow steps of one cause that recur; their price is of all steps, slow ones included."""
    steps = rows_of_gpu(step.analysis.steps, step.gpu)
    steps = steps[(steps["kind"] == 0) & ~steps["warm_up"]]
    mean_ns = step.length_ns
    whole_ns = mean_ns * step.count + float(steps["step_ns"].where(steps["slow"] != "", 0.0).sum())
    findings = []
    for cause, (action, title, code) in _REMEDIES.items():
        rows = steps[(steps["slow"] == cause) & steps["step_ns"].notna()]
        excess_ns = float((rows["step_ns"] - mean_ns).clip(lower=0).sum())
        share = 100 * excess_ns / whole_ns if step.name else 0.0
        if len(rows) < _FEWEST or share < NOTABLE_PCT:
            continue
        gain = Gain(_CERTAIN * share, share, share, whole_ns / len(steps), of="all steps, slow ones included")
        count = f"{units.format_count(len(rows))} of {units.format_things(len(steps), 'step')}"
        why = "they autotune kernels for a new size" if cause == TRIES else f"the GPU waits while the program {cause}"
        texts = (
            action,
            f"{count} take {units.format_ns(excess_ns)} longer than others: {why}",
            "No other figure includes these steps. In a longer run they matter less, unless new sizes keep coming.",
        )
        findings.append(
            make_advice(step, "slow-steps", texts, [Option(title, CODE[code], gain)], about_step(step), (), MEDIUM)
        )
    return findings
