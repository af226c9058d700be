"""Train a linear classifier on drawn clothes, fed by a loader of your choice, and look at it with two profilers.

The loader decides here, not the Tensor Cores: try --loader cpu, pinned and gpu, and then any --precision. Nsight
Systems sees the NVTX ranges and what ran on the GPU in each; torch.profiler sees operators and kernels, and no range.
"""

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import nvtx
import torch
from session import add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

WARM_UP_STEPS = 5
SIDE = 28

# T-shirt, trousers, pullover, dress, coat, sandal, shirt, sneaker, bag and boot in 7 x 7 dots, row by row from the top.
SHAPES = (
    "0110110 1111111 1011101 0011100 0011100 0011100 0000000",
    "0011100 0011100 0010100 0010100 0010100 0010100 0010100",
    "0110110 1111111 1111111 1111111 1011101 1011101 0011100",
    "0010100 0011100 0001000 0011100 0011100 0111110 1111111",
    "0110110 1111111 1110111 1110111 1010101 1010101 0110110",
    "0000000 0000000 0000010 0000101 0111010 1010110 1111111",
    "0111110 1110111 1111111 1011101 0010100 0011100 0011100",
    "0000000 0000000 0000000 0000110 0111111 1111111 1111111",
    "0001000 0010100 0100010 1111111 1111111 1111111 1111111",
    "0000111 0000111 0000111 0000111 0111111 1111111 1101111",
)


class Clothes(Dataset):
    """Images as bytes, as a file would hold them, which cost some work each time that they are asked for."""

    def __init__(self, count: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(len(SHAPES), (count,), generator=generator)
        dots = torch.tensor([[255.0 * int(dot) for dot in rows.replace(" ", "")] for rows in SHAPES])
        shapes = functional.interpolate(dots.view(-1, 1, 7, 7), size=(SIDE, SIDE), mode="bilinear")
        contrast = 0.3 + 0.7 * torch.rand(count, 1, 1, 1, generator=generator)
        noise = 160 * torch.randn(count, 1, SIDE, SIDE, generator=generator)
        self.images = (shapes[self.labels] * contrast + noise).clamp(0, 255).byte()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int | slice) -> tuple[Tensor, Tensor]:
        return (self.images[place].float() / 255 - 0.5) * 2, self.labels[place]


def endless(options: argparse.Namespace) -> Iterator[list[Tensor] | tuple[Tensor, Tensor]]:
    """Batches without end, in a new order each time that all images were seen."""
    clothes = Clothes(options.images, seed=0)
    if options.loader == "gpu":  # all are prepared and copied once; workers could not share what lies on a GPU
        images, labels = (part.to(options.device) for part in clothes[:])
        while True:
            for places in torch.randperm(len(clothes), device=options.device).split(options.batch_size):
                if len(places) == options.batch_size:
                    yield images[places], labels[places]
    settings = {"num_workers": options.workers, "pin_memory": options.loader == "pinned" and options.device == "cuda"}
    if options.workers > 0:
        settings |= {"prefetch_factor": options.prefetch_factor, "persistent_workers": True}
    loader = DataLoader(clothes, options.batch_size, shuffle=True, drop_last=True, **settings)
    while True:
        yield from loader


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp32")
    parser.add_argument("--loader", choices=("cpu", "gpu", "pinned"), default="cpu", help="default: %(default)s")
    sizes = {"steps": 200, "batch_size": 256, "images": 20_000, "prefetch_factor": 2, "workers": 2}
    add_sizes(parser, sizes)
    parser.add_argument("--torch-profiler", action="store_true", help="print its table; not while nsys records")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write torch.profiler's Chrome trace")
    options = parse(parser)
    if any(getattr(options, name) < 1 for name in sizes if name != "workers") or options.workers < 0:
        parser.error("sizes begin at 1, --workers at 0")
    if options.batch_size > options.images:
        parser.error("--batch-size is larger than --images")
    if options.trace and not (options.torch_profiler and options.trace.parent.is_dir()):
        parser.error("--trace needs --torch-profiler, and a folder that is there")
    return options


def main() -> None:
    """Train, then validate."""
    options = read_options()
    torch.manual_seed(options.seed)
    precision = set_precision(options.precision, options.device)
    model = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, len(SHAPES))).to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batches, waits = endless(options), []

    def step() -> Tensor:
        with nvtx.annotate("step"):
            begin = time.perf_counter()
            with nvtx.annotate("load"):  # until the loader has the next batch
                batch = next(batches)
            waits.append(time.perf_counter() - begin)
            with nvtx.annotate("copy"):  # the GPU keeps the order: what follows needs no waiting for it
                images, labels = (part.to(options.device, non_blocking=options.loader == "pinned") for part in batch)
            with nvtx.annotate("forward"), precision.autocast():
                loss = functional.cross_entropy(model(images), labels)
            with nvtx.annotate("backward"):
                precision.scaler.scale(loss).backward()
            with nvtx.annotate("optimizer"):
                precision.scaler.step(optimizer)
                precision.scaler.update()
                optimizer.zero_grad()
        return loss.detach()

    with nvtx.annotate("warm-up"):
        for _ in range(WARM_UP_STEPS):
            step()
    profiling = torch.profiler.profile() if options.torch_profiler else contextlib.nullcontext()
    with profiling as profiler:
        losses, seconds = run_steps(step, options.steps, options.device)
    print(f"loss: {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} steps")
    print_speed(seconds, options.batch_size, "images/s", options.device)
    print(f"waited for the loader: {100 * sum(waits[WARM_UP_STEPS:]) / options.steps / seconds:.0f} % of it")
    validate(model, options.device)
    if profiler:
        print(profiler.key_averages().table(sort_by=f"self_{options.device}_time_total", row_limit=8))
        if options.trace:
            profiler.export_chrome_trace(str(options.trace))


@torch.inference_mode()
def validate(model: nn.Module, device: str) -> None:
    """Print the share of images not trained on that are told right."""
    images, labels = (part.to(device) for part in Clothes(2_000, seed=1)[:])
    with nvtx.annotate("validation"):
        right = (model(images).argmax(dim=1) == labels).float().mean().item()
    print(f"validation accuracy: {100 * right:.2f} %")


if __name__ == "__main__":
    main()
