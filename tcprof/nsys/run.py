"""Starting a program, and listening to it quietly until it has ended."""

import re
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tcprof.errors import NsysError

_DEATH_S = 2.0  # a killed process is gone at once, unless it waits for a device


@dataclass(frozen=True)
class Completed:
    """A program that has ended, with its output."""

    status: int  # exit status; negative if a signal ended it
    stdout: str  # what it wrote on standard output, the middle left out where it wrote much
    stderr: str  # the same of standard error
    was_stopped: bool = False  # whether it was asked to end before its time, by Ctrl-C or another signal

    @property
    def output(self) -> str:
        """Join both streams."""
        return "\n".join(part for part in (self.stdout.strip(), self.stderr.strip()) if part)

    def last_lines(self, count: int = 5) -> str:
        """Return the last lines worth reading, those of standard error first; progress bars left out."""
        for text in (self.stderr, self.stdout):
            lines = [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]
            lines = [line for line in lines if line.strip() and not re.search(r"usage:|--help'", line)]
            if lines:
                return "\n".join(lines[-count:])
        return ""


def run_quietly(argv: Sequence[str], timeout_s: float | None = None, *, in_own_group: bool = False) -> Completed:
    """Run a program, if asked out of Ctrl-C's reach, and return output and status; NsysError where it does not end."""
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0 if in_own_group else None,
        )
    except OSError as error:
        raise not_startable(argv[0], error) from error
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise NsysError(f"{argv[0]} gave no answer within {timeout_s:.0f} seconds.") from error
    finally:
        if process.returncode is None:
            _kill(process)
    return Completed(process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program, and wait briefly: one that waits for a device cannot be killed before it answers."""
    process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(_DEATH_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()  # reaps it when it ends


def not_startable(program: str, error: OSError) -> NsysError:
    """Make the error for the user."""
    return NsysError(
        f"{program} could not be started: {error.strerror or error}.",
        hint="Check that the path is right and that the file is executable.",
    )


@dataclass(frozen=True)
class Problem:
    """A known message of nsys with its cause and remedy."""

    pattern: str  # regular expression that recognises it, whatever its case
    cause: str  # what is wrong
    remedy: str  # what to do
    remedy_in_container: str = ""  # what to do in a container, where that is something else


COUNTERS_CLOSED = Problem(
    r"ERR_NVGPUCTRPERM|Insufficient privilege",
    "this user may not read the GPU's performance counters",
    "Record as root: tcprof profile --sudo ... keeps your Python. Or open the counters to all users: write 'options "
    "nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia-profiling.conf and reboot; "
    "'RmProfilingAdminOnly: 1' in /proc/driver/nvidia/params shows that they are closed.",
    "Start the container with --cap-add=SYS_ADMIN (from driver 565 on --cap-add=PERFMON is enough), or ask the host's "
    "administrator to load the NVIDIA kernel module with NVreg_RestrictProfilingToAdminUsers=0.",
)
SAMPLER_HELD = Problem(
    r"Already under profiling|sampling hardware unit is already in use",
    "another tool holds the GPU's performance counters: another nsys or ncu, or DCGM",
    "End the other profiler. If it is DCGM: 'dcgmi profile --pause' before the recording, "
    "'dcgmi profile --resume' after it. If it is another rank of this host, let each record its own GPU: "
    "--gpus $LOCAL_RANK.",
)
MIG = Problem(
    r"MIG instances found|MIG enabled GPU is not supported",
    "the GPU is divided into MIG instances, and nsys samples one of them at a time",
    "Name one instance by its number (tcprof profile --gpus NUMBER); 'nsys profile --gpu-metrics-devices=help' "
    "lists them.",
)
VGPU = Problem(
    r"Profiling permission on a vGPU was not granted",
    "this virtual GPU has no permission to be profiled",
    "The host's administrator must grant profiling to the virtual machine (vGPU plugin parameter "
    "'enable_profiling=1').",
)
CONFIDENTIAL = Problem(
    r"Confidential Compute mode|Protected Memory mode",
    "the GPU runs in Confidential Compute mode, which blocks its counters",
    "Record on a GPU without that mode, or ask the administrator to turn it off.",
)
PROBLEMS: tuple[Problem, ...] = (
    COUNTERS_CLOSED,
    SAMPLER_HELD,
    MIG,
    VGPU,
    CONFIDENTIAL,
    Problem(
        r"No such GPU|Invalid GPU id",
        "nsys finds no GPU with that number",
        "Record all GPUs, or list their numbers with 'nsys profile --gpu-metrics-devices=help' (up to 2023: "
        "'--gpu-metrics-device=help').",
    ),
    Problem(
        r"Metric set is not supported by|not supported by available metric sets|loading the metric set",
        "nsys does not accept that metric set for this GPU",
        "Record with nsys's own metric set (--metrics default), or use a newer nsys.",
    ),
    Problem(
        r"alias doesn't match the config file name|Can't (parse|open) metric config|No such metric set alias",
        "nsys cannot read that metric set",
        "The file must be YAML, end in .config, and be named after its alias; --metrics default uses nsys's own set.",
    ),
    Problem(
        r"Illegal --gpu-metrics-frequency argument",
        "this nsys cannot sample at that frequency with that metric set",
        "Choose another --frequency; 'nsys profile --gpu-metrics-set=help' shows each set's minimum.",
    ),
    Problem(
        r"None of the installed GPUs are supported|Unsupported architecture",
        "nsys cannot sample any of the GPUs here: they are older than Turing, too new for this nsys, or not accessible",
        "'nsys profile --gpu-metrics-devices=help' says why for each GPU; a newer nsys may support more.",
    ),
    Problem(
        r"unrecognised option|Illegal --[a-z-]+ argument|cannot be specified more than once",
        "this nsys does not know one of the options it was given",
        "Options that 'tcprof profile --help' does not list go to nsys: check their spelling; 'nsys profile --help' "
        "lists what this version knows.",
    ),
    Problem(
        r"Executable .*not found",
        "the program to be recorded was not found",
        "Check its path; a program in this folder needs './' in front of its name.",
    ),
    Problem(
        r"Sampling buffer overflow",
        "the sampling frequency is too high for this machine: samples were lost",
        "Record with a lower frequency.",
    ),
    Problem(
        r"database is locked",
        "the file system lacks the locks that SQLite needs, as some network file systems do",
        "Copy the report to a local disk, such as /tmp, and use the copy.",
    ),
    Problem(
        r"No space left on device|database or disk is full",
        "the disk is full",
        "Free some space, or set TMPDIR to a folder on a larger disk: nsys collects its data there before it writes "
        "the report.",
    ),
)


def explain(output: str) -> Problem | None:
    """Find the first problem whose message occurs in nsys's output; None if none of them does."""
    return next((row for row in PROBLEMS if re.search(row.pattern, output, re.IGNORECASE)), None)
