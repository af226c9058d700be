"""A command line for nsys on another machine, which cannot be asked: for a job's script."""

from pathlib import Path

from tcprof.nsys.capabilities import Capabilities, GpuSupport
from tcprof.nsys.locate import Nsys, survey_nsys
from tcprof.nsys.report import ReportFiles
from tcprof.record.command import RecordOptions, build_profile_command, check_options
from tcprof.record.plan import find_own_set
from tcprof.record.program import annotated

_PLURAL = (2024,)  # the first nsys that knows --gpu-metrics-devices
_ANY_GPU = GpuSupport(None, "", "", supported=True, reason="")


def draft_recording(
    program: tuple[str, ...],
    options: RecordOptions,
    report: ReportFiles,
    explicit: Path | None,
    prefix: tuple[str, ...],
) -> tuple[list[str], list[str]]:
    """Draft the recording of a program, with nsys's own metrics unless a metric set is named; nothing is tried.

    Returns the command, and what is to be known about it.
    """
    notes = []
    if programs := survey_nsys(explicit).programs:
        nsys = programs[0]
    else:
        nsys = Nsys(explicit or Path("nsys"), _PLURAL)
        notes.append("there is no nsys here: the options are for nsys 2024 and later.")
    option = "--gpu-metrics-devices" if nsys.version >= _PLURAL else "--gpu-metrics-device"
    capabilities = Capabilities(option, metric_set_files=True, gpus=(_ANY_GPU,))
    check_options(capabilities, options)
    metric_set = find_own_set(options.metrics) if options.metrics not in ("tcprof", "default") else None
    if options.metrics == "tcprof" and options.gpus != "none":
        notes.append(
            "this command samples nsys's own metrics, in whole percentages. For exact tensor cycles, have the job run "
            "'tcprof profile' itself: it makes its metric set where it records."
        )
    nsys = Nsys(nsys.path, nsys.version, prefix)
    command = annotated(program, options.annotate)
    return build_profile_command(nsys, capabilities, options, command, report, metric_set), notes
