"""``tcprof profile --unprofiled``: the program once more, without nsys, with its steps timed by the same hooks."""

import time
from pathlib import Path

import psutil
import pytest

import tcprof
from tcprof.findings.recording_cost import measure_cost
from tcprof.record.program import find_program
from tcprof.record.unprofiled import run_unprofiled

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

TRAIN = """
import os, sys, time
print("trained")
with open("runs", "a") as file:
    print("TCPROF_STEP_TIMES" in os.environ, file=file)
if "TCPROF_STEP_TIMES" not in os.environ:
    sys.exit()  # of this run is recorded what the fake nsys says
import torch
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.005)
if len(sys.argv) > 1 and "TCPROF_STEP_TIMES" in os.environ:
    exec(sys.argv[1])
"""
STEPS = 12


@pytest.fixture
def machine(fake_nsys, gpu_root, install_importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script that trains; what the fake nsys records of it are steps of 2 s.

    However busy this machine is, the program's own steps of 5 ms are seen to be shorter.
    """
    from builders import TraceBuilder

    builder = TraceBuilder().gpu()
    for number in range(STEPS):
        start = 2_000_000_000 * number + number % 3
        builder.range("step", start, start + 1_900_000_000, domain="tcprof", start_end=True)
        builder.kernel("gemm", start + 2_000_000, start + 900_000_000, launched=start + 1_000_000)
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(builder.write(tmp_path)))
    install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    monkeypatch.setenv("TCPROF_NSYS", str(fake_nsys.path))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(TRAIN, encoding="utf-8")
    return folder


def runs(folder: Path) -> list[str]:
    """Of each run of the program, whether its steps were timed."""
    return (folder / "runs").read_text(encoding="utf-8").split()


def test_the_steps_are_timed_and_every_later_command_knows_it(run, machine, capfd):
    assert run("profile", "--gpus", "none", "--unprofiled", "train.py") == 0
    shown = capfd.readouterr()
    assert runs(machine) == ["False", "True"]
    assert shown.out.count("trained") == 1
    assert shown.err.count("running the program once more, without nsys, to see") == 1
    assert "Recording slowed a step from" in " ".join(shown.err.split())
    cost = measure_cost(tcprof.read("train.nsys-rep").analysis)
    assert 5e6 < cost.unprofiled.value < cost.recorded.value == pytest.approx(2e9, rel=0.01)
    assert len(tcprof.read("train.sqlite").unprofiled) == STEPS
    assert "Recording slowed a step" in (machine / "train.html").read_text(encoding="utf-8")
    saved = tcprof.read("train.tcprof")
    assert saved.recording.content == tcprof.read("train.nsys-rep").recording.content
    assert saved.unprofiled.equals(tcprof.read("train.nsys-rep").unprofiled)


def test_a_program_is_run_once_more_only_if_asked(run, machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (machine / "train.py").write_text(TRAIN.partition("import torch")[0], encoding="utf-8")
    assert run("profile", "--gpus", "none", "--repeat", "2", "train.py") == 0
    assert runs(machine) == ["False", "False"]
    said = " ".join(capfd.readouterr().err.split())
    assert said.count("what recording costs a step is unknown; --unprofiled measures it") == 1


@pytest.mark.slow
def test_a_run_that_fails_is_told_and_changes_no_status(run, machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("profile", "--gpus", "none", "--unprofiled", "train.py", "sys.exit(9)") == 0
    assert "without nsys the program ended with exit status 9: this run is not compared" in " ".join(
        capfd.readouterr().err.split()
    )
    assert tcprof.read("train.sqlite").unprofiled.empty


@pytest.mark.slow
def test_a_run_is_ended_with_all_that_it_has_started_and_its_steps_count(machine: Path) -> None:
    endless = "import subprocess; child = subprocess.Popen(['sleep', '600']); open('child', 'w').write(str(child.pid));"
    program = find_program(["train.py", f"{endless} time.sleep(600)"])
    began = time.monotonic()
    steps, status = run_unprofiled(program, 20.0)
    assert time.monotonic() - began < 60
    assert status is None
    assert len(steps) == STEPS - 1  # the last has no end
    child = int((machine / "child").read_text(encoding="utf-8"))
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
