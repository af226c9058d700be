"""Train a residual convolution network in float32, TF32 or mixed precision, channels first or channels last.

Tensor Cores want the channels of a pixel side by side (channels last); with channels first, cuDNN makes copies.
"""

import argparse

import nvtx
import torch
from session import add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor, nn
from torch.nn import functional

WARM_UP_STEPS = 5
CLASSES = 10
CHANNELS = (64, 128, 256, 512)


class Block(nn.Module):
    """Two convolutions added to what came in; the first may halve the image."""

    def __init__(self, channels_in: int, channels: int) -> None:
        super().__init__()
        stride = 1 if channels_in == channels else 2
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, images out."""
        inner = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


def network() -> nn.Sequential:
    """As ResNet-18, for images of any size."""
    blocks = []
    for before, channels in zip((CHANNELS[0], *CHANNELS), CHANNELS, strict=False):
        blocks += [Block(before, channels), Block(channels, channels)]
    stem = (nn.Conv2d(3, CHANNELS[0], 7, 2, padding=3, bias=False), nn.BatchNorm2d(CHANNELS[0]), nn.ReLU())
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS[-1], CLASSES))
    return nn.Sequential(*stem, nn.MaxPool2d(2), *blocks, *head)


def draw_images(options: argparse.Namespace) -> tuple[Tensor, Tensor]:
    """One batch of noise, each image with the pattern of its class in it, and the classes."""
    generator = torch.Generator().manual_seed(options.seed)
    patterns = torch.randn(CLASSES, 3, options.size, options.size, generator=generator)
    labels = torch.randint(CLASSES, (options.batch_size,), generator=generator)
    noise = torch.randn(options.batch_size, 3, options.size, options.size, generator=generator)
    return noise + 0.5 * patterns[labels], labels


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp16")
    parser.add_argument("--channels-last", action="store_true", help="the channels of a pixel side by side")
    add_sizes(parser, {"steps": 20, "batch_size": 128, "size": 128})
    options = parse(parser)
    if options.steps < 1 or options.batch_size < 2 or options.size < 32:
        parser.error("--steps begins at 1, --batch-size at 2, --size at 32")
    return options


def main() -> None:
    """Train on one batch until it is known by heart."""
    options = read_options()
    torch.manual_seed(options.seed)
    precision = set_precision(options.precision, options.device)
    layout = torch.channels_last if options.channels_last else torch.contiguous_format
    model = network().to(options.device, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch, labels = draw_images(options)
    if options.device == "cuda":
        batch = batch.pin_memory()
    labels = labels.to(options.device)

    def step() -> Tensor:
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                images = batch.to(options.device, non_blocking=True).to(memory_format=layout)
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
    losses, seconds = run_steps(step, options.steps, options.device)
    print(f"loss: {losses[0]:.2e} to {losses[-1]:.2e} in {len(losses)} steps")
    print_speed(seconds, options.batch_size, "images/s", options.device)


if __name__ == "__main__":
    main()
