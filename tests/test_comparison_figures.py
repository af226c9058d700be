"""The figures of a comparison as data: what is drawn, and that it agrees with the comparison."""

import numpy as np
import pytest
from plotly_figures import as_plotly
from report_inputs import make_comparison

from tcprof.comparison import compare
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings.compared.verdict import find_row
from tcprof.views.comparison.changes import list_kernel_changes
from tcprof.views.comparison.sides import BETTER_COLOR, SIDE_COLORS, WORSE_COLOR
from tcprof.views.comparison.steps import figure_steps as draw_steps
from tcprof.views.comparison.waterfall import figure_waterfall as draw_waterfall

figure_steps = as_plotly(draw_steps)
figure_waterfall = as_plotly(draw_waterfall)

pytestmark = pytest.mark.usefixtures("shared_reads")


def lines(figure, ending=""):
    """The traces of steps, or those whose names end so."""
    traces = [trace for trace in figure.data if trace.type == "scatter" and trace.x[0] is not None]
    if ending:
        return [trace for trace in traces if trace.name.endswith(ending)]
    return [trace for trace in traces if trace.mode == "lines+markers"]


def boxes(figure):
    return lines(figure, ", distribution")


class TestSteps:
    @pytest.mark.slow
    def test_each_recording_has_its_line_in_both_strips(self, several):
        figure = figure_steps(several, 0)
        assert len(lines(figure)) == 2 * 3 * 2
        assert {trace.yaxis for trace in lines(figure)} == {"y", "y2"}

    def test_values_are_those_of_the_steps(self, steps):
        trace = lines(figure_steps([steps], 0))[0]
        known = steps.base.first.steps.dropna(subset="step_ns")  # the last one has no next one
        assert list(trace.x) == known["number"].tolist()
        assert list(trace.y) == pytest.approx((known["step_ns"] * 1e-9).tolist())
        assert trace.name == "base, Step time per step"

    def test_warm_up_is_open_and_not_in_the_distribution(self, steps):
        figure = figure_steps([steps], 0)
        warm_up = steps.base.first.steps["warm_up"].to_numpy()[:-1]
        assert 0 < warm_up.sum() < len(warm_up)
        assert [symbol.endswith("-open") for symbol in lines(figure)[0].marker.symbol] == warm_up.tolist()
        outline, points = boxes(figure)[:2]
        steady = lines(figure)[0].y[~warm_up]
        assert sorted(points.y) == sorted(steady)
        assert (np.nanmin(outline.y), np.nanmax(outline.y)) == (steady.min(), steady.max()), "the whiskers"
        assert {*np.percentile(steady, [25, 50, 75])} <= {*outline.y}

    def test_median_and_interval_are_those_that_are_compared(self, steps):
        figure = figure_steps([steps], 0)
        row = find_row(steps, 0, "step_ns")
        base, new = lines(figure, "Step time per step, median")
        assert list(base.y) == pytest.approx([row["base"] * 1e-9] * 2)
        assert list(new.y) == pytest.approx([row["new"] * 1e-9] * 2)
        band = lines(figure, "Step time per step, interval")[0]
        assert [min(band.y), max(band.y)] == pytest.approx([row["base_low"] * 1e-9, row["base_high"] * 1e-9])

    def test_without_steps_there_is_nothing(self):
        assert not figure_steps([make_comparison()], 0).data

    def test_colours_of_sides_differ(self):
        assert len(set(SIDE_COLORS)) == len(SIDE_COLORS) >= 6


class TestWaterfall:
    @pytest.mark.parametrize("quantity", [TIME, TENSOR_ACTIVE])
    def test_bars_lead_from_one_side_to_the_other(self, steps, quantity):
        (bars,) = figure_waterfall(steps, 0, quantity).data
        total = steps.waterfall[steps.waterfall["quantity"] == quantity].iloc[0]
        scale = 1e-9 if quantity == TIME else 1
        assert bars.x[0] == pytest.approx(total["base"] * scale)
        assert bars.x[-1] == pytest.approx(total["new"] * scale)
        for place in range(1, len(bars.x) - 1):
            before = bars.base[place - 1] + bars.x[place - 1]
            assert bars.base[place] == pytest.approx(before)
        assert bars.base[-2] + bars.x[-2] == pytest.approx(total["new"] * scale)

    @pytest.mark.parametrize(("quantity", "better"), [(TIME, -1), (TENSOR_ACTIVE, 1)])
    def test_colours_tell_better_from_worse(self, steps, quantity, better):
        (bars,) = figure_waterfall(steps, 0, quantity).data
        colors = dict(zip(bars.x[1:-1], bars.marker.color[1:-1], strict=True))
        assert len(colors) >= 2
        assert all((BETTER_COLOR if change * better > 0 else WORSE_COLOR) == colors[change] for change in colors)

    def test_each_part_names_the_kernels_that_it_holds(self, steps):
        (bars,) = figure_waterfall(steps, 0, TIME, "table-kernels-1-0").data
        groups = {row.group for row in list_kernel_changes(steps, 0).rows}
        assert groups <= {name for names in bars.customdata for name in names}
        assert bars.customdata[0] == bars.customdata[-1] == []
        assert bars.meta == {"chooses": "table-kernels-1-0"}

    def test_of_equal_recordings_only_both_ends_are_left(self, steps):
        base = steps.base.first
        assert len(figure_waterfall(compare(base, base), 0, TIME).data[0].x) == 2

    def test_nothing_to_divide(self):
        assert not figure_waterfall(make_comparison(), 0, TIME).data
