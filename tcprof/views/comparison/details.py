"""What a page says of one side against the baseline, GPU by GPU."""

from dataclasses import dataclass
from functools import partial

from tcprof.analysis.kernels.roofline import has_bytes
from tcprof.comparison import Comparison
from tcprof.comparison.comparison import MEASURED
from tcprof.comparison.side import gpu_models
from tcprof.comparison.typical_step import has_steps
from tcprof.comparison.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings.compared.advice import compare_advice
from tcprof.findings.compared.rows import iteration_name
from tcprof.views.comparison.advice import view_advice
from tcprof.views.comparison.kernels import MOST_KERNELS, describe_kernels, list_kernel_changes
from tcprof.views.comparison.modules import MEANING, list_module_changes
from tcprof.views.comparison.quantities import list_quantities
from tcprof.views.comparison.ranges import NOTE, list_range_changes
from tcprof.views.comparison.roofline import MOST_MOVED, figure_moved, list_moved
from tcprof.views.comparison.series import BETTER_COLOR, WORSE_COLOR
from tcprof.views.comparison.sides import shared_gpus, title_of
from tcprof.views.comparison.typical_step import MOST_JOINED, figure_typical_step
from tcprof.views.comparison.waterfall import figure_waterfall, list_parts
from tcprof.views.document import Figure, Notes, Part, Section
from tcprof.views.paths import MOST_ROWS
from tcprof.views.recording.facts import gpu_title_of_several

_QUANTITIES = (
    "Medians per iteration without warm-up, and the change with its 95 % interval; below one its mean, where that says "
    "something else. higher and lower are shown by the recordings; ~ is inconclusive, which is not the same as no "
    "change."
)
_PARTS = (
    "Less time is better, and more Tensor Active. Means, not medians: only these add up. Each nanosecond of the GPU "
    "windows is in one part. Of Tensor Active: idle is how much of the window is under kernels, mix which kernels have "
    "that time, intensity Tensor Active of matched kernels. A click on a part of the time shows its kernels alone in "
    "their table."
)
_STEP = (
    "The iteration of each side whose GPU window is the median, from its first activity on the GPU on: one iteration, "
    f"not a mean. Bands join the same ranges, and the {MOST_JOINED} longest pairs of launches of matched kernels. The "
    "colour of a range is its Tensor Active, from 0 to 100 %. Drag to zoom, double-click to see all again."
)
_MOVED = (
    "Open circles are the baseline's kernels, filled ones those of the other side; a line joins what was matched. The "
    "area of a circle is the kernel's time in an iteration. Up is more FLOP a second, towards the roof of its "
    f"precision; right is less device memory for each FLOP. Of each side the {MOST_MOVED} longest kernels are "
    "drawn, if their FLOP and bytes are known."
)


@dataclass(frozen=True)
class ColorKey(Notes):
    """What colours mean, and what is to be said beside it.

    Attributes:
        colors: Colours with their meanings.
    """

    colors: tuple[tuple[str, str], ...] = ()


def list_details(comparison: Comparison, number: int, name: str = "") -> tuple[Part, ...]:
    """What is said of one side against the baseline.

    Args:
        number: Number of the side among those compared with the baseline.
        name: Its name, where there are others.
    """
    of_side, parts, advice = f": {name}" if name else "", [], compare_advice(comparison)
    for gpu in shared_gpus([comparison]):
        title = gpu_title_of_several(comparison.base.first, gpu)
        sections = (
            _view_quantities(comparison, gpu, number, of_side),
            *_view_step(comparison, gpu, number, of_side),
            *_view_parts(comparison, gpu, number, of_side),
            *view_advice(comparison, advice, gpu, number, of_side),
            _view_ranges(comparison, gpu, number, of_side),
            *_view_modules(comparison, gpu, number, of_side),
            *_view_kernels(comparison, gpu, number, of_side),
            *_view_roofline(comparison, gpu, number, of_side),
        )
        parts.append(Section(f"gpu-{number}-{gpu}", title, sections))
    return tuple(parts)


def _kernels_of(number: int, gpu: int) -> str:
    """What a page calls the table whose rows a click on a bar chooses."""
    return f"table-kernels-{number}-{gpu}"


def _view_modules(comparison: Comparison, gpu: int, number: int, of_side: str) -> tuple[Section, ...]:
    caption = f"Modules per {iteration_name(comparison)}{of_side}"
    table = list_module_changes(comparison, gpu, MOST_ROWS, number, caption)
    return (Section(f"modules-{number}-{gpu}-part", "Modules", (Notes((MEANING,)), table)),) if table.rows else ()


def _view_quantities(comparison: Comparison, gpu: int, number: int, of_side: str) -> Section:
    unit = iteration_name(comparison)
    table = list_quantities(comparison, gpu, number=number, caption=f"Quantities per {unit}{of_side}")
    advice = "" if comparison.spread == MEASURED else f", not {MEASURED}: give several recordings a side"
    note = f"{_QUANTITIES} How much runs of one program differ is {comparison.spread}{advice}."
    return Section(f"changed-{number}-{gpu}", f"What changed per {unit}", (table, Notes((note,))), "What changed")


def _view_step(comparison: Comparison, gpu: int, number: int, of_side: str) -> tuple[Section, ...]:
    if not has_steps(comparison, gpu):
        return ()
    unit = iteration_name(comparison)
    caption = f"Ranges, kernels and Tensor Active of a typical {unit} of both sides, on one axis of time{of_side}"
    figure = Figure(
        f"step-{number}-{gpu}",
        caption,
        partial(figure_typical_step, comparison, gpu, _kernels_of(number, gpu)),
        chooses=True,
    )
    title = f"A typical {unit} of each side"
    return (Section(f"typical-{number}-{gpu}", title, (Notes((_STEP,)), figure), linked=f"Typical {unit}"),)


def _view_parts(comparison: Comparison, gpu: int, number: int, of_side: str) -> list[Section]:
    """What the change consists of: a drawing of each quantity, with its table."""
    found = comparison.waterfall[comparison.waterfall["gpu"] == gpu]
    unit = iteration_name(comparison)
    told = {
        TIME: (f"Where the time of the mean {unit} goes", "time"),
        TENSOR_ACTIVE: ("Why its mean Tensor Active changed", "Tensor Active"),
    }
    drawn = [quantity for quantity in told if (found["quantity"] == quantity).any()]
    sections = []
    for quantity, table in zip(drawn, list_parts(comparison, gpu, number), strict=True):
        title, what = told[quantity]
        caption = f"Baseline, what each part of the {what} adds or takes away, and the new mean{of_side}"
        make = partial(figure_waterfall, comparison, gpu, quantity, _kernels_of(number, gpu))
        figure = Figure(f"waterfall-{quantity}-{number}-{gpu}", caption, make, chooses=True)
        sections.append(Section(f"{quantity}-{number}-{gpu}", title, (figure, table)))
    if not sections:
        return []
    key = ColorKey((_PARTS,), "key", colors=((BETTER_COLOR, "better"), (WORSE_COLOR, "worse")))
    return [Section(f"why-{number}-{gpu}", "Why", (*sections, key))]


def _view_ranges(comparison: Comparison, gpu: int, number: int, of_side: str) -> Section:
    caption = f"Ranges on {title_of(comparison, gpu)}{of_side}"
    table = list_range_changes(comparison, comparison.rows, gpu, MOST_ROWS, number, caption)
    return Section(f"all-ranges-{number}-{gpu}", "Ranges", (Notes((NOTE,)), table))


def _view_kernels(comparison: Comparison, gpu: int, number: int, of_side: str) -> list[Section]:
    caption = f"Kernels on {title_of(comparison, gpu)}{of_side}"
    table = list_kernel_changes(comparison, gpu, MOST_KERNELS, number, caption)
    if not table.rows:
        return []
    notes = Notes((" ".join(describe_kernels(comparison)),))
    return [Section(f"all-kernels-{number}-{gpu}", "Kernels", (notes, table))]


def _view_roofline(comparison: Comparison, gpu: int, number: int, of_side: str) -> tuple[Section, ...]:
    """Where kernels moved in the roofline; nothing where no kernel has a place, or where the sides have other roofs."""
    sides = comparison.base, comparison.new
    models, counted = gpu_models(*sides), any(has_bytes(side.typical.kernels) for side in sides)
    if models[0] != models[1] or not counted or all(rows.empty for rows in list_moved(comparison, gpu)):
        return ()
    caption = f"FLOP/s of the kernels of both sides over their FLOP for each byte of device memory{of_side}"
    figure = Figure(f"roofline-{number}-{gpu}", caption, partial(figure_moved, comparison, gpu))
    return (Section(f"moved-{number}-{gpu}", "Roofline", (Notes((_MOVED,)), figure)),)
