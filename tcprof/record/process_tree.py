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
class _ProcessNode:
    process: psutil.Process  # the process; equal to another only if number and beginning are the same
    name: str  # what it calls itself, which may be anything
    parent: int  # its parent's process number
    session: int  # the process number of its session's leader
    agent_of: str  # the name of the nsys session that it serves as an agent; empty for any other process


class ProcessTree:
    """nsys and all that runs because of it.

    Its descendants: nsys-launcher, the program (in a session of its own) and what the program started; and the agent,
    which has left nsys and is known by the name of its session, ``profile-`` and the process number of nsys. Once nsys
    has died its children have another parent, so gather them before.
    """

    def __init__(self, head: int, argv: Sequence[str]) -> None:
        self.head = head
        self._sudo = argv[0] if is_sudo(argv) else None
        self._named = set(re.findall(r"--session-new[=\0]([^\0]+)", "\0".join(argv)))
        self._members: dict[int, _ProcessNode] = {}

    def gather(self) -> None:
        """Add the processes that belong to the tree now; former members are kept."""
        running = {pid: node for pid in psutil.pids() if (node := _read_node(pid)) is not None}
        # A number that now belongs to another process is left out; one that has ended still identifies its agent.
        pids = {pid for pid, member in self._members.items() if running.get(pid, member).process == member.process}
        self._members |= {pid: running[pid] for pid in pids & running.keys()}  # its name is another since it began
        fresh = ({self.head} - self._members.keys()) & running.keys()
        while True:
            self._members |= {pid: running[pid] for pid in fresh}
            pids |= fresh
            sessions = {member.session for member in self._members.values()} - self._session_of_head()
            names = self._named | {f"profile-{pid}" for pid in pids}
            fresh = {
                pid
                for pid, node in running.items()
                if node.parent in pids or node.session in sessions or node.agent_of in names
            } - pids
            if not fresh:
                return

    def _session_of_head(self) -> set[int]:
        """Return the session that tcprof itself is in; other sessions of the tree were opened by its members."""
        return {self._members[self.head].session} if self.head in self._members else {os.getsid(0)}

    def living(self) -> list[int]:
        """List the numbers of the gathered processes that still live."""
        return sorted(pid for pid, member in self._members.items() if _lives(member.process))

    def living_programs(self) -> list[int]:
        """List those of the living that are not nsys's own: the recorded program and what it started."""
        return [pid for pid in self.living() if self._members[pid].name not in _NSYS]

    def ask_to_stop(self, number: int) -> bool:
        """Send a signal to the head alone; return whether it could be sent."""
        return self._send([self.head], number)

    def end_programs(self, number: int) -> None:
        """Send a signal to the living programs."""
        self._send(self.living_programs(), number)

    def kill(self) -> None:
        """Kill the members that still live, also those that started since the last look."""
        self.gather()
        self._send(self.living(), signal.SIGKILL)

    def kill_command(self, pids: Iterable[int]) -> str:
        """Write the command by which the user can end some of the processes."""
        return " ".join([*(["sudo"] if self._sudo else []), "kill -KILL", *map(str, pids)])

    def _send(self, pids: Iterable[int], number: int) -> bool:
        """Send a signal to some; return whether all could be reached. A process that has ended counts as reached."""
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
    """Tell whether a command is run by sudo."""
    return Path(argv[0]).name == "sudo"


def _succeeds(command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SUDO_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _read_node(pid: int) -> _ProcessNode | None:
    """Read a process and its ties; None if there is none of that number any more, or it may not be looked at."""
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return _ProcessNode(process, process.name(), process.ppid(), os.getsid(pid), _read_agent_session(process))
    except (psutil.Error, OSError):
        return None


def _read_agent_session(process: psutil.Process) -> str:
    """Read which session an agent of nsys serves; empty for any other process, and for a dead one."""
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
