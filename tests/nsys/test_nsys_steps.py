"""What is recorded of a program by itself: its first steps or later ones, and unprofiled ones."""

import re
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import tcprof
from tcprof.errors import StoppedError
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import Completed
from tcprof.record import recording, step_capture, stopping
from tcprof.record.command import RecordOptions, SessionCommands
from tcprof.record.run_shown import RECORDING, RUNNING, TURNING, run_shown
from tcprof.record.step_capture import TIMING, StepCapture
from tcprof.record.stopping import Stopping

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

TRAIN = """
import os, sys, time
import torch
own = torch.nn.Module.__call__, torch.autograd._engine_run_backward
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(count):
    for step in range(count):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        time.sleep(0.005)
def train_until(phase, train=train):
    until = time.monotonic() + 20
    while open(os.environ["TCPROF_PROCESSES"] + "/phase").read() != phase and time.monotonic() < until:
        train(1)
def wait(seconds): time.sleep(0.01 * seconds)
"""
TELL = "print(phase, torch.nn.Module.__call__.__closure__, '__call__' in vars(torch.nn.Linear))"
WHOLE = f"{TRAIN}\nfor phase in 't', 'o': train_until(phase); train(2); {TELL}\ntrain(100)"
GIVEN_UP = StoppedError("The recording was given up.")
LATE = WHOLE.replace("for phase in", "train_until('t', wait)\nfor phase in")  # its steps; with --duration 0.2


@pytest.fixture
def machine(machine, monkeypatch):
    """The folder, on a machine whose captures are short."""
    monkeypatch.setattr(step_capture, "_LEAST_S", 0.1)
    monkeypatch.setattr(step_capture, "_SETTLE_S", 0.05)
    monkeypatch.setattr(step_capture, "_ENOUGH_TIMED", ((8, 0.1),))
    return machine


@pytest.fixture
def captures(monkeypatch):
    made: list[StepCapture] = []
    finish = StepCapture.finish

    def note(capture: StepCapture) -> None:
        made.append(capture)
        capture.was_of_steps = capture.is_of_steps
        finish(capture)

    monkeypatch.setattr(StepCapture, "finish", note)
    return made


def profile(run, folder: Path, program: str, *options: str) -> int:
    (folder / "train.py").write_text(program, encoding="utf-8")
    return run("profile", "--gpus", "none", *options, "train.py")


def make_capture(folder: Path, report=ReportFiles(Path("x")), export=print) -> StepCapture:  # noqa: B008
    commands = SessionCommands("", (), (), ReportFiles(Path("y")))
    return StepCapture(commands, RecordOptions(steps=0), folder, report, export)


def test_a_program_is_shown_while_it_goes_on_and_keeps_no_hook(run, machine, captures, capfd):
    assert profile(run, machine, WHOLE, "--steps", "6") == 0
    shown = capfd.readouterr().out
    assert "t None False" in shown  # steps are timed by the optimizer alone
    assert "o None False" in shown
    assert shown.count("Step time ") == 1
    assert captures[0]._first_steps > 6
    assert captures[0].was_of_steps
    assert not captures[0]._has_second
    assert sorted(path.name for path in machine.iterdir()) == [
        *("train.html", "train.nsys-rep", "train.py", "train.run.json", "train.sqlite", "train.tcprof")
    ]
    steps = tcprof.read("train.tcprof").unprofiled
    assert steps["step_count"].sum() >= 8
    assert steps["step_count"].max() > 1  # short ones are timed together
    assert steps["training"].all()
    assert steps["start_ns"].is_monotonic_increasing
    assert (steps["end_ns"] - steps["start_ns"] >= 5e6 * steps["step_count"]).all()
    (machine / "train.sqlite").unlink()  # a copy of the report and the steps beside it has them, too
    assert tcprof.read("train.nsys-rep").unprofiled.equals(steps)


def test_steps_of_inference_are_timed_by_hooks_on_models_alone(run, machine, capfd):
    program = WHOLE.replace("        optimizer.step()\n", "").replace(".sum().backward()", "")
    program = program.replace("optimizer = torch.optim.SGD(net.parameters(), lr=0.1)", "net.eval()")
    assert profile(run, machine, program, "--steps", "6") == 0
    shown = capfd.readouterr().out
    assert "t None True" in shown
    assert "o None False" in shown
    assert not tcprof.read("train.tcprof").unprofiled["training"].any()


def test_threads_that_are_in_a_step_as_a_phase_begins_are_followed_on(run, machine, capfd):
    program = """
import threading
class Slow(torch.nn.Linear):
    def forward(self, x): time.sleep(0.003); return super().forward(x)
def serve():
    model = Slow(4, 4).eval()
    for phase in "t", "r", "o":
        until = time.monotonic() + 20
        while open(os.environ["TCPROF_PROCESSES"] + "/phase").read() != phase and time.monotonic() < until:
            model(torch.ones(2, 4))
threads = [threading.Thread(target=serve) for _ in range(3)]
for each in threads: each.start()
for each in threads: each.join()
print(torch.nn.Module.__call__.__closure__)
"""
    assert profile(run, machine, TRAIN + program, "--steps", "6") == 0
    shown = capfd.readouterr()
    assert "annotat" not in shown.err
    assert "None" in shown.out
    assert tcprof.read("train.tcprof").unprofiled["step_count"].sum() >= 8


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("print(1)", 0),
        (f"{TRAIN}\ntrain(3)", 0),
        (f"{TRAIN}\ntrain(7); raise ValueError", 1),
        (f"{TRAIN}\ntrain_until('t'); train(4); raise SystemExit(5)", 5),
        (f"{TRAIN}\ntrain_until('t', wait); train_until('r'); train(2)", 0),
        (f"{TRAIN}\nif os.fork() == 0: train(2); os._exit(0)\nos.wait()", 0),
    ],
)
def test_nothing_is_lost_of_a_program_that_ends_early(run, machine, program, status, capfd):
    assert (
        profile(run, machine, program, "--steps", "6", *(["--duration", "1"] if "wait)" in program else [])) == status
    )
    assert "Step time " in capfd.readouterr().out
    assert not list(machine.glob(".*"))
    assert (machine / "train.nsys-rep").is_file()


@pytest.mark.parametrize(("program", "options"), [(WHOLE, ()), (LATE, ("--duration", "0.2"))])
def test_the_program_waits_while_a_capture_ends(run, machine, captures, monkeypatch, program, options):
    seen: list[tuple[int, int]] = []
    ask = StepCapture._ask_nsys

    def ask_slowly(capture: StepCapture, command) -> Completed:
        count = [len(steps.read_text().splitlines()) for steps in capture._folder.glob("steps-*")]
        time.sleep(0.3)
        seen.append((sum(count), sum(len(steps.read_text().splitlines()) for steps in capture._folder.glob("steps-*"))))
        return ask(capture, command)

    monkeypatch.setattr(StepCapture, "_ask_nsys", ask_slowly)
    assert profile(run, machine, program, "--steps", "6", *options) == 0
    before, after = seen[-1]
    assert before == after > 6
    assert max(log.waits for log in captures[0]._logs.values()) == 1


@pytest.mark.parametrize(
    ("lines", "is_enough"),
    [
        ({1: ["r 0", "r 30", "r 60", "t 1 0 20 1", "t 1 20 40 1"]}, True),
        ({1: ["r 0", "r 30", "r 60", "t 1 0 20 2", "t 1 20 40 2"]}, False),
        ({1: ["r 0", "r 30", "r 60"], 2: ["t 1 0 20 9"]}, True),
    ],
)
def test_a_first_capture_is_enough_where_its_steps_are_as_later_ones(machine: Path, lines, is_enough) -> None:
    capture = make_capture(machine)
    for process, written in lines.items():
        (machine / f"steps-{process}").write_text("\n".join(written) + "\n")
    capture._read_logs()
    capture._first_steps = 5
    assert capture._has_enough() == is_enough


def test_nothing_is_exported_beside_unprofiled_steps(machine):
    doing: list[str] = []
    capture = make_capture(machine, export=lambda: doing.append(capture._doing))
    capture._has_ended.set()
    assert not capture._time_steps()
    assert (doing, capture._doing) == ([RECORDING], TIMING)


def test_what_follows_the_last_step_is_no_unprofiled_step(run, machine, monkeypatch):
    monkeypatch.setattr(step_capture, "_ENOUGH_TIMED", ((1000, 0.0),))
    assert profile(run, machine, f"{TRAIN}\ntrain_until('t'); train(300); time.sleep(1)", "--steps", "6") == 0
    steps = tcprof.read("train.tcprof").unprofiled
    assert len(steps)
    assert (steps["end_ns"] - steps["start_ns"] < 8e8).all()


def test_a_program_that_opens_ranges_is_recorded_from_its_start(run, machine, captures, monkeypatch):
    monkeypatch.setattr(step_capture, "_MOST_S", 0.5)
    program = WHOLE.replace("def train(count):", "import nvtx\nnvtx.annotate('mine')\ndef train(count):")
    assert profile(run, machine, program, "--steps", "6") == 0
    assert captures[0]._first_steps > 12
    assert not captures[0].was_of_steps
    assert not captures[0]._has_second
    assert tcprof.read("train.tcprof").unprofiled["step_count"].sum() >= 8


def test_the_recording_of_a_program_without_steps_has_an_end(run, machine, captures, capfd):
    program = "import time; time.sleep(2); print('the end')"
    assert profile(run, machine, program, "--duration", "0.2") == 0
    assert captures[0].is_ready.is_set()
    shown = capfd.readouterr()
    assert "the end" in shown.out
    assert "the first 0.2 s are recorded" in shown.err


def test_a_program_that_only_replays_graphs_is_recorded_for_less_time(run, machine, monkeypatch, capfd):
    monkeypatch.setattr(step_capture, "_REPLAYS_S", 0.3)
    program = "import os, time; open(os.environ['TCPROF_PROCESSES'] + '/replays', 'w').close(); time.sleep(2)"
    assert profile(run, machine, program) == 0
    assert re.search(r"the first [01](\.\d)? s are recorded", capfd.readouterr().err)


def test_a_program_that_uses_pytorch_without_steps_is_shown_meanwhile(run, machine, captures, capfd):
    program = "import time, torch; time.sleep(2); print('the end')"
    assert profile(run, machine, program, "--duration", "0.2") == 0
    shown = capfd.readouterr()
    assert captures[0].is_shown
    assert shown.out.count("Step time ") == 1
    assert shown.err.count("the first 0.2 s are recorded") == 1


def test_steps_that_come_late_replace_what_was_shown(run, machine, captures, capfd):
    program = LATE.replace("\nfor phase in", "; time.sleep(3)\nfor phase in")
    assert profile(run, machine, program, "--steps", "6", "--duration", "0.2") == 0
    assert capfd.readouterr().out.count("Step time ") == 2
    assert captures[0]._has_second
    assert tcprof.read("train.tcprof").unprofiled["step_count"].sum() >= 8


@pytest.mark.parametrize("is_shown", [True, False])
def test_what_was_shown_outlives_a_program_that_is_given_up(machine, monkeypatch, is_shown):
    monkeypatch.setattr(
        recording, "run_in_turn", lambda *_: Path("x.nsys-rep").touch() or (_ for _ in ()).throw(GIVEN_UP)
    )
    capture = make_capture(machine, files := ReportFiles(Path("x")))
    capture._is_concluded = capture.is_shown = is_shown
    if is_shown:
        assert recording.record(None, [], files, capture).was_stopped
    else:
        with pytest.raises(StoppedError):
            recording.record(None, [], files, capture)
    assert Path("x.nsys-rep").exists() == is_shown


def test_a_session_that_outlives_the_program_is_ended(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "outlives")
    assert profile(run, machine, "print('ended')") == 0
    assert "nsys went on after the program's end" in capfd.readouterr().err


def test_a_signal_waits_until_nsys_has_begun_or_ended_a_capture():
    was_asked: list[bool] = []

    def watch(stopping: Stopping) -> str:
        was_asked.append(stopping.is_asked)
        if len(was_asked) == 3:
            signal.raise_signal(signal.SIGINT)
        return TURNING if len(was_asked) < 10 else RECORDING

    assert run_shown([sys.executable, "-c", "import time; time.sleep(20)"], watch=watch).was_stopped
    assert was_asked.index(True) == 10


def test_no_capture_begins_or_ends_once_the_program_was_asked_to_end(machine):
    capture = make_capture(machine)
    capture.start = lambda: None
    capture.watch(print)(SimpleNamespace(is_asked=True, status=130))
    capture.run()
    assert capture._doing == RECORDING
    assert not capture.notes


@pytest.mark.parametrize(("doing", "status"), [(RECORDING, 0), (TURNING, 0), (TIMING, 130), (RUNNING, 130)])
def test_a_signal_is_the_status_of_a_program_that_nsys_does_not_record(machine, monkeypatch, doing, status):
    monkeypatch.setattr(recording, "run_in_turn", lambda *_: Path("x.nsys-rep").touch() or Completed(0, "", ""))
    capture = make_capture(machine, files := ReportFiles(Path("x")))
    capture.start, capture._doing = lambda: None, doing
    capture.watch(print)(SimpleNamespace(is_asked=True, status=130))
    assert recording.record(None, [], files, capture).program_status == status


def test_steps_of_the_second_capture_are_counted_in_each_process(machine):
    capture = make_capture(machine)
    for process, count in (1, 9), (2, 8):
        (machine / f"steps-{process}").write_text("r 1\n" * count)
    capture._read_logs()
    capture._before_second = {1: 9, 2: 8}
    (machine / "steps-2").write_text("r 1\n" * 12)
    capture._read_logs()
    assert capture._count_second() == 4


@pytest.mark.parametrize("program", ["", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_the_program_ends_with_its_recording_if_asked(run, machine, monkeypatch, capfd, program):
    monkeypatch.setattr(stopping, "_PATIENCE_S", 0.5)
    end = Stopping.end_program

    def end_program(stopping: Stopping) -> None:
        monkeypatch.setattr(psutil, "PROCFS_PATH", "/proc")  # of this machine, on which the program runs
        end(stopping)

    monkeypatch.setattr(Stopping, "end_program", end_program)
    program += f"{TRAIN}\nopen('number', 'w').write(str(os.getpid()))\ntrain(100_000)"
    assert profile(run, machine, program, "--steps", "6", "--stop") == 0
    assert "Step time " in capfd.readouterr().out
    assert not psutil.pid_exists(int((machine / "number").read_text(encoding="utf-8")))


def test_the_first_steps_are_the_report_where_no_second_capture_begins(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "no_start")
    monkeypatch.setattr(step_capture, "_RETRY_S", 0.1)
    assert profile(run, machine, LATE, "--steps", "6", "--duration", "0.2") == 0
    said = " ".join(capfd.readouterr().err.split())
    assert "only the first steps are recorded, since 'nsys start' failed: Configuring is not allowed in this" in said
