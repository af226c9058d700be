"""Fit a cubic to the sine in float32, with autocast, or in float16, which gives Tensor Cores nothing to do.

A cubic is a sum of four terms and has no matrix multiplication, so mixed precision only adds work. It also shows why
optimizers keep float32 weights: --precision half keeps none, and its small steps are rounded away.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import nvtx
import torch
from session import add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor
from torch.nn import functional

WARM_UP_STEPS = 5
LEARNING_RATE = 0.006


@dataclass
class LossScale:
    """The factor of the loss, as large as leaves the gradients finite: what GradScaler does, by hand.

    Attributes:
        factor: What the loss is multiplied by.
        good_steps: How many steps had finite gradients since the factor last changed.
        skipped: How many steps were left out because a gradient overflowed.
    """

    factor: float = 2.0**16
    good_steps: int = 0
    skipped: int = 0

    def update(self, *, finite: bool) -> None:
        """Halve the factor after an overflow; double it after 200 steps without one."""
        self.good_steps += 1
        if not finite:
            self.factor, self.good_steps, self.skipped = self.factor / 2, 0, self.skipped + 1
        elif self.good_steps == 200:
            self.factor, self.good_steps = self.factor * 2, 0


def fit_with_pytorch(name: str, weights: Tensor, powers: Tensor, sine: Tensor) -> Callable[[], Tensor]:
    """The training step in float32 ("none") or with autocast and GradScaler ("amp")."""
    precision = set_precision("fp16" if name == "amp" else "fp32", powers.device.type)
    weights.requires_grad_()
    optimizer = torch.optim.SGD([weights], lr=LEARNING_RATE)

    def step() -> Tensor:
        # Autocast converts what enters matrix products; it finds none, and all of this stays in float32.
        with nvtx.annotate("forward"), precision.autocast():
            loss = functional.mse_loss((weights[:, None] * powers).sum(dim=0), sine)
        with nvtx.annotate("backward"):
            precision.scaler.scale(loss).backward()
        with nvtx.annotate("optimizer"):
            precision.scaler.step(optimizer)
            precision.scaler.update()
            optimizer.zero_grad()
        return loss.detach()

    return step


def fit_in_float16(weights: Tensor, powers: Tensor, sine: Tensor, scale: LossScale) -> Callable[[], Tensor]:
    """The training step in float16 on a copy of the weights, which are in float32 ("master") or float16 ("half")."""
    half, powers = weights.to(torch.float16, copy=True).requires_grad_(), powers.half()

    def step() -> Tensor:
        with nvtx.annotate("forward"):
            # The loss is computed in float32: in float16 its sum would overflow, its mean lose digits.
            loss = functional.mse_loss((half[:, None] * powers).sum(dim=0).float(), sine)
        with nvtx.annotate("backward"):
            (gradient,) = torch.autograd.grad(loss * scale.factor, half)
        with nvtx.annotate("optimizer"):
            # Whether to skip the step is known on the GPU alone, so the CPU waits; GradScaler waits likewise.
            finite = bool(gradient.isfinite().all())
            if finite:
                weights.sub_((LEARNING_RATE * (gradient.float() / scale.factor)).to(weights.dtype))
                half.detach().copy_(weights)
            scale.update(finite=finite)
        return loss.detach()

    return step


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "amp", ("none", "amp", "master", "half"))
    add_sizes(parser, {"steps": 2000, "points": 2000})
    options = parse(parser)
    if options.steps < 1 or options.points < 4:
        parser.error("--steps begins at 1, --points at 4: a cubic has four coefficients")
    return options


def report(losses: list[float], found: Tensor, powers: Tensor, sine: Tensor) -> None:
    """Print what was found beside the least-squares solution, both in float64."""
    exact = torch.linalg.lstsq(powers.T, sine[:, None]).solution[:, 0]
    best = functional.mse_loss(exact @ powers, sine).item()
    print(f"loss: {losses[0]:.5f} to {losses[-1]:.5f} in {len(losses)} steps (the best possible is {best:.5f})")
    for name, coefficients in (("found", found), ("exact", exact)):
        print(f"{name}: " + " ".join(f"{c:+z.5f} x^{power}" for power, c in enumerate(coefficients.tolist())))
    print(f"largest error of a coefficient: {(found - exact).abs().max().item():.2e}")


def main() -> None:
    """Fit by gradient descent, and check against least squares."""
    options = read_options()
    generator = torch.Generator().manual_seed(options.seed)
    x = torch.linspace(-math.pi, math.pi, options.points, dtype=torch.float64)
    powers, sine = torch.stack([x**power for power in range(4)]), x.sin()
    on_device = powers.to(options.device, torch.float32), sine.to(options.device, torch.float32)
    dtype = torch.float16 if options.precision == "half" else torch.float32
    weights = torch.randn(4, generator=generator).to(options.device, dtype)
    scale = LossScale()
    by_hand = options.precision in ("master", "half")
    if by_hand:
        fit = fit_in_float16(weights, *on_device, scale)
    else:
        fit = fit_with_pytorch(options.precision, weights, *on_device)

    def step() -> Tensor:
        with nvtx.annotate("step"):
            return fit()

    with nvtx.annotate("warm-up"):
        for _ in range(WARM_UP_STEPS):
            step()
    losses, seconds = run_steps(step, options.steps, options.device)
    report(losses, weights.detach().double().cpu(), powers, sine)
    if by_hand:
        print(f"loss scale: {scale.factor:,.0f}, {scale.skipped} steps skipped for an overflow")
    print_speed(seconds, options.points, "points/s", options.device)


if __name__ == "__main__":
    main()
