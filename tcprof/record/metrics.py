"""Which metrics are sampled: the most that this machine gives with exact tensor cycles."""

from dataclasses import dataclass, replace
from pathlib import Path

from tcprof.chips import metric_names
from tcprof.errors import NsysError
from tcprof.nsys.capabilities import Capabilities, GpuSupport, read_general_metric_set
from tcprof.nsys.export import make_export, read_sampled_metrics
from tcprof.nsys.locate import Nsys
from tcprof.nsys.metricset import build_metric_set, read_sums
from tcprof.nsys.problems import explain
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import run_quietly
from tcprof.record.command import RecordOptions, build_profile_command
from tcprof.temporary import temporary_folder

# What sets lack, best first, and how they are asked for; the first that is taken is used.
_SETS: dict[str, dict[str, bool]] = {
    "": {},
    "nothing of the caches": {"with_caches": False},
    "no bytes and no instructions": {"with_work": False},
}


@dataclass(frozen=True)
class FoundSet:
    """A metric set that was tried."""

    path: Path  # its file
    sampled: tuple[str, ...]  # names of the metrics that it gives
    lacks: str  # what it does not give here, and why, as a sentence; empty where it gives all


def find_metric_set(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, gpus: tuple[GpuSupport, ...], folder: Path
) -> FoundSet:
    """Tries metric sets with tensor cycles: with all that the chip counts; if that is refused, with less.

    Args:
        folder: Where to write the set; a temporary folder that outlives the recording.

    Raises:
        NsysError: None can be had here.
    """
    refusals: list[NsysError] = []
    tried = ""
    for without, less in _SETS.items():
        path = write_metric_set(nsys, capabilities, gpus, folder, **less)
        text = path.read_text(encoding="utf-8")
        if text == tried:  # a chip of which no more is known
            continue
        tried = text
        try:
            sampled = try_metric_set(nsys, capabilities, options, path)
        except NsysError as error:
            refusals.append(error)
            continue
        if refusals:
            return FoundSet(path, sampled, f"Tensor cycles are recorded, but {without}: {refusals[0]}")
        missing = [what for name, what in read_sums(text).items() if name not in sampled]
        return FoundSet(path, sampled, f"Not sampled here: {', '.join(missing)}." if missing else "")
    raise refusals[-1]


def write_metric_set(
    nsys: Nsys,
    capabilities: Capabilities,
    gpus: tuple[GpuSupport, ...],
    folder: Path,
    *,
    with_work: bool = True,
    with_caches: bool = True,
) -> Path:
    """Writes a metric set with tensor cycles for some GPUs of this machine, named after its alias as nsys wants it.

    NVLink and PCIe are kept where there are several GPUs, since they work together.

    Args:
        folder: A temporary folder that outlives the recording.
        with_work: See ``build_metric_set``.

    Raises:
        NsysError: This nsys or these GPUs allow none; nsys's own set records percentages all the same.
    """
    chips = sorted({gpu.chip for gpu in gpus})
    if not capabilities.metric_set_files:
        raise NsysError(f"nsys {nsys.version_text} takes no metric set from a file.", hint="Use a newer nsys.")
    if len(chips) != 1 or not chips[0]:
        raise NsysError(
            f"One metric set serves one kind of GPU, and nsys names these: {', '.join(chips) or 'none'}.",
            hint="Record GPUs of one kind at a time.",
        )
    path = folder / "tcprof.config"
    own = read_general_metric_set(nsys, chips[0])
    text = build_metric_set(
        own, chips[0], path.stem, keep_links=len(gpus) > 1, with_work=with_work, with_caches=with_caches
    )
    path.write_text(text, encoding="utf-8")
    return path


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
