"""What annotation costs a step alone: switched off and on in turn, in one process.

    python benchmarks/annotation.py [--seconds 35] [--steps 20] [--level modules ops] [resnet vit llama mlp]

Under nsys (``nsys profile -t cuda,nvtx python benchmarks/annotation.py``) the marks of the backward pass count, too.
Blocks of steps take turns, in random order within a round; a block's figure is its time by its steps, with the GPU
waited for at both ends, and without the first two. Printed: the median block without, the median of the ratios within
rounds, and its 95 % interval (bootstrap over rounds). A GPU is used if there is one; torchvision and transformers are
needed for a program each.
"""

import argparse
import contextlib
import random
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

import tcprof

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DRAWS = 4000


def resnet() -> Callable[[], None]:
    """ResNet-50 of torchvision in bfloat16, batches of 8."""
    from torchvision.models import resnet50

    model = resnet50().to(DEVICE, torch.bfloat16, memory_format=torch.channels_last)
    images = torch.randn(8, 3, 224, 224, device=DEVICE, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    return make_step(model, images, torch.randint(0, 1000, (8,), device=DEVICE))


def vit() -> Callable[[], None]:
    """ViT-B/16 of torchvision in bfloat16, batches of 8."""
    from torchvision.models import vit_b_16

    model = vit_b_16().to(DEVICE, torch.bfloat16)
    images = torch.randn(8, 3, 224, 224, device=DEVICE, dtype=torch.bfloat16)
    return make_step(model, images, torch.randint(0, 1000, (8,), device=DEVICE))


def llama() -> Callable[[], None]:
    """A small Llama of transformers, in bfloat16."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 8192, "hidden_size": 512, "intermediate_size": 1376}
    config = LlamaConfig(num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=8, **sizes)
    model = LlamaForCausalLM(config).to(DEVICE, torch.bfloat16)
    tokens = torch.randint(0, 8192, (4, 256), device=DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()

    return step


def mlp() -> Callable[[], None]:
    """Sixteen layers of 256: as many calls as it has tiny products."""
    layers = [part for _ in range(16) for part in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10)).to(DEVICE)
    return make_step(model, torch.randn(64, 256, device=DEVICE), torch.randint(0, 10, (64,), device=DEVICE))


def make_step(model: nn.Module, inputs: Tensor, classes: Tensor) -> Callable[[], None]:
    """A training step of a classifier."""
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9), nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss(model(inputs), classes).backward()
        optimizer.step()

    return step


PROGRAMS = {"resnet": resnet, "vit": vit, "llama": llama, "mlp": mlp}


def time_block(step: Callable[[], None], level: str | None, steps: int) -> float:
    """Seconds of a step."""
    with tcprof.annotate(level=level) if level else contextlib.nullcontext():
        for _ in range(2):
            step()
        wait()
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        return (time.perf_counter() - begin) / steps


def wait() -> None:
    """For the GPU."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def count_calls(step: Callable[[], None]) -> int:
    """Calls of modules in a step."""
    called: list[nn.Module] = []
    handle = nn.modules.module.register_module_forward_pre_hook(lambda module, _: called.append(module))
    step()
    handle.remove()
    return len(called)


def measure(step: Callable[[], None], levels: list[str], steps: int, seconds: float) -> np.ndarray:
    """Times of a round's block without annotation, then with each level."""
    ways = (None, *levels)
    for way in ways * 2:
        time_block(step, way, steps)
    rounds = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = {way: time_block(step, way, steps) for way in random.sample(ways, len(ways))}
        rounds.append([found[way] for way in ways])
    return np.array(rounds)


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--seconds", type=float, default=35, help="for each program; default: %(default)s")
    parser.add_argument("--steps", type=int, default=20, help="of a block; default: %(default)s")
    parser.add_argument("--level", nargs="+", default=["modules"], help="of annotation; default: modules")
    options = parser.parse_args()
    columns = [f"{level} / off" for level in options.level]
    print(f"| program | calls of modules | rounds | step, off | {' | '.join(columns)} |")
    print("|---|---:|---:|---:|" + "---|" * len(columns))
    for name in options.programs or PROGRAMS:
        step = PROGRAMS[name]()
        times = measure(step, options.level, options.steps, options.seconds)
        ratios = times[:, 1:] / times[:, :1]
        rows = np.random.default_rng(0).integers(0, len(ratios), (DRAWS, len(ratios)))
        low, high = np.percentile(np.median(ratios[rows], axis=1), (2.5, 97.5), axis=0)
        told = zip(np.median(ratios, axis=0), low, high, strict=True)
        cells = " | ".join(f"{middle:.3f} ({least:.3f} to {most:.3f})" for middle, least, most in told)
        off = f"{1e3 * np.median(times[:, 0]):.2f} ms"
        print(f"| {name} | {count_calls(step)} | {len(times)} | {off} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
