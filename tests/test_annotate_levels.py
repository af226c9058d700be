"""The levels of the annotation: ranges for ops beside those for modules, by PyTorch's own observer.

A PyTorch for CPUs has no NVTX. Here the observer writes for another profiler: it is the same in all else.
"""

import subprocess

import pytest
from forked import run_forked
from test_annotate import run_python

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

PRELUDE = """
import os, sys, threading, torch, tcprof, tcprof.annotate as annotation
from torch import nn

class Quiet:
    push = start = end = pop = mark = staticmethod(lambda *_: None)

entered = []
class Observer(torch.autograd.profiler.emit_itt):
    def __init__(self, record_shapes=False):
        super().__init__(record_shapes=record_shapes)
        entered.append("shapes" if record_shapes else "ops")

torch._C._nvtx = object()
torch.autograd.profiler.emit_nvtx = Observer
has_gpu = True
torch.cuda.is_initialized = lambda: has_gpu
annotation.open_ranges = Quiet
is_on = torch.autograd._profiler_enabled
net, x = nn.Linear(2, 2), torch.ones(1, 2)

def elsewhere(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = run_forked(PRELUDE + script, **environment)
    assert done.returncode == 0, done.stderr
    return done


def said(script: str, **environment: str) -> str:
    done = run(script, **environment)
    assert done.stderr == ""
    return done.stdout


def test_a_level_is_chosen_by_the_program_or_by_the_environment():
    by_hand = said("annotation.start('ops'); net(x); print(entered, is_on())")
    assert by_hand == "['ops'] True\n"
    assert said("annotation.start(); net(x); print(entered, is_on())", TCPROF_ANNOTATE="ops") == by_hand


def test_the_environment_switches_the_annotation_off():
    assert said("annotation.start(); print(annotation._installed)", TCPROF_ANNOTATE="off") == "[]\n"


def test_a_level_that_does_not_exist_is_told_and_modules_are_annotated():
    done = run("annotation.start(); print(len(annotation._installed), entered)", TCPROF_ANNOTATE="everything")
    assert done.stdout == "1 []\n"
    assert done.stderr == "tcprof: TCPROF_ANNOTATE is none of modules, ops, shapes, off: everything\n"


def test_ops_have_ranges_in_every_thread_that_runs_a_model_and_in_the_backward_pass():
    script = """
annotation.start("ops")
def train():
    seen = []
    y = net(x)
    seen.append(is_on())
    y.register_hook(lambda _: seen.append(is_on()))
    y.sum().backward()
    return seen
print(train(), elsewhere(train), elsewhere(train), entered)
"""
    assert said(script) == "[True, True] [True, True] [True, True] ['ops']\n"  # emit_nvtx waits for the GPU: once


@pytest.mark.slow
def test_a_profiler_of_the_programs_own_goes_before_ours():
    script = """
annotation.start("ops")
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    net(x)
print([event.key for event in profiler.key_averages() if event.key == "aten::linear"], is_on(), entered)
with Observer():
    net(x)
print(is_on(), entered)
"""
    done = run(script)  # the profiler itself may write to the error stream
    assert done.stdout == "['aten::linear'] True ['ops']\nTrue ['ops', 'ops']\n"
    assert "tcprof" not in done.stderr


def test_a_context_raises_the_level_and_brings_it_back():
    script = """
def state():
    net(x)
    return entered[-1:], is_on()
before = state()
with tcprof.annotate(level="ops"):
    first = state()
    with tcprof.annotate(level="shapes"):
        second = state()
    with tcprof.annotate(level="modules"):
        third = is_on()
    fourth = is_on()
print(before, first, second, third, fourth, state()[1])
"""
    assert said(script) == "([], False) (['ops'], True) (['shapes'], True) True True False\n"


def test_a_forked_process_has_ops_only_once_it_uses_the_gpu_itself():
    script = """
annotation.start("ops")
net(x)
child = os.fork()
if not child:
    os._exit(is_on())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), is_on())
"""
    assert said(script) == "0 True\n"


def test_an_error_of_the_observer_switches_off_ops_alone():
    script = """
class Broken(Observer):
    def __enter__(self):
        raise RuntimeError("no observer")
torch.autograd.profiler.emit_nvtx = Broken
annotation.start("ops")
net(x)
elsewhere(lambda: net(x))
print(is_on(), annotation._GUARD.is_on)
"""
    done = run(script)
    assert done.stdout == "False True\n"
    assert (
        done.stderr
        == "tcprof: the annotation of ops was switched off by an error of its own: RuntimeError: no observer\n"
    )


@pytest.mark.parametrize("option", [["--level", "ops"], ["--level=ops"]])
def test_python_m_takes_a_level(tmp_path, option):
    script = tmp_path / "train.py"
    script.write_text("import sys, tcprof.annotate; print(sys.argv[1:], tcprof.annotate._levels)\n", encoding="utf-8")
    assert run_python("-m", "tcprof.annotate", *option, str(script), "--fast").stdout == "['--fast'] ['ops']\n"
