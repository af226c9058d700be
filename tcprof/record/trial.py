"""A short sampling before the real one: nsys accepts a metric set, and then silently drops unsupported metrics."""

from dataclasses import replace
from pathlib import Path

from tcprof.chips import metric_names
from tcprof.errors import NsysError
from tcprof.nsys.capabilities import Capabilities
from tcprof.nsys.export import make_export, read_sampled_metrics
from tcprof.nsys.locate import Nsys
from tcprof.nsys.problems import explain
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import run_quietly
from tcprof.record.command import RecordOptions, build_profile_command
from tcprof.temporary import temporary_folder

_SHORTEST_S, _SAMPLES = 0.05, 5
_LONGEST_S = 60.0


def try_metric_set(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, metric_set: Path | None
) -> tuple[str, ...]:
    """Samples the GPUs for a moment, as the recording will.

    Args:
        options: How to record: the GPUs and the frequency count.
        metric_set: The metric set to try; None for nsys's own.

    Returns:
        The names of the metrics that were sampled, in alphabetical order.

    Raises:
        NsysError: If nsys refuses, or samples no tensor cycles although the metric set asks for them.
    """
    with temporary_folder() as folder:
        files = ReportFiles(folder / "trial")
        short = replace(
            options,
            trace="none",
            capture_range="none",
            delay_s=None,
            duration_s=None,
            cuda_graph_trace=None,
            extra_args=(),
        )
        program = ("sleep", f"{max(_SHORTEST_S, _SAMPLES / options.frequency_hz):g}")
        command = build_profile_command(nsys, capabilities, short, program, files, metric_set)
        done = run_quietly(command, timeout_s=_LONGEST_S)
        if done.status != 0 or not files.report.is_file():
            problem = explain(done.output)
            cause = problem.cause if problem else f"exit status {done.status}"
            raise NsysError(
                f"nsys {nsys.version_text} did not sample: {cause}. It said: {done.last_lines()}",
                hint=problem.remedy if problem else "",
            )
        sampled = read_sampled_metrics(make_export(nsys, files.report))
    if metric_set is not None and sampled.isdisjoint(metric_names("tensor_cycles")):
        raise NsysError(f"nsys {nsys.version_text} took the metric set, but sampled no tensor cycles.")
    return tuple(sorted(sampled))
