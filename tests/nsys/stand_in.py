"""Processes that are related as those of nsys are, for tests of how they end.

nsys > nsys-launcher > program (in a session of its own) > its children, one of which has lost its parent; and an
agent that has left the tree. Only nsys hears SIGINT and SIGTERM: it ends at the second one, and in mode "quick" at
the first, with a report. Each process writes its number into a file of the folder, and nsys the signals that it heard.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROLE, FOLDER, *REST = sys.argv[1:]
MODE = REST[0] if REST else ""
NAMES = {"nsys": "nsys", "launcher": "nsys-launcher", "agent": "nsys", "program": "a (strange) name"}


def main() -> None:
    Path("/proc/self/comm").write_text(NAMES.get(ROLE, ROLE))
    if ROLE == "nsys":
        signal.signal(signal.SIGINT, hear)
        signal.signal(signal.SIGTERM, hear)
        subprocess.run([sys.executable, __file__, "starter", FOLDER, str(os.getpid())], check=True)
        start("launcher")
    elif ROLE == "starter":
        options = ["--start-agent", f"--session-name=profile-{REST[0]}"]
        start("agent", *options, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if ROLE == "launcher":
        start("program", start_new_session=True)
    elif ROLE == "program":
        start("child")
        subprocess.run([sys.executable, __file__, "between", FOLDER], check=True)
    elif ROLE == "between":
        start("orphan")
        return
    note(f"pid-{ROLE}")
    for _ in range(3000):
        time.sleep(0.01)


def start(role: str, *arguments: str, **options: object) -> None:
    subprocess.Popen([sys.executable, __file__, role, FOLDER, *arguments], **options)


def note(name: str) -> None:
    with Path(FOLDER, name).open("a") as file:
        file.write(f"{os.getpid()} ")


def hear(number: int, _frame: object) -> None:
    is_second = any(Path(FOLDER).glob("SIG*"))
    note(signal.Signals(number).name)
    if MODE == "quick":
        os.write(1, b"Generated:\n")
        os._exit(0)
    if is_second:
        os._exit(0)


if __name__ == "__main__":
    main()
