"""What a page says of one side against the baseline, GPU by GPU."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from tcprof.comparison import Comparison
from tcprof.comparison.comparison import MEASURED
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings.compared.verdict import step_name
from tcprof.views.comparison.changes import (
    MEANING,
    MOST_KERNELS,
    NOTE,
    describe_kernels,
    list_kernel_changes,
    list_module_changes,
    list_quantities,
    list_range_changes,
)
from tcprof.views.comparison.icicle import ABSENT, COMPARED, compare_icicles
from tcprof.views.comparison.sides import BETTER_COLOR, WORSE_COLOR, shared_gpus, title_of
from tcprof.views.comparison.waterfall import figure_waterfall, list_parts
from tcprof.views.document import Explorer, Figure, Grouping, Notes, Part, Section
from tcprof.views.figures import PlotlyFigure
from tcprof.views.paths import MOST_ROWS
from tcprof.views.recording import gpu_title_of_several
from tcprof.views.tables import Table

_QUANTITIES = (
    "Medians per step without warm-up, and the change with its 95 % interval; the mean stands below the median where "
    "the two disagree. Higher and lower are significant; ~ is inconclusive, which does not mean that nothing changed."
)
_PARTS = (
    "Less time is better, and more Tensor Active. These are means, since medians do not add up. Each nanosecond of the "
    "mean step time belongs to one part. Tensor Active is over the GPU windows: idle is their time without kernels; "
    "kernel mix, which kernels run; activity per kernel, the Tensor Active of matched kernels. Click a part of "
    "the time to show only its kernels in their table."
)
_NO_STEPS: Mapping[int, Section] = MappingProxyType({})


@dataclass(frozen=True)
class ColorKey(Notes):
    """What colours mean, and what is to be said beside it."""

    colors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _GpuOfSide:
    """One GPU of a comparison, the number of the side among those compared with the baseline, and its name, if told."""

    comparison: Comparison
    gpu: int
    number: int
    side: str

    @property
    def unit(self) -> str:
        return step_name(self.comparison)

    @property
    def tables(self) -> str:
        """Return what a page calls the table whose rows a click on a bar chooses."""
        return f"tables-{self.number}-{self.gpu}"

    def section(self, name: str, title: str, parts: tuple[Part, ...], linked: str = "") -> Section:
        return Section(f"{name}-{self.number}-{self.gpu}", title, parts, linked)

    def figure(self, name: str, caption: str, make: Callable[[], PlotlyFigure]) -> Figure:
        return Figure(f"{name}-{self.number}-{self.gpu}", f"{caption}{self.side}", make, chooses=True)

    def table(self, table: Table, caption: str = "") -> Table:
        """Give a table the name that it has among those of all sides."""
        name = f"{table.name.removesuffix(f'-{self.gpu}')}-{self.number}-{self.gpu}"
        return replace(table, name=name, caption=f"{caption}{self.side}" if caption else "")


def list_details(
    comparison: Comparison, number: int, name: str = "", steps: Mapping[int, Section] = _NO_STEPS
) -> list[Section]:
    """List the sections on one side against the baseline, GPU by GPU.

    Args:
        number: Its number among such sides.
        name: Its name if there are more.
        steps: For each GPU a section on the steps of both sides, which comes second.
    """
    parts = []
    for gpu in shared_gpus([comparison]):
        at = _GpuOfSide(comparison, gpu, number, f": {name}" if name else "")
        both = [steps[gpu]] if gpu in steps else []
        sections = (_view_icicles(at), *both, _view_quantities(at), *_view_parts(at), _view_tables(at))
        parts.append(
            at.section("gpu", gpu_title_of_several(gpu, comparison.base.first, comparison.new.first), sections)
        )
    return parts


def _view_icicles(at: _GpuOfSide) -> Section:
    icicle = compare_icicles(at.comparison, at.gpu, f"icicles-{at.number}-{at.gpu}", at.tables)
    parts: tuple[Part, ...] = (Notes((ABSENT.format(unit=at.unit),)),)
    if icicle is not None:
        parts = (replace(icicle, caption=f"{icicle.caption}{at.side}"), Notes((COMPARED.format(unit=at.unit),)))
    return at.section("blocks", f"Where a {at.unit} got faster or slower", parts, "Faster or slower")


def _view_quantities(at: _GpuOfSide) -> Section:
    table = at.table(list_quantities(at.comparison, at.gpu), f"Quantities per {at.unit}")
    spread = at.comparison.spread
    advice = "" if spread == MEASURED else f", not {MEASURED}: give several runs per side to measure it"
    note = Notes((f"{_QUANTITIES} Run-to-run variation is {spread}{advice}.",))
    return at.section("changed", f"What changed per {at.unit}", (table, note), "What changed")


def _view_parts(at: _GpuOfSide) -> list[Section]:
    titles = {TIME: f"Where the time of the mean {at.unit} goes", TENSOR_ACTIVE: "Why its mean Tensor Active changed"}
    sections: list[Part] = []
    for quantity, table in list_parts(at.comparison, at.gpu).items():
        what = "time" if quantity == TIME else "Tensor Active"
        caption = f"The baseline, what each part of the {what} adds or takes away, and the new mean"
        make = partial(figure_waterfall, at.comparison, at.gpu, quantity, at.tables)
        figure = at.figure(f"waterfall-{quantity}", caption, make)
        sections.append(at.section(quantity, titles[quantity], (figure, at.table(table))))
    if not sections:
        return []
    key = ColorKey((_PARTS,), "key", colors=((BETTER_COLOR, "better"), (WORSE_COLOR, "worse")))
    return [replace(at.section("why", "Why", (*sections, key)), beside=True)]


def _view_tables(at: _GpuOfSide) -> Section:
    """Show the ranges, and modules and kernels where there are any, as one table that its reader groups."""
    on = f"on {title_of(at.comparison, at.gpu)}"
    ranges = at.table(list_range_changes(at.comparison, at.comparison.rows, at.gpu, MOST_ROWS), f"Ranges {on}")
    modules = at.table(list_module_changes(at.comparison, at.gpu, MOST_ROWS), f"Modules per {at.unit}")
    kernels = at.table(list_kernel_changes(at.comparison, at.gpu, MOST_KERNELS), f"Kernels {on}")
    tables = (
        ("module", modules, (MEANING,)),
        ("range", ranges, (NOTE,)),
        ("kernel", kernels, describe_kernels(at.comparison)),
    )
    groupings = tuple(Grouping.of_table(table, by, notes) for by, table, notes in tables if table.rows)
    return at.section("tables", "Modules, ranges and kernels", (Explorer(groupings, at.tables),), "Table")
