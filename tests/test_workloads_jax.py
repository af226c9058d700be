"""The script in workloads/ that is JAX's; where there is no JAX it must say so and do no harm."""

import importlib.util
import re

import pytest
import test_workloads
from test_workloads import NVTX_RECORDER, run_script, run_well

pytest.importorskip("nvtx", reason="the workloads need nvtx: pip install 'tcprof[workloads]'")

pytestmark = pytest.mark.torch

SMALL = ("--width", 64, "--batch-size", 32)
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX: pip install jax")


def test_without_jax_it_says_so(tmp_path):
    (tmp_path / "jax.py").write_text("raise ModuleNotFoundError(\"No module named 'jax'\", name='jax')")
    run = run_script("jax_mlp.py", PYTHONPATH=str(tmp_path))
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "SKIPPED: jax is not installed: pip install jax\n"


@needs_jax
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_the_loss_falls_and_ranges_nest(precision, tmp_path):
    (tmp_path / "nvtx.py").write_text(NVTX_RECORDER)
    ranges = tmp_path / "ranges"
    options = (*SMALL, "--steps", 40, "--precision", precision)
    output = run_well("jax_mlp.py", *options, PYTHONPATH=str(tmp_path), NVTX_RANGES=str(ranges))
    first, last = map(float, re.search(r"^loss: ([\d.]+) to ([\d.]+) in 40 steps$", output, re.MULTILINE).groups())
    assert last < 0.8 * first
    assert len(re.findall(r"^time per step: [\d.]+ ms, [\d,]+ rows/s$", output, re.MULTILINE)) == 1
    paths = test_workloads.TestRanges.opened_paths(ranges.read_text().splitlines())
    assert paths[0] == "warm-up"
    outside = [path for path in paths if not path.startswith("warm-up")]
    assert outside == ["step", "step/forward, backward, optimizer"] * 40


@needs_jax
def test_same_seed_same_loss():
    def losses(seed):
        return re.search(r"^loss: .*", run_well("jax_mlp.py", *SMALL, "--steps", 2, "--seed", seed), re.MULTILINE)[0]

    assert losses(5) == losses(5)
    assert losses(5) != losses(6)


@needs_jax
@pytest.mark.parametrize("options", [("--steps", 0), ("--width", 15), ("--precision", "fp16")])
def test_impossible_options_are_refused(options):
    run = run_script("jax_mlp.py", *options)
    assert (run.returncode, run.stdout) == (2, "")
    assert "jax_mlp.py: error: " in run.stderr
