"""``tcprof profile`` writes down which run, program and ranks a recording is of, and nothing else of the machine."""

import os
import shutil
import socket
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from builders import FIXTURES

import tcprof
from tcprof.annotate import processes
from tcprof.identity import JOB_VARIABLES, RANK_VARIABLES, Identity, Rank, alias_of
from tcprof.nsys.locate import find_nsys
from tcprof.record.program import PROCESSES_VARIABLE
from tcprof.record.recording import read_processes
from tcprof.sources.nsys_sqlite.export import NsysExport
from tcprof.version import __version__

REAL = os.environ.get("NSYS") or shutil.which("nsys")
LAUNCHER = """
import os, subprocess, sys
torch = "import torch" if len(sys.argv) == 1 else ""
for rank in range(2):
    environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "TOKEN": "hunter2"}
    subprocess.run([sys.executable, "-c", torch, "--password", "hunter2"], env=environment, check=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a program is recorded that starts two ranks."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    (made / "train two.py").write_text(LAUNCHER)
    return made


@pytest.fixture
def machine(fake_nsys, gpu_root, install_importer, tmp_path, folder, monkeypatch):
    install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    monkeypatch.setenv("TCPROF_NSYS", str(fake_nsys.path))
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(FIXTURES / "matmul.sqlite"))
    return folder


def identity_of(name: str) -> Identity:
    return tcprof.read(name).recording.identity


def written(export: Path) -> str:
    with closing(sqlite3.connect(export)) as connection:
        return str(connection.execute("SELECT * FROM TCPROF_RUN").fetchall())


@pytest.mark.slow
def test_ranks_are_those_that_the_program_s_processes_have(run, machine):
    torch = pytest.importorskip("torch")
    assert run("profile", "--gpus", "none", "--annotate", "ops", "--redact", "train two.py") == 0
    identity = identity_of("train two.nsys-rep")
    assert [(each.rank, each.local_rank, each.world_size) for each in identity.ranks] == [(0, 0, 2), (1, 1, 2)]
    assert len({each.process for each in identity.ranks} - {None}) == 2
    assert (identity.program, identity.annotation, identity.tcprof_version) == ("train_two", "ops", __version__)
    assert identity.torch_version == torch.__version__
    assert "hunter2" not in written(machine / "train two.sqlite")
    assert identity_of("train two.tcprof") == identity
    redacted = identity_of("train two-redacted.sqlite")
    assert redacted.program not in ("", identity.program)
    assert replace(redacted, program=identity.program) == identity


def test_repetitions_are_of_one_run_and_another_call_is_another(run, machine):
    assert run("profile", "--gpus", "none", "--repeat", "2", "-o", "a", "train two.py", "quick") == 0
    assert run("profile", "--gpus", "none", "-o", "b", "train two.py", "quick") == 0
    runs = [identity_of(f"{name}.tcprof").run for name in ("a-1", "a-2", "b")]
    assert runs[0] == runs[1] != runs[2]
    assert all(len(each) == 16 for each in runs)


def test_a_job_that_is_named_counts_before_the_scheduler_s(run, machine, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    assert run("profile", "--gpus", "none", "--job", "hunter2", "train two.py", "quick") == 0
    assert identity_of("train two.tcprof").job == identity_of("train two.nsys-rep").job == alias_of("job", "hunter2")
    assert "hunter2" not in written(machine / "train two.sqlite")


def test_what_processes_leave_is_never_trusted(tmp_path):
    contents = {
        "7": '{"RANK": "1", "WORLD_SIZE": "2", "torch_version": "2.9"}',
        "8": '{"RANK": 1, "WORLD_SIZE": ["2"]}',
        "9": '{"RANK": "0", "WORLD_S',
        "10": "[1]",
        "11x": "{}",
        "12": '{"torch_version": "/home/alice"}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    assert read_processes(tmp_path) == Identity(ranks=(Rank(1, 2, None, 7),), torch_version="2.9")


def test_a_process_writes_down_what_is_read_of_it_and_nothing_else(tmp_path, monkeypatch):
    assert set(processes.VARIABLES) == {*(name for names in RANK_VARIABLES for name in names), *JOB_VARIABLES}
    assert processes.PROCESSES == PROCESSES_VARIABLE
    for name in ("RANK", "AWS_SECRET_ACCESS_KEY", "USER", "HOSTNAME"):
        monkeypatch.setenv(name, f"secret {name}")
    for folder in (tmp_path, tmp_path / "gone"):
        monkeypatch.setenv(processes.PROCESSES, str(folder))
        processes.Process(sys)
    [path] = tmp_path.iterdir()
    assert path.read_text() == '{"RANK": "secret RANK", "torch_version": ""}'


@pytest.mark.nsys
@pytest.mark.skipif(REAL is None, reason="no nsys: set NSYS=/path/to/nsys, or put it on PATH")
def test_a_real_nsys_writes_down_host_and_environment(run, folder, monkeypatch, capfd):
    monkeypatch.setenv("TCPROF_NSYS", str(find_nsys(Path(REAL)).path))
    for name, value in {"SLURM_JOB_ID": "77", "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}.items():
        monkeypatch.setenv(name, value)
    (folder / "train.py").write_text("print('trained')\n")
    assert run("profile", "--gpus", "none", "--redact", "train.py", "--password", "hunter2") == 0
    identity = identity_of("train.nsys-rep")
    assert identity.rank == Rank(3, 8, 1)
    assert (identity.host, identity.job) == (alias_of("host", socket.gethostname()), alias_of("job", "SLURM_JOB_ID=77"))
    assert (identity.program, identity.annotation) == ("train", "modules")
    copy = identity_of("train-redacted.sqlite")
    assert copy == identity_of("train.tcprof") == identity
    assert "hunter2" not in written(folder / "train.sqlite")
    assert NsysExport(folder / "train-redacted.sqlite").recording().started_utc
