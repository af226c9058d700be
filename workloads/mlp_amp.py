"""Train three wide linear layers in float32, TF32 or mixed precision: time and memory of the same work, side by side.

Mixed precision saves time, since such layers are what Tensor Cores are for. It may not save memory: the
weights stay in float32, next to their copies in float16. --width 4097 shows what a size that is not
a multiple of 8 costs.
"""

import argparse
import math
import time
from collections.abc import Callable

import nvtx
import torch
from session import add_precision, add_sizes, capture, make_parser, parse, print_speed, set_precision
from torch import Tensor, nn
from torch.nn import functional

WARM_UP_STEPS = 5
CAUSES = 8  # how many numbers an input and its target are made of
MEAN_SIZE = math.sqrt(2 / math.pi)  # of a normal number
LONGEST_GRADIENT = 0.1

Batch = tuple[Tensor, Tensor]


def draw_batches(options: argparse.Namespace) -> list[Batch]:
    """Inputs and targets, both made of a few causes: targets of their absolute values, which no linear rule gives."""
    generator = torch.Generator().manual_seed(options.seed)
    to_input, to_target = torch.randn(2, CAUSES, options.width, generator=generator).to(options.device)
    batches = []
    for _ in range(options.steps):
        causes = torch.randn(options.batch_size, CAUSES, generator=generator).to(options.device)
        sizes = (causes.abs() - MEAN_SIZE) / (1 - MEAN_SIZE**2) ** 0.5  # mean 0, variance 1
        batches.append((causes @ to_input / CAUSES**0.5, sizes @ to_target / CAUSES**0.5))
    return batches


def make_step(options: argparse.Namespace) -> Callable[[Batch], Tensor]:
    """The training step on one batch; it returns the loss, its value not awaited."""
    precision = set_precision(options.precision, options.device)
    width = options.width
    layers = (nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
    model = nn.Sequential(*layers).to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    scaler = precision.scaler

    def step(batch: Batch) -> Tensor:
        inputs, targets = batch
        with nvtx.annotate("step"):
            with nvtx.annotate("forward"), precision.autocast():
                loss = functional.mse_loss(model(inputs), targets)
            with nvtx.annotate("backward"):
                scaler.scale(loss).backward()
            with nvtx.annotate("optimizer"):
                # The longest gradient allowed is that of the loss itself, so the scaler's factor must come off
                # before gradients are clipped, not in step(): that knows then, and does not divide again.
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        return loss.detach()

    return step


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp16")
    sizes = {"epochs": 3, "steps": 50, "batch_size": 512, "width": 4096}
    add_sizes(parser, sizes)
    options = parse(parser)
    if any(getattr(options, name) < 1 for name in sizes):
        parser.error("--epochs, --steps (of an epoch), --batch-size and --width begin at 1")
    return options


def main() -> None:
    """Train."""
    options = read_options()
    torch.manual_seed(options.seed)
    # All data lie on the GPU from the start: copying them would take longer than the products in 16 bits.
    batches = draw_batches(options)
    step = make_step(options)
    print(f"data: {options.steps} batches, {sum(x.nbytes + y.nbytes for x, y in batches) / 2**20:,.1f} MiB")
    with nvtx.annotate("warm-up"):
        for _ in range(WARM_UP_STEPS):
            step(batches[0])

    losses = []
    with capture(options.device):
        begin = time.perf_counter()
        for epoch in range(options.epochs):
            with nvtx.annotate(f"epoch {epoch}"):
                losses += [step(batch) for batch in batches]
        history = torch.stack(losses).tolist()  # waits for the GPU
        seconds = time.perf_counter() - begin
    per_step = seconds / len(history)
    print(f"loss: {history[0]:.4f} to {history[-1]:.4f} in {len(history)} steps")
    print(f"epochs: {options.epochs} in {seconds:.2f} s")
    print_speed(per_step, options.batch_size, "samples/s", options.device)


if __name__ == "__main__":
    main()
