"""Inference in workloads/, small and on the CPU."""

import functools
import re
from types import SimpleNamespace

import pytest
from test_workloads import run_recorded

pytest.importorskip("torch", reason="the workloads need torch: pip install 'tcprof[workloads]'")
pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

SMALL = ("--size", 32, "--steps", 2, "--batch-sizes", 4, 1, 32, 4)
OPTIONS = {
    "fp32": ("--precision", "fp32"),
    "bf16": ("--precision", "bf16", "--channels-last"),
    "bf16 again": ("--precision", "bf16", "--channels-last"),
}
CASES = ["fp32", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bf16", "bf16 again"))]


@pytest.fixture(scope="module")
def runs():
    """What each case prints, and the paths of the ranges that it opens; each runs once, when it is asked for."""

    @functools.cache
    def run(name):
        output, paths = run_recorded("inference.py", *SMALL, *OPTIONS[name], convnet={"CHANNELS": (8, 16, 32, 64)})
        return SimpleNamespace(output=output, paths=paths)

    return run


def result(output):
    """Difference from float32, share of equal classes and accuracy."""
    patterns = (r"from float32: (\S+) of", r"same class .*: ([\d.]+) %", r"^accuracy: ([\d.]+) %$")
    return [float(re.search(pattern, output, re.MULTILINE)[1]) for pattern in patterns]


@pytest.mark.parametrize("case", CASES)
def test_the_table_has_each_size_once_and_the_largest_is_the_time_per_step(runs, case):
    lines = runs(case).output.splitlines()
    rows = [line.split() for line in lines[1:4]]
    assert lines[0].split() == ["batch", "size", "ms", "per", "batch", "images/s"]
    assert [int(size) for size, *_ in rows] == [1, 4, 32]
    _, milliseconds, rate = rows[-1]
    times = [line for line in lines if line.startswith("time per step")]
    assert times == [f"time per step: {milliseconds} ms, {rate} images/s (batches of 32)"]
    assert "GPU" not in runs(case).output


def test_float32_is_the_yardstick(runs):
    assert result(runs("fp32").output) == [0, 100, 100]  # it knows the 32 images by heart


@pytest.mark.slow
def test_bfloat16_differs_a_little_and_decides_the_same(runs):
    difference, same, accuracy = result(runs("bf16").output)
    assert 1e-4 < difference < 0.05
    assert min(same, accuracy) > 90


@pytest.mark.slow
def test_same_seed_same_result(runs):
    assert result(runs("bf16 again").output) == result(runs("bf16").output)


@pytest.mark.parametrize("case", CASES)
def test_ranges_nest_as_promised(runs, case):
    def batches(parent, steps):
        parts = ["", *["/step", "/step/copy", "/step/forward"] * steps]
        return [f"{parent}{size}{part}" for size in (1, 4, 32) for part in parts]

    assert runs(case).paths == ["warm-up", *batches("warm-up/batch ", 5), *batches("batch ", 2)]
