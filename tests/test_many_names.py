"""Small files with more names, grids, domains or GPUs than any program has: what time and memory grow with."""

from pathlib import Path

import pytest
from builders import TraceBuilder

import tcprof
from tcprof.analysis import folding
from tcprof.analysis.folding import FOLDED_KERNELS
from tcprof.findings import describe_folding
from tcprof.nsys.schema import MOST_GPUS
from tcprof.sources.checks import MANY_GPUS
from tcprof.sources.kineto.events import NumberColumns, TextCodes, name_calls
from tcprof.sources.nsys_sqlite import nvtx

COUNT, MOST = 20, 4


@pytest.mark.parametrize("by_grid", [False, True])
def test_kernels_of_many_names_or_grids_are_folded_by_time(
    by_grid: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "MOST_KERNELS", MOST)
    builder = TraceBuilder().gpu(0).samples([50] * 60)
    for number in range(COUNT):
        start = 100_000 * number
        name, grid = ("gemm", number + 1) if by_grid else (f"gemm{number}", 1)
        builder.kernel(name, start, start + 1_000 * (number + 1), gridX=grid)
        builder.copy("host to device", start + 90_000, start + 91_000)
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    kernels = analysis.kernels.set_index("name")
    assert len(kernels) == MOST + 1
    assert kernels.loc[FOLDED_KERNELS, "launch_count"] == COUNT - MOST
    assert kernels.loc[FOLDED_KERNELS, "total_ns"] == 1_000 * sum(range(1, COUNT - MOST + 1))
    assert kernels["total_ns"].sum() == 1_000 * sum(range(1, COUNT + 1))
    assert (analysis.activities["name"] == "host to device").sum() == COUNT
    assert analysis.observed.kernel_count == COUNT
    monkeypatch.setattr("tcprof.findings.notes.MOST_KERNELS", MOST)
    assert FOLDED_KERNELS in describe_folding(analysis)


def test_domains_beyond_those_with_most_ranges_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvtx, "MOST_DOMAINS", MOST)
    builder = TraceBuilder().kernel("gemm", 0, 10)
    for number in range(COUNT):
        for again in range(1 + (number < MOST)):
            builder.range("r", 100 * number + 10 * again, 100 * number + 10 * again + 5, domain=f"d{number}")
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    counts = analysis.nvtx_ranges["domain"].value_counts()
    assert counts.to_dict() == {**{f"d{number}": 2 for number in range(MOST)}, nvtx.OTHER_DOMAINS: COUNT - MOST}
    assert [(each.what, each.count) for each in analysis.observed.wrong] == [(nvtx.MANY_DOMAINS, COUNT - MOST)]


def test_gpus_beyond_what_a_recording_has_are_left_out(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for gpu in range(MOST_GPUS + 1):
        builder.samples([50] * 10, gpu=gpu)
        builder.kernel("gemm", 100 * gpu, 100 * gpu + 10, device=gpu)
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    assert analysis.activities["gpu"].tolist() == list(range(MOST_GPUS))
    assert analysis.samples["gpu"].unique().tolist() == list(range(MOST_GPUS))
    assert {each.what: each.count for each in analysis.observed.wrong} == {MANY_GPUS: 1}


def test_gpus_of_high_numbers_are_read(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for gpu in (3, MOST_GPUS, 255):
        builder.samples([50] * 10, gpu=gpu).kernel("gemm", 100, 200, device=gpu)
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    assert not analysis.observed.wrong
    assert sorted(analysis.activities["gpu"]) == analysis.samples["gpu"].unique().tolist() == [3, MOST_GPUS, 255]


def test_paths_of_deeply_nested_modules_with_long_names_are_bounded() -> None:
    """A path repeats the classes around it; a file of 20 MB made 500 MB of them."""
    names, depth = TextCodes(), 200
    calls = NumberColumns("process thread name start end")
    for level in range(depth):
        calls.add(1, 1, names.code(f"nn.Module: {'C' * 110}{level}_{level}"), level, 1_000 - level)
    paths = [names.text(code) for code in name_calls(calls, names)]
    assert [path.count(".") for path in paths[:8]] == list(range(8))
    assert set(paths[8:]) == {paths[8]}
    assert len(paths[-1]) <= 1024
