"""What PyTorch's ``emit_nvtx(record_shapes=True)`` would write of a program that runs on a CPU, where it cannot run.

PyTorch's own execution trace has all that it is written from: names, numbers and sizes of the ops, what they lie in,
and which tensor is whose output. Each product, convolution and attention launches one kernel.
"""

import json
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builders import TraceBuilder

import tcprof
from tcprof.analysis import Analysis
from tcprof.annotate.steps import DOMAIN

MINE = "mine: "  # what is a range of tcprof's domain begins with this
TENSOR_KERNEL = "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off"
LAUNCHING = frozenset(
    (
        *("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_convolution"),
        "aten::convolution_backward",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    )
)
_TICK, _KERNEL = 1_000, 10_000  # ns


def record(program: Callable[[], object], folder: Path) -> list[dict[str, Any]]:
    """The nodes of the execution trace of a program."""
    from torch.profiler import ExecutionTraceObserver

    observer = ExecutionTraceObserver()
    observer.register_callback(str(folder / "trace.json"))
    observer.start()
    try:
        program()
    finally:
        observer.stop()
        observer.unregister_callback()
    nodes = json.loads((folder / "trace.json").read_text())["nodes"]
    return [node | {each["name"]: each["value"] for each in node["attrs"]} for node in nodes]


@contextmanager
def opened(name: str) -> Any:
    import torch

    with torch.profiler.record_function(f"{MINE}{name}"):
        yield


def name_modules(net: Any, root: str) -> None:
    """Have a range around each call of each module, and one more where a backward pass calls it."""
    import torch

    stack: list[Any] = []

    def push(module: Any, _: Any) -> None:
        again = torch._C._current_graph_task_id() != -1 and not stack
        names = ["recompute"] * again + [paths[module]]
        ranges = [torch.profiler.record_function(f"{MINE}{name}") for name in names]
        for each in ranges:
            each.__enter__()
        stack.append(ranges)

    def pop(*_: Any) -> None:
        for each in reversed(stack.pop()):
            each.__exit__(None, None, None)

    paths = {module: f"{root}.{name}" if name else root for name, module in net.named_modules()}
    for module in paths:
        module.register_forward_pre_hook(push)
        module.register_forward_hook(pop, always_call=True)


class Writer:
    """Writes the nodes of an execution trace as ranges."""

    def __init__(self, nodes: list[dict[str, Any]], launching: frozenset[str] = LAUNCHING) -> None:
        self.builder = TraceBuilder().gpu()
        self._launching = launching
        self._nodes = {node["id"]: node for node in nodes}
        self._inside: dict[int, list[int]] = {}
        for node in sorted(self._nodes):
            self._inside.setdefault(self._nodes[node]["ctrl_deps"], []).append(node)
        self._time = 0
        self._makers: dict[int, tuple[int, int]] = {}  # as emit_nvtx has it: by the address of a tensor
        self._launched: list[int] = []
        for number, node in sorted(self._nodes.items()):
            if node["ctrl_deps"] != number and node["name"].endswith("|thread]"):
                self._write(number)
        for number, launched in enumerate(self._launched):
            at = self._time + (number + 1) * _KERNEL
            self.builder.kernel(TENSOR_KERNEL, at, at + _KERNEL, launched=launched)
        self.builder.samples([50] * (len(self._launched) + 3), start=self._time, period=_KERNEL)

    def _write(self, number: int) -> None:
        node, start = self._nodes[number], self._tick()
        name = self._name(node)
        if node["name"] in self._launching:
            self._launched.append(self._tick())
        for each in self._inside.get(number, []):
            self._write(each)
        for place, (value, kind) in enumerate(zip(node["outputs"]["values"], node["outputs"]["types"], strict=True)):
            if kind.startswith("Tensor"):
                self._makers[value[0]] = node["rf_id"], place
        end = self._tick()
        if node["name"].startswith(MINE):
            self.builder.range(node["name"].removeprefix(MINE), start, end, domain=DOMAIN)
        elif not node["name"].startswith("["):
            self.builder.range(name, start, end)

    def _tick(self) -> int:
        self._time += _TICK
        return self._time

    def _name(self, node: dict[str, Any]) -> str:
        """As torch/csrc/profiler/util.cpp puts it together."""
        sequence = f", seq = {node['seq_id']}" if node["seq_id"] >= 0 else ""
        sizes: list[list[int]] = []
        inputs: list[tuple[int, int]] = []
        values = node["inputs"]
        for value, kind, shape in zip(values["values"], values["types"], values["shapes"], strict=True):
            if kind.startswith("Tensor"):
                sizes.append(shape)
                inputs.append(self._makers.get(value[0], (0, -1)))
            elif "Tensor" in kind and value:
                sizes += shape
                inputs += [self._makers.get(each[0], (0, -1)) for each in value]
            else:
                sizes.append([])
                inputs.append((0, -1))
        ids = ", ".join(f"({op},{output})" for op, output in inputs)
        told = f", sizes = {sizes}" if sizes else ""
        return f"{node['name']}{sequence}, op_id = {node['rf_id']}{told}" + (f", input_op_ids = [{ids}]" if ids else "")


def read_program(program: Callable[[], object], folder: Path, launching: frozenset[str] = LAUNCHING) -> Analysis:
    return tcprof.read(Writer(record(program, folder), launching).builder.write(folder), step="step").analysis
