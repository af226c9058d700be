"""The processes that a recording started: which they are, which still live, and how to end them."""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_SUDO_ANSWER_S = 10.0
_NSYS = (b"nsys", b"nsys-launcher", b"nsys-tee", b"sudo")


@dataclass(frozen=True)
class _Process:
    """What the kernel says of a process.

    Attributes:
        name: What it calls itself, which may be anything.
        parent: Its parent's process number.
        session: The process number of its session's leader.
        began: When it began, in clock ticks since boot; it tells a process from a later one of the same number.
        is_dead: Whether only its exit status is left.
    """

    name: bytes
    parent: int
    session: int
    began: int
    is_dead: bool


class Family:
    """nsys and all that runs because of it.

    Those are its descendants: nsys-launcher, the program (in a session of its own) and what the program started;
    and the agent, which has left nsys and is known by the name of its session, ``profile-`` and the process number
    of nsys. Once nsys has died its children have another parent, so the family is to be gathered before.

    Args:
        head: Process number of what was started: nsys, or sudo.
        argv: Its command line.
    """

    def __init__(self, head: int, argv: Sequence[str]) -> None:
        self.head = head
        self._sudo = argv[0] if is_sudo(argv) else None
        self._named = set(re.findall(r"--session-new[=\0]([^\0]+)", "\0".join(argv)))
        self._members: dict[int, _Process] = {}

    def gather(self) -> None:
        """Adds everybody who belongs to the family now; nobody who once did is forgotten."""
        everybody = _read_processes()
        agents = {pid: session for pid in everybody if (session := _read_agent_session(pid))}
        # A number that now is another's is left out; one that is gone still tells its agent.
        known = {pid for pid, process in self._members.items() if everybody.get(pid, process).began == process.began}
        fresh = ({self.head} - self._members.keys()) & everybody.keys()
        while True:
            self._members |= {pid: everybody[pid] for pid in fresh}
            known |= fresh
            sessions = {process.session for process in self._members.values()} - self._session_of_head()
            names = self._named | {f"profile-{pid}" for pid in known}
            fresh = {
                pid
                for pid, process in everybody.items()
                if process.parent in known or process.session in sessions or agents.get(pid) in names
            } - known
            if not fresh:
                return

    def _session_of_head(self) -> set[int]:
        """The session that tcprof itself is in; others of the family were opened by the family."""
        return {self._members[self.head].session} if self.head in self._members else {os.getsid(0)}

    def living(self) -> list[int]:
        """Process numbers of the gathered members that still live."""
        now = {pid: _read_process(pid) for pid in self._members}
        return sorted(
            pid
            for pid, process in now.items()
            if process is not None and not process.is_dead and process.began == self._members[pid].began
        )

    def living_programs(self) -> list[int]:
        """Those of the living that are not nsys's own: the recorded program and what it started."""
        return [pid for pid in self.living() if self._members[pid].name not in _NSYS]

    def ask_to_stop(self, number: int) -> bool:
        """Sends a signal to the head alone; whether it could be sent."""
        return not self._send([self.head], number)

    def kill(self) -> None:
        """Kills whoever lives, also those who came since the last look."""
        self.gather()
        self._send(self.living(), signal.SIGKILL)

    def kill_command(self, pids: Iterable[int]) -> str:
        """What the user can type to end some of the family."""
        return " ".join([*(["sudo"] if self._sudo else []), "kill -KILL", *map(str, pids)])

    def _send(self, pids: Iterable[int], number: int) -> list[int]:
        """Sends a signal, and returns those who could not be reached; who is gone already counts as reached."""
        denied = []
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
            except PermissionError:
                denied.append(pid)
        if denied and self._sudo:
            name = signal.Signals(number).name.removeprefix("SIG")
            command = [self._sudo, "-n", "kill", f"-{name}", *map(str, denied)]
            if _succeeds(command):
                return []
        return denied


def is_sudo(argv: Sequence[str]) -> bool:
    """Whether a command is run by sudo."""
    return Path(argv[0]).name == "sudo"


def _succeeds(command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SUDO_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _read_processes() -> dict[int, _Process]:
    numbers = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - names are enough
    return {number: process for number in numbers if (process := _read_process(number)) is not None}


def _read_process(pid: int) -> _Process | None:
    """A process as /proc/PID/stat has it; None if there is none of that number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    begin, _, end = text.rpartition(b")")  # the name may hold spaces and brackets
    state, parent, _group, session, *rest = end.split()
    name = begin.partition(b"(")[2]
    return _Process(name, int(parent), int(session), began=int(rest[15]), is_dead=state in (b"Z", b"X"))


def _read_agent_session(pid: int) -> str:
    """The name of the session that an agent of nsys serves; empty for any other process."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
    session = re.search(r"\0--session-name[=\0]([^\0]+)", command)
    return session[1] if session and "\0--start-agent\0" in command else ""
