"""Small programs on the CPU, run annotated in a process of their own; prints the ranges of each as JSON.

    python tests/annotated_programs.py

A range is a line: "> name" for one that is pushed, "[ name" for one that is started, indented by what is pushed;
"<" and "]" where they end. Nothing is imported from PyTorch before the annotation waits for it.
"""

from __future__ import annotations  # it may run in Python 3.8

import contextlib
import functools
import json
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import tcprof.annotate
from tcprof.annotate.ops import MODULES

LOG: list[str] = []


class Written:
    """Ranges that are written down."""

    def __init__(self) -> None:
        self.depth = 0

    def push(self, name: str) -> None:
        LOG.append("  " * self.depth + f"> {name}")
        self.depth += 1

    def pop(self) -> None:
        self.depth -= 1
        LOG.append("  " * self.depth + "<")

    def start(self, name: str) -> str:
        LOG.append("  " * self.depth + f"[ {name}")
        return name

    def end(self, handle: str) -> None:
        LOG.append("  " * self.depth + f"] {handle}")

    def mark(self, name: str) -> None:
        LOG.append("  " * self.depth + f"- {name}")


assert "torch" not in sys.modules
tcprof.annotate.open_ranges = Written
tcprof.annotate.start()
assert "torch" not in sys.modules

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel.replicate import replicate  # noqa: E402
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts  # noqa: E402

sys.modules["torch.nn.parallel.replicate"]._broadcast_coalesced_reshape = lambda tensors, devices, detach: [
    [each * 1 for each in tensors] for _ in devices
]
warnings.simplefilter("error")  # what the annotation adds must not warn
warnings.filterwarnings("ignore", message=".*torch.cpu.amp.autocast.*deprecated")  # PyTorch 2.4 of its own call
warnings.filterwarnings("ignore", message="Guards may run slower on Python 3.13.0")
PROGRAMS: list[Callable[[], None]] = []


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS.append(function)
    return function


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(x).relu()


class Net(nn.Module):
    def __init__(self, depth: int = 1) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def loader(batches: int) -> Any:
    data = torch.utils.data.TensorDataset(torch.ones(2 * batches, 4), torch.zeros(2 * batches, 4))
    return torch.utils.data.DataLoader(data, batch_size=2)


def sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=0.1)


@program
def training() -> None:
    net, loss = Net(), nn.MSELoss()
    optimizer = sgd(net)
    for x, y in loader(2):
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()


@program
def validation() -> None:
    net = Net()
    optimizer = sgd(net)
    for x, _ in loader(1):
        net(x).sum().backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for x, _ in loader(2):
            net(x)


class DataParallel(nn.DataParallel):
    """PyTorch's replicas, on the CPU and one after another."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: list[torch.Tensor] = []
        for replica, part in zip(replicate(self.module, [0, 1]), x.chunk(2)):  # noqa: B905 - new in Python 3.10
            thread = threading.Thread(target=lambda replica=replica, part=part: found.append(replica(part)))
            thread.start()
            thread.join()
        return torch.cat(found)


@program
def data_parallel() -> None:
    model = DataParallel(Net())
    optimizer = sgd(model)
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()


@program
def inference() -> None:
    net = Net().eval()
    with torch.inference_mode():
        for _ in range(2):
            net(torch.ones(2, 4))


@program
def accumulation() -> None:
    net = Net()
    optimizer = sgd(net)
    for number, (x, _) in enumerate(loader(4)):
        net(x).sum().backward()
        if number % 2:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()


@program
def by_hand() -> None:
    net = Net()
    for _ in range(3):
        net.zero_grad()
        net(torch.ones(2, 4)).sum().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for each in net.parameters():
            each.data.add_(each.grad, alpha=-0.1)
    net.eval()
    with torch.no_grad():
        net(torch.ones(2, 4))
        net(torch.ones(2, 4))


@program
def by_hand_at_first() -> None:
    net = Net()
    for _ in range(2):
        net(torch.ones(2, 4)).sum().backward()
    optimizer = sgd(net)
    for _ in range(2):
        net(torch.ones(2, 4)).sum().backward()
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()


@program
def two_models() -> None:
    one, other = Net(), Net()
    first, second = sgd(one), sgd(other)
    for _ in range(3):
        for net, optimizer in ((one, first), (other, second)):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()


@program
def teacher() -> None:
    net, guide = Net(), Net().eval()
    optimizer = sgd(net)
    for x, _ in loader(2):
        with torch.no_grad():
            goal = guide(x)
        (net(x) - goal).sum().backward()
        optimizer.step()


@program
def gradient_penalty() -> None:
    net = Net()
    optimizer = sgd(net)
    x = torch.ones(2, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    slope.square().sum().backward()
    optimizer.step()


class Checkpointed(Net):
    """Each layer's forward pass is run again in the backward pass; ``inner`` layers of it once more."""

    def __init__(self, use_reentrant: bool, inner: bool = False) -> None:
        super().__init__(depth=2)
        self.run = functools.partial(checkpoint, use_reentrant=use_reentrant)
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = self.run(self.nested if self.inner else layer, x)
        return x

    def nested(self, x: torch.Tensor) -> torch.Tensor:
        return self.run(self.layers[0], self.layers[1](x))


def train_checkpointed(net: nn.Module) -> None:
    optimizer = sgd(net)
    net(torch.ones(2, 4, requires_grad=True)).sum().backward()
    optimizer.step()


@program
def checkpointing() -> None:
    train_checkpointed(Checkpointed(use_reentrant=False))


@program
def checkpointing_reentrant() -> None:
    train_checkpointed(Checkpointed(use_reentrant=True))


@program
def checkpointing_nested() -> None:
    train_checkpointed(Checkpointed(use_reentrant=False, inner=True))


@program
def checkpointing_nested_reentrant() -> None:
    with warnings.catch_warnings():  # the inner one's input needs no gradient while the outer one runs without any
        warnings.filterwarnings("ignore", message="None of the inputs have requires_grad=True")
        train_checkpointed(Checkpointed(use_reentrant=True, inner=True))


class Parts(nn.Module):
    """A checkpointed method, of which a module is only a part."""

    def __init__(self, **how: object) -> None:
        super().__init__()
        self.proj, self.how = nn.Linear(4, 4), how

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.body, x, **self.how)

    def body(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(x.sin()).cos().exp()


@program
def checkpointing_parts() -> None:
    kept = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.sin.default])
    for how in ({"use_reentrant": True}, {}, {"early_stop": False}, {"context_fn": kept}):
        Parts(**{"use_reentrant": False, **how})(torch.ones(2, 4, requires_grad=True)).sum().backward()


@program
def checkpointing_a_model() -> None:
    checkpoint(Net(), torch.ones(2, 4, requires_grad=True), use_reentrant=False).sum().backward()


@program
def wrapped() -> None:
    class DistributedDataParallel(nn.Module):  # PyTorch's own wants a process group
        def __init__(self, module: nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.module(x)

    DistributedDataParallel(Net())(torch.ones(2, 4))


@program
def compiled() -> None:
    net = Net()
    optimizer = sgd(net)
    run = torch.compile(net, backend="eager", fullgraph=True)
    run(torch.ones(2, 4)).sum().backward()
    optimizer.step()


@program
def threads() -> None:
    def run() -> None:
        net = Net().eval()
        with torch.no_grad():
            for _ in range(2):
                net(torch.ones(2, 4))

    several = [threading.Thread(target=run) for _ in range(2)]
    for each in several:
        each.start()
        each.join()


class Generating(Net):
    """Calls itself for each token, as a language model does."""

    def generate(self, x: torch.Tensor, tokens: int = 2) -> torch.Tensor:
        for _ in range(tokens):
            x = self(x).softmax(-1)
        return x


class Chat(nn.Module):
    """A module whose own call generates."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Generating()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net.generate(x)


@program
def generating() -> None:
    net = Generating().eval()
    for _ in range(2):
        net.generate(torch.ones(2, 4))
    net(torch.ones(2, 4))


@program
def generating_in_a_call() -> None:
    Chat()(torch.ones(2, 4))


@program
def generating_and_failing() -> None:
    class Failing(Generating):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError

    net = Failing()
    for _ in range(2):
        with contextlib.suppress(ValueError):
            net.generate(torch.ones(2, 4))
    Net()(torch.ones(2, 4))


def main() -> None:
    found = {}
    (installed,) = tcprof.annotate._installed
    for each in PROGRAMS:
        installed._forget()
        installed.want(MODULES)
        LOG.clear()
        each()
        installed.close()
        found[each.__name__] = LOG.copy()
    json.dump(found, sys.stdout)


main()
