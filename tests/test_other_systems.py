"""Reading, comparing and pages need nothing that only POSIX has; recording does."""

import os
import subprocess
import sys
from pathlib import Path

from builders import FIXTURES

# What Windows lacks, once Python's own modules have found it; what they look up as they run stays.
HIDE = """
import asyncio, concurrent.futures.process, logging, multiprocessing, os, random, shlex, signal, socket, subprocess
import sys, tempfile
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "curses", "syslog"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "geteuid", "getuid", "getegid", "getgid", "getgroups", "getpgid",
             "setsid", "killpg", "fchmod", "fchown", "chown", "mkfifo", "statvfs", "fstatvfs", "getloadavg",
             "sched_getaffinity", "O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "pread", "lockf"):
    if hasattr(os, name): delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "SIGQUIT", "SIGUSR1", "SIGCHLD", "SIGPIPE", "alarm", "setitimer",
             "pthread_sigmask", "pause"):
    if hasattr(signal, name): delattr(signal, name)
from tcprof.cli import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["tcprof", *shlex.split(line)]
    try: main()
    except SystemExit as end: print("STATUS", end.code or 0, line)
"""


def test_what_reads_needs_nothing_that_only_posix_has(tmp_path: Path) -> None:
    one, other = FIXTURES / "mlp_tf32.sqlite", FIXTURES / "mlp_fp32.sqlite"
    commands = [
        "--help",
        f"show {one}",
        f"ranges {one}",
        f"kernels {one}",
        f"compare {one} {other} -o {tmp_path}/compared.html",
        f"report {one} -o {tmp_path}/page.html",
        f"save {one} -o {tmp_path}/run.tcprof",
        f"redact {one} -o {tmp_path}/redacted.sqlite",
        f"export {one} -o {tmp_path}/frames",
        f"ranks {FIXTURES / 'jobs' / 'more-work'}",
        f"history add {one} --program mlp --store sqlite:///{tmp_path}/runs.db",
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", HIDE], input="\n".join(commands), env=environment, capture_output=True, text=True
    )
    ended = [line for line in done.stdout.splitlines() if line.startswith("STATUS")]
    assert ended == [f"STATUS 0 {line}" for line in commands], done.stderr
