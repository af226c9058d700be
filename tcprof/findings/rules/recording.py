"""What the recording hides, or adds: how to record so that the rest of the advice can be given.

What and why: kernels that CUDA graphs hide (40 to 100 % of the time where a graph is recorded as a whole); idle time of
which recording may be the reason, since nsys adds to each launch; too few iterations to be sure; nothing that iterates;
no tensor counter.

Thresholds: a graph with 1 % of the busy time; 20 % of a step idle while the CPU launches, which half the CPU's time
would explain; under 5 iterations after warm-up.

Do: the option of `tcprof profile` that is named.

Not when: the time of a step with and without recording is known (`--unprofiled`): then that is what counts.
"""

from tcprof import units
from tcprof.analysis.kernels.names import GRAPH
from tcprof.analysis.replay.host import LAUNCHES
from tcprof.analysis.steps.iterations import FEWEST
from tcprof.findings.pricing.advice import HIGH, Advice, Option, Subject
from tcprof.findings.pricing.builders import make_advice, time_of
from tcprof.findings.pricing.communication import times_of_communication
from tcprof.findings.pricing.step import Step
from tcprof.findings.pricing.subject import about_iteration, about_kernels
from tcprof.findings.rules import launch_bound

NAMES = ("hidden-graphs", "idle-or-tracer", "no-iterations", "few-iterations")
_STEPS = (
    'with torch.cuda.nvtx.range("step"): ...  # around each step',
    '// C++: nvtxRangePush("step"); ...; nvtxRangePop();',
)
_HIDDEN_PCT = 1.0
_IDLE_PCT = 20.0


def find(step: Step) -> list[Advice]:
    """What to record otherwise; without a price."""
    found = [_graphs(step), _tracer(step), _iterations(step)]
    return [advice for advice in found if advice is not None]


def _advise(step: Step, rule: str, said: tuple[str, str], command: str, about: Subject) -> Advice:
    return make_advice(step, rule, said, [Option("record again", (command,))], about, confidence=HIGH)


def _graphs(step: Step) -> Advice | None:
    rows = step.kernels[step.kernels["work"] == GRAPH]
    hidden = time_of(rows)
    if not step.busy_ns > 0 or 100 * hidden / step.busy_ns < _HIDDEN_PCT:
        return None
    said = (
        f"CUDA graphs recorded as a whole hide {units.format_pct(100 * hidden / step.busy_ns)} of the GPU's busy time",
        "Which kernels ran in them, and what would win there, cannot be told.",
    )
    about = about_kernels(step, rows.index)
    return _advise(step, "hidden-graphs", said, "tcprof profile --cuda-graph-trace node ...", about)


def _tracer(step: Step) -> Advice | None:
    idle = step.host.idle_ns[LAUNCHES]  # nsys adds to calls of CUDA, not to other work of the CPU
    of_all = (step.beside.get(gpu, step).host.idle_ns[LAUNCHES] for gpu in times_of_communication(step))
    if step.is_timed_alone or step.share_pct(min(of_all)) < _IDLE_PCT:  # beside a GPU that works it waits for that one
        return None
    if not launch_bound.is_cpu_bound(step) or launch_bound.find(step):
        return None
    said = (
        f"The GPU idles {step.tell_share(idle)} while the CPU launches kernels, and recording may be the reason: it "
        "slows each launch",
        "Whether the program waits for the CPU when it runs alone cannot be told.",
    )
    return _advise(step, "idle-or-tracer", said, "tcprof profile --unprofiled ...", about_iteration(step))


def _iterations(step: Step) -> Advice | None:
    if not step.name:
        said = (
            "Nothing iterates in the recording, so gains are of all its work, warm-up included",
            "With five or more steps after the warm-up, gains are of a step.",
        )
        return make_advice(step, "no-iterations", said, [Option("name the steps", _STEPS)], Subject(), confidence=HIGH)
    if step.count >= FEWEST:
        return None
    said = (
        f"Only {step.count} iterations are left after the warm-up",
        "Five or more make gains surer.",
    )
    return _advise(step, "few-iterations", said, "tcprof profile ...  # with more steps", about_iteration(step))
