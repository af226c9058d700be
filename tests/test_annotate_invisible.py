"""Programs of the kinds that people write, with and without the annotation: output, errors and status are the same."""

import os
import subprocess
import sys

import pytest
from forked import run_forked
from test_annotate import PACKAGE
from test_annotate_hostile import START, run

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

NET = """
import torch, warnings
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.act = nn.Linear(2, 2), nn.ReLU()
    def forward(self, x):
        return self.act(self.proj(x))
net, x = Net(), torch.ones(1, 2)
def sgd(net=net): return torch.optim.SGD(net.parameters(), lr=0.1)
def step(net=net):
    optimizer = sgd(net); net(x).sum().backward(); optimizer.step()
"""
PROGRAMS = {
    "script grad": """
@torch.jit.script
def slope(x: torch.Tensor):
    y = (x * x).sum()
    return torch.autograd.grad([y], [x])[0]
print(slope(torch.ones(2, requires_grad=True)))
""",
    "pickle functions": """
import pickle, copy
for each in (nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_, torch.autograd.grad, torch.autograd.backward,
             nn.Module.__call__, torch.optim.Optimizer.__init__, torch.amp.GradScaler.step):
    print(pickle.loads(pickle.dumps(each)) is each, copy.deepcopy(each) is each)
""",
    "slots": """
class Slotted(nn.Module):
    __slots__ = ("inner_name", "training", "_modules", "_parameters")
    def forward(self, x): return net(x)
print(Slotted()(x), Slotted()(x))
""",
    "odd modules": """
class Odd(Net):
    def forward(self, x): return net(x)
for held in (None, [], {1: net}, {"x": 3}, {"x": None, "y": net}, 7):
    odd = Odd(); odd.__dict__["_modules"] = held; print(odd(x))
class Bare(nn.Module):
    def __init__(self): pass
    def forward(self, x): return x
try: print(Bare()(x))
except AttributeError as error: print(error)
class Hiding(Net):
    def __getattribute__(self, name):
        if name in ("training", "__dict__"): print("asked", name)
        return super().__getattribute__(name)
print(Hiding()(x))
""",
    "tracebacks": """
import traceback
class Broken(Net):
    def forward(self, x): raise ValueError("mine")
try: Broken()(x)
except ValueError: traceback.print_exc()
try: nn.Sequential(net, Broken())(x)
except ValueError: traceback.print_exc()
try: net()
except TypeError: traceback.print_exc()
try: nn.Module()(x)
except NotImplementedError: traceback.print_exc()
""",
    "copies": """
import copy, pickle
other, optimizer = copy.deepcopy(net), sgd()
step(other)
print(pickle.loads(pickle.dumps(other)).proj.weight, list(net.state_dict()), copy.deepcopy(optimizer).state_dict())
""",
    "custom function": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): raise ValueError("mine")
try: Double.apply(net(x)).sum().backward()
except ValueError as error: print(error)
""",
    "generators": """
class Stream(Net):
    def forward(self, x):
        for _ in range(3): yield net(x)
stream = Stream()(x); print(next(stream)); stream.close(); print([y.shape for y in Stream()(x)])
""",
    "checkpoint": """
from torch.utils.checkpoint import checkpoint
for reentrant in (True, False):
    y = torch.ones(1, 2, requires_grad=True)
    checkpoint(net, y, use_reentrant=reentrant).sum().backward(); print(y.grad)
""",
    "wrong calls": """
for call in (lambda: torch.optim.Optimizer.__init__(), lambda: torch.optim.SGD(), lambda: torch.optim.SGD([], lr=1),
             lambda: torch.autograd.backward(), lambda: torch.autograd.grad(x, x), lambda: nn.Module.__call__(),
             lambda: nn.utils.clip_grad_norm_(), lambda: torch.amp.GradScaler.step(), lambda: x.backward()):
    try: call()
    except Exception as error: print(type(error), error)
print(net(x))
""",
    "places": """
import sys, traceback
net.register_full_backward_hook(lambda module, gradients, _: None)
warnings.filterwarnings("error", category=UserWarning, module="__main__")
class Own(torch.optim.SGD):
    def __init__(self, parameters):
        warnings.warn("own", stacklevel=3); super().__init__(parameters, lr=0.1)
class Shown:
    def __len__(self): return 1
    def __getitem__(self, _): print([(each.name, each.lineno) for each in traceback.extract_stack()][-6:]); return 1
def grown():
    return nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
scaler = torch.amp.GradScaler("cpu")
y = torch.ones(2, requires_grad=True); (y * float("nan")).sum().backward(); net.proj.bias.grad = y.grad
tries = [lambda: net(x).sum().backward(), lambda: torch.optim.SGD([]), lambda: torch.optim.Optimizer([1], {}), grown,
         lambda: x.sum().backward(), lambda: torch.autograd.grad(x, x), lambda: scaler.step(3),
         lambda: scaler.unscale_(3),
         lambda: next(iter(torch.utils.data.DataLoader(Shown()))), lambda: Own(net.parameters()), lambda: Own()]
for each in tries:
    try: each()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        print(repr(error), [(frame.name, frame.filename, frame.lineno) for frame in frames])
""",
    "fork": """
import os
child = os.fork()
if not child: net(x); os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), net(x))
""",
    "compile": """
for backend in ("eager", "aot_eager"):
    for full in (True, False): print(torch.compile(net, backend=backend, fullgraph=full)(x))
@torch.compile(backend="eager")
def go(net, x):
    y = net(x); print("break"); return net(y) + 1
print(go(net, x))
@torch.compile(backend="aot_eager")
def train(x): net(x).sum().backward(); return nn.utils.clip_grad_norm_(net.parameters(), 1.0)
print(train(x), torch._dynamo.utils.counters["frames"])
""",
    "export": """
print(torch.export.export(net, (x,)).graph_module.code, torch.export.export(net, (x,), strict=True).graph)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_alone(tmp_path, name):
    program = NET + PROGRAMS[name]
    plain, annotated = (run(tmp_path, f"exec({text!r})\n{program}") for text in ("", START))
    assert annotated.stdout == plain.stdout
    assert (annotated.returncode, annotated.stderr) == (plain.returncode, plain.stderr)


LOG = """
import sys, tcprof.annotate as annotation
names = []
class Written:
    push = start = lambda _, name: names.append(name)
    pop = end = mark = lambda *_: None
annotation.open_ranges = Written
annotation.start()
"""


def test_a_loss_made_anew_in_each_step_has_one_name_and_models_without_end_a_bounded_number():
    script = """
for _ in range(2001): nn.MSELoss()(x, x)
models = [Net() for _ in range(200)]
for each in models: each(x)
names = {name for name in names if "." not in name}
print(len([name for name in names if "Loss" in name]), len([name for name in names if name.startswith("Net")]))
"""
    assert run_forked(f"exec({LOG!r})\n{NET}{script}").stdout == "1 64\n"


STARTED = {"script": "train.py", "folder": "app", "archive": "app.zip", "module": "-m train", "package": "-m app"}
MAIN = """
import pickle, sys, threading, time, helper
class Mine: pass
def late():
    threading.main_thread().join(); print(type(pickle.loads(pickle.dumps(Mine()))) is Mine)
threading.Thread(target=late).start()
print(sys.argv[1:], sys.path[:2], helper.__name__, __name__, __file__, sorted(k for k in globals() if k[:2] == "__"))
print(type(__loader__).__name__, sys.modules["__main__"].__dict__ is globals())
"""


@pytest.mark.parametrize("how", [*STARTED])
def test_python_m_starts_a_program_as_python_does(tmp_path, how):
    (tmp_path / "app").mkdir()
    (tmp_path / "lib").mkdir()
    for name in ("train.py", "app/__main__.py"):
        (tmp_path / name).write_text(MAIN, encoding="utf-8")
    (tmp_path / "lib" / "helper.py").write_text("", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "zipapp", "app", "-o", "app.zip"], cwd=tmp_path, check=True)
    path = [str(tmp_path / "lib"), str(PACKAGE.parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    plain, annotated = (
        subprocess.run(
            [sys.executable, *start, *STARTED[how].split(), "--fast"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
        )
        for start in ((), ("-m", "tcprof.annotate"))
    )
    assert plain.stdout.endswith("True\n"), plain.stderr
    assert (annotated.stdout, annotated.stderr) == (plain.stdout, plain.stderr)
