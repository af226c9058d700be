"""What will be recorded, in words."""

from tcprof import units
from tcprof.record.plan import Plan


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
