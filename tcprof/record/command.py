"""From options to nsys's command line; nothing is run here."""

import getpass
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tcprof.errors import UsageError
from tcprof.nsys.capabilities import Capabilities
from tcprof.nsys.locate import Nsys
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import run_quietly
from tcprof.record.program import MODULE_OPTION, OFF, imports_jax, level_of

LOWEST_FREQUENCY_HZ = 10
HIGHEST_FREQUENCY_HZ = 200_000
_ENDS = re.compile(r"none|stop|stop-shutdown|repeat(:[1-9]\d*)?|repeat-shutdown:[1-9]\d*")
_LONGEST_S = 60.0
_ENDED_BY_NSYS = {  # options with which captures are not tcprof's to begin and end
    *("--capture-range", "--nvtx-capture", "--delay", "--duration", "--start-later"),
    *("--output", "--session", "--session-new", "--stop-on-exit", "--export", "--stats"),
}
_SHORT = {
    "-t": "--trace",
    "-s": "--sample",
    "-o": "--output",
    "-f": "--force-overwrite",
    "-b": "--backtrace",
    "-c": "--capture-range",
    "-p": "--nvtx-capture",
    "-e": "--env-var",
    "-d": "--duration",
    "-x": "--stop-on-exit",
    "-y": "--delay",
}


def split_arguments(args: Sequence[str], takes_value: Mapping[str, bool]) -> tuple[list[str], list[str], list[str]]:
    """Split a command line into options of tcprof, options for nsys, and the program with its arguments.

    The program begins at the first argument that is no option, at ``-m``, or after ``--``. Every option of nsys takes a
    value, after ``=`` or as the next argument.
    """
    ours: list[str] = []
    theirs: list[str] = []
    position = 0
    while position < len(args):
        arg = args[position]
        if arg == "--":
            return ours, theirs, list(args[position + 1 :])
        if arg == MODULE_OPTION or arg == "-" or not arg.startswith("-"):
            return ours, theirs, list(args[position:])
        is_long = arg.startswith("--")
        name, has_value = (arg.partition("=")[0], "=" in arg) if is_long else (arg[:2], len(arg) > 2)
        target = ours if name in takes_value else theirs
        count = 2 if takes_value.get(name, True) and not has_value else 1
        target += args[position : position + count]
        position += count
    return ours, theirs, []


@dataclass(frozen=True)
class RecordOptions:
    """How to record."""

    # Samples of each GPU metric a second. The default of 20 kHz is a sample every 50 microseconds: twice as fine as
    # nsys's own default, so that kernels of that length are distinguished, and a tenth of the 200 kHz at which nsys's
    # buffers overflow on machines with more than one GPU.
    frequency_hz: int = 20_000
    trace: str = "cuda,nvtx"  # what to trace beside the metrics, in nsys's words
    gpus: str = "all"  # the GPUs to sample, in nsys's words: ``all``, ``none`` or numbers such as ``0,2``
    # What to sample: ``tcprof`` (tensor cycles, where available), ``default`` (nsys's own set for the chip), or a
    # metric-set file.
    metrics: str = "tcprof"
    # What to record of the program: ``none`` (all of it), ``cudaProfilerApi`` (from its call of cudaProfilerStart; a
    # program that never calls it is not recorded at all) or ``nvtx:NAME`` (the first NVTX range of that name).
    capture_range: str = "none"
    # What comes after it, in nsys's words: ``stop`` (the program runs on); ``repeat`` or ``repeat:N`` for a report of
    # each one, of N at most; or what else nsys knows.
    capture_range_end: str = "stop"
    delay_s: float | None = None  # seconds to wait before recording
    # Seconds to record at most. None for 60 if the program makes no steps, and with ``whole`` for its end. nsys itself
    # ends the program after them if there is a capture range or a delay.
    duration_s: float | None = None
    steps: int = 20  # how many are recorded, or for 3 s if that is more
    whole: bool = False  # whether all of the program is recorded, not some of its steps
    stop: bool = False  # whether the program ends with the recording
    # ``graph`` or ``node``; None for the latter where modules have ranges, since kernels in graphs have modules, too.
    # Not for JAX: of its programs nsys then loses most ranges.
    cuda_graph_trace: str | None = None
    # What of a program that imports PyTorch gets ranges: ``modules`` (with its steps and their phases), ``ops`` too, or
    # these with their ``shapes``; ``auto`` for modules, unless the environment variable TCPROF_ANNOTATE says otherwise;
    # ``off`` for nothing.
    annotate: str = "auto"
    # Further options for nsys. Where they name an option that is also set here, they win.
    extra_args: tuple[str, ...] = ()

    @property
    def longest_s(self) -> float:
        """Return the seconds that a program without steps is recorded for."""
        return _LONGEST_S if self.duration_s is None else self.duration_s

    @property
    def follows_steps(self) -> bool:
        """Tell whether tcprof itself ends the recording, and not nsys by one of its options."""
        is_plain = self.capture_range == "none" and self.delay_s is None
        return is_plain and name_options(self.extra_args).isdisjoint(_ENDED_BY_NSYS)

    @property
    def in_captures(self) -> bool:
        """Tell whether nsys makes a report for each of several capture ranges."""
        return self.capture_range_end.startswith("repeat")


def build_profile_command(
    nsys: Nsys,
    capabilities: Capabilities,
    options: RecordOptions,
    program: Sequence[str],
    report: ReportFiles,
    metric_set: Path | None = None,
    session: str = "",
) -> list[str]:
    """Build the command that records a program.

    CPU sampling and context switches are off: no figure of tcprof needs them, and they cost time and space. GPU metrics
    are left out where no GPU here can be sampled, so that ranges and kernels are recorded nevertheless.

    Args:
        session: A name by which tcprof starts and stops captures meanwhile; empty where nsys does all by itself.
    """
    ours = [
        f"--trace={options.trace}",
        *_gpu_metrics(capabilities, options, metric_set),
        *_capture_range(options.capture_range, options.capture_range_end),
        *_stretch(replace(options, duration_s=None) if session else options),
        *_graph_trace(options, program),
        *([f"--run-as={getpass.getuser()}"] if nsys.prefix else []),  # nsys is root, the program is the user's
        *([f"--session-new={session}"] if session else []),
        *_collection(report),
    ]
    theirs = name_options(options.extra_args)
    kept = [option for option in ours if _singular(option.partition("=")[0]) not in theirs]
    return [*nsys.prefix, str(nsys.path), "profile", *kept, *options.extra_args, *program]


def _collection(report: ReportFiles) -> tuple[str, ...]:
    return ("--sample=none", "--cpuctxsw=none", "--force-overwrite=true", f"--output={report.output}")


@dataclass(frozen=True)
class SessionCommands:
    """The commands that end the first capture of a session, make another one, and end the session."""

    session: str
    start: tuple[str, ...]
    stop: tuple[str, ...]
    second: ReportFiles  # which nsys then writes
    shutdown: tuple[str, ...] = ()


def _join_values(args: Sequence[str]) -> list[str]:
    """Write options by their long names, each in one argument with its value."""
    joined, rest = [], iter(args)
    for arg in rest:
        name, _, value = arg.partition("=") if arg.startswith("--") else (arg[:2], "", arg[2:])
        joined.append(f"{_SHORT.get(name, name)}={value or next(rest, '')}")
    return joined


def build_session_commands(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, report: ReportFiles, metric_set: Path | None
) -> SessionCommands:
    """Build the commands for a session of its own that records a program as ``build_profile_command`` does."""
    name = f"tcprof-{os.getpid()}-{secrets.token_hex(4)}"
    session = f"--session={name}"
    second = ReportFiles(report.base.with_name(f".{report.base.name}.{name}"))
    usage = run_quietly([str(nsys.path), "start", "--help"]).output
    theirs = [arg for arg in _join_values(options.extra_args) if f"{arg.partition('=')[0]}=" in usage]
    kept = [
        option
        for option in (*_gpu_metrics(capabilities, options, metric_set), *_collection(second))
        if _singular(option.partition("=")[0]) not in name_options(theirs)
    ]
    program = (*(("sudo", "-n", *nsys.prefix[1:]) if nsys.prefix else ()), str(nsys.path))
    start = (*program, "start", session, *kept, *theirs)
    shutdown = (*program, "shutdown", session, "--kill=none")
    return SessionCommands(name, start, (*program, "stop", session), second, shutdown)


def check_options(capabilities: Capabilities, options: RecordOptions) -> None:
    """Refuse, before anything is run, what ``build_profile_command`` refuses."""
    _gpu_metrics(capabilities, options, None)
    _capture_range(options.capture_range, options.capture_range_end)
    _stretch(options)


def _gpu_metrics(capabilities: Capabilities, options: RecordOptions, metric_set: Path | None) -> list[str]:
    if options.gpus == "none" or not capabilities.supported_gpus:
        return []
    if not LOWEST_FREQUENCY_HZ <= options.frequency_hz <= HIGHEST_FREQUENCY_HZ:
        raise UsageError(
            f"nsys cannot sample at {options.frequency_hz} Hz.",
            hint=f"Choose a frequency from {LOWEST_FREQUENCY_HZ} to {HIGHEST_FREQUENCY_HZ} Hz.",
        )
    chosen = [f"{capabilities.gpu_metrics_option}={options.gpus}", f"--gpu-metrics-frequency={options.frequency_hz}"]
    if metric_set is not None:
        if not capabilities.metric_set_files:
            raise UsageError("This nsys accepts no metric-set files.", hint="Use its own set, or a newer nsys.")
        chosen.append(f"--gpu-metrics-set=file:{metric_set}")
    return chosen


def _stretch(options: RecordOptions) -> list[str]:
    """Choose the options for the part of the time to record."""
    chosen = {"--delay": options.delay_s, "--duration": options.duration_s}
    numbers = [value for value in (options.delay_s, options.duration_s) if value is not None]
    if any(not value > 0 for value in numbers):
        raise UsageError("A delay or a duration must be more than 0 seconds.", hint="For none, omit the option.")
    return [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in chosen.items()
        if value is not None
    ]


def _graph_trace(options: RecordOptions, program: Sequence[str]) -> list[str]:
    """Choose how CUDA graphs are recorded."""
    names_modules = "cuda" in options.trace.split(",") and level_of(options.annotate) != OFF
    chosen = options.cuda_graph_trace or ("node" if names_modules and not imports_jax(program) else "")
    return [f"--cuda-graph-trace={chosen}"] if chosen else []


def _capture_range(capture_range: str, end: str) -> list[str]:
    """Choose the options for a capture range; with ``stop`` the program runs on, where nsys would kill it."""
    kind, _, name = capture_range.partition(":")
    if not _ENDS.fullmatch(end):
        raise UsageError(f"'{end}' cannot follow a capture range.", hint="Use stop, stop-shutdown or repeat:N.")
    if capture_range == "none":
        if end != RecordOptions.capture_range_end:
            raise UsageError(
                "--capture-range-end needs a capture range.", hint="Add --capture-range cudaProfilerApi, or nvtx:NAME."
            )
        return []
    if capture_range == "cudaProfilerApi":
        return ["--capture-range=cudaProfilerApi", f"--capture-range-end={end}"]
    if kind == "nvtx" and name:
        return [
            "--capture-range=nvtx",
            f"--nvtx-capture={name}",
            f"--capture-range-end={end}",
            "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",  # else only registered strings match
        ]
    raise UsageError(
        f"'{capture_range}' is not a capture range.",
        hint="Use cudaProfilerApi, nvtx:NAME, or none for the whole program.",
    )


def runs_on(args: Sequence[str]) -> bool:
    """Tell whether the program of a command for nsys runs on after a capture range, while nsys may write a report."""
    ends = [end for arg in args for name, _, end in [arg.partition("=")] if name == "--capture-range-end"]
    return bool(ends) and ends[0] != "stop-shutdown"


def name_options(args: Sequence[str]) -> set[str]:
    """Name the options in arguments for nsys, which refuses one given twice; in their long and old spelling."""
    names = (arg.partition("=")[0] for arg in args if arg.startswith("-"))
    return {_singular(_SHORT.get(name[:2], name) if not name.startswith("--") else name) for name in names}


def _singular(name: str) -> str:
    return "--gpu-metrics-device" if name == "--gpu-metrics-devices" else name
