"""Decide how to record on this machine: which nsys, which GPUs, which metrics, which command line."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tcprof import units
from tcprof.chips import metric_names
from tcprof.errors import InputError, MachineError, NsysError, UsageError
from tcprof.files import temporary_folder
from tcprof.nsys.capabilities import (
    Capabilities,
    GpuSupport,
    build_metric_set,
    count_metrics,
    read_general_metric_set,
    read_sums,
)
from tcprof.nsys.export import make_export, read_sampled_metrics
from tcprof.nsys.locate import Nsys
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import explain, run_quietly
from tcprof.record.command import (
    RecordOptions,
    build_profile_command,
    build_session_commands,
    check_options,
    name_options,
)
from tcprof.record.diagnosis import Diagnosis, diagnose
from tcprof.record.driver_log import driver_logged
from tcprof.record.program import annotated
from tcprof.record.step_capture import StepCapture
from tcprof.record.turns import one_at_a_time

CLEAN_HZ = 200_000  # samples a second of all GPUs together that were recorded without loss; twice as many overflowed
_BYTES_PER_ROW = 20  # of an export, measured
_OWN_METRICS = 22  # in nsys's set for GH100; others are of that size
# What sets lack, best first, and how they are asked for; the first that is taken is used.
_SETS: dict[str, dict[str, bool]] = {
    "": {},
    "no cache counters": {"with_caches": False},
    "no bytes and no instructions": {"with_work": False},
}


@dataclass(frozen=True)
class Plan:
    """A recording that is ready to run."""

    nsys: Nsys  # the nsys that will record
    capabilities: Capabilities  # what it can do here
    options: RecordOptions  # how to record
    program: tuple[str, ...]  # the program and its arguments
    metric_set: Path | None  # the metric-set file that is sampled; None for nsys's own
    gpus: tuple[GpuSupport, ...]  # the GPUs that are sampled
    bytes_per_s: float  # estimated size of the samples in the export, for each second; 0 without samples
    notes: tuple[str, ...]  # what will be recorded less well than it could be, and why
    processes: Path  # the folder to which processes that are annotated write which rank they are, and their steps
    driver_log: Path  # what the driver says of the GPUs meanwhile

    def build_command(self, report: ReportFiles, session: str = "") -> list[str]:
        """Build nsys's command line for a report."""
        return build_profile_command(
            self.nsys, self.capabilities, self.options, self.program, report, self.metric_set, session
        )

    def make_capture(self, report: ReportFiles) -> tuple[StepCapture | None, list[str]]:
        """Make what begins and ends captures for a report, None where nsys does it; and nsys's command line."""
        if not self.options.follows_steps:
            return None, self.build_command(report)
        commands = build_session_commands(self.nsys, self.capabilities, self.options, report, self.metric_set)

        def export() -> None:
            if not self.nsys.prefix:  # else the report is root's
                make_export(self.nsys, report.report, from_steps=capture.is_of_steps)

        capture = StepCapture(commands, self.options, self.processes, report, export)
        return capture, self.build_command(report, commands.session)


@contextmanager
def plan_recording(
    program: tuple[str, ...], options: RecordOptions, nsys: Path | None = None, prefix: tuple[str, ...] = ()
) -> Iterator[Plan]:
    """Plan a recording with the best metrics available here: tensor cycles, else percentages.

    A metric set of our own is tried with a short sampling first. It is a temporary file that lasts as long as the
    context.

    Raises:
        MachineError: This machine cannot record.
        InputError: The metric-set file does not exist.
        UsageError: An option has no meaning.
    """
    with temporary_folder() as folder:
        metric_set: Path | None = None
        notes: list[str] = []
        with one_at_a_time():
            recorder, capabilities = _ready(diagnose(nsys, gpus=options.gpus, prefix=prefix))
            check_options(capabilities, options)
            gpus = _choose_gpus(capabilities, options.gpus)
            if gpus and "--gpu-metrics-set" not in name_options(options.extra_args):
                metric_set, notes = _choose_metrics(recorder, capabilities, options, gpus, folder)
        rate = _estimate_bytes_per_s(options, gpus, metric_set)
        notes += _warn_of_overflow(options, gpus)
        processes = folder / "processes"
        processes.mkdir()
        command = annotated(program, options.annotate, processes=processes)
        log = folder / "driver.csv"
        chosen = gpus if gpus != capabilities.supported_gpus else ()  # each rank's recording asks about its own
        with driver_logged(log, [gpu.number for gpu in chosen if gpu.number is not None]):
            yield Plan(recorder, capabilities, options, command, metric_set, gpus, rate, tuple(notes), processes, log)


def _ready(diagnosis: Diagnosis) -> tuple[Nsys, Capabilities]:
    if diagnosis.failures or diagnosis.nsys is None or diagnosis.capabilities is None:
        causes = "\n".join(f"  {check.name}: {check.evidence}\n    {check.remedy}" for check in diagnosis.failures)
        raise MachineError(f"This machine is not ready to record:\n{causes}", hint="'tcprof doctor' shows all checks.")
    return diagnosis.nsys, diagnosis.capabilities


def _choose_gpus(capabilities: Capabilities, chosen: str) -> tuple[GpuSupport, ...]:
    """Choose the GPUs that an option such as ``all`` or ``0,2`` names; nsys itself judges any other word."""
    numbers = [part.strip() for part in chosen.split(",")]
    if not all(number.isdigit() for number in numbers):
        return capabilities.supported_gpus
    by_number = {gpu.number: gpu for gpu in capabilities.supported_gpus}
    unknown = [number for number in numbers if int(number) not in by_number]
    if unknown:
        names = ", ".join(str(number) for number in by_number) or "none"
        raise UsageError(
            f"nsys cannot sample GPU {', '.join(unknown)} here.",
            hint=f"It can sample: {names}. 'tcprof doctor' says why it cannot sample the others.",
        )
    return tuple(by_number[int(number)] for number in numbers)


def _choose_metrics(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, gpus: tuple[GpuSupport, ...], folder: Path
) -> tuple[Path | None, list[str]]:
    if options.metrics == "default":
        return None, []
    if options.metrics != "tcprof":
        return find_own_set(options.metrics), []
    try:
        tried = find_metric_set(nsys, capabilities, options, gpus, folder)
    except NsysError as error:
        return None, [f"Rounded percentages are recorded, not exact tensor cycles: {error.message}"]
    return tried.path, [tried.lacks] if tried.lacks else []


def find_own_set(metrics: str) -> Path:
    """Find the metric-set file that the user names."""
    path = Path(metrics)
    if not path.is_file():
        raise InputError(f"The metric set {path} does not exist.", hint="Use tcprof, default, or a .config file.")
    return path.absolute()


def _estimate_bytes_per_s(options: RecordOptions, gpus: tuple[GpuSupport, ...], metric_set: Path | None) -> float:
    metrics = _OWN_METRICS if metric_set is None else count_metrics(metric_set.read_text(encoding="utf-8"))
    return float(options.frequency_hz * len(gpus) * metrics * _BYTES_PER_ROW)


def _warn_of_overflow(options: RecordOptions, gpus: tuple[GpuSupport, ...]) -> list[str]:
    if options.frequency_hz * len(gpus) <= CLEAN_HZ:
        return []
    asked, clean = units.format_hz(options.frequency_hz), CLEAN_HZ // len(gpus)
    return [
        f"{len(gpus)} GPUs at {asked} each is more than nsys is known to record without losing samples; try "
        f"--frequency {clean}."
    ]


@dataclass(frozen=True)
class TriedSet:
    """A metric set that was tried."""

    path: Path  # its file
    sampled: tuple[str, ...]  # names of the metrics that it gives
    lacks: str  # what it does not give here, and why, as a sentence; empty where it gives all


def find_metric_set(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, gpus: tuple[GpuSupport, ...], folder: Path
) -> TriedSet:
    """Try metric sets with tensor cycles: with all that the chip counts; if that is refused, with less."""
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
            return TriedSet(path, sampled, f"Tensor cycles are recorded, but {without}: {refusals[0]}")
        missing = [what for name, what in read_sums(text).items() if name not in sampled]
        return TriedSet(path, sampled, f"Not sampled here: {', '.join(missing)}." if missing else "")
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
    """Write a metric set with tensor cycles for some GPUs, named after its alias, with NVLink and PCIe for several."""
    chips = sorted({gpu.chip for gpu in gpus})
    if not capabilities.metric_set_files:
        raise NsysError(f"nsys {nsys.version_text} accepts no metric-set files.", hint="Use a newer nsys.")
    if len(chips) != 1 or not chips[0]:
        raise NsysError(
            f"A metric set fits one kind of GPU, but nsys lists several: {', '.join(chips) or 'none'}.",
            hint="Record GPUs of one kind at a time.",
        )
    path = folder / "tcprof.config"
    general = read_general_metric_set(nsys, chips[0])
    text = build_metric_set(
        general, chips[0], path.stem, keep_links=len(gpus) > 1, with_work=with_work, with_caches=with_caches
    )
    path.write_text(text, encoding="utf-8")
    return path


_SHORTEST_S, _SAMPLES = 0.05, 5
_LONGEST_S = 60.0


def try_metric_set(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, metric_set: Path | None
) -> tuple[str, ...]:
    """Sample the GPUs for a moment, as the recording will; return the names of the sampled metrics, sorted."""
    with temporary_folder() as folder:
        files = ReportFiles(folder / "trial")
        short = replace(
            options,
            trace="none",
            capture_range="none",
            capture_range_end="stop",
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
        raise NsysError(f"nsys {nsys.version_text} accepted the metric set, but sampled no tensor cycles.")
    return tuple(sorted(sampled))
