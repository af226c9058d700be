"""Kills commands of tcprof at random moments, and looks at what they leave.

    python tests/kills.py 300 --seed 1

Each command is first run to its end, which gives its whole output and its time. Then it is run again and again in the
same folder and killed; every file must be as it was before or as in the first run. The commands run in forks of this
process, so that the kills fall into their work and not into imports.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

# Loaded once for all forks; threads would not survive them.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

from builders import TraceBuilder

import tcprof.api.comparing
import tcprof.redaction.redact
import tcprof.render.html.pages
import tcprof.views.recording.ranges  # noqa: F401
from tcprof import cli

HERE = Path(__file__).parent
STEPS = 20  # of the recording: a small one, so that the kills fall into all that a command does
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL)
COMMANDS = {  # what is written, by which command
    "page.html": "report run.sqlite -o page.html",  # not run.html, to which the page of the comparison would link
    "frames": "export run.sqlite -o frames",
    "trace.json": "export run.sqlite --chrome-trace trace.json",
    "ranges.json": "ranges run.sqlite -o ranges.json",
    "compare.html": "compare run.sqlite other.sqlite -o compare.html",
    "redacted.sqlite": "redact --force run.sqlite -o redacted.sqlite",
    "recorded.sqlite": "ranges recorded.nsys-rep",
    "saved.tcprof": "save --force run.sqlite -o saved.tcprof",
    "cache/*.tcprof": "kernels run.sqlite",
}
CACHED = "kernels run.sqlite"  # the one that uses the cache
CHILD_S = 120.0  # what takes longer after a signal hangs


@dataclass
class Kills:
    """What was seen."""

    by_end: Counter[str]  # how the killed processes ended
    faults: list[str]


def prepare(folder: Path) -> None:
    """Put the recordings into a folder, and an nsys that exports one of them on PATH."""
    trace = TraceBuilder().gpu()
    for number in range(STEPS):
        begin = 20_000 * number
        trace.range("step", begin, begin + 20_000)
        trace.kernel("gemm", begin + 2_000, begin + 9_000, launched=begin + 1_000)
    trace.samples([0, 50] * STEPS, start=0, period=10_000).write(folder, "run.sqlite")
    for name in ("other.sqlite", "whole.sqlite"):
        shutil.copy(folder / "run.sqlite", folder / name)
    report = folder / "recorded.nsys-rep"
    report.write_bytes(b"NVIDIA Tegra Profiler Report 2025@3@2@474-253236389321v0\n")
    nsys = folder / "bin" / "nsys"
    nsys.parent.mkdir()
    nsys.write_text(f"#!{sys.executable}\n{(HERE / 'nsys' / 'fake_nsys.py').read_text()}")
    nsys.chmod(0o755)
    os.environ.update({"TCPROF_NSYS": str(nsys), "FAKE_NSYS_EXPORT": str(folder / "whole.sqlite")})


def start(command: str, folder: Path) -> int:
    """Run a command in a fork of this process; gives its process number."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.chdir(folder)
        os.environ["TCPROF_CACHE"] = "cache" if command == CACHED else ""
        with (folder / "said.txt").open("w", buffering=1) as said:
            sys.stdout = sys.stderr = said
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            sys.argv = ["tcprof", *command.split()]
            cli.main()
            status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:  # before the command began
        status = 128 + signal.SIGINT
    finally:
        os._exit(status)


def wait(child: int) -> int:
    """A process's exit status, negative where a signal ended it; a process that hangs is killed."""
    until = time.monotonic() + CHILD_S
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError


def digest(path: Path) -> str:
    """What identifies a file's or a folder's content; empty if there is none."""
    if path.is_dir():
        inside = sorted(path.rglob("*"))
        return "".join(f"{each.relative_to(path)}:{digest(each)};" for each in inside if each.is_file())
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def find(folder: Path, target: str) -> Path:
    """A target's place; of a pattern that of the file that has it."""
    return next(iter(sorted(folder.glob(target))), folder / target)


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def temporary_in(folder: Path) -> list[str]:
    """The temporary folders of tcprof."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob(".tcprof-*"))


def kill_often(folder: Path, count: int, seed: int, only: str = "") -> Kills:
    """Kill commands in a folder: those that write a target whose name has a text in it."""
    chosen = random.Random(seed)
    whole, took, printed = {}, {}, ""
    commands = {target: command for target, command in COMMANDS.items() if only in target}
    for target, command in commands.items():
        began = time.monotonic()
        status = wait(start(command, folder))
        printed = (folder / "said.txt").read_text() if command == CACHED else printed
        assert status == 0, f"{command}: {status}: {(folder / 'said.txt').read_text()}"
        took[command], whole[target] = time.monotonic() - began, digest(find(folder, target))
    print({command: round(seconds, 2) for command, seconds in took.items()}, flush=True)
    inputs = {name: digest(folder / name) for name in ("run.sqlite", "other.sqlite", "recorded.nsys-rep")}
    kills = Kills(Counter(), [])
    for number in range(count):
        target, command = chosen.choice(list(commands.items()))
        with_signal = chosen.choice(SIGNALS)
        if chosen.random() < 0.5:
            remove(find(folder, target))
        before = digest(find(folder, target))
        child = start(command, folder)
        time.sleep(chosen.uniform(0, 1.05 * took[command]))
        os.kill(child, with_signal)
        name = f"{number}: {command}, {with_signal.name}"
        try:
            status = wait(child)
        except TimeoutError:
            kills.faults.append(f"{name}: hangs")
            continue
        kills.by_end["done before" if status == 0 else with_signal.name] += 1
        said = (folder / "said.txt").read_text(errors="replace")
        if status not in (0, -with_signal, 128 + with_signal):
            kills.faults.append(f"{name}: status {status}: {said[-2000:]}")
        if digest(find(folder, target)) not in (before, whole[target]):
            kills.faults.append(f"{name}: {target} is half-written")
        changed = [each for each, was in inputs.items() if digest(folder / each) != was]
        kills.faults += [f"{name}: {each} was changed" for each in changed]
        for each in temporary_in(folder):
            if with_signal is signal.SIGKILL:
                remove(folder / each)
            else:
                kills.faults.append(f"{name}: {each} is left")
        if command == CACHED and (wait(start(command, folder)) or (folder / "said.txt").read_text() != printed):
            kills.faults.append(f"{name}: the next one says {(folder / 'said.txt').read_text()[-2000:]}")
        if number % 10 == 9:
            print(f"{number + 1}: {dict(kills.by_end)}; {len(kills.faults)} faults", flush=True)
    return kills


def main() -> int:
    """Kill as often as asked for, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only what writes a file with this in its name, such as tcprof")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        kills = kill_often(folder, options.count, options.seed, options.only)
    print(f"{options.count} kills; ended by: {dict(kills.by_end)}")
    print("\n".join(kills.faults) or "nothing half-written, no temporary folder but after SIGKILL")
    return bool(kills.faults)


if __name__ == "__main__":
    raise SystemExit(main())
