"""The sides of a comparison: what they are called, the time of each against the baseline, and their recordings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tcprof import units
from tcprof.comparison import Comparison, Side
from tcprof.comparison.statistics.verdicts import HIGHER, INCONCLUSIVE, LOWER
from tcprof.findings import describe_folding, describe_kernel_order, describe_warm_up
from tcprof.findings.compared import verdict
from tcprof.findings.compared.verdict import Row as ComparedRow
from tcprof.frames import HEADLINE
from tcprof.views.document import FactList
from tcprof.views.recording import describe_recording, describe_source, gpu_title, gpu_title_of_several, list_provenance
from tcprof.views.tables import Cell, Heading, Row, Table, sort_key

# Distinct for the colour-blind, and read on white and on black; the first is the baseline. Symbols differ too, and none
# is orange, which is Tensor Active.
SIDE_COLORS = ("#7A8CA3", "#1F7FC4", "#C7609A", "#A9790B", "#2AA3A3", "#8A6F5C")
# Apart with every colour vision (by 72 or more in CIELAB, by Machado's model), and 3:1 or more on white and on black.
BETTER_COLOR, WORSE_COLOR = "#3B9C3B", "#9B3FA8"
RECEDED = {"marker": {"opacity": 0.35}}  # of bars beside those that are chosen
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "star", "hexagon")
LONGEST_NAME = 32


@dataclass(frozen=True)
class ShownSide:
    """A side as it is drawn."""

    name: str
    role: str  # base or new: its columns in the comparison's rows
    number: int  # 0 for the baseline, then in the order given
    side: Side
    comparison: Comparison
    color: str
    symbol: str  # plotly's name of it


def shown_sides(comparisons: Sequence[Comparison]) -> list[ShownSide]:
    """List the baseline, then the other side of each comparison."""
    first = comparisons[0]
    sides = [("base", first.base, first), *(("new", comparison.new, comparison) for comparison in comparisons)]
    return [
        ShownSide(
            verdict.side_names(comparison)[role == "new"],
            role,
            number,
            side,
            comparison,
            side_color(side, number),
            _SYMBOLS[number % len(_SYMBOLS)],
        )
        for number, (role, side, comparison) in enumerate(sides)
    ]


def side_color(side: Side, number: int) -> str:
    """Choose the colour of a side, by its number where it has no own one: the same in all comparisons of a page."""
    return SIDE_COLORS[(side.number if side.number >= 0 else number) % len(SIDE_COLORS)]


_NONE = Cell("")


def name_sides(comparisons: Sequence[Comparison]) -> list[tuple[str, Side]]:
    """Name the sides as lines about them begin: base and new, or of several their names."""
    several = len(comparisons) > 1
    new_sides = (
        (verdict.side_names(comparison)[1] if several else "new", comparison.new) for comparison in comparisons
    )
    return [("base", comparisons[0].base), *new_sides]


def describe_recordings(comparisons: Sequence[Comparison]) -> list[str]:
    """Describe all recordings, a line each, and what the figures are taken from and over."""
    recordings = [(name, recording) for name, side in name_sides(comparisons) for recording in side.recordings]
    sources = dict.fromkeys((name, describe_source(recording)) for name, recording in recordings)
    distinct = dict.fromkeys(source for _, source in sources)
    lines = [f"{name}: {describe_recording(recording)}" for name, recording in recordings]
    return [*lines, *(distinct if len(distinct) == 1 else (f"{name}: {source}" for name, source in sources))]


def list_left_out(side: Side) -> list[str]:
    """List what the figures of a side leave out, once for all recordings that share it."""
    functions = (describe_kernel_order, describe_folding, describe_warm_up)
    texts = (describe(recording) for describe in functions for recording in side.recordings)
    return list(filter(None, dict.fromkeys(texts)))


def title_of(comparison: Comparison, gpu: int) -> str:
    """Name a GPU by its number and its name on the side that has it."""
    base, new = comparison.base.first, comparison.new.first
    return gpu_title(base if gpu in set(base.gpus["gpu"]) else new, gpu)


def shared_gpus(comparisons: Sequence[Comparison]) -> list[int]:
    """Find the GPUs on which the steps of all sides have work."""
    return sorted(set.intersection(*(set(verdict.list_gpus(comparison)) for comparison in comparisons)))


def list_sides(comparisons: Sequence[Comparison]) -> list[Table]:
    """List all sides with median time, Tensor Active and GPU idle: a table for each GPU and each judged time."""
    grouped: dict[tuple[int, str, str], list[Comparison]] = {}
    for gpu, comparison in product(shared_gpus(comparisons), comparisons):
        what = f"Median {verdict.step_name(comparison)}" if comparison.step_path else "Capture"
        grouped.setdefault((gpu, str(verdict.time_row(comparison, gpu)["quantity"]), what), []).append(comparison)
    tables: list[Table] = []
    for (gpu, quantity, what), alike in grouped.items():
        time = verdict.name_time({"quantity": quantity})
        headings = (
            Heading(f"{time[0].upper()}{time[1:]}", "The median, without warm-up.", columns=("time_ns",)),
            Heading("Ratio", columns=("ratio",)),
            Heading("95 % interval", columns=("low", "high"), spare=1),
            Heading(HEADLINE.column.title, HEADLINE.column.meaning, columns=(HEADLINE.name,)),
            Heading("GPU idle", "Share of a step without any work on the GPU.", columns=("idle_pct",)),
            Heading("Steps", "Steps compared, without warm-up.", spare=2),
        )
        rows = (_side_row(side, gpu, quantity) for side in shown_sides(alike))
        title, more = (
            gpu_title_of_several(gpu, alike[0].base.first, alike[0].new.first),
            sum(table.gpu == gpu for table in tables),
        )
        name = f"sides-{gpu}-{more + 1}" if more else f"sides-{gpu}"
        tables.append(Table(name, title, what, headings, tuple(rows), gpu=gpu))
    return tables


def measure_sides(comparison: Comparison) -> list[tuple[ShownSide, int, verdict.SideFigures]]:
    """Measure what the table of sides shows of each GPU, on both sides."""
    iterates = bool(comparison.step_path)
    return [
        (side, gpu, verdict.measure_side(side.side, gpu, iterates))
        for gpu in shared_gpus([comparison])
        for side in shown_sides([comparison])
    ]


_MEAN_ALONE = "m"  # marks a change that the mean alone shows


def change_mark(row: ComparedRow) -> str:
    """Choose the mark behind a change: none where it is shown, or not judged."""
    if row["verdict"] != INCONCLUSIVE:
        return ""
    return _MEAN_ALONE if row["mean_verdict"] in (HIGHER, LOWER) else INCONCLUSIVE


def _side_row(drawn: ShownSide, gpu: int, quantity: str) -> Row:
    time, side = verdict.find_row(drawn.comparison, gpu, quantity), drawn.role
    figures = verdict.measure_side(drawn.side, gpu, bool(drawn.comparison.step_path))
    shares = [Cell(units.format_pct(share), sort_key(share)) for share in (figures.tensor_active_pct, figures.idle_pct)]
    count = Cell(units.format_count(figures.step_count or None), sort_key(figures.step_count or math.nan))
    change = [_NONE] * 2
    if side == "new":
        row = verdict.decisive(time)
        interval = Cell.change_interval(row["ratio_low"], row["ratio_high"], False)
        change = [Cell.change(row["ratio"], False, mark=change_mark(time)), interval]
    return Row(drawn.name, (Cell.time(time[side]), *change, *shares, count))


def compare_provenance(sides: Sequence[ShownSide]) -> FactList:
    """FactList of all recordings side by side: for each side what its recordings have."""
    facts = [[dict(list_provenance(recording)) for recording in side.side.recordings] for side in sides]
    names = dict.fromkeys(name for side in facts for recording in side for name in recording)
    rows = []
    for name in names:
        texts = tuple(tuple(dict.fromkeys(recording.get(name, units.UNKNOWN) for recording in side)) for side in facts)
        rows.append((name, len(set(texts)) > 1, texts))
    return FactList(tuple(rows), tuple(side.name for side in sides), tuple(side.color for side in sides))
