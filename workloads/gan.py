"""Train a generator of digits against a discriminator, in float32 or mixed precision, with or without loss scaling.

The gradient of the generator comes through two networks and grows small on the way: at the end the script counts how
many gradients are exactly zero with and without scaling. --bad-sizes makes no layer size a multiple of 8.
"""

import argparse
import dataclasses
import itertools

import digits
import nvtx
import torch
from session import Precision, add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor, nn
from torch.nn import functional

WARM_UP_STEPS = 5
PIXELS = digits.SIDE**2
HELD_OUT = 1000  # digits to test on
SCALES = {"fp16": (2.0**16, 1.0), "bf16": (1.0,), "fp32": ()}  # to compare: a scaler begins with 65,536


def network(*sizes: int) -> nn.Sequential:
    """Linear layers; leaky ones, as a unit that gave 0 would have gradients of 0 that no scaling could save."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class Gan:
    """A generator and a discriminator, each with its optimizer; one scaler serves both."""

    def __init__(self, options: argparse.Namespace, precision: Precision) -> None:
        self.noise, small, large = (size - options.bad_sizes for size in (128, options.width // 2, options.width))
        self.generator = network(self.noise, small, large, PIXELS).to(options.device)
        self.discriminator = network(PIXELS, large, small, 1).to(options.device)
        self.precision = precision
        # The discriminator learns slower: it has the easier task, and what it is sure of teaches the generator nothing.
        self.judge = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.forge = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def generate(self, like: Tensor) -> Tensor:
        """As many images as there are in the batch."""
        return self.generator(torch.randn(len(like), self.noise, device=like.device)).sigmoid()

    def loss(self, images: Tensor, *, real: bool) -> Tensor:
        """Small if the discriminator is sure that the images are real, or that they are generated."""
        verdict = self.discriminator(images).float()
        return functional.softplus(-verdict if real else verdict).mean()

    def learn(self, model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        """Backward and optimizer."""
        with nvtx.annotate("backward"):
            # Only the gradients of this network, though they may come through the other.
            self.precision.scaler.scale(loss).backward(inputs=list(model.parameters()))
        with nvtx.annotate("optimizer"):
            self.precision.scaler.step(optimizer)
            optimizer.zero_grad()

    def step(self, batch: Tensor, device: str) -> Tensor:
        """Train both networks on a batch; the two losses, their values not awaited."""
        with nvtx.annotate("step"):
            with nvtx.annotate("copy"):
                real = batch.to(device, non_blocking=True)
            with nvtx.annotate("discriminator"):
                with nvtx.annotate("forward"), self.precision.autocast():
                    generated = self.generate(real)
                    judged = self.loss(real, real=True) + self.loss(generated.detach(), real=False)
                self.learn(self.discriminator, self.judge, judged)
            with nvtx.annotate("generator"):
                with nvtx.annotate("forward"), self.precision.autocast():
                    forged = self.loss(generated, real=True)  # it wants them taken for real
                self.learn(self.generator, self.forge, forged)
                self.precision.scaler.update()  # once a step: both networks share the factor
        return torch.stack([judged.detach(), forged.detach()])


def print_zeros(gan: Gan, real: Tensor, precision: Precision, factor: float) -> None:
    """Print how many gradients are exactly zero, of each network, if the loss is multiplied by the factor."""
    torch.manual_seed(0)  # the same noise each time
    with precision.autocast():
        generated = gan.generate(real)
        judged = gan.loss(real, real=True) + gan.loss(generated.detach(), real=False)
        forged = gan.loss(generated, real=True)
    for name, loss, model in (("discriminator", judged, gan.discriminator), ("generator", forged, gan.generator)):
        gradients = torch.autograd.grad(factor * loss, list(model.parameters()), retain_graph=True)
        share = 100 * (nn.utils.parameters_to_vector(gradients) == 0).double().mean().item()
        print(f"gradients exactly zero, {precision.name}, loss times {factor:,.0f}: {share:.4f} % of the {name}'s")


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp16", ("fp32", "fp16", "bf16"))
    parser.add_argument("--no-scaling", action="store_true", help="do not scale the loss (of --precision fp16)")
    parser.add_argument("--bad-sizes", action="store_true", help="layer sizes that are no multiples of 8")
    sizes = {"steps": 600, "batch_size": 256, "batches": 16, "width": 512}
    add_sizes(parser, sizes)
    options = parse(parser)
    if any(getattr(options, name) < 1 for name in sizes) or options.width % 16:
        parser.error("sizes begin at 1, and --width must be a multiple of 16: half of it is a size as well")
    if options.no_scaling and options.precision != "fp16":
        parser.error("--no-scaling needs --precision fp16: no other precision scales the loss")
    return options


def main() -> None:
    """Train, then test."""
    options = read_options()
    torch.manual_seed(options.seed)
    precision = set_precision(options.precision, options.device)
    if options.no_scaling:
        precision = dataclasses.replace(precision, scaler=torch.amp.GradScaler(options.device, enabled=False))
    gan = Gan(options, precision)
    images = digits.draw(options.batches * options.batch_size, seed=0).images.flatten(1)  # drawn in no order
    batches = itertools.cycle((images.pin_memory() if options.device == "cuda" else images).split(options.batch_size))
    with nvtx.annotate("warm-up"):
        for batch in itertools.islice(batches, WARM_UP_STEPS):
            gan.step(batch, options.device)
    history, seconds = run_steps(lambda: gan.step(next(batches), options.device), options.steps, options.device)
    for step in sorted({round(part * (len(history) - 1) / 5) for part in range(6)}):
        print("step {}: loss of discriminator {:.3f}, of generator {:.3f}".format(step, *history[step]))
    print_speed(seconds, options.batch_size, "images/s", options.device)
    report(gan, next(batches).to(options.device))


def report(gan: Gan, real: Tensor) -> None:
    """Print which gradients vanish, and how well the networks do on digits not trained on, in float32."""
    for factor in SCALES[gan.precision.name]:
        print_zeros(gan, real, gan.precision, factor)
    print_zeros(gan, real, set_precision("fp32", real.device.type), 1.0)
    held_out = digits.draw(HELD_OUT, seed=1).images.flatten(1).to(real.device)
    with torch.inference_mode():
        generated = gan.generate(held_out)
        right = (gan.discriminator(held_out) > 0).sum() + (gan.discriminator(generated) < 0).sum()
    print(f"discriminator is right: {50 * right.item() / HELD_OUT:.1f} % (50 % is a guess)")
    print(f"mean pixel: {generated.mean().item():.3f} generated, {held_out.mean().item():.3f} drawn")


if __name__ == "__main__":
    main()
