"""Train a small residual network in bfloat16, in a program written without a profiler in mind.

It opens no range and imports only PyTorch: tcprof names the steps, their phases and the modules by itself.
"""

import argparse
import time
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions, added to what came in."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        is_same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if is_same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Images in, images out, smaller by the stride."""
        inner = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


class ResNet(nn.Module):
    """Images in, logits of classes out."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__()
        widths = [options.width * 2**stage for stage in range(options.stages)]
        self.stem = nn.Conv2d(3, widths[0], 3, padding=1, bias=False)
        blocks = [Block(inputs, outputs, 2) for inputs, outputs in pairwise(widths)]
        self.stages = nn.ModuleList([Block(widths[0], widths[0], 1), *blocks])
        self.head = nn.Linear(widths[-1], options.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits for each image."""
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    sizes = {"steps": 20, "batch-size": 128, "image-size": 64, "stages": 2, "width": 64, "classes": 16}
    for name, value in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=value, help="default: %(default)s")
    options = parser.parse_args()
    if min(getattr(options, name.replace("-", "_")) for name in sizes) < 1:
        parser.error("sizes begin at 1")
    return options


def main() -> None:
    """Train, on images whose brightness tells their class."""
    options = read_options()
    torch.manual_seed(0)
    model = ResNet(options).to(options.device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    classes = torch.randint(options.classes, (options.steps * options.batch_size,), device=options.device)
    noise = torch.rand(len(classes), 3, options.image_size, options.image_size, device=options.device)
    images = (noise + classes.view(-1, 1, 1, 1) / options.classes).contiguous(memory_format=torch.channels_last)
    batches = zip(images.split(options.batch_size), classes.split(options.batch_size), strict=True)
    loss, begin = torch.zeros(()), time.perf_counter()
    for batch, labels in batches:
        with torch.autocast(options.device, torch.bfloat16):
            loss = functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    last = loss.item()
    seconds = (time.perf_counter() - begin) / options.steps
    print(f"loss: {last:.3f} after {options.steps} steps, {1e3 * seconds:.2f} ms each")


if __name__ == "__main__":
    main()
