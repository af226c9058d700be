"""The readings of one metric of one GPU: which metrics are read, wrapped counters, order, and what no counter reads."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sqlalchemy import Table

from tcprof.arrays import Ints
from tcprof.chips import Chip, Metric, find_chip
from tcprof.frames import FROM_COUNTS
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Database

HIGHEST_CLOCK_HZ = 10**10  # no chip comes near
TENSOR_COLUMNS = {"tensor_active_pct", "tensor_cycles"}


class Reading(NamedTuple):
    """What was read of one metric of one GPU.

    Attributes:
        metric: The metric, as its chip has it.
        times: Time stamps, ascending.
        values: As recorded.
    """

    metric: Metric
    times: Ints
    values: Ints


Readings = dict[str, Reading]  # of one GPU, by column


@dataclass(frozen=True)
class Wanted:
    """What to read of the samples.

    Attributes:
        metrics: Columns of ``SAMPLES``.
        clocks: Sources of the cycles that passed in a sample, best first.
        chips: The chip of each GPU.
    """

    metrics: frozenset[str]
    clocks: tuple[str, ...]
    chips: dict[int, str]

    def chip(self, gpu: int) -> Chip:
        """What is known about a GPU's chip."""
        return find_chip(self.chips.get(gpu, ""))


def columns_of(names: Iterable[str], wanted: Wanted, gpu: int) -> dict[str, tuple[str, Metric]]:
    """The columns that the recorded metrics of a GPU fill: recorded name -> column, and what is known of the metric."""
    known = frozenset(names)
    recorded = {column: _first_recorded(metrics, known) for column, metrics in wanted.chip(gpu).metrics.items()}
    recorded = {column: found for column, found in recorded.items() if found}
    needed = set(wanted.metrics)
    clock = next((column for column in wanted.clocks if column in recorded), "")
    if "pipe_cycles" in needed:
        needed.add(clock)
    for column in (needed & FROM_COUNTS.keys()) - recorded.keys():
        needed |= {FROM_COUNTS[column], clock}
    if needed & TENSOR_COLUMNS:
        # Cycles and a clock give exact percentages; then the rounded ones need not be read.
        needed -= TENSOR_COLUMNS
        needed |= {"tensor_cycles", clock} if "tensor_cycles" in recorded and clock else {"tensor_active_pct"}
    return {found[0]: (column, found[1]) for column, found in recorded.items() if found and column in needed}


def _first_recorded(metrics: Iterable[Metric], known: frozenset[str]) -> tuple[str, Metric] | None:
    """The first name that was recorded, and its metric."""
    return next(((name, metric) for metric in metrics for name in metric.names if name in known), None)


def make_reading(database: Database, table: Table, column: str, metric: Metric, times: Ints, values: Ints) -> Reading:
    """A metric's readings in order of time, without those that no counter has.

    Args:
        database: Is told what is left out.
    """
    counts = unwrap(values)
    most, words = _most(column)
    possible = (counts >= 0) & (counts * metric.scale <= most)
    if not possible.all():
        name = "value" if table is schema.METRICS else "data"
        database.tell(table, name, f"of {metric.names[0]} below 0 or {words}", int((~possible).sum()))
        times, counts = times[possible], counts[possible]
    return Reading(metric, *_in_order(times, counts))


def _most(column: str) -> tuple[float, str]:
    """The most that a sample of a column may hold, in the column's unit and in words."""
    if column.endswith("_pct"):
        return 100, "over 100 %"
    if column.endswith("_hz"):
        return HIGHEST_CLOCK_HZ, "over 10 GHz"
    return 2**53, "over 2^53"


def _in_order(times: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Readings sorted by time, one for each time stamp; an export promises no order."""
    if np.all(times[1:] > times[:-1]):
        return times, values
    unique, first = np.unique(times, return_index=True)
    return unique, values[first]


def unwrap(counts: Ints) -> Ints:
    """Counts as they were before the export read them back as signed.

    The export stores a metric in the fewest bytes that hold its largest value, and reads that as signed. With w the
    fewest bytes whose signed range holds all that was read, a negative value is too small by 2^(8w).
    """
    smallest, largest = int(counts.min(initial=0)), int(counts.max(initial=0))
    if smallest >= 0:
        return counts
    width = next(w for w in range(1, 9) if max(-smallest - 1, largest) < 1 << (8 * w - 1))
    return np.where(counts < 0, counts + (1 << (8 * width)), counts) if width < 8 else counts
