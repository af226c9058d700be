"""Learn a function, or the solution of a differential equation, with a small tanh network: a physics-informed one.

The network is too small to keep a GPU busy, let alone its Tensor Cores: derivatives by autograd are many short kernels.
TF32, which would use Tensor Cores for the multiplications, leaves 10 bits of each factor, and the error shows it.
"""

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import nvtx
import torch
from session import add_precision, add_sizes, make_parser, parse, print_speed, run_steps, set_precision
from torch import Tensor, nn

LINE = torch.linspace(0, 2 * math.pi, 1001).unsqueeze(1)
CELLS = 40  # of the finite differences, across the domain
BOUNDARY_WEIGHT = 100


def slope(y: Tensor, x: Tensor) -> Tensor:
    """The derivative of each y by its own x, which can be derived again: by x, and by the weights."""
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


def function_loss(model: nn.Module, x: Tensor) -> Tensor:
    """Plain approximation of sin(4x): no derivative but the training's own."""
    return (model(x) - (4 * x).sin()).square().mean()


def ode_loss(model: nn.Module, x: Tensor) -> Tensor:
    """y1' = y2 and y2' = -y1 with y(0) = (0, 1): sine and cosine."""
    y1, y2 = model(x).split(1, dim=1)
    sine, cosine = model(torch.zeros_like(x[0]))
    start = sine.square() + (cosine - 1).square()
    return start + (slope(y1, x) - y2).square().mean() + (slope(y2, x) + y1).square().mean()


def poisson_loss(model: nn.Module, x: Tensor) -> Tensor:
    """-u_xx - u_yy = 1 inside, the first half of the points, and u = 0 on the boundary, the second."""
    inside, boundary = x.chunk(2)
    gradient = slope(model(inside), inside)
    residual = 1 + sum(slope(gradient[:, axis], inside)[:, axis] for axis in range(2))
    return residual.square().mean() + BOUNDARY_WEIGHT * model(boundary).square().mean()


def draw_on_line(count: int) -> Tensor:
    """Points from 0 to 2 pi."""
    return LINE[-1] * torch.rand(count, 1)


def draw_in_l(count: int) -> Tensor:
    """Points in the square from -1 to 1 without its lower right quarter, and as many on the boundary."""
    quarters = torch.tensor([[-1.0, -1], [-1, 0], [0, 0]])
    walk = torch.tensor([[-1.0, -1], [0, -1], [0, 0], [1, 0], [1, 1], [0, 1], [-1, 1], [-1, 0], [-1, -1]])
    side = torch.randint(8, (count,))
    on_boundary = torch.lerp(walk[side], walk[side + 1], torch.rand(count, 1))
    return torch.cat([quarters[torch.randint(3, (count,))] + torch.rand(count, 2), on_boundary])


def solve_in_l() -> tuple[Tensor, Tensor]:
    """The solution on a grid by finite differences, since no formula is known; at most 0.1494."""
    grid = torch.cartesian_prod(*[torch.arange(1, CELLS)] * 2)
    inside = (grid[:, 0] < CELLS // 2) | (grid[:, 1] > CELLS // 2)
    unit, beside = torch.eye(CELLS - 1, dtype=torch.float64), torch.ones(CELLS - 2, dtype=torch.float64).diag(1)
    second = 2 * unit - beside - beside.t()
    laplace = (CELLS / 2) ** 2 * (torch.kron(second, unit) + torch.kron(unit, second))[inside][:, inside]
    return 2 * grid[inside] / CELLS - 1, torch.linalg.solve(laplace, torch.ones_like(laplace[:, :1]))


class Problem(NamedTuple):
    """How many inputs and outputs, points to learn from, the loss, and points to test at with the right values."""

    inputs: int
    outputs: int
    draw: Callable[[int], Tensor]
    loss: Callable[[nn.Module, Tensor], Tensor]
    solve: Callable[[], tuple[Tensor, Tensor]]


PROBLEMS = {
    "function": Problem(1, 1, draw_on_line, function_loss, lambda: (LINE, (4 * LINE).sin())),
    "ode": Problem(1, 2, draw_on_line, ode_loss, lambda: (LINE, torch.cat([LINE.sin(), LINE.cos()], dim=1))),
    "poisson": Problem(2, 1, draw_in_l, poisson_loss, solve_in_l),
}


def read_options() -> argparse.Namespace:
    """The command line."""
    parser = make_parser(__doc__)
    add_precision(parser, "fp32", ("fp32", "tf32"))  # 16 bits are too few for second derivatives
    parser.add_argument("--problem", choices=PROBLEMS, default="ode", help="default: %(default)s")
    add_sizes(parser, {"warm_up": 2000, "steps": 200, "points": 512, "width": 32, "lbfgs": 0})
    options = parse(parser)
    if min(options.warm_up, options.steps, options.points, options.width) < 1 or options.lbfgs < 0:
        parser.error("--warm-up, --steps, --points and --width begin at 1, --lbfgs at 0")
    return options


def main() -> None:
    """Train, mostly in the warm-up: its steps are as the others, and a recording of these is large enough."""
    options = read_options()
    torch.manual_seed(options.seed)
    set_precision(options.precision, options.device)
    problem, width = PROBLEMS[options.problem], options.width
    hidden = [nn.Linear(problem.inputs, width), *(nn.Linear(width, width) for _ in range(2))]
    layers = [part for layer in hidden for part in (layer, nn.Tanh())] + [nn.Linear(width, problem.outputs)]
    model = nn.Sequential(*layers).to(options.device)
    x = problem.draw(options.points).to(options.device).requires_grad_()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def differentiate() -> Tensor:
        with nvtx.annotate("forward"):  # derivatives by x are part of the loss
            loss = problem.loss(model, x)
        with nvtx.annotate("backward"):
            model.zero_grad()
            loss.backward(inputs=list(model.parameters()))  # and not x once more
        return loss.detach()

    def step() -> Tensor:
        with nvtx.annotate("step"):
            loss = differentiate()
            with nvtx.annotate("optimizer"):
                optimizer.step()
        return loss

    with nvtx.annotate("warm-up"):
        learned = [step() for _ in range(options.warm_up)]
    losses, seconds = run_steps(step, options.steps, options.device)
    losses = torch.stack(learned).tolist() + losses
    print(f"loss: {losses[0]:.2e} to {losses[-1]:.2e} in {len(losses)} steps")
    print_speed(seconds, options.points, "points/s", options.device)
    if options.lbfgs:  # it looks at the loss to choose its steps, for which the CPU waits: not timed, not captured
        with nvtx.annotate("l-bfgs"):
            lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=options.lbfgs, line_search_fn="strong_wolfe")
            lbfgs.step(differentiate)
    set_precision("fp32", options.device)  # the same yardstick, however it learned
    points, right = problem.solve()
    error = (model(points.to(options.device)).cpu() - right).norm() / right.norm()
    print(f"relative L2 error: {100 * error.item():.3f} %")


if __name__ == "__main__":
    main()
