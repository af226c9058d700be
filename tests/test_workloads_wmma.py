"""The CUDA program in workloads/: it compiles where nvcc is, which takes long, and computes where a GPU is too."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "workloads" / "wmma.cu"
NO_GPU = ("no CUDA-capable device", "driver version is insufficient")

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, compiled as its first lines say."""
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc, from NVIDIA's CUDA Toolkit")
    built = tmp_path_factory.mktemp("wmma") / "wmma"
    command, name = re.search(r"^// +(nvcc .*) workloads/wmma.cu -o (\w+)$", SOURCE.read_text(), re.MULTILINE).groups()
    assert name == "wmma"
    done = subprocess.run([*command.split(), SOURCE, "-o", built], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wmma.cu" not in done.stderr  # no warning about the source; that there is no native GPU is another matter
    return built


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_every_cuda_call_is_checked():
    lines = SOURCE.read_text().splitlines()
    calls = [line for line in lines if re.search(r"\bcuda[A-Z]\w*\(", line) and "cudaGetErrorString" not in line]
    assert len(calls) > 10
    assert [line for line in calls if not re.search(r"CHECK\(cuda[A-Z]", line)] == []


def test_launches_are_checked_at_once():
    source = SOURCE.read_text()
    body = source[source.index("void launch(") : source.index("float time_launches(")]
    assert source.count("<<<") == body.count("<<<") == 2
    assert body.rindex("<<<") < body.index("CHECK(cudaGetLastError())")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [("--size", 17), ("--size", 0), ("--size", 65536), ("--size",), ("--steps", 0), ("--steps", "3x"), ("--width", 16)],
)
def test_impossible_options_are_refused(program, options):
    done = run(program, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: wmma [--size N] [--steps N]")


@pytest.mark.slow
@pytest.mark.parametrize("size", [16, 208, 1024])  # one tile; blocks that are not full; many blocks
def test_products_are_right(program, size):
    done = run(program, "--size", size, "--steps", 3)
    if done.returncode == 1 and any(words in done.stderr for words in NO_GPU):
        pytest.skip(f"needs an NVIDIA GPU: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    errors = dict(re.findall(r"^(\w+ cores) +largest error (\S+)$", done.stdout, re.MULTILINE))
    assert set(errors) == {"tensor cores", "cuda cores"}
    assert max(map(float, errors.values())) < 1e-5 * size
    assert re.search(r"^cuda cores: [\d.]+ ms per launch, [\d.]+ TFLOP/s$", done.stdout, re.MULTILINE)
    assert re.search(r"^time per step: [\d.]+ ms, [\d.]+ TFLOP/s \(tensor cores\)$", done.stdout, re.MULTILINE)
