"""An analysis of some of a recording's GPUs, and the page of one with more than it can show."""

from importlib import import_module

import pandas as pd
import pytest
from builders import TraceBuilder

import tcprof
from tcprof.analysis.analysis import busiest_gpus, keep_gpus
from tcprof.analysis.replay import find_windows
from tcprof.findings.advise import advise
from tcprof.findings.judge import judge, keep_busiest
from tcprof.findings.pricing.multi_gpu import measure_steps
from tcprof.render.html.page import render_page
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
