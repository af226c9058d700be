"""A typical step of both sides of a comparison: which one it is, what lies in it, and what is joined."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from comparison_inputs import compare_hostile
from plotly_figures import as_plotly
from report_inputs import make_comparison

from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.comparison.details import find_steps, join_work, merge_work
from tcprof.views.comparison.details import list_details
from tcprof.views.comparison.typical_step import figure_typical_step as draw_typical_step

figure_typical_step = as_plotly(draw_typical_step)

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.fixture(scope="module")
def typical(steps):
    return find_steps(steps, 0)


def make_work(*bars):
    """Work from tuples of class, start and end in ns; each is a row of its own."""
    frame = pd.DataFrame(bars, columns=["time_class", "start_ns", "end_ns"])
    return frame.assign(name="kernel", row=frame.index, nth=0)


class TestStep:
    def test_is_the_one_whose_window_is_the_median_without_warm_up(self, steps, typical):
        for step, side in zip(typical, (steps.base, steps.new), strict=True):
            iterations = side.first.iterations
            windows = sorted(iterations.loc[~iterations["warm_up"], "gpu_window_ns"])
            assert step.length_ns == windows[(len(windows) - 1) // 2]
            own = iterations[iterations["number"] == step.number].iloc[0]
            assert own["gpu_window_ns"] == step.length_ns

    def test_begins_at_its_first_activity(self, typical):
        for step, count in zip(typical, (2, 3), strict=True):
            assert len(step.work) == count
            assert step.work["start_ns"].min() == 0
            assert step.work["end_ns"].max() == step.length_ns
            assert list(step.ranges["path"].unique()) == ["forward"]
            assert step.ranges["start_ns"].min() == 0

    def test_has_the_samples_of_its_time(self, typical):
        for step in typical:
            x, y = step.curve
            assert x[0] == 0
            assert np.nanmax(x) == pytest.approx(step.length_ns * 1e-9)
            assert set(y[~np.isnan(y)]) <= {20, 40, 50, 60}

    def test_without_iterations_there_is_none(self, steps):
        assert find_steps(make_comparison(), 0) is None
        assert not figure_typical_step(make_comparison(), 0).data
        assert "typical-1-0" in [section.name for section in list_details(steps, 1)[0].parts]
        alone = replace(steps, iteration_path="")
        assert "typical-1-0" not in [section.name for section in list_details(alone, 1)[0].parts]


class TestJoined:
    def test_launches_of_matched_kernels(self, typical):
        pairs = join_work(typical, 10)
        assert list(zip(pairs["name_base"], pairs["name_new"], strict=True)) == [
            ("ampere_sgemm_128x64", "nvjet_sm90_hsh_128x128_64x4"),
            ("add", "add"),
        ]

    def test_the_longest_if_there_are_too_many(self, typical):
        assert list(join_work(typical, 1)["name_base"]) == ["ampere_sgemm_128x64"]


class TestMerged:
    def test_neighbours_that_are_too_short_to_be_seen_are_one_bar(self):
        work = make_work((0, 0, 10), (0, 11, 20), (1, 20, 30), (1, 500_000, 500_010), (0, 600_000, 1_200_000))
        merged = merge_work(work)
        assert merged[["time_class", "start_ns", "end_ns", "count"]].to_numpy().tolist() == [
            [0, 0, 20, 2],
            [1, 20, 30, 1],
            [1, 500_000, 500_010, 1],
            [0, 600_000, 1_200_000, 1],
        ]

    def test_long_ones_stay_as_they_are(self):
        work = make_work((0, 0, 500), (0, 500, 1000), (0, 1000, 1200))
        assert merge_work(work)["count"].tolist() == [1, 1, 1]

    def test_very_many_become_few(self):
        start = np.arange(100_000) * 10
        work = make_work(*zip(np.zeros(100_000, dtype=int), start, start + 9, strict=True))
        assert len(merge_work(work)) < 3000

    def test_nothing(self):
        assert merge_work(make_work()).empty


class TestFigure:
    def test_both_sides_have_one_axis_from_nothing(self, steps, typical):
        figure = figure_typical_step(steps, 0)
        assert figure.layout.xaxis.range[0] == 0
        assert figure.layout.xaxis.range[1] >= max(step.length_ns for step in typical) * 1e-9
        curves = [trace for trace in figure.data if trace.type == "scatter" and trace.yaxis is None]
        assert [curve.name for curve in curves] == ["base", "opt"]

    def test_work_has_the_colours_of_its_classes(self, steps, typical):
        figure = figure_typical_step(steps, 0)
        drawn = {trace.name: len(trace.x) for trace in figure.data if trace.type == "bar" and trace.showlegend is None}
        classes = {TIME_CLASSES[number] for step in typical for number in step.work["time_class"]}
        assert len(drawn) == len(classes)
        assert sum(drawn.values()) == sum(len(step.work) for step in typical)

    @pytest.mark.slow
    def test_hostile_names_are_text(self, tmp_path):
        for comparison in compare_hostile(tmp_path):
            figure = figure_typical_step(comparison, 0)
            texts = [note.text for note in figure.layout.annotations]
            texts += [text for trace in figure.data for text in (*(trace.hovertext or ()), trace.name or "")]
            texts += [text for trace in figure.data if trace.type == "bar" for text in trace.text or ()]
            assert len(texts) > 10
            for text in texts:
                left = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
                assert not set("<>$\u202e\u2028") & set(left)
