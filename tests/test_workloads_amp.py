"""The scripts in workloads/ about mixed precision itself: wide layers, a polynomial and a GAN, small and on the CPU."""

import functools
import re

import pytest
from slow import slow
from test_workloads import run_recorded

pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

PARTS = ["forward", "backward", "optimizer"]
MLP = ("mlp_amp.py", "--width", 65, "--batch-size", 64, "--steps", 20)
GAN = ("gan.py", "--steps", 200, "--width", 64, "--batch-size", 32, "--batches", 8)


def figures(output, pattern):
    """The numbers in the only line that matches."""
    (found,) = re.findall(f"^{pattern}$".replace("#", r"([+-]?[\d.,]+(?:e[+-]\d+)?)"), output, re.MULTILINE)
    return [float(figure.replace(",", "")) for figure in ([found] if isinstance(found, str) else found)]


def without_times(output):
    """What the same seed prints again."""
    return [line for line in output.splitlines() if not line.startswith(("time per step", "epochs: "))]


def run(script, *options):
    """What a script printed."""
    return run_recorded(script, *options)[0]


def step_paths(parent, *parts):
    return [f"{parent}step", *(f"{parent}step/{part}" for part in parts)]


class TestMlp:
    @pytest.mark.parametrize("precision", ["fp16", *slow(["fp32", "bf16"])])
    def test_learns_in_every_precision(self, precision):
        output, paths = run_recorded(*MLP, "--precision", precision)
        first, last, steps = figures(output, "loss: # to # in # steps")
        assert last < 0.3 * first
        assert steps == 60
        assert figures(output, "epochs: # in # s")[0] == 3
        assert figures(output, "time per step: # ms, # samples/s")[0] > 0
        assert figures(output, "data: # batches, # MiB") == [20, 0.6]
        assert "GPU" not in output
        epochs = [f"epoch {epoch}" for epoch in range(3)]
        steps = [path for epoch in epochs for path in (epoch, *20 * step_paths(f"{epoch}/", *PARTS))]
        assert paths == ["warm-up", *5 * step_paths("warm-up/", *PARTS), *steps]


class TestPolynomial:
    @pytest.fixture(scope="class")
    @staticmethod
    def outputs():
        """What a precision printed, and its ranges; 2000 steps at the usual sizes take half a second."""
        return functools.cache(lambda name: run_recorded("polynomial.py", "--precision", name))

    @staticmethod
    def error(output):
        return figures(output, "largest error of a coefficient: #")[0]

    @pytest.mark.parametrize(
        ("name", "most"), [("master", 2e-3), ("half", 0.2), *slow([("none", 2e-4), ("amp", 2e-4)])]
    )
    def test_finds_what_least_squares_finds(self, outputs, name, most):
        output, _ = outputs(name)
        last, best = figures(output, r"loss: [\d.]+ to # in 2000 steps \(the best possible is #\)")
        found, exact = (figures(output, rf"{kind}: # x\^0 # x\^1 # x\^2 # x\^3") for kind in ("found", "exact"))
        assert exact == pytest.approx([0, 0.857, 0, -0.0933], abs=1e-3)
        assert found == pytest.approx(exact, abs=most)
        assert self.error(output) == pytest.approx(
            max(abs(a - b) for a, b in zip(found, exact, strict=True)), rel=0.01, abs=1e-5
        )
        assert best <= last < 1.5 * best
        assert figures(output, "time per step: # ms, # points/s")[0] > 0

    @pytest.mark.slow
    def test_autocast_finds_nothing_to_convert(self, outputs):
        """The scaler's factor is a power of 2: not even a rounding differs."""
        assert without_times(outputs("none")[0]) == without_times(outputs("amp")[0])

    def test_weights_in_float16_alone_stand_still(self, outputs):
        assert self.error(outputs("half")[0]) > 20 * self.error(outputs("master")[0])

    def test_loss_scale_adapts(self, outputs):
        """It begins at 65,536, which the first gradients overflow, and grows when they have become small."""
        scale, skipped = figures(outputs("master")[0], "loss scale: #, # steps skipped for an overflow")
        assert skipped > 0
        assert scale > 65_536 / 2**skipped
        assert "loss scale" not in run("polynomial.py", "--precision", "amp", "--steps", 5)

    @pytest.mark.parametrize("name", ["master", *slow(["amp"])])
    def test_ranges_nest_as_promised(self, outputs, name):
        warm_up = ["warm-up", *5 * step_paths("warm-up/", *PARTS)]
        assert outputs(name)[1] == warm_up + 2000 * step_paths("", *PARTS)


OTHER_PRECISIONS = (
    ("--precision", "fp32"),
    ("--precision", "bf16", "--bad-sizes"),
    ("--precision", "fp16", "--no-scaling"),
)


class TestGan:
    @staticmethod
    def zeros(output, kind):
        return [
            figures(output, f"gradients exactly zero, {kind}: # % of the {network}'s")[0]
            for network in ("discriminator", "generator")
        ]

    @pytest.mark.parametrize(
        "options",
        [
            ("--precision", "fp16"),
            *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_PRECISIONS),
        ],
    )
    def test_neither_network_wins(self, options):
        output, paths = run_recorded(*GAN, *options)
        losses = re.findall(r"^step \d+: loss of discriminator ([\d.]+), of generator ([\d.]+)$", output, re.MULTILINE)
        assert len(losses) == 6
        assert all(0.1 < float(loss) < 5 for pair in losses for loss in pair)
        assert 25 < figures(output, r"discriminator is right: # % \(50 % is a guess\)")[0] < 98
        generated, drawn = figures(output, "mean pixel: # generated, # drawn")
        assert generated == pytest.approx(drawn, abs=0.06)  # an untrained generator gives 0.5
        assert figures(output, "time per step: # ms, # images/s")[0] > 0
        parts = [
            f"{network}{part}" for network in ("discriminator", "generator") for part in ("", *(f"/{p}" for p in PARTS))
        ]
        step = step_paths("", "copy", *parts)
        assert paths == ["warm-up", *(f"warm-up/{path}" for path in 5 * step), *200 * step]
        assert max(self.zeros(output, "fp32, loss times 1")) < 0.01
        if "fp16" in options:
            scaled, plain = (self.zeros(output, f"fp16, loss times {factor}")[1] for factor in ("[1-9][0-9,]{3,}", "1"))
            assert scaled < plain
