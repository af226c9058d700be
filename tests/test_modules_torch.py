"""The backward pass brought to its modules, against what PyTorch itself knows of its autograd graph."""

from collections.abc import Iterator
from typing import Any

import pytest
from builders import TraceBuilder

from tcprof.analysis.modules.summary import assign_modules
from tcprof.analysis.modules.tree import PHASES
from tcprof.analysis.ranges.projection import attribute, build_hierarchy
from tcprof.annotate.steps import DOMAIN

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tcprof[workloads]'")


class Block(torch.nn.Module):
    """Products, norms, a sum around them, and what is done between two calls of modules."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x)) * 2))


class Net(torch.nn.Module):
    """Blocks, of which the last one is called twice, and an embedding that is also the head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 16)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(3))
        self.head = torch.nn.Linear(16, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in (*self.blocks, self.blocks[-1]):
            x = block(x)
        return self.head(x)


class Opened:
    """Which module made each node of the autograd graph: those that its outputs reach and its inputs do not."""

    def __init__(self, root: Any) -> None:
        self.of_node: dict[int, str] = {}
        self._names = {module: f"Net.{name}" if name else "Net" for name, module in root.named_modules()}
        for module in self._names:
            module.register_forward_hook(self._claim)

    def _claim(self, module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        stop = {each.grad_fn for each in inputs if torch.is_tensor(each)}
        stack = [output.grad_fn]
        while stack:
            node = stack.pop()
            if node is None or node in stop or node.name() == "torch::autograd::AccumulateGrad":
                continue
            stop.add(node)
            self.of_node.setdefault(node._sequence_nr(), self._names[module])  # inner modules end first
            stack.extend(following for following, _ in node.next_functions)


def events_of_a_step() -> tuple[list[Any], dict[int, str]]:
    """What PyTorch's profiler saw of a step, modules among it, and the module of each node."""
    torch.manual_seed(0)
    net = Net()
    opened_modules = Opened(net)
    opened: list[Any] = []

    def push(module: Any, _: Any) -> None:
        opened.append(torch.profiler.record_function(f"module {opened_modules._names[module]}"))
        opened[-1].__enter__()

    def pop(*_: Any) -> None:
        opened.pop().__exit__(None, None, None)

    for module in net.modules():
        module.register_forward_pre_hook(push)
        module.register_forward_hook(pop)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        loss = net(torch.randint(0, 10, (4, 8))).square().mean()
        loss.backward()
    return list(profiled.profiler.kineto_results.events()), opened_modules.of_node


def ranges_of(events: list[Any]) -> Iterator[tuple[str, str, int, int, int]]:
    """The events as ``emit_nvtx`` and the annotation name them: domain, name, start, end and thread."""
    for number, event in enumerate(events, start=1):
        start, end = event.start_ns(), event.start_ns() + event.duration_ns()
        name, sequence = event.name(), event.sequence_nr()
        if name.startswith("module "):
            yield DOMAIN, name.removeprefix("module "), start, end, event.start_thread_id()
        elif event.start_thread_id():
            told = f", seq = {sequence}" if sequence >= 0 else ""
            yield "", f"{name}{told}, op_id = {number}", start, end, event.start_thread_id()


def test_each_node_comes_to_the_module_that_made_it(tmp_path):
    """Each node launches one kernel, which goes by the module that autograd's graph says."""
    events, made_by = events_of_a_step()
    builder = TraceBuilder()
    found = sorted(ranges_of(events), key=lambda each: (each[2], -each[3]))
    origin = found[0][2]
    forward = [each for each in found if each[0] == DOMAIN]
    builder.range("forward", forward[0][2] - origin, forward[-1][3] - origin, domain=DOMAIN, thread=forward[0][4])
    expected: list[str] = []
    for domain, name, start, end, thread in found:
        builder.range(name, start - origin, end - origin, domain=domain, thread=thread)
        if "Backward0, seq" in name and "evaluate_function" not in name:
            sequence = int(name.split("seq = ")[1].split(",")[0])
            if sequence in made_by:
                at = 10_000_000_000 + 10 * len(expected)
                builder.kernel("k", at, at + 5, launched=start - origin, thread=thread)
                expected.append(made_by[sequence])
    trace = builder.trace(tmp_path)
    activities = trace.activities()
    hierarchy = build_hierarchy(trace.ranges())
    launches = trace.api_calls()
    attribution = attribute(hierarchy, launches, activities, trace.marks())
    assignment = assign_modules(hierarchy, attribution, len(activities))
    names = assignment.modules["module"].to_numpy()
    assert len(expected) > 40
    assert {"Net.embed", "Net.head", "Net.blocks.2.up", "Net.blocks.0"} <= set(expected)
    assert names[assignment.module].tolist() == expected
    assert {PHASES[phase] for phase in assignment.phase} == {"backward"}
