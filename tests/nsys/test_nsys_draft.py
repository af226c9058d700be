"""``tcprof profile --dry-run`` and the patterns in ``-o``: for jobs that run on other machines."""

import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from tcprof.nsys.report import fill_in


@pytest.fixture
def login_node(empty_machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script, on a machine without a GPU and without nsys."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "train.py").write_text("print('trained')\n")
    monkeypatch.chdir(folder)
    return folder


def test_a_command_is_printed_without_gpu_and_nsys(run, login_node: Path, capfd) -> None:
    assert run("profile", "--dry-run", "-o", "run_%q{SLURM_PROCID}_%h", "train.py", "--name", "a b; rm -rf /") == 0
    shown = capfd.readouterr()
    command = shlex.split(shown.out)
    assert command[:2] == ["nsys", "profile"]
    assert {"--gpu-metrics-devices=all", "--output=run_%q{SLURM_PROCID}_%h"} < set(command)
    assert command[-3:] == ["train.py", "--name", "a b; rm -rf /"]
    assert "there is no nsys here" in shown.err
    assert "For exact tensor cycles, have the job run 'tcprof profile' itself" in " ".join(shown.err.split())
    assert sorted(path.name for path in login_node.iterdir()) == ["train.py"]


@pytest.mark.parametrize(("visible", "sampled"), [("1,3", "1,3"), ("", "all"), ("GPU-2f1c", "all")])
def test_the_gpus_that_cuda_sees_are_sampled(
    run, login_node: Path, monkeypatch, capfd, visible: str, sampled: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert run("profile", "--dry-run", "train.py") == 0
    assert f"--gpu-metrics-devices={sampled}" in shlex.split(capfd.readouterr().out)


def test_what_is_printed_runs_there_as_it_stands(run, login_node: Path, fake_nsys, monkeypatch, capfd) -> None:
    assert run("profile", "--dry-run", "--nsys", str(fake_nsys.path), "--gpus", "none", "train.py") == 0
    printed = capfd.readouterr().out
    monkeypatch.setenv("PATH", os.defpath)
    done = subprocess.run(["sh", "-c", printed], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("trained\n")
    assert (login_node / "train.nsys-rep").exists()


def test_an_nsys_and_a_program_that_are_only_there_are_taken_as_named(run, login_node: Path, capfd) -> None:
    there = ("--nsys", "/opt/there/nsys", "--metrics", "default", "--python", "python")
    assert run("profile", "--dry-run", *there[:4], "torchrun-there", "/there/train.py") == 0
    command = shlex.split(capfd.readouterr().out)
    assert (command[0], command[-2:]) == ("/opt/there/nsys", ["torchrun-there", "/there/train.py"])
    assert run("profile", "--dry-run", *there, "train.py") == 3  # a Python is looked for where it is named
    assert run("profile", "--dry-run", "--frequency", "1", "train.py") == 2
    assert run("profile", "--dry-run", "--metrics", "none.config", "train.py") == 3


@pytest.mark.parametrize(
    ("pattern", "filled"),
    [
        ("run_%q{RANK}_%h", "run_3_HOST"),
        ("%p", "PROCESS"),
        ("50%", "50%"),
        ("a 50% run", "a 50% run"),
        ("50%%q{RANK}", "50%q{RANK}"),
        ("%q{RANK", "%q{RANK"),
        ("%q{DIR}/x", "sub/x"),
        ("%d", "%d"),
    ],
)
def test_patterns_are_those_of_nsys(monkeypatch: pytest.MonkeyPatch, pattern: str, filled: str) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("DIR", "sub")
    here = filled.replace("HOST", socket.gethostname()).replace("PROCESS", str(os.getpid()))
    assert str(fill_in(Path(pattern))) == here


def test_a_number_is_the_next_free_one(tmp_path: Path) -> None:
    assert fill_in(tmp_path / "run%n") == tmp_path / "run1"
    for taken in ("run1.nsys-rep", "run2.qdstrm"):
        (tmp_path / taken).touch()
    assert fill_in(tmp_path / "run%n.nsys-rep") == tmp_path / "run3.nsys-rep"
    (tmp_path / "50%n.nsys-rep").touch()
    assert fill_in(tmp_path / "50%%n") == tmp_path / "50%n"
