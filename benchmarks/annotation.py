"""What annotation costs a step alone: switched off and on in turn, in one process.

    python benchmarks/annotation.py [--seconds 35] [--level modules] [resnet llama mlp]

Blocks of 20 steps take turns, in random order within a round; a block's figure is its time by its steps, with the GPU
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
STEPS = 20
DRAWS = 4000


def resnet() -> Callable[[], None]:
    """ResNet-50 of torchvision in bfloat16, batches of 8."""
    from torchvision.models import resnet50

    model = resnet50().to(DEVICE, torch.bfloat16, memory_format=torch.channels_last)
    images = torch.randn(8, 3, 224, 224, device=DEVICE, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
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


PROGRAMS = {"resnet": resnet, "llama": llama, "mlp": mlp}


def time_block(step: Callable[[], None], level: str | None) -> float:
    """Seconds of a step."""
    with tcprof.annotate(level=level) if level else contextlib.nullcontext():
        for _ in range(2):
            step()
        wait()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        wait()
        return (time.perf_counter() - begin) / STEPS


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


def measure(step: Callable[[], None], level: str, seconds: float) -> np.ndarray:
    """Times of a round's block without and with annotation."""
    ways = (None, level)
    for way in ways * 2:
        time_block(step, way)
    rounds = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = {way: time_block(step, way) for way in random.sample(ways, 2)}
        rounds.append([found[way] for way in ways])
    return np.array(rounds)


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--seconds", type=float, default=35, help="for each program; default: %(default)s")
    parser.add_argument("--level", default="modules", help="of annotation; default: %(default)s")
    options = parser.parse_args()
    print("| program | calls of modules | rounds | step, off | on / off |\n|---|---:|---:|---:|---|")
    for name in options.programs:
        step = PROGRAMS[name]()
        times = measure(step, options.level, options.seconds)
        ratios = times[:, 1] / times[:, 0]
        drawn = np.median(np.random.default_rng(0).choice(ratios, (DRAWS, len(ratios))), axis=1)
        low, high = np.percentile(drawn, (2.5, 97.5))
        print(
            f"| {name} | {count_calls(step)} | {len(times)} | {1e3 * np.median(times[:, 0]):.2f} ms "
            f"| {np.median(ratios):.3f} ({low:.3f} to {high:.3f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
