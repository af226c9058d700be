"""How calls of modules are followed: as if nothing were there, for the program and for what PyTorch makes of it."""

import pytest
from forked import run_forked

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

START = """
import tcprof.annotate as annotation
log = []
class Written:
    push = start = lambda _, name: log.append(name)
    end = mark = lambda *_: None
    pop = lambda _: log.append("<")
annotation.open_ranges = Written
annotation.start()
"""
NET = """
import torch
from torch import nn
own = nn.Module._wrapped_call_impl
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(2, 2)
    def forward(self, x):
        return self.proj(x)
net, x = Net(), torch.ones(1, 2)
"""
INTERRUPTED = (
    NET
    + """
class Stopped(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt
try:
    Stopped()(x)
except KeyboardInterrupt as error:
    print(error.__context__, error.__cause__)
"""
)


def test_pytorch_makes_of_a_program_what_it_makes_of_it_alone():
    plain, annotated = (run_forked(start + INTERRUPTED) for start in ("", START))
    assert (annotated.stdout, annotated.returncode) == (plain.stdout, 0), annotated.stderr
    assert plain.stdout


def test_a_call_that_is_interrupted_is_over():
    assert run_forked(START + INTERRUPTED + "print(log)").stdout.splitlines()[-1] == "['Stopped', '<']"


def test_the_method_has_its_name_and_is_pickled_by_it():
    check = """
import inspect, pickle
print(pickle.loads(pickle.dumps(nn.Module.__call__)) is nn.Module.__call__ is own, inspect.signature(net.__call__))
print(own.__closure__ is None)
annotation._installed[0].close()
print(nn.Module.__call__ is nn.Module._wrapped_call_impl is not own, nn.Module.__call__.__closure__)
"""
    assert run_forked(START + NET + check).stdout == "True (*args, **kwargs)\nFalse\nTrue None\n"


def test_a_pytorch_whose_compiler_cannot_be_told_has_hooks():
    check = "import torch._C._dynamo as dynamo; dynamo.eval_frame = None\n"
    end = "net(x); print(log, nn.Module.__call__ is own)"
    expected = "['inference Net', 'forward', 'Net', 'Net.proj', '<', '<'] True\n"
    assert run_forked("import torch\n" + check + START + NET + end).stdout == expected
