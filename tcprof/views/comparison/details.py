"""What a page says of one side against the baseline, GPU by GPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.roofline import has_bytes
from tcprof.comparison import Comparison
from tcprof.comparison.comparison import MEASURED
from tcprof.comparison.details import MOST_MOVED, has_steps, list_moved
from tcprof.comparison.matching.places import gpu_models
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings.compared.judge import ComparedAdvice, compare_advice, describe_won
from tcprof.findings.compared.verdict import iteration_name, side_names
from tcprof.views.comparison.changes import (
    MEANING,
    MOST_KERNELS,
    describe_kernels,
    list_kernel_changes,
    list_module_changes,
)
from tcprof.views.comparison.icicle import ABSENT, EXPLAINED, compare_icicles
from tcprof.views.comparison.quantities import NOTE, list_quantities, list_range_changes
from tcprof.views.comparison.sides import BETTER_COLOR, LONGEST_NAME, WORSE_COLOR, shared_gpus, side_color, title_of
from tcprof.views.comparison.typical_step import MOST_JOINED, figure_typical_step
from tcprof.views.comparison.waterfall import figure_waterfall, list_parts
from tcprof.views.document import Figure, Notes, Part, Section
from tcprof.views.figures import PlotlyFigure, label
from tcprof.views.figures.circles import as_table, size_circles
from tcprof.views.figures.roofline import add_limits, layout_of, name_precision
from tcprof.views.icicle import MODULES, RANGES
from tcprof.views.paths import MOST_ROWS
from tcprof.views.recording import gpu_title_of_several
from tcprof.views.tables import Cell, Heading, Row, Table

_QUANTITIES = (
    "Medians per step without warm-up, and the change with its 95 % interval; below a median its mean, where the "
    "two disagree. The recordings show what is higher or lower; ~ is inconclusive, which does not mean that nothing "
    "changed."
)
_PARTS = (
    "Less time is better, and more Tensor Active. These are means, since medians do not add up. Each nanosecond of the "
    "mean step time belongs to one part. Tensor Active is over the GPU windows: idle is how much of them is under "
    "kernels, mix which kernels have that time, intensity the Tensor Active of matched kernels. A click on a part of "
    "the time shows its kernels alone in their table."
)
_STEP = (
    "The step of each side whose GPU window is the median, from its first activity on the GPU on: one step, "
    f"not a mean. Bands join the same ranges, and the {MOST_JOINED} longest pairs of launches of matched kernels. The "
    "colour of a range is its Tensor Active, from 0 to 100 %. Drag to zoom, double-click to see all again."
)
_MOVED = (
    "Open circles are the baseline's kernels, filled ones those of the other side; a line joins what was matched. "
    "The area of a circle is the kernel's time per step. Up is more FLOP a second, towards the roof of its "
    f"precision; right is less device memory for each FLOP. For each side, the {MOST_MOVED} longest kernels are drawn, "
    "if their FLOP and bytes are known."
)
_NO_STEPS: Mapping[int, Section] = MappingProxyType({})
_ADVICE_HEADINGS = (Heading("Finding", words=True), Heading("Predicted", words=True), Heading("Now", words=True))
_ADVICE = (
    "Each prediction is for its own advice alone; the change of the mean step time includes everything that differs "
    "between the sides. “tcprof advise” explains each by its name."
)


@dataclass(frozen=True)
class ColorKey(Notes):
    """What colours mean, and what is to be said beside it."""

    colors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Place:
    """One GPU of a comparison, the number of the side among those compared with the baseline, and its name, if told."""

    comparison: Comparison
    gpu: int
    number: int
    side: str

    @property
    def unit(self) -> str:
        return iteration_name(self.comparison)

    @property
    def kernels(self) -> str:
        """What a page calls the table whose rows a click on a bar chooses."""
        return f"table-kernels-{self.number}-{self.gpu}"

    def section(self, name: str, title: str, parts: tuple[Part, ...], linked: str = "") -> Section:
        return Section(f"{name}-{self.number}-{self.gpu}", title, parts, linked)

    def figure(self, name: str, caption: str, make: Callable[[], PlotlyFigure], chooses: bool = True) -> Figure:
        return Figure(f"{name}-{self.number}-{self.gpu}", f"{caption}{self.side}", make, chooses=chooses)

    def table(self, table: Table, caption: str = "") -> Table:
        """A table under the name that it has among those of all sides."""
        name = f"{table.name.removesuffix(f'-{self.gpu}')}-{self.number}-{self.gpu}"
        return replace(table, name=name, caption=f"{caption}{self.side}" if caption else "")


def list_details(
    comparison: Comparison, number: int, name: str = "", steps: Mapping[int, Section] = _NO_STEPS
) -> tuple[Part, ...]:
    """What is said of one side against the baseline, GPU by GPU.

    Args:
        number: Its number among such sides.
        name: Its name if there are more.
        steps: For each GPU a section on the steps of both sides, which comes second.
    """
    parts, advice = [], compare_advice(comparison)
    for gpu in shared_gpus([comparison]):
        at = _Place(comparison, gpu, number, f": {name}" if name else "")
        both = [steps[gpu]] if gpu in steps else []
        step, tables = (_view_icicles(at), *both, _view_quantities(at), *_view_step(at)), _view_tables(at)
        sections = (*step, *_view_parts(at), *_view_advice(at, advice), *tables, *_view_roofline(at))
        parts.append(at.section("gpu", gpu_title_of_several(comparison.base.first, gpu), sections))
    return tuple(parts)


def _view_icicles(at: _Place) -> Section:
    tables = {by: f"table-{by.lower()}-{at.number}-{at.gpu}" for by in (MODULES, RANGES)}
    found = compare_icicles(at.comparison, at.gpu, f"icicles-{at.number}-{at.gpu}", tables)
    parts: tuple[Part, ...] = (Notes((ABSENT.format(unit=at.unit),)),)
    if found is not None:
        parts = (replace(found, caption=f"{found.caption}{at.side}"), Notes((EXPLAINED.format(unit=at.unit),)))
    return at.section("blocks", f"Where a {at.unit} got faster or slower", parts, "Faster or slower")


def _view_quantities(at: _Place) -> Section:
    table = at.table(list_quantities(at.comparison, at.gpu), f"Quantities per {at.unit}")
    spread = at.comparison.spread
    advice = "" if spread == MEASURED else f", not {MEASURED}: give several recordings a side"
    note = Notes((f"{_QUANTITIES} How much runs of one program differ is {spread}{advice}.",))
    return at.section("changed", f"What changed per {at.unit}", (table, note), "What changed")


def _view_step(at: _Place) -> tuple[Section, ...]:
    if not has_steps(at.comparison, at.gpu):
        return ()
    caption = f"Ranges, kernels and Tensor Active of a typical {at.unit} of both sides, on one axis of time"
    figure = at.figure("step", caption, partial(figure_typical_step, at.comparison, at.gpu, at.kernels))
    title = f"A typical {at.unit} of each side"
    return (at.section("typical", title, (Notes((_STEP,)), figure), f"Typical {at.unit}"),)


def _view_parts(at: _Place) -> list[Section]:
    titles = {TIME: f"Where the time of the mean {at.unit} goes", TENSOR_ACTIVE: "Why its mean Tensor Active changed"}
    sections: list[Part] = []
    for quantity, table in list_parts(at.comparison, at.gpu).items():
        what = "time" if quantity == TIME else "Tensor Active"
        caption = f"Baseline, what each part of the {what} adds or takes away, and the new mean"
        make = partial(figure_waterfall, at.comparison, at.gpu, quantity, at.kernels)
        figure = at.figure(f"waterfall-{quantity}", caption, make)
        sections.append(at.section(quantity, titles[quantity], (figure, at.table(table))))
    if not sections:
        return []
    key = ColorKey((_PARTS,), "key", colors=((BETTER_COLOR, "better"), (WORSE_COLOR, "worse")))
    return [at.section("why", "Why", (*sections, key))]


def _view_advice(at: _Place, advice: Sequence[ComparedAdvice]) -> tuple[Section, ...]:
    """The advice on the baseline and whether it is gone, and what is new; nothing where there is none."""
    rows = tuple(
        Row(each.rule, tuple(map(Cell.word, (each.sentence, each.predicted or units.UNKNOWN, each.now))))
        for each in advice
        if each.gpu == at.gpu
    )
    if not rows:
        return ()
    table = Table(f"advice-{at.gpu}", "", "Advice", _ADVICE_HEADINGS, rows, gpu=at.gpu)
    notes = Notes(tuple(filter(None, (describe_won(at.comparison, at.gpu), _ADVICE))))
    parts = (at.table(table, "Advice on the baseline, whether it is gone, and what is new"), notes)
    return (at.section("advised", "What became of the advice, and what is new", parts, "Advice"),)


def _view_tables(at: _Place) -> list[Section]:
    """The ranges, and modules and kernels where there are any."""
    on = f"on {title_of(at.comparison, at.gpu)}"
    ranges = at.table(list_range_changes(at.comparison, at.comparison.rows, at.gpu, MOST_ROWS), f"Ranges {on}")
    modules = at.table(list_module_changes(at.comparison, at.gpu, MOST_ROWS), f"Modules per {at.unit}")
    kernels = at.table(list_kernel_changes(at.comparison, at.gpu, MOST_KERNELS), f"Kernels {on}")
    sections = [at.section("all-ranges", "Ranges", (Notes((NOTE,)), ranges))]
    if modules.rows:
        sections.append(Section(f"{modules.name}-part", "Modules", (Notes((MEANING,)), modules)))
    if kernels.rows:
        notes = Notes((" ".join(describe_kernels(at.comparison)),))
        sections.append(at.section("all-kernels", "Kernels", (notes, kernels)))
    return sections


def _view_roofline(at: _Place) -> tuple[Section, ...]:
    """Where kernels moved in the roofline; nothing where no kernel has a place, or where the sides have other roofs."""
    sides = at.comparison.base, at.comparison.new
    models, counted = gpu_models(*sides), any(has_bytes(side.typical.kernels) for side in sides)
    if models[0] != models[1] or not counted or all(rows.empty for rows in list_moved(at.comparison, at.gpu)):
        return ()
    caption = "FLOP/s of the kernels of both sides over their FLOP for each byte of device memory"
    figure = at.figure("roofline", caption, partial(figure_moved, at.comparison, at.gpu), chooses=False)
    return (at.section("moved", "Roofline", (Notes((_MOVED,)), figure)),)


_LINE = "rgba(128,128,128,0.75)"
_COLUMNS = ["side", "gpu", "name", "geometry", "time_ns", "arithmetic", "tflops", "intensity", "roof_pct", "memory_pct"]


def figure_moved(comparison: Comparison, gpu: int) -> PlotlyFigure:
    """Circles of both sides under the roofs, and a line from each kernel of the baseline to its counterpart.

    Empty where no kernel of either side has a place.
    """
    moved, figure = list_moved(comparison, gpu), PlotlyFigure()
    drawn = pd.concat([rows.assign(side=name) for rows, name in zip(moved, side_names(comparison), strict=True)])
    if drawn.empty:
        return figure
    _, box = add_limits(figure, drawn, comparison.new.typical.gpus)
    _add_lines(figure, *moved)
    longest = float(drawn["time_ns"].max())
    colors = (side_color(comparison.base, 0), side_color(comparison.new, 1))
    for side, symbol, color in zip(side_names(comparison), ("circle-open", "circle"), colors, strict=True):
        rows = drawn[drawn["side"] == side]
        look = {"color": color, "symbol": symbol, "opacity": 0.8, "line": {"width": 1.5}}
        figure.add_scatter(
            x=rows["intensity"].to_numpy(),
            y=1e12 * rows["tflops"].to_numpy(),
            mode="markers",
            name=label(side, LONGEST_NAME),
            marker={**size_circles(rows["time_ns"].to_numpy(np.float64), longest), **look},
            hovertext=[_describe(row) for row in rows.to_dict("records")],
        )
    return figure.update_layout(layout_of(box), meta=as_table(drawn, _COLUMNS))


def _add_lines(figure: PlotlyFigure, base: pd.DataFrame, new: pd.DataFrame) -> None:
    pairs = base.merge(new, on="pair", suffixes=("_base", "_new"))
    gap = np.full(len(pairs), np.nan)
    x, y = (
        np.column_stack([*(pairs[f"{name}_{side}"] for side in ("base", "new")), gap])
        for name in ("intensity", "tflops")
    )
    look = {"mode": "lines", "line": {"color": _LINE, "width": 1}, "hoverinfo": "skip"}
    figure.add_scatter(x=x.ravel(), y=1e12 * y.ravel(), **look, name="matched kernels")


def _describe(row: Mapping[Any, Any]) -> str:
    return (
        f"<b>{label(short_name(str(row['name'])), 64)}</b><br>{label(str(row['side']), LONGEST_NAME)}: "
        f"{units.format_ns(row['time_ns'])} per step<br>{name_precision(row['arithmetic'])}: "
        f"{units.format_flops(row['tflops'])}, {units.format_pct(row['roof_pct'])} of its "
        f"roof<br>{units.format_pct(row['memory_pct'])} of the DRAM bandwidth, {row['intensity']:.3g} FLOP for each "
        "byte"
    )
