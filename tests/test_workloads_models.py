"""The transformer and the convolution network in workloads/, small and on the CPU."""

import re

import pytest
from slow import slow
from test_workloads import run_recorded, run_script

pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

SMALL = {
    "transformer.py": (
        *("--batch-size", 8, "--context", 32, "--layers", 1, "--width", 64, "--heads", 4, "--vocabulary", 32),
    ),
    "convnet.py": ("--batch-size", 4, "--size", 32),
}
LLAMA = (*("--batch-size", 4, "--context", 16, "--layers", 2, "--width", 64, "--heads", 4, "--vocabulary", 32),)

RESNET = ("--batch-size", 32, "--image-size", 8, "--width", 8, "--classes", 4)


def losses(output: str) -> tuple[float, float]:
    """The first and the last loss."""
    first, last = re.search(r"^loss: (\S+) to (\S+) in", output, re.MULTILINE).groups()
    return float(first), float(last)


@pytest.mark.parametrize(
    ("script", "precision"),
    [("transformer.py", "fp32"), *slow([("transformer.py", "bf16"), ("convnet.py", "fp32"), ("convnet.py", "bf16")])],
)
def test_the_loss_falls(script, precision):
    output, _ = run_recorded(script, *SMALL[script], "--steps", 40, "--precision", precision)
    first, last = losses(output)
    assert last < 0.8 * first
    assert re.search(r"^time per step: [\d.]+ ms", output, re.MULTILINE)
    assert "GPU" not in output


@pytest.mark.slow
def test_the_best_possible_loss_is_not_beaten():
    """A transformer cannot know the surprises in its text: a loss below theirs would be a leak of the answer."""
    output, _ = run_recorded("transformer.py", *SMALL["transformer.py"], "--steps", 150, "--precision", "fp32")
    best = float(re.search(r"best possible is about ([\d.]+)", output)[1])
    assert losses(output)[1] > 0.5 * best  # a batch of 256 tokens has 26 ± 5 surprises


def test_the_llama_learns_to_count_and_opens_no_range():
    output, paths = run_recorded("llama.py", *LLAMA, "--steps", 60)
    assert float(re.search(r"^loss: (\S+) after 60 steps", output)[1]) < 1.5
    assert paths == []


def test_the_residual_network_learns_brightness_and_opens_no_range():
    output, paths = run_recorded("resnet.py", *RESNET, "--steps", 60)
    assert float(re.search(r"^loss: (\S+) after 60 steps", output)[1]) < 0.7  # chance is ln 4 = 1.39
    assert paths == []


@pytest.mark.parametrize("script", SMALL)
def test_ranges_nest_as_promised(script):
    # float16, the usual precision, takes a CPU twenty times as long.
    _, paths = run_recorded(script, *SMALL[script], "--steps", 2, "--precision", "fp32")
    step = ["step", "step/copy", "step/forward", "step/backward", "step/optimizer"]
    assert paths[0] == "warm-up"
    assert [path for path in paths if not path.startswith("warm-up")] == step * 2


@pytest.mark.slow
@pytest.mark.parametrize("script", SMALL)
def test_help_says_what_it_does(script):
    """As a user starts it, in a process of its own."""
    run = run_script(script, "--help")
    assert run.returncode == 0
    assert "Train" in run.stdout
