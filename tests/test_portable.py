"""Recordings can be read where Python has only what all systems have; programs can be recorded on Linux alone."""

import subprocess
import sys

from builders import FIXTURES, small_trace

# What Windows or macOS lacks is taken away once the libraries are loaded: on Linux they ask for it.
PROGRAM = """
import os, signal, sys
import adbc_driver_sqlite, jinja2, multiprocessing, numpy, pandas, platform, psutil, pyarrow.parquet, rich.console
import scipy.optimize, scipy.special, scipy.stats, shutil, sqlalchemy, subprocess, tempfile, threadpoolctl, typer

for name in ("curses", "fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "alarm", "setitimer"):
    delattr(signal, name)
for name in ("fork", "geteuid", "getuid", "killpg", "O_NOFOLLOW", "O_NONBLOCK", "sched_getaffinity", "setsid", "uname"):
    delattr(os, name)
# What Python itself does with these on Linux alone, from 3.13 on and from 3.14 on.
os.process_cpu_count = os.cpu_count
shutil._use_fd_functions, shutil._rmtree_impl = False, getattr(shutil, "_rmtree_unsafe", None)
sys.platform = "win32-like"

from tcprof.cli import main

for command in sys.stdin.read().splitlines():
    sys.argv = ["tcprof", *command.split()]
    try:
        main()
    except SystemExit as end:
        print(f"{command}: {end.code}")
"""
READING = (
    *("show a", "advise a", "ranges a", "kernels a", "timeline a", "report a -o page", "save a -o saved"),
    "redact a -o r",
)
COMPARING = f"compare {FIXTURES}/mlp_tf32.sqlite {FIXTURES}/mlp_fp32.sqlite -o c"
WRITING = (COMPARING, "export a -o frames --chrome-trace t.json", "show saved.tcprof", "workloads")
RECORDING = ("doctor", "profile train.py")


def test_recordings_are_read_without_what_only_linux_has(tmp_path):
    small_trace(tmp_path).rename(tmp_path / "a")
    commands = (*READING, *WRITING, *RECORDING)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        input="\n".join(commands),
        capture_output=True,
        text=True,
        check=True,
    )
    ended = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines() if line.rpartition(": ")[0] in commands)
    assert ended == {**dict.fromkeys(READING + WRITING, "0"), **dict.fromkeys(RECORDING, "3")}, done.stderr
    assert done.stderr.count("Programs can be recorded on Linux only.") == len(RECORDING)
