"""What is recorded, and how the program ended, in words."""

from tcprof import units
from tcprof.record.plan import Plan
from tcprof.record.recording import RecordedRun

SIGNALLED = 128  # an exit status above it is that plus the signal's number


def describe_plan(plan: Plan) -> str:
    """One sentence: nsys, GPUs, metrics, frequency, and how much the samples will take."""
    nsys = f"nsys {plan.nsys.version_text}"
    if not plan.gpus:
        return f"{nsys}; no GPU metrics"
    names = ", ".join(f"GPU {gpu.number} {gpu.name}" for gpu in plan.gpus)
    if plan.metric_set is None:
        metrics = "nsys's own metrics, whole percentages,"
    else:
        metrics = "exact tensor cycles" if plan.options.metrics == "tcprof" else f"metrics of {plan.metric_set.name}"
    rate = units.format_hz(plan.options.frequency_hz)
    size = units.format_bytes(plan.bytes_per_s)
    return f"{nsys}; {names}: {metrics} at {rate}, about {size} of export a second"


def describe_end(run: RecordedRun) -> tuple[str, ...]:
    """Why the program did not end with status 0, as far as that is known; nothing where it did."""
    if not run.program_status:
        return ()
    if run.was_stopped:
        return (f"the program was stopped; its exit status is {run.program_status}.",)
    if run.program_status > SIGNALLED:
        return (
            f"the program was killed by signal {run.program_status - SIGNALLED}. What CUDA had not handed over to nsys "
            "until then is lost: record a --capture-range that ends earlier.",
        )
    return (f"the program ended with exit status {run.program_status}.",)
