"""An analysis of some of a recording's GPUs, and the page of one with more than it can show."""

from importlib import import_module

import pandas as pd
import pytest
from builders import TraceBuilder

import tcprof
from tcprof.analysis import folding
from tcprof.analysis.analysis import busiest_gpus, keep_gpus
from tcprof.analysis.folding import FOLDED_KERNELS
from tcprof.analysis.replay import find_windows
from tcprof.findings import describe_folding
from tcprof.findings.advise import advise
from tcprof.findings.judge import judge, keep_busiest
from tcprof.findings.pricing.multi_gpu import measure_steps
from tcprof.nsys import schema
from tcprof.render.html.page import render_page
from tcprof.sources.checks import MANY_GPUS
from tcprof.sources.kineto.events import NumberColumns, TextCodes, name_calls
from tcprof.sources.nsys_sqlite import nvtx
from tcprof.views.recording.show import view_recording

MOST_GPUS = 3
GPUS = MOST_GPUS + 4
# The package has a function of the first name.
LIMITED = [import_module(f"tcprof.findings.{name}") for name in ("judge", "pricing.multi_gpu")]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """A page with this many GPUs is made as quickly as one with few."""
    for module in LIMITED:
        assert module.MOST_GPUS > 8, "more than a machine has"
        monkeypatch.setattr(module, "MOST_GPUS", MOST_GPUS)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    """A program that works the longer on a GPU the higher its number is, in three steps of two kernels."""
    builder = TraceBuilder()
    for gpu in range(GPUS):
        builder.gpu(gpu).samples([10 + gpu] * 60, gpu=gpu)
    for start in builder.steps(3, 100_000, 90_000):
        builder.range("forward", start + 10, start + 80_000)
        for gpu in range(GPUS):
            end = start + 20_000 + 1_000 * gpu
            builder.kernel("gemm", start + 5_000, end, launched=start + 100 + gpu, device=gpu)
            builder.kernel("relu", end, end + 5_000, launched=start + 200 + gpu, device=gpu)
    return tcprof.read(builder.write(tmp_path_factory.mktemp("gpus"))).analysis


def test_a_gpu_that_was_not_recorded_is_not_listed(tmp_path):
    """An export names all GPUs of its machine, though one was recorded."""
    builder = TraceBuilder().gpu(0).gpu(1).samples([10] * 60, gpu=1)
    builder.kernel("gemm", 20_000, 30_000, launched=19_000, device=1)
    assert tcprof.read(builder.write(tmp_path)).analysis.gpus["gpu"].tolist() == [1]


def describe(analysis) -> pd.DataFrame:
    """The launches, by what their numbers stand for."""
    launched, activities, kernels = analysis.kernel_instances, analysis.activities, analysis.kernels
    activity, kernel = (frame.iloc[launched[key]] for key, frame in (("activity", activities), ("kernel", kernels)))
    return pd.DataFrame(
        {
            "gpu": launched["gpu"],
            "start_ns": activity["start_ns"].to_numpy(),
            "activity": activity["name"].astype(str).to_numpy(),
            "kernel": kernel["name"].to_numpy(),
            "of_gpu": kernel["gpu"].to_numpy(),
            "step": analysis.steps["number"].to_numpy()[launched["step"]],
            "iterates": analysis.steps["gpu"].to_numpy()[launched["step"]],
        }
    )


def test_the_launches_of_some_gpus_are_of_the_same_kernels_and_steps(analysis):
    assert busiest_gpus(analysis, 3) == [GPUS - 3, GPUS - 2, GPUS - 1]
    kept, whole = describe(keep_gpus(analysis, [2, 5])), describe(analysis)
    assert len(kept) == 2 * 2 * 3
    pd.testing.assert_frame_equal(kept, whole[whole["gpu"].isin([2, 5])].reset_index(drop=True))


def test_nothing_of_other_gpus_is_left(analysis):
    kept = keep_gpus(analysis, [2, 5])
    for name, frame in vars(kept).items():
        if isinstance(frame, pd.DataFrame) and "gpu" in frame:
            assert set(frame["gpu"]) <= {2, 5}, name
    assert len(analysis.ranges) * 2 == len(kept.ranges) * GPUS > 0


def test_the_gpus_that_worked_longest_have_advice_and_pages_and_this_is_said(analysis):
    assert sorted(measure_steps(analysis)) == list(range(4, GPUS))
    shown, findings, _ = keep_busiest(analysis, judge(analysis), advise(analysis))
    assert [each.gpu for each in findings.gpus] == shown.gpus["gpu"].tolist() == list(range(4, GPUS))
    said = f"Advice, estimates and pages cover the {MOST_GPUS} busiest of {GPUS} GPUs"
    assert any(text.startswith(said) for text in findings.remarks)
    page = render_page(view_recording(analysis, judge(analysis), advise(analysis)))
    assert said in page
    assert 'id="icicle-4"' in page
    assert 'id="icicle-3"' not in page


def test_a_gpu_that_the_recording_does_not_name_has_no_advice(analysis):
    assert advise(analysis.replace(gpus=analysis.gpus.iloc[:0])) == ()


def test_steps_whose_times_are_unknown_are_not_replayed(analysis):
    unknown = analysis.steps["gpu_start_ns"].astype(float) * float("nan")
    assert find_windows(analysis, 4) is not None
    assert find_windows(analysis.replace(steps=analysis.steps.assign(gpu_start_ns=unknown)), 4) is None


# Small files with more names, grids, domains or GPUs than any program has: what time and memory grow with.

COUNT, MOST = 20, 4


@pytest.mark.parametrize("by_grid", [False, True])
def test_kernels_of_many_names_or_grids_are_folded_by_time(by_grid, tmp_path, monkeypatch):
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


def test_domains_beyond_those_with_most_ranges_are_one(tmp_path, monkeypatch):
    monkeypatch.setattr(nvtx, "MOST_DOMAINS", MOST)
    builder = TraceBuilder().kernel("gemm", 0, 10)
    for number in range(COUNT):
        for again in range(1 + (number < MOST)):
            builder.range("r", 100 * number + 10 * again, 100 * number + 10 * again + 5, domain=f"d{number}")
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    counts = analysis.nvtx_ranges["domain"].value_counts()
    assert counts.to_dict() == {**{f"d{number}": 2 for number in range(MOST)}, nvtx.OTHER_DOMAINS: COUNT - MOST}
    assert [(each.what, each.count) for each in analysis.observed.wrong] == [(nvtx.MANY_DOMAINS, COUNT - MOST)]


def test_gpus_beyond_what_a_recording_has_are_left_out(tmp_path):
    builder = TraceBuilder()
    for gpu in range(schema.MOST_GPUS + 1):
        builder.samples([50] * 10, gpu=gpu)
        builder.kernel("gemm", 100 * gpu, 100 * gpu + 10, device=gpu)
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    assert analysis.activities["gpu"].tolist() == list(range(schema.MOST_GPUS))
    assert analysis.samples["gpu"].unique().tolist() == list(range(schema.MOST_GPUS))
    assert {each.what: each.count for each in analysis.observed.wrong} == {MANY_GPUS: 1}


def test_gpus_of_high_numbers_are_read(tmp_path):
    builder = TraceBuilder()
    for gpu in (3, schema.MOST_GPUS, 255):
        builder.samples([50] * 10, gpu=gpu).kernel("gemm", 100, 200, device=gpu)
    analysis = tcprof.read(builder.write(tmp_path)).analysis
    assert not analysis.observed.wrong
    assert sorted(analysis.activities["gpu"]) == analysis.samples["gpu"].unique().tolist() == [3, schema.MOST_GPUS, 255]


def test_paths_of_deeply_nested_modules_with_long_names_are_bounded():
    """A path repeats the classes around it; a file of 20 MB made 500 MB of them."""
    names, depth = TextCodes(), 200
    calls = NumberColumns("process thread name start end")
    for level in range(depth):
        calls.add(1, 1, names.code(f"nn.Module: {'C' * 110}{level}_{level}"), level, 1_000 - level)
    paths = [names.text(code) for code in name_calls(calls, names)]
    assert [path.count(".") for path in paths[:8]] == list(range(8))
    assert set(paths[8:]) == {paths[8]}
    assert len(paths[-1]) <= 1024
