"""Ranges of the annotation by the nvtx package: the one that is installed, old ones, and others of its name."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from source_tree import PACKAGE

from tcprof.annotate import processes
from tcprof.annotate.step_times import StepTimes
from tcprof.annotate.window import OVER, TIMED, Window, notice_ranges

USE = "r.push('outer'); h = r.start('step'); r.push('outer'); r.pop(); r.end(h); r.pop()"
OLD = """
def push_range(message=None, color="blue", domain=None): print("push", message, domain)
def mark(message=None, color="blue", domain=None): print("mark", message, domain)
def pop_range(domain=None): print("pop", domain)
def start_range(message=None, color="blue", domain=None): print("start", message, domain); return message
def end_range(range_id): print("end", range_id)
"""


def run(code: str, folder: Path) -> str:
    whole = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(PACKAGE.parent)!r}]; {code}"
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True).stdout


def test_the_installed_package_gives_a_domain(tmp_path):
    pytest.importorskip("nvtx")
    code = f"from tcprof.annotate.steps import open_ranges; r = open_ranges(); {USE}; print(type(r).__name__)"
    assert run(code, tmp_path).strip() in ("_OwnDomain", "_NamedDomain")


@pytest.mark.parametrize("library", ["", "libToolsInjection64.so"])
def test_marks_are_written_only_where_a_profiler_is_attached(tmp_path, library, monkeypatch):
    monkeypatch.setenv("NVTX_INJECTION64_PATH", library)
    (tmp_path / "nvtx.py").write_text(OLD, encoding="utf-8")
    said = run("from tcprof.annotate.steps import open_ranges; r = open_ranges(); r.mark and r.mark('Net')", tmp_path)
    assert said == ("mark Net tcprof\n" if library else "")


@pytest.mark.parametrize("nvtx", ["raise ImportError", "mine = 1"])
def test_without_the_package_ranges_are_those_of_pytorch(tmp_path, nvtx):
    """A module of the program's own may have the package's name."""
    (tmp_path / "nvtx.py").write_text(nvtx, encoding="utf-8")
    (tmp_path / "torch" / "cuda").mkdir(parents=True)
    for name in ("torch/__init__.py", "torch/cuda/__init__.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    functions = "range_push = range_start = range_end = lambda what: print(what)\ndef range_pop(): print('pop')\n"
    (tmp_path / "torch" / "cuda" / "nvtx.py").write_text(functions, encoding="utf-8")
    code = "from tcprof.annotate.steps import open_ranges; r = open_ranges(); r.push('outer'); r.pop()"
    assert run(code, tmp_path) == "outer\npop\n"


def make_torch() -> SimpleNamespace:
    return SimpleNamespace(cuda=SimpleNamespace(nvtx=SimpleNamespace(range_push=str, range_start=str)))


def test_ranges_of_a_program_that_keeps_our_functions_are_noticed_once():
    torch, noted = make_torch(), []
    end = notice_ranges(torch, lambda: noted.append(1))
    kept = torch.cuda.nvtx.range_push
    assert [kept("a"), kept("b")] == ["a", "b"]
    assert torch.cuda.nvtx.range_push is str
    end()
    kept("c")
    assert noted == [1]


@pytest.mark.parametrize("phase", [TIMED, OVER])
def test_a_process_that_begins_later_keeps_its_functions(tmp_path, monkeypatch, phase):
    (tmp_path / "phase").write_bytes(phase)
    monkeypatch.setenv(processes.PROCESSES, str(tmp_path))
    torch = make_torch()
    Window(StepTimes(print, torch), torch)
    assert torch.cuda.nvtx.range_push is str
