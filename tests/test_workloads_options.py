"""The options of the scripts in workloads/: the same seed gives the same result, and impossible ones are refused."""

import re

import pytest
from slow import slow
from test_workloads import run_recorded
from test_workloads_amp import GAN, MLP
from test_workloads_models import SMALL
from test_workloads_science import PINN

pytestmark = pytest.mark.torch


def results(output: str) -> list[str]:
    """What a script printed, without times."""
    lines = [line for line in output.splitlines() if not line.startswith(("time per step", "epochs: "))]
    return [re.sub(r" in [\d.,]+ .*", "", line) for line in lines]


@pytest.mark.parametrize(
    "command",
    [
        (*MLP, "--epochs", 1),
        ("polynomial.py", "--precision", "master", "--steps", 50),
        (*GAN, "--precision", "fp32", "--steps", 5),
        ("pinn.py", *PINN, "--warm-up", 5),
        *slow(((script, *options, "--steps", 2, "--precision", "fp32"),) for script, options in SMALL.items()),
    ],
    ids=lambda command: command[0],
)
def test_same_seed_same_result(command):
    first, again, other = (results(run_recorded(*command, "--seed", seed)[0]) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("transformer", ["--heads", 3], "multiple of --heads"),
        ("transformer", ["--steps", 0], "sizes begin at 1"),
        ("transformer", ["--cuda-graphs"], "needs --device cuda"),
        ("llama", ["--heads", 3], "multiple of twice --heads"),
        ("resnet", ["--width", 0], "sizes begin at 1"),
        ("convnet", ["--batch-size", 1], "--batch-size at 2"),
        ("convnet", ["--precision", "fp8"], "invalid choice"),
        ("mlp_amp", ["--width", 0], "begin at 1"),
        ("polynomial", ["--points", 3], "--points at 4"),
        ("gan", ["--width", 24], "multiple of 16"),
        ("gan", ["--batches", 0], "sizes begin at 1"),
        ("gan", ["--precision", "bf16", "--no-scaling"], "needs --precision fp16"),
        ("mnist_pinned", ["--workers", "-1"], "--workers: not below 0"),
        ("fashion", ["--workers", "-1"], "--workers at 0"),
        ("fashion", ["--batch-size", "30000"], "larger than --images"),
        ("fashion", ["--trace", "x.json"], "needs --torch-profiler"),
        ("matmul", ["--steps", "0"], "--steps begins at 1"),
        ("matmul", ["--sizes", "1"], "--sizes at 16"),
        ("pinn", ["--points", "0"], "--points and --width begin at 1"),
        ("pinn", ["--precision", "bf16"], "invalid choice"),
        ("inference", ["--batch-sizes", 0, 4], "--steps and --batch-sizes begin at 1, --size at 32"),
        ("inference", ["--steps", 0, "--size", 31], "--steps and --batch-sizes begin at 1, --size at 32"),
    ],
)
def test_impossible_options_are_refused(script, options, said, capsys):
    with pytest.raises(SystemExit) as stop:
        run_recorded(f"{script}.py", *options)
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
