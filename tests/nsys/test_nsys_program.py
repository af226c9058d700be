"""What the user names becomes a command; options are told apart from the program."""

from pathlib import Path

import pytest

from tcprof.errors import InputError, UsageError
from tcprof.record.program import name_report, resolve_program, split_arguments

KNOWN = {"--output": True, "-o": True, "--force": False, "--help": False, "-h": False, "--frequency": True}

SPLITS = {  # command line: (ours, nsys's, program)
    "train.py -o x --force": ([], [], ["train.py", "-o", "x", "--force"]),
    "-o x --force train.py --force": (["-o", "x", "--force"], [], ["train.py", "--force"]),
    "-ox train.py": (["-ox"], [], ["train.py"]),
    "--output=x train.py": (["--output=x"], [], ["train.py"]),
    "--cuda-memory-usage=true train.py": ([], ["--cuda-memory-usage=true"], ["train.py"]),
    "--cuda-memory-usage true train.py": ([], ["--cuda-memory-usage", "true"], ["train.py"]),
    "-t cuda,nvtx --frequency 10 train.py": (["--frequency", "10"], ["-t", "cuda,nvtx"], ["train.py"]),
    "-tcuda train.py -t x": ([], ["-tcuda"], ["train.py", "-t", "x"]),
    "--force -- --odd program": (["--force"], [], ["--odd", "program"]),
    "-m package.train --force": ([], [], ["-m", "package.train", "--force"]),
    "--force -m train -m": (["--force"], [], ["-m", "train", "-m"]),
    "--help": (["--help"], [], []),
    "-o": (["-o"], [], []),
    "--stats": ([], ["--stats"], []),
    "": ([], [], []),
}


@pytest.mark.parametrize("line", SPLITS)
def test_split_arguments(line: str):
    assert split_arguments(line.split(), KNOWN) == SPLITS[line]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("args", "resolved"),
    [
        (["train.py", "-x"], ["PY", "train.py", "-x"]),
        (["-m", "package.train", "-x"], ["PY", "-m", "package.train", "-x"]),
        (["sh", "-c", "true"], ["sh", "-c", "true"]),
    ],
)
def test_resolve_program(folder: Path, args: list[str], resolved: list[str]):
    assert resolve_program(args, python="PY") == resolved


def test_a_command_of_the_virtual_environment_needs_no_activation(folder: Path):
    (folder / "bin").mkdir()
    (folder / "bin" / "torchrun-of-the-venv").touch()
    python = str(folder / "bin" / "python")
    found = resolve_program(["torchrun-of-the-venv", "train.py"], python=python)
    assert found == [str(folder / "bin" / "torchrun-of-the-venv"), "train.py"]


@pytest.mark.parametrize("args", [[], ["-m"]])
def test_no_program(args: list[str]):
    with pytest.raises(UsageError, match="no program"):
        resolve_program(args)


@pytest.mark.parametrize("args", [["missing.py"], ["no-such-command"], ["sub/missing.py"]])
def test_a_program_that_is_not_there(folder: Path, args: list[str]):
    with pytest.raises(InputError, match=args[0]):
        resolve_program(args)


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (["sub/train.py", "--epochs"], "train"),
        (["torchrun", "--nproc-per-node", "2", "ddp.py", "other.py"], "ddp"),
        (["mpirun", "-n", "2", "python", "-u", "train.v2.py"], "train.v2"),
        (["-m", "package.train"], "train"),
        (["-m", "package.__main__"], "package"),
        (["./a.out"], "a"),
        (["/"], "recording"),
        ([], "recording"),
    ],
)
def test_name_report(args: list[str], name: str):
    assert name_report(args) == name
