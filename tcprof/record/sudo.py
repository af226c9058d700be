"""Counters that only root may read: nsys runs as root, the program stays the user's.

sudo drops PATH, and the loader drops LD_LIBRARY_PATH before sudo can keep it, so both are handed over by name; the rest
of the environment is preserved. nsys itself then starts the program as the user who asked, with that environment, so
that a virtual environment, files and caches are the user's own.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tcprof.errors import MachineError
from tcprof.nsys.run import run_quietly

_HANDED_OVER = ("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME")


def become_root() -> tuple[str, ...]:
    """Asks for the password, if there is one, and returns what to put before a command to run it as root.

    Returns:
        Nothing if the user is root already.

    Raises:
        MachineError: If there is no sudo, or it refuses.
    """
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") is None:
        raise MachineError("There is no sudo on this machine.", hint="'tcprof doctor' says whether root is needed.")
    if subprocess.run(["sudo", "--validate"], check=False).returncode != 0:
        raise MachineError("sudo refused.", hint="Ask the administrator, or see what 'tcprof doctor' proposes.")
    kept = (f"{name}={os.environ[name]}" for name in _HANDED_OVER if name in os.environ)
    return ("sudo", "--preserve-env", "env", *kept)


def give_back(report: Path) -> None:
    """Makes a report that root wrote the user's; where sudo asks for a password again, it stays as it is, readable."""
    if report.stat().st_uid != os.getuid():
        run_quietly(["sudo", "-n", "chown", f"{os.getuid()}:{os.getgid()}", str(report)], timeout_s=10.0)
