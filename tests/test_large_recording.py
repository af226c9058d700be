"""The recordings that benchmarks make can be read, and hold what was asked for."""

import sys
from pathlib import Path

import pytest
from slow import first

import tcprof

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))


@pytest.mark.parametrize("gpus", first(1, [1, 2]))
def test_a_large_recording_holds_what_was_asked_for(gpus: int, tmp_path: Path) -> None:
    from large_contents import Size
    from large_recording import write_recording

    size = Size(9_000, kernels=1_000, ranges=400, paths=20, depth=4, gpus=gpus)
    write_recording(tmp_path / "large.sqlite", size)
    analysis = tcprof.read(tmp_path / "large.sqlite")
    assert (analysis.activities["kind"] == "kernel").sum() == 1_000
    assert len(analysis.nvtx_ranges) == 400
    assert analysis.paths["depth"].max() == 4
    assert analysis.gpus["gpu"].tolist() == [*range(gpus)]
    assert analysis.tensor_source == "cycles"
