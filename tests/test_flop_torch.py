"""Useful FLOP of modules, against those that PyTorch counts itself: ``torch.utils.flop_counter``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded_ops import name_modules, opened, read_program

from tcprof.analysis import Analysis

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="needs torch: pip install 'tcprof[workloads]'")
nn = torch.nn

TOLERANCE = 1e-3
WIDTH, HIDDEN, HEADS, LAYERS, VOCABULARY, BATCH, LENGTH = 32, 88, 4, 2, 50, 2, 24


class Mlp(nn.Module):
    """Products with and without a bias, of a batch and of sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 8, bias=False)

    def forward(self, x: Any) -> Any:
        return self.down(nn.functional.gelu(self.up(x)))


class Attention(nn.Module):
    """Causal attention of several heads."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        parts = self.qkv(x).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(attended.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.attention = Attention()
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.norms[0](x))
        inside = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(inside)) * self.up(inside))


class Llama(nn.Module):
    """A small one, whose layers may be computed again in the backward pass."""

    def __init__(self, checkpointed: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self._checkpointed = checkpointed

    def forward(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for layer in self.layers:
            x = self._run_again(layer, x) if self._checkpointed else layer(x)
        return self.head(x)

    @staticmethod
    def _run_again(layer: Any, x: Any) -> Any:
        with torch.utils.checkpoint.set_checkpoint_early_stop(False):  # PyTorch's execution trace loses track of it
            return torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)


class Residual(nn.Module):
    """Two convolutions and what goes around them, where the size changes through a third."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.around = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        inside = nn.functional.relu(self.norm1(self.conv1(x)), inplace=True)
        return nn.functional.relu(self.norm2(self.conv2(inside)) + self.around(x))


class Resnet(nn.Module):
    """A small one; the images need no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3)
        self.layers = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, images: Any) -> Any:
        x = nn.functional.max_pool2d(self.stem(images), 3, 2, 1)
        return self.head(self.layers(x).mean((2, 3)))


def images() -> Any:
    return torch.randn(2, 3, 33, 33)


def tokens() -> Any:
    return torch.randint(0, VOCABULARY, (BATCH, LENGTH))


NETS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "batch": (Mlp, lambda: torch.randn(6, 16, requires_grad=True)),
    "sequences": (Mlp, lambda: torch.randn(3, 5, 16, requires_grad=True)),
    "llama": (Llama, tokens),
    "checkpointed": (lambda: Llama(checkpointed=True), tokens),
    "resnet": (Resnet, images),
}


def step(net: Any, inputs: Any, train: bool = True) -> None:
    with opened("step"):
        with opened("forward"), torch.set_grad_enabled(train):
            loss = net(inputs).square().mean()
        if train:
            with opened("backward"):
                loss.backward()


def counted(net: Any, inputs: Any, train: bool = True) -> dict[str, int]:
    """FLOP of each module, and of all together, as PyTorch counts them. It knows attention on GPUs only."""
    from torch.utils import flop_counter

    aten = torch.ops.aten
    mapping = {
        aten._scaled_dot_product_flash_attention_for_cpu: lambda *sizes, **_: flop_counter.sdpa_flop_count(*sizes[:3]),
        aten._scaled_dot_product_flash_attention_for_cpu_backward: (
            lambda *sizes, **_: flop_counter.sdpa_backward_flop_count(*sizes[:4])
        ),
    }
    with flop_counter.FlopCounterMode(display=False, custom_mapping=mapping) as mode:
        step(net, inputs, train)
    found = {name: sum(each.values()) for name, each in mode.get_flop_counts().items()}
    return {"" if name == "Global" else name: flop for name, flop in found.items()}


def flop_of(analysis: Analysis, phase: str) -> dict[str, float]:
    rows = analysis.modules[analysis.modules["phase"] == phase]
    return dict(zip(rows["module"], rows["useful_flop"], strict=True))


def prepared(name: str) -> tuple[Any, Any, str]:
    torch.manual_seed(0)
    make, make_inputs = NETS[name]
    net = make()
    return net, make_inputs(), type(net).__name__


def recorded(net: Any, inputs: Any, root: str, folder: Path, train: bool = True) -> Analysis:
    name_modules(net, root)
    return read_program(lambda: step(net, inputs, train), folder)


@pytest.mark.parametrize("name", NETS)
def test_forward_pass_of_each_module_is_as_pytorch_counts(name, tmp_path):
    net, inputs, root = prepared(name)
    expected = counted(net, inputs, train=False)
    found = flop_of(recorded(net, inputs, root, tmp_path), "forward")
    assert len(expected) > 2
    assert {module: found[module] for module in expected} == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("name", [name for name in NETS if name != "checkpointed"])
def test_step_is_as_pytorch_counts(name, tmp_path):
    net, inputs, root = prepared(name)
    expected = counted(net, inputs)
    found = flop_of(recorded(net, inputs, root, tmp_path), "all")
    assert found[""] == pytest.approx(expected[""], rel=TOLERANCE)
    if name in ("batch", "sequences"):  # what needs no gradient confuses PyTorch about the modules around it
        assert {module: found[module] for module in expected} == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.slow
def test_what_is_computed_again_is_not_useful(tmp_path):
    """All but the head is computed twice: the useful FLOP stay those of a step without checkpoints."""
    net, inputs, root = prepared("checkpointed")
    analysis = recorded(net, inputs, root, tmp_path)
    plain, _, _ = prepared("llama")
    once, again = counted(plain, inputs)[""], counted(net, inputs)[""]
    assert flop_of(analysis, "all")[""] == pytest.approx(once, rel=TOLERANCE)
    assert flop_of(analysis, "recompute")[""] == 0
    assert again > 1.2 * once
    useful = analysis.ranges.set_index("path")["useful_flop"]
    assert useful["step"] == pytest.approx(once, rel=TOLERANCE)
    assert useful["step / backward / recompute"] == 0


def test_llama_needs_what_its_parameters_and_its_attention_say(tmp_path):
    """6 FLOP for each parameter of a product and token; attention 2 products forward, and 5 backward."""
    net, inputs, root = prepared("llama")
    found = flop_of(recorded(net, inputs, root, tmp_path), "all")[""]
    parameters = LAYERS * (4 * WIDTH**2 + 3 * WIDTH * HIDDEN) + WIDTH * VOCABULARY
    attention = LAYERS * (2 + 5) * 2 * BATCH * LENGTH**2 * WIDTH
    assert found == 6 * parameters * BATCH * LENGTH + attention


def test_backward_pass_of_convolutions_is_twice_the_forward_pass(tmp_path):
    """Of the first one it is once, since no one asks for the gradient of the images."""
    net, inputs, root = prepared("resnet")
    analysis = recorded(net, inputs, root, tmp_path)
    forward, backward = flop_of(analysis, "forward"), flop_of(analysis, "backward")
    assert backward["Resnet.stem"] == forward["Resnet.stem"] == 2 * 2 * 17 * 17 * 8 * 3 * 7 * 7
    convolutions = [name for name in forward if "conv" in name or "around" in name]
    assert len(convolutions) == 7
    assert [backward[name] for name in convolutions] == [2 * forward[name] for name in convolutions]
