"""A fork server: tcprof is imported once, and each command runs in a process of its own under limits."""

import contextlib
import gc
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from fuzz.originals import FIXTURES

CPU_SECONDS = 20
WALL_SECONDS = 300  # for what waits for ever; on a busy machine 20 s of CPU time take long
MOST_BYTES = 2 << 30
ADDRESS_SPACE = 6 << 30  # guards the machine; what counts is the memory that is used
MOST_WRITTEN = 1 << 30
PACKAGE = "/tcprof/"


@dataclass(frozen=True)
class Outcome:
    status: int  # its exit status; minus the signal's number where one ended it
    # Type of the exception that left the package or made it give up, and where it was raised; empty for none
    crash: str
    message: str  # that exception's message
    cpu_s: float  # its CPU time
    peak_bytes: int  # its most memory
    out: bytes  # what it printed
    err: bytes  # what it printed on the error stream
    folder: Path  # where it ran: ``work`` has its outputs, ``tmp`` its temporary files

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def says_the_same(self, other: "Outcome") -> bool:
        """Whether another command ended, printed and wrote the same, but for where its input lies."""
        return (self.status, self.out, self._written()) == (other.status, other.out, other._written())

    def _written(self) -> dict[str, list[bytes]]:
        files = (path for path in sorted(self.work.rglob("*")) if path.is_file())
        return {
            path.name: [line for line in path.read_bytes().splitlines() if b"tcprof-recording" not in line]
            for path in files
        }


def warm_up(original: Path, folder: Path) -> None:
    """Run each command once in this process, so that no child has to import anything."""
    run, out = str(original), str(folder)
    commands = [
        *(["ranges", run, "--format", form] for form in ("text", "json", "csv", "markdown")),
        *([name, run] for name in ("kernels", "timeline", "show", "modules", "advise")),
        ["report", run, "-o", f"{out}/page.html"],
        [
            "compare",
            str(FIXTURES / "mlp_tf32.sqlite"),
            run,
            "--format",
            "junit",
            "--fail-if",
            "time > +5%",
            "-o",
            f"{out}/pages.html",
        ],
        ["export", run, "-o", f"{out}/csv"],
        ["export", run, "-o", f"{out}/parquet", "--format", "parquet", "--chrome-trace", f"{out}/trace.json.gz"],
        ["redact", run, "-o", f"{out}/copy.sqlite"],
        ["save", run, "-o", f"{out}/run.tcprof"],
        ["ranges", f"{out}/run.tcprof"],
    ]
    from tcprof.cli import main

    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        for arguments in commands:
            sys.argv = ["tcprof", *arguments]
            with contextlib.suppress(SystemExit):
                main()
    gc.collect()
    gc.freeze()


def run_command(arguments: list[str], folder: Path) -> Outcome:
    """Run a command in a child, in an empty folder for its outputs and temporary files."""
    for name in ("work", "tmp"):
        (folder / name).mkdir()
    child = os.fork()
    if child == 0:
        _be_command(arguments, folder)  # does not return
    until = time.monotonic() + WALL_SECONDS
    pause = 0.002
    while True:
        pid, waited, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            _, waited, usage = os.wait4(child, 0)
            waited = signal.SIGXCPU  # it hung, by the clock instead of its CPU time
            break
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)
    crash, _, message = _read(folder / "crash").decode("utf-8").partition("\n")
    return Outcome(
        os.waitstatus_to_exitcode(waited),
        crash,
        message,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
        _read(folder / "out"),
        _read(folder / "err"),
        folder,
    )


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _be_command(arguments: list[str], folder: Path) -> None:
    """What the child does: it becomes ``tcprof`` with these arguments, and ends."""
    status = 70
    try:
        _limit()
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), stream)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python opens it
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        os.chdir(folder / "work")
        os.environ["TMPDIR"] = str(folder / "tmp")
        import tempfile

        tempfile.tempdir = None
        sys.argv = ["tcprof", *arguments]
        status = _status_of(folder)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _limit() -> None:
    """At most so much CPU time, memory and output; by default signals end the process."""
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + CPU_SECONDS, used + CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_WRITTEN, MOST_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def _status_of(folder: Path) -> int:
    """Run the command line; what made it end with a defect is written down, whether it caught that or not."""
    from tcprof import cli

    explain = cli._explain_defect

    def write_down(error: BaseException) -> int:
        (folder / "crash").write_text(f"{locate(error)}\n{error}"[:2000], "utf-8", "backslashreplace")
        return explain(error)

    cli._explain_defect = write_down
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:  # whatever it is: this is what is looked for
        write_down(error)
        return 1
    return 0


def locate(error: BaseException) -> str:
    """An exception's type and the innermost line of tcprof that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    if not frames:
        return type(error).__name__
    last = frames[-1]
    return f"{type(error).__name__} in tcprof/{last.filename.rpartition(PACKAGE)[2]}:{last.lineno} {last.name}"
