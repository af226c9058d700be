"""Counters that only root may read: nsys runs as root, the program stays the user's.

sudo drops PATH, and the loader drops LD_LIBRARY_PATH before sudo can keep it, so both are handed over by name; the rest
of the environment is preserved. nsys itself then starts the program as the user who asked, with that environment, so
that a virtual environment, files and caches are the user's own.
"""

import getpass
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tcprof.errors import MachineError
from tcprof.nsys.process import run_quietly

_HANDED_OVER = ("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME")


def with_sudo(argv: Sequence[str]) -> list[str]:
    """The same command of nsys, run as root; unchanged if the user is root.

    Args:
        argv: nsys, ``profile``, its options and the program.

    Raises:
        MachineError: If there is no sudo.
    """
    if os.geteuid() == 0:
        return list(argv)
    if shutil.which("sudo") is None:
        raise MachineError("There is no sudo on this machine.", hint="'tcprof doctor' tells whether root is needed.")
    kept = [f"{name}={os.environ[name]}" for name in _HANDED_OVER if name in os.environ]
    nsys, command, *rest = argv
    return ["sudo", "--preserve-env", "env", *kept, nsys, command, f"--run-as={getpass.getuser()}", *rest]


def give_back(report: Path) -> None:
    """Makes a report that root wrote the user's; where sudo asks for a password again, it stays as it is, readable."""
    if report.stat().st_uid != os.getuid():
        run_quietly(["sudo", "-n", "chown", f"{os.getuid()}:{os.getgid()}", str(report)], timeout_s=10.0)
