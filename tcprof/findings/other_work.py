"""Faults of GPUs that worked beside the trace: their samples show more than was traced."""

from collections.abc import Mapping
from functools import partial

from tcprof import units
from tcprof.analysis.kernels.untraced import Untraced
from tcprof.findings.finding import Finding, Severity, name_gpus

_TRACE_ALL = (
    "Record with the GPU to yourself, trace every process that uses it, and graphs with --cuda-graph-trace node."
)
_TRACE_WORKERS = (
    "Record again so that nsys starts the process that uses it: forked workers with --trace-fork-before-exec=true, "
    "servers and containers from within 'tcprof profile'."
)

_fault = partial(Finding, severity=Severity.FAULT)


def find_other_work(untraced: Mapping[int, Untraced]) -> list[Finding]:
    """Samples that show work where nothing was traced, or no tensor work: it also ran beside the traced kernels."""
    findings = [_about_all(untraced)] if any(work.is_all for work in untraced.values()) else []
    for gpu, work in untraced.items():
        if work.is_notable and not work.is_all:
            active, quiet = units.format_ns(work.quiet.shown_ns), units.format_ns(work.quiet.ns)
            sentence = (
                f"GPU {gpu}: busy for {units.format_ns(work.busy_ns)} of the {units.format_ns(work.idle_ns)} in which "
                f"no traced work ran"
                if work.in_pauses
                else f"GPU {gpu}: its Tensor Cores were busy for {active} of {quiet} in kernels that do not use them"
            )
            sentence += (
                ", with work that the trace does not show: another process, or CUDA graphs that nsys did not record"
            )
            consequence = "Work that ran beside traced kernels counts as theirs: figures are unreliable."
            findings.append(_fault("untraced-work", sentence=sentence, consequence=consequence, remedy=_TRACE_ALL))
    return findings


def _about_all(untraced: Mapping[int, Untraced]) -> Finding:
    """GPUs that worked although the trace has next to nothing of them."""
    rows = {gpu: work for gpu, work in untraced.items() if work.is_all}
    least, most = (units.format_ns(pick(work.busy_ns for work in rows.values())) for pick in (min, max))
    busy = least if least == most else f"{least} to {most}"
    of_it = "almost none" if any(work.traced_ns for work in rows.values()) else "none"
    return _fault(
        "untraced-gpu",
        sentence=f"{name_gpus([*rows])}: the samples show it busy for {busy}, but the trace has {of_it} of that work: "
        f"it ran in a forked worker, in another container, or in a process started before the recording",
        consequence="How long the GPU was really idle is unknown.",
        remedy=_TRACE_WORKERS,
    )
