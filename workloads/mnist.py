"""What the MNIST scripts beside this file share: all but the training step, which each shows itself.

A run has these NVTX ranges; those marked * are opened by the scripts:

    warm-up             the first steps, with the parts of any step
    epoch 0, epoch 1, ...
        step            *
            copy        * the batch from host to device
            forward     * network and loss
            backward    * gradients
            optimizer   * new weights
    test                accuracy on images not trained on

Only the epochs lie in the capture range: ``nsys profile --capture-range=cudaProfilerApi
--capture-range-end=stop`` records them whole, and nothing else.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import digits
import nvtx
import torch
from session import add_sizes, capture, make_parser, parse, print_speed
from torch import Tensor, nn

WARM_UP_STEPS = 10

Batch = tuple[Tensor, Tensor]
Step = Callable[[Tensor, Tensor], Tensor]


def start(description: str, **more: int) -> tuple[argparse.Namespace, digits.Digits, digits.Digits]:
    """Parse the command line, load the data and say what is used: the options, training set and test set.

    ``more`` are counts that only one script has, with what each usually is; they may be 0.
    """
    parser = make_parser(description)
    add_sizes(parser, {"epochs": 1, "batch_size": 64, **more})
    parser.add_argument("--steps", type=int, help="at most this many steps an epoch; default: all")
    parser.add_argument("--lr", type=float, default=1e-3, help="learning rate; default: %(default)s")
    parser.add_argument("--data", type=Path, metavar="DIR", help="MNIST as IDX files; default: draw digits")
    options = parse(parser)
    if any(value is not None and value < 1 for value in (options.epochs, options.steps, options.batch_size)):
        parser.error("--epochs, --steps and --batch-size begin at 1")
    if any(getattr(options, name) < 0 for name in more):
        parser.error(f"--{', --'.join(more)}: not below 0")
    try:
        train_set, test_set = digits.load(options.data)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    if options.batch_size > len(train_set.labels):
        parser.error(f"--batch-size is larger than the training set of {len(train_set.labels):,} images")
    name = f" ({torch.cuda.get_device_name()})" if options.device == "cuda" else ""
    origin = f"read from {options.data}" if options.data else "drawn by this script, not MNIST (see --data)"
    print(f"device: {options.device}{name}, PyTorch {torch.__version__}")
    print(f"data: {len(train_set.labels):,} training and {len(test_set.labels):,} test images {origin}")
    return options, train_set, test_set


def network() -> nn.Sequential:
    """The usual small MNIST network: two convolutions, two linear layers, 1.2 million weights."""
    return nn.Sequential(
        nn.Conv2d(1, 32, kernel_size=3),
        nn.ReLU(),
        nn.Conv2d(32, 64, kernel_size=3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),  # logits: the loss takes their log-softmax
    )


class Order:
    """Which images each batch has, in a new order each epoch; a last, smaller batch is left out."""

    def __init__(self, data: digits.Digits, options: argparse.Namespace) -> None:
        self.count, self.size = len(data.labels), options.batch_size
        self.shuffle = torch.Generator().manual_seed(options.seed)

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self.count, generator=self.shuffle)
        yield from order[: self.count - self.count % self.size].split(self.size)


class Batches:
    """The batches themselves, cut from the images in memory."""

    def __init__(self, data: digits.Digits, options: argparse.Namespace) -> None:
        self.data, self.order = data, Order(data, options)

    def __iter__(self) -> Iterator[Batch]:
        return ((self.data.images[places], self.data.labels[places]) for places in self.order)


def train(
    step: Step, train_set: digits.Digits, options: argparse.Namespace, batches: Iterable[Batch] | None = None
) -> None:
    """Warm up, then train for some epochs while the profiler captures.

    ``step`` trains on one batch of images and labels and returns the loss as a tensor, its value not awaited.
    ``batches`` are gone through once an epoch; a script that has none of its own gets ``Batches``.
    """
    batches = batches or Batches(train_set, options)
    # The first steps load kernels, choose convolution algorithms, grow the memory pool and create the
    # optimizer's state. They train too, but belong to no epoch: no later step looks like them.
    with nvtx.annotate("warm-up"):
        _run(step, islice(batches, WARM_UP_STEPS))

    step_times = []
    with capture(options.device):
        for epoch in range(options.epochs):
            begin = time.perf_counter()
            with nvtx.annotate(f"epoch {epoch}"):
                loss, steps = _run(step, islice(batches, options.steps))
            seconds = time.perf_counter() - begin
            step_times.append(seconds / steps)
            print(f"epoch {epoch}: mean loss {loss:.4f}, {steps} steps in {seconds:.2f} s")

    median = statistics.median(step_times)
    print_speed(median, options.batch_size, "images/s (median epoch)", options.device)


@torch.inference_mode()
def test(model: nn.Module, test_set: digits.Digits, options: argparse.Namespace) -> None:
    """Print the accuracy, computed in float32 for every script: the same yardstick, however it trained."""
    model.eval()
    correct = torch.zeros((), dtype=torch.int64, device=options.device)
    with nvtx.annotate("test"):
        for images, labels in zip(test_set.images.split(1000), test_set.labels.split(1000), strict=True):
            guesses = model(images.to(options.device)).argmax(dim=1)
            correct += (guesses == labels.to(options.device)).sum()
        print(f"test accuracy: {100 * correct.item() / len(test_set.labels):.2f} %")


def _run(step: Step, batches: Iterator[Batch]) -> tuple[float, int]:
    """Train on the batches: their mean loss and their number."""
    losses = [step(images, labels) for images, labels in batches]
    # .item() waits for the GPU: once for all steps, so that timing them does not change what is timed.
    return torch.stack(losses).mean().item(), len(losses)
