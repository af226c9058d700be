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
    """A program that has ended."""

    status: int  # exit status; negative if a signal ended it
    stdout: str  # what it wrote on standard output, the middle left out where it wrote much
    stderr: str  # the same of standard error
    was_stopped: bool = False  # whether it was asked to end before its time, by Ctrl-C or another signal

    @property
    def output(self) -> str:
        """Both streams, one after the other."""
        return "\n".join(part for part in (self.stdout.strip(), self.stderr.strip()) if part)

    def last_lines(self, count: int = 5) -> str:
        """The last lines worth reading, those of standard error first; progress bars left out."""
        for text in (self.stderr, self.stdout):
            lines = [line.rpartition("\r")[2].rstrip() for line in text.splitlines()]
            lines = [line for line in lines if line.strip() and not re.search(r"usage:|--help'", line)]
            if lines:
                return "\n".join(lines[-count:])
        return ""


def run_quietly(argv: Sequence[str], timeout_s: float | None = None) -> Completed:
    """Runs a program and returns what it said.

    Raises:
        NsysError: It cannot be started, or does not end in time.
    """
    try:
        process = subprocess.Popen(list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise _not_startable(argv[0], error) from error
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise NsysError(f"{argv[0]} gave no answer within {timeout_s:.0f} seconds.") from error
    finally:
        if process.returncode is None:
            _kill(process)
    return Completed(process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a program, and does not wait long: one that waits for a device cannot be killed before it answers."""
    process.kill()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(_DEATH_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=process.wait, daemon=True).start()  # reaps it when it ends


def start(argv: Sequence[str], *, has_own_group: bool) -> subprocess.Popen[bytes]:
    """Starts a program with pipes for its output, in tcprof's process group or one of its own.

    Raises:
        NsysError: If it cannot be started.
    """
    group = 0 if has_own_group else None
    try:
        return subprocess.Popen(list(argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=group)
    except OSError as error:
        raise _not_startable(argv[0], error) from error


def _not_startable(program: str, error: OSError) -> NsysError:
    return NsysError(
        f"{program} could not be started: {error.strerror or error}.",
        hint="Check that the path is right and that the file may be executed.",
    )
