"""Each finding that exists fires on a recording made on a real GPU."""

from pathlib import Path

import pytest
from slow import first

import tcprof
from tcprof.findings.rules import rules_of_findings

pytestmark = pytest.mark.usefixtures("shared_reads")

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Others have a recording of their own in fixtures/findings.
GALLERY = {
    "exposed-copies": "inference_fp32",
    "few-steps": "transformer_tf32",
    "fp32-matmul": "mlp_fp32",
    "fusion": "mlp_fp16",
    "hidden-graphs": "jax_mlp",
    "idle-or-tracer": "mlp_fp16",
    "last-wave": "matmul",
    "launch-bound": "polynomial",
    "layout-changes": "mnist_amp",
    "low-clock": "mlp_tf32_4097",
    "main-kernel": "wmma",
    "mixed-precision-overhead": "mlp_fp16",
    "pageable-copies": "net_amp",
    "no-steps": "wmma",
    "small-grid": "inference_fp32",
    "synchronizing-calls": "mlp_fp16",
    "tf32-matmul": "mlp_tf32",
    "unaligned-shapes": "matmul",
    "unfused-optimizer": "mlp_fp32",
}
STEP = {"small-grid": "batch 16 / step"}  # of those with several kinds
NEEDS = {
    "exposed-communication": "several GPUs: one alone copies what it sends to itself",
    **dict.fromkeys(
        ("anomaly-detection", "boolean-masks", "loop-in-module", "loop-over-tensors", "recurrent-cell"),
        "a program that loops",
    ),
    "copies-on-gpu": "a program that copies its caches",
    "cpu-work": "a program that waits for its data",
    "dense-gradients": "a program with large tables",
    "no-tensor-cores": "a GPU from before Volta, or a GTX 16",
    "slow-steps": "a program whose shapes change",
    "uneven-gpus": "several GPUs",
}


@pytest.mark.parametrize("finding", first(8, sorted({*rules_of_findings()} - {*NEEDS})))
def test_a_finding_fires_on_the_recording_that_is_named_for_it(finding):
    path = FIXTURES / f"{GALLERY.get(finding, f'findings/{finding}')}.sqlite"
    assert finding in {each.rule for each in tcprof.read(path, step=STEP.get(finding)).advice}


def test_no_recording_is_without_its_finding():
    """Nor is one named twice, or missed where there is one."""
    recorded = {path.stem for path in (FIXTURES / "findings").glob("*.sqlite")}
    assert not recorded & {*GALLERY}
    assert recorded | {*GALLERY} == {*rules_of_findings()} - {*NEEDS}
