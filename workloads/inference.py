"""Run the network of convnet.py on batches of many sizes, without training: float32, TF32 or 16 bits throughout.

A batch of one image gives the Tensor Cores little to do, and the GPU waits for the CPU: larger batches take hardly
longer, until the GPU is busy.
"""

import argparse
import time

import nvtx
import torch
from convnet import draw_images, network
from session import add_precision, add_sizes, capture, make_parser, parse, print_speed, set_precision
from torch import Tensor, nn
from torch.nn import functional

WARM_UP_STEPS = 5
TRAINING_STEPS = 40
TRAINING_IMAGES = 32  # of a step


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp16")
    parser.add_argument("--channels-last", action="store_true", help="the channels of a pixel side by side")
    usual = [2**power for power in range(9)]
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=usual, help="default: 1, 2, 4 and so on to 256")
    add_sizes(parser, {"steps": 20, "size": 128})
    options = parse(parser)
    if options.steps < 1 or options.size < 32 or min(options.batch_sizes) < 1:
        parser.error("--steps and --batch-sizes begin at 1, --size at 32")
    options.batch_sizes = sorted(set(options.batch_sizes))
    options.batch_size = max(TRAINING_IMAGES, *options.batch_sizes)  # how many images are drawn
    return options


def train(images: Tensor, labels: Tensor, device: str) -> nn.Module:
    """The network, trained a little: the classes of an untrained one mean nothing."""
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(TRAINING_STEPS):
        chosen = torch.randperm(len(labels))[:TRAINING_IMAGES]
        functional.cross_entropy(model(images[chosen].to(device)), labels[chosen].to(device)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def time_steps(model: nn.Module, batch: Tensor, options: argparse.Namespace) -> tuple[Tensor, float]:
    """Logits of a batch, and the seconds that a step takes."""

    def step() -> Tensor:
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                images = batch.to(options.device, non_blocking=True)
            with nvtx.annotate("forward"):
                return model(images)

    begin = time.perf_counter()
    with nvtx.annotate(f"batch {len(batch)}"):
        for _ in range(options.steps):
            logits = step()
        logits = logits.cpu()  # waits for the GPU
    return logits.float(), (time.perf_counter() - begin) / options.steps


def compare(logits: Tensor, expected: Tensor, labels: Tensor) -> None:
    """Print what the precision has cost: against the logits of the same network in float32."""
    guesses, labels = logits.argmax(dim=1), labels[: len(logits)]
    difference = ((logits - expected).abs().max() / expected.abs().max()).item()
    same = (guesses == expected.argmax(dim=1)).float().mean().item()
    print(f"largest difference from float32: {difference:.1e} of the largest logit")
    print(f"same class as in float32: {100 * same:.1f} % of {len(logits)} images")
    print(f"accuracy: {100 * (guesses == labels).float().mean().item():.1f} %")


@torch.inference_mode()
def infer(model: nn.Module, images: Tensor, labels: Tensor, options: argparse.Namespace) -> None:
    """Time each batch size, then hold the largest against float32."""
    largest = images[: options.batch_sizes[-1]]
    expected = model(largest.to(options.device)).cpu()  # in float32, before the precision is chosen
    set_precision(options.precision, options.device)
    # The whole model in 16 bits, no autocast: training keeps its weights in float32, because small updates would be
    # lost in 16 bits. Nothing is updated here, so the weights are rounded once, and nothing is cast in the steps.
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(options.precision, torch.float32)
    layout = torch.channels_last if options.channels_last else torch.contiguous_format
    model = model.to(dtype=dtype, memory_format=layout)
    batches = [largest[:size].to(dtype).contiguous(memory_format=layout) for size in options.batch_sizes]
    if options.device == "cuda":
        batches = [batch.pin_memory() for batch in batches]
        torch.cuda.reset_peak_memory_stats()  # the training is not what is measured

    with nvtx.annotate("warm-up"):
        warm_up = argparse.Namespace(**{**vars(options), "steps": WARM_UP_STEPS})
        for batch in batches:  # each size has kernels of its own
            time_steps(model, batch, warm_up)
    with capture(options.device):
        results = [time_steps(model, batch, options) for batch in batches]

    print("batch size  ms per batch  images/s")
    for size, (_, seconds) in zip(options.batch_sizes, results, strict=True):
        print(f"{size:10,}  {1e3 * seconds:12.3f}  {size / seconds:8,.0f}")
    logits, seconds = results[-1]
    print_speed(seconds, len(logits), f"images/s (batches of {len(logits):,})", options.device)
    compare(logits, expected, labels)


def main() -> None:
    """Train a little, without a range and outside the capture; then run."""
    options = read_options()
    torch.manual_seed(options.seed)
    set_precision("fp32", options.device)
    images, labels = draw_images(options)
    infer(train(images, labels, options.device), images, labels, options)


if __name__ == "__main__":
    main()
