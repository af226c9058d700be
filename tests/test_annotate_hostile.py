"""Programs that are hard to annotate: what they do is theirs, and what could not be annotated is told."""

import os
import subprocess
from pathlib import Path

import pytest
from forked import run_forked
from test_annotate import PACKAGE, run_python

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")
nn = torch.nn

# NVTX that does nothing, as without a profiler: a PyTorch for CPUs has none.
START = """
import sys, tcprof.annotate as annotation
class Quiet:
    push = start = end = pop = mark = staticmethod(lambda *_: None)
annotation.open_ranges = Quiet
annotation.start()
"""
NET = """
import torch
from torch import nn
net, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2)
torch.manual_seed(0)
"""
GENERATORS = (
    NET
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    def generate(self, x: torch.Tensor, scale: int = 1) -> torch.Tensor:
        return torch.relu(self.net(x)) * scale
    def sample(self, x):
        return self(x).argmax(-1)
    def forward(self, x):
        return self.generate(x, 2)
class Scripted(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    @torch.jit.export
    def generate(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.net(x))
    def forward(self, x):
        return self.net(x)
model = Model()
"""
)
PROGRAMS = {
    "exits at import": "sys_exit = exec('import torch; raise SystemExit(5)')",
    "listing raises": NET
    + """
class Odd(nn.Module):
    def named_modules(self, *_, **__):
        raise KeyboardInterrupt
    parameters = named_modules
    def forward(self, x):
        return net(x)
print(Odd()(x).shape)
""",
    "hooks removed": NET
    + """
import torch.nn.modules.module as module
for hooks in (module._global_forward_hooks, module._global_forward_pre_hooks):
    hooks.clear()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net(x).sum().backward()
    optimizer.step()
print("trained")
""",
    "classes that let nothing be changed": GENERATORS
    + """
class Sealed(type):
    def __setattr__(self, name, value):
        raise AttributeError(name)
class Fixed(Model, metaclass=Sealed):
    def generate(self, x, scale=1):
        return self.net(x)
class Alike(type):
    def __eq__(self, other):
        return True
class Unhashed(Model, metaclass=Alike):
    pass
for each in (Fixed(), Unhashed()):
    print(each.generate(x).shape, each.sample(x).shape)
""",
    "killed": "import torch, os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}

AT_IMPORT = {"exits at import", "killed"}


def run(folder: Path, program: str, *, whole: bool = False) -> subprocess.CompletedProcess[str]:
    """What a program does, whose import of torch is its own or not."""
    script = folder / "program.py"
    script.write_text(program, encoding="utf-8")
    return run_python(str(script)) if whole else run_forked(program, file=str(script))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_output_and_status_are_its_own(tmp_path, name):
    plain, annotated = (
        run(tmp_path, text + PROGRAMS[name], whole=name in AT_IMPORT) for text in ("", f"exec({START!r})\n")
    )
    assert (annotated.returncode, annotated.stdout, annotated.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has NVTX")
def test_a_torch_without_nvtx_is_told_once_and_the_program_goes_on(tmp_path):
    (tmp_path / "nvtx.py").write_text("raise ImportError", encoding="utf-8")
    path = os.pathsep.join((str(PACKAGE / "startup"), str(tmp_path)))
    done = run_python("-c", NET + "print(net(x).shape, net(x).shape)", PYTHONPATH=path)
    plain = run_forked(NET + "print(net(x).shape, net(x).shape)")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("tcprof: ")


@pytest.mark.slow
def test_a_model_of_many_modules_is_named_once_and_called_in_linear_time(tmp_path):
    script = """
import time
net = nn.Sequential(*(nn.Identity() for _ in range(30_000)))
def took():
    begin = time.process_time()
    with torch.no_grad():
        net(x)
    return time.process_time() - begin
first, second = took(), took()
names = annotation._installed[0]._names
print(len(names.by_id) >= 30_000, first < 8, second < 4)
"""
    done = run(tmp_path, START + NET + script)
    assert (done.stdout, done.stderr) == ("True True True\n", "")
