"""What the user names becomes a command; options end where the program begins."""

import os
import sys
from pathlib import Path

import pytest

from tcprof.errors import InputError, UsageError
from tcprof.record.command import split_arguments
from tcprof.record.program import Python, annotated, choose_python, explain_output, find_program, name_report

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
def test_split_arguments(line):
    assert split_arguments(line.split(), KNOWN) == SPLITS[line]


@pytest.fixture
def folder(tmp_path, monkeypatch):
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
def test_find_program(folder, args, resolved):
    assert find_program(args, python="PY") == tuple(resolved)


def test_a_command_of_the_virtual_environment_needs_no_activation(folder):
    (folder / "bin").mkdir()
    (folder / "bin" / "torchrun-of-the-venv").touch()
    python = str(folder / "bin" / "python")
    found = find_program(["torchrun-of-the-venv", "train.py"], python=python)
    assert found == (str(folder / "bin" / "torchrun-of-the-venv"), "train.py")


@pytest.mark.parametrize("args", [[], ["-m"]])
def test_no_program(args):
    with pytest.raises(UsageError, match="no program"):
        find_program(args)


@pytest.mark.parametrize("args", [["missing.py"], ["no-such-command"], ["sub/missing.py"]])
def test_a_program_that_is_not_there(folder, args):
    with pytest.raises(InputError, match=args[0]):
        find_program(args)


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
def test_name_report(args, name):
    assert name_report(args) == name


@pytest.mark.parametrize(
    ("level", "set_to"),
    [
        ("auto", []),
        ("modules", ["TCPROF_ANNOTATE=modules"]),
        ("ops", ["TCPROF_ANNOTATE=ops"]),
        ("shapes", ["TCPROF_ANNOTATE=shapes"]),
    ],
)
def test_a_program_is_annotated_by_its_environment(monkeypatch, level, set_to):
    monkeypatch.setenv("PYTHONPATH", "mine")
    env, path, *rest = annotated(("python", "train.py"), level)
    assert env == "env"
    startup, mine = path.removeprefix("PYTHONPATH=").split(os.pathsep)
    assert (Path(startup) / "sitecustomize.py").is_file()
    assert mine == "mine"
    assert rest == [*set_to, "python", "train.py"]


def test_a_program_that_is_not_annotated_is_as_it_was():
    assert annotated(("python", "train.py"), "off") == ("python", "train.py")


@pytest.fixture
def environments(tmp_path, monkeypatch):
    """A folder with three environments; none is active, and tcprof was called by its path."""
    for name in ("venv", "conda", "path"):
        for command in ("python", "tcprof"):
            made = tmp_path / name / "bin" / command
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text("#!/bin/sh\n")
            made.chmod(0o755)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "own" / "tcprof")])
    return tmp_path


def test_tcprof_s_own_python_where_no_environment_is_active(environments):
    assert choose_python() == Python(sys.executable)


@pytest.mark.parametrize(
    ("variables", "chosen"),
    [
        ({"VIRTUAL_ENV": "venv", "CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "train"}, "venv"),
        ({"VIRTUAL_ENV": "gone", "CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "train"}, "conda"),
        ({"CONDA_PREFIX": "conda", "CONDA_DEFAULT_ENV": "base"}, ""),
    ],
)
def test_the_active_environment_s_python(environments, monkeypatch, variables, chosen):
    for name, value in variables.items():
        monkeypatch.setenv(name, value if name == "CONDA_DEFAULT_ENV" else str(environments / value))
    expected = str(environments / chosen / "bin" / "python") if chosen else sys.executable
    assert choose_python().path == expected
    assert bool(choose_python().reason) == bool(chosen)


def test_a_tcprof_that_was_found_on_path_takes_the_python_there(environments, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(environments / "path" / "bin" / "tcprof")])
    found = Python(str(environments / "path" / "bin" / "python"), "of the active environment, according to PATH")
    assert choose_python() == found


def test_the_user_names_a_python(environments, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", str(environments / "venv"))
    other = str(environments / "conda" / "bin" / "python")
    assert choose_python(other) == Python(other, "as --python says")
    assert choose_python("python").path == str(environments / "path" / "bin" / "python")
    with pytest.raises(InputError, match="The Python nowhere/python was not found"):
        choose_python("nowhere/python")


def test_what_is_missing_elsewhere_is_explained():
    said = "Traceback ...\nModuleNotFoundError: No module named 'torch.nn'\n"
    (found,) = explain_output(said, 1, ("/my env/bin/python", "train.py"))
    assert found.startswith("/my env/bin/python has no module torch.nn.")
    assert found.endswith("install it: '/my env/bin/python' -m pip install torch")
    assert "the Python that ran it has no module" in explain_output(said, 1, ("torchrun", "train.py"))[0]
    assert explain_output(said, 0, ("python", "train.py")) == ()  # the program knew what to do without


def test_what_nsys_and_cuda_say_is_explained():
    forked = "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, ..."
    assert "set_start_method('spawn')" in explain_output(forked, 0, ("python",))[0]
    partial = "Importation succeeded with non-fatal errors"
    assert "kernels or ranges may be missing" in explain_output(partial, 0, ("python",))[0]
    assert explain_output("all is well", 1, ("python",)) == ()
