"""The processes that a recording started: which they are, which still live, and how to end them.

psutil never signals a later process that got the number of one that has ended. Which processes belong together is
worked out here: psutil's ``children()`` misses those whose parent has ended.
"""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_SUDO_ANSWER_S = 10.0
_NSYS = ("nsys", "nsys-launcher", "nsys-tee", "sudo")
_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)  # only an exit status is left


@dataclass(frozen=True)
class _Relative:
    process: psutil.Process  # the process; equal to another only if number and beginning are the same
    name: str  # what it calls itself, which may be anything
    parent: int  # its parent's process number
    session: int  # the process number of its session's leader
    agent_of: str  # the name of the nsys session that it serves as an agent; empty for any other process


class Family:
    """nsys and all that runs because of it.

    Its descendants: nsys-launcher, the program (in a session of its own) and what the program started; and the agent,
    which has left nsys and is known by the name of its session, ``profile-`` and the process number of nsys. Once nsys
    has died its children have another parent, so the family is to be gathered before.
    """

    def __init__(self, head: int, argv: Sequence[str]) -> None:
        self.head = head
        self._sudo = argv[0] if is_sudo(argv) else None
        self._named = set(re.findall(r"--session-new[=\0]([^\0]+)", "\0".join(argv)))
        self._members: dict[int, _Relative] = {}

    def gather(self) -> None:
        """Adds the processes that belong to the family now; former members are kept."""
        running = {pid: found for pid in psutil.pids() if (found := _read_relative(pid)) is not None}
        # A number that now belongs to another process is left out; one that has ended still identifies its agent.
        known = {pid for pid, member in self._members.items() if running.get(pid, member).process == member.process}
        self._members |= {pid: running[pid] for pid in known & running.keys()}  # its name is another since it began
        fresh = ({self.head} - self._members.keys()) & running.keys()
        while True:
            self._members |= {pid: running[pid] for pid in fresh}
            known |= fresh
            sessions = {member.session for member in self._members.values()} - self._session_of_head()
            names = self._named | {f"profile-{pid}" for pid in known}
            fresh = {
                pid
                for pid, found in running.items()
                if found.parent in known or found.session in sessions or found.agent_of in names
            } - known
            if not fresh:
                return

    def _session_of_head(self) -> set[int]:
        """The session that tcprof itself is in; others of the family were opened by the family."""
        return {self._members[self.head].session} if self.head in self._members else {os.getsid(0)}

    def living(self) -> list[int]:
        """Process numbers of the gathered members that still live."""
        return sorted(pid for pid, member in self._members.items() if _lives(member.process))

    def living_programs(self) -> list[int]:
        """Those of the living that are not nsys's own: the recorded program and what it started."""
        return [pid for pid in self.living() if self._members[pid].name not in _NSYS]

    def ask_to_stop(self, number: int) -> bool:
        """Sends a signal to the head alone; whether it could be sent."""
        return self._send([self.head], number)

    def end_programs(self) -> None:
        """Ask the living programs to end, as kill(1) does."""
        self._send(self.living_programs(), signal.SIGTERM)

    def kill(self) -> None:
        """Kills the members that still live, also those that started since the last look."""
        self.gather()
        self._send(self.living(), signal.SIGKILL)

    def kill_command(self, pids: Iterable[int]) -> str:
        """What the user can type to end some of the family."""
        return " ".join([*(["sudo"] if self._sudo else []), "kill -KILL", *map(str, pids)])

    def _send(self, pids: Iterable[int], number: int) -> bool:
        """Sends a signal to some; whether all could be reached. A process that has ended counts as reached."""
        denied = []
        for pid in pids:
            try:
                if pid in self._members:
                    self._members[pid].process.send_signal(number)
                else:  # the head, where /proc hides root's processes: a child of ours, so the number is its own
                    os.kill(pid, number)
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
            except (psutil.AccessDenied, PermissionError):
                denied.append(pid)
        if denied and self._sudo:
            name = signal.Signals(number).name.removeprefix("SIG")
            return _succeeds([self._sudo, "-n", "kill", f"-{name}", *map(str, denied)])
        return not denied


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


def _read_relative(pid: int) -> _Relative | None:
    """A process and its ties; None if there is none of that number any more, or it may not be looked at."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return _Relative(process, process.name(), process.ppid(), os.getsid(pid), _read_agent_session(process))
    except (psutil.Error, OSError):
        return None


def _read_agent_session(process: psutil.Process) -> str:
    """The name of the session that an agent of nsys serves; empty for any other process, and for a dead one."""
    try:
        command = process.cmdline()
    except (psutil.Error, OSError):
        return ""
    session = re.search(r"\0--session-name[=\0]([^\0]+)", "\0".join(command))
    return session[1] if session and "--start-agent" in command else ""


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() not in _DEAD
    except psutil.Error:
        return False
