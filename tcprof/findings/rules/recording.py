"""Rules on the recording: what it must have for advice to be surer."""

from collections.abc import Collection

from tcprof import units
from tcprof.analysis.host import LAUNCHES
from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.steps.marked_steps import FEWEST
from tcprof.findings.pricing import CODE
from tcprof.findings.pricing.advice import ALL_WORK, HIGH, Advice, Option, Subject, rule
from tcprof.findings.pricing.builders import about_launches, about_step, make_advice, time_of
from tcprof.findings.pricing.multi_gpu import times_of_communication
from tcprof.findings.pricing.step import Step
from tcprof.sources.xla import MODULE


def _record_again(
    step: Step,
    name: str,
    text: tuple[str, str, str],
    code: tuple[str, ...],
    about: Subject,
    title: str = "record again",
) -> Advice:
    return make_advice(step, name, text, [Option(title, code)], about, confidence=HIGH, raise_confidence="")


@rule("few-steps", "no-steps", of_recording=True)
def few_steps(step: Step) -> list[Advice]:
    """Too few steps to be sure of (`few-steps`), or none (`no-steps`)."""
    if not step.name:
        text = (
            "Mark the steps",
            f"No steps were found, so savings are relative to {ALL_WORK}",
            "With five or more steps after the warm-up, savings are relative to a step.",
        )
        return [_record_again(step, "no-steps", text, step.remedies.steps, Subject(), "name the steps")]
    if step.count >= FEWEST:
        return []
    steps = units.format_things(step.count, "step was", "steps were")
    text = (
        "Record more steps",
        f"Only {steps} recorded after the warm-up",
        "With five or more, savings are more certain.",
    )
    return [_record_again(step, "few-steps", text, step.remedies.more_steps, about_step(step))]


@rule("hidden-graphs", of_recording=True)
def hidden_graphs(step: Step) -> list[Advice]:
    """Kernels that the recording hides: CUDA graphs that were recorded as a whole."""
    rows = step.kernels[step.kernels["work"] == GRAPH]
    hidden = time_of(rows)
    if not step.busy_ns > 0 or 100 * hidden / step.busy_ns < 1.0:
        return []
    text = (
        "Record the kernels in CUDA graphs",
        f"CUDA graphs recorded as a whole take {units.format_pct(100 * hidden / step.busy_ns)} of the GPU's busy time",
        "Which kernels run in them, and what would save time there, is unknown.",
    )
    is_of_xla = step.analysis.paths["name"].str.startswith(MODULE).any()
    code = ("tcprof profile --cuda-graph-trace node ...", *(CODE["no_xla_graphs"] if is_of_xla else ()))
    return [_record_again(step, "hidden-graphs", text, code, about_launches(step, rows.index, "kernel"))]


@rule("idle-or-tracer", of_recording=True, after=("launch-bound",))
def idle_or_tracer(step: Step, earlier: Collection[str]) -> list[Advice]:
    """Idle time of which recording may be the reason, since nsys adds to each launch."""
    idle = step.host.idle_ns[LAUNCHES]  # nsys adds to calls of CUDA, not to other work of the CPU
    of_all = (step.beside.get(gpu, step).host.idle_ns[LAUNCHES] for gpu in times_of_communication(step))
    is_idle = step.share_pct(min(of_all)) >= 20.0  # beside a GPU that works it waits for that one
    if not step.remedies.unprofiled or step.is_cost_known or not is_idle or not step.is_cpu_bound or earlier:
        return []
    text = (
        "Measure profiling overhead: it may explain the idle time",
        f"The GPU is idle {step.format_share(idle)} while the CPU launches kernels. Profiling slows each launch, which "
        "may be the reason",
        "Whether an unprofiled run waits for the CPU is unknown.",
    )
    code = ("tcprof profile ...  # times unprofiled steps, too",)
    return [_record_again(step, "idle-or-tracer", text, code, about_step(step))]
