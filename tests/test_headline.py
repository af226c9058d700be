"""The verdict in two short sentences: over one time, and by the figures that the tiles have."""

import pytest
from builders import FIXTURES
from report_inputs import make_analysis, make_empty, summarize

import tcprof

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.mark.parametrize(
    ("file", "most"),
    [
        ("llama", "The GPU idled {idle} of it, waiting for the CPU, which recording slows."),
        ("mnist_amp", "The GPU idled {idle} of it, waiting for the CPU to launch kernels, which recording slows."),
        (
            "transformer_compiled",
            "Kernels that use the Tensor Cores had 56.4 % of it, others 38.7 %, most of it memory-bound.",
        ),
        ("net_amp", "Copies and memsets had 42.7 % of it."),
        ("transformer_eager", "Kernels that do not use them had 50.1 % of it, most of it memory-bound or issue-bound."),
    ],
)
def test_what_had_most_of_an_iteration(file, most):
    (summary,) = summarize(tcprof.read(FIXTURES / f"{file}.sqlite"))
    tiles = {tile.title: tile.value for tile in summary.tiles}
    assert summary.headline == (
        f"The Tensor Cores were busy {tiles['Tensor Active']} of an iteration.",
        most.format(idle=tiles["GPU idle"]),
    )
    assert len(summary.tiles) == 5
    assert "All figures here are of" in summary.measured


@pytest.mark.slow
def test_other_windows_are_named():
    (summary,) = summarize(tcprof.read(FIXTURES / "llama.sqlite", window="host"))
    first, second = summary.headline
    assert "of the host windows of an iteration." in first
    assert "% of an iteration, waiting" in second


def test_a_capture_without_iterations():
    (summary,) = summarize(make_analysis())
    assert summary.headline[0] == (
        "The Tensor Cores were busy 2.0 % of the 18.0 ms from the GPU's first activity to its last."
    )
    assert summary.measured == "All figures here are of the whole capture: nothing in it iterates."


def test_nothing_is_known_of_nothing():
    (summary,) = summarize(make_empty())
    assert summary.headline == (
        "Whether the Tensor Cores worked is unknown: the recording has no samples of Tensor Active.",
    )


@pytest.mark.parametrize(
    ("file", "where"),
    [
        ("llama", "“forward” 3.3 % in 43.6 % of the time, “backward” 6.6 % in 44.6 %, “optimizer” 0.001 % in 6.2 %."),
        ("wmma", "“cuda cores” 0.0 % in 85.2 % of the time, “tensor cores” 4.3 % in 14.4 %."),
        ("jax_mlp", ""),  # one range has it all
    ],
)
def test_where_they_were_busy_and_where_not(file, where):
    (summary,) = summarize(tcprof.read(FIXTURES / f"{file}.sqlite"))
    assert summary.where.removeprefix("Tensor Active by range: ") == where
