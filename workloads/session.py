"""What every script in this folder shares: the options of a run, its precision, the capture range, the figures."""

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PRECISIONS = ("fp32", "tf32", "fp16", "bf16")


def make_parser(description: str) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    usual = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=("cuda", "cpu"), default=usual, help="here: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    return parser


def add_precision(parser: argparse.ArgumentParser, usual: str, choices: Sequence[str] = PRECISIONS) -> None:
    """The option that says in which types matrices are multiplied."""
    parser.add_argument("--precision", choices=choices, default=usual, help="default: %(default)s")


def add_sizes(parser: argparse.ArgumentParser, sizes: dict[str, int]) -> None:
    """An option for each size, with what it usually is."""
    for name, usual in sizes.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=usual, help="default: %(default)s")


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command line; a device that is not there is an error."""
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch finds no CUDA device here; use --device cpu")
    return options


@dataclass(frozen=True)
class Precision:
    """How a run multiplies matrices.

    Attributes:
        name: fp32, tf32, fp16 or bf16.
        device: cuda or cpu.
        scaler: Multiplies the loss where gradients could vanish in float16; else it does nothing.
    """

    name: str
    device: str
    scaler: torch.amp.GradScaler

    def autocast(self, *, cached: bool = True) -> torch.autocast:
        """What goes around forward and loss: products in 16 bits, or nothing in fp32 and tf32."""
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(self.name)
        return torch.autocast(self.device, dtype, enabled=dtype is not None, cache_enabled=cached)


def set_precision(name: str, device: str) -> Precision:
    """Choose the precision of all matrix products from here on.

    TF32 is PyTorch's switch for float32 products on Tensor Cores, which round their factors to 10 bits. Weights stay in
    float32 whatever is chosen.
    """
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    return Precision(name, device, torch.amp.GradScaler(device, enabled=name == "fp16"))


@contextlib.contextmanager
def capture(device: str) -> Iterator[None]:
    """The capture range: what a profiler waiting for the CUDA profiler API records. Without one, harmless.

    Open ranges inside and close them inside: of a range that crosses a border, a profiler sees only half. What comes
    after is left out: a test has batches of another size and no backward, which calls for a warm-up of its own.
    """
    if device == "cuda":
        torch.cuda.synchronize()  # the warm-up's last kernels are not part of it,
        torch.cuda.profiler.start()
    yield
    if device == "cuda":
        torch.cuda.synchronize()  # the last step's last kernels are
        torch.cuda.profiler.stop()


def run_steps(step: Callable[[], Tensor], count: int, device: str) -> tuple[list, float]:
    """Take steps in the capture range: what each returned, as plain numbers, and the seconds of one."""
    with capture(device):
        begin = time.perf_counter()
        history = torch.stack([step() for _ in range(count)]).tolist()  # waits for the GPU: once, not in each step
        return history, (time.perf_counter() - begin) / count


def print_speed(seconds: float, amount: int, unit: str, device: str) -> None:
    """The time of a step, how much it does in a second, and the most memory that was used on the GPU."""
    print(f"time per step: {1e3 * seconds:.3f} ms, {amount / seconds:,.0f} {unit}")
    if device == "cuda":
        print(f"peak GPU memory: {torch.cuda.max_memory_allocated() / 2**20:,.1f} MiB")
