"""The readings of each metric of each GPU: from the table GPU_METRICS, or from the JSON texts of exports of 2022."""

import json
import re
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sqlalchemy import Table

from tcprof.arrays import Ints, return_freed_memory, union
from tcprof.chips import Chip, Metric, find_chip
from tcprof.frames import FROM_COUNTS
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Columns, Database, texts
from tcprof.sources.nsys_sqlite.query import Query

HIGHEST_CLOCK_HZ = 10**10  # no chip comes near
TENSOR_COLUMNS = {"tensor_active_pct", "tensor_cycles"}


class Reading(NamedTuple):
    """What was read of one metric of one GPU."""

    metric: Metric  # the metric, as its chip has it
    times: Ints  # time stamps, ascending
    values: Ints  # as recorded


Readings = dict[str, Reading]  # of one GPU, by column


@dataclass(frozen=True)
class Wanted:
    """What to read of the samples."""

    metrics: frozenset[str]  # columns of ``SAMPLES``
    clocks: tuple[str, ...]  # sources of the cycles that passed in a sample, best first
    chips: dict[int, str]  # the chip of each GPU

    def chip(self, gpu: int) -> Chip:
        """Look up a GPU's chip."""
        return find_chip(self.chips.get(gpu, ""))


def columns_of(names: Iterable[str], wanted: Wanted, gpu: int) -> dict[str, tuple[str, Metric]]:
    """Choose the recorded metrics of a GPU to read: recorded name -> the column it fills, and the metric."""
    recorded_names = frozenset(names)
    recorded: dict[str, tuple[str, Metric]] = {}  # of each column the first name that the recording has
    for column, metrics in wanted.chip(gpu).metrics.items():
        each_name = ((name, metric) for metric in metrics for name in metric.names)
        if match := next((pair for pair in each_name if pair[0] in recorded_names), None):
            recorded[column] = match
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
    return {name: (column, metric) for column, (name, metric) in recorded.items() if column in needed}


def make_reading(database: Database, table: Table, column: str, metric: Metric, times: Ints, values: Ints) -> Reading:
    """Sort a metric's readings by time, without impossible values, which are noted as invalid."""
    counts = unwrap(values)
    most, words = _most(column)
    possible = (counts >= 0) & (counts * metric.scale <= most)
    if not possible.all():
        name = "value" if table is schema.METRICS else "data"
        database.tell(table, name, f"of {metric.names[0]} below 0 or {words}", int((~possible).sum()))
        times, counts = times[possible], counts[possible]
    return Reading(metric, *_in_order(times, counts))


def _most(column: str) -> tuple[float, str]:
    """Return the most that a sample of a column may hold, in the column's unit and in words."""
    if column.endswith("_pct"):
        return 100, "over 100 %"
    if column.endswith("_hz"):
        return HIGHEST_CLOCK_HZ, "over 10 GHz"
    return 2**53, "over 2^53"


def _in_order(times: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Sort readings by time, one for each time stamp; an export promises no order."""
    if np.all(times[1:] > times[:-1]):
        return times, values
    unique, first = np.unique(times, return_index=True)
    return unique, values[first]


def unwrap(counts: Ints) -> Ints:
    """Restore counts that the export read back as signed.

    The export stores a metric in the fewest bytes that hold its largest value, and reads that as signed. With w the
    fewest bytes whose signed range holds all that was read, a negative value is too small by 2^(8w).
    """
    smallest, largest = int(counts.min(initial=0)), int(counts.max(initial=0))
    if smallest >= 0:
        return counts
    width = next(w for w in range(1, 9) if max(-smallest - 1, largest) < 1 << (8 * w - 1))
    return np.where(counts < 0, counts + (1 << (8 * width)), counts) if width < 8 else counts


Lost = dict[int, tuple[Ints, Ints]]  # of each GPU, starts and ends of stretches


def read_table(database: Database, wanted: Wanted) -> tuple[dict[int, Readings], Lost]:
    """Read GPU_METRICS: the readings per GPU, and the stretches marked as missing, disjoint and in order."""
    columns, lost_keys = _metric_keys(database, wanted)
    keys = columns.keys() | lost_keys
    # A metric's number alone is tested in SQL, since that is cheap; the rows of other GPUs or kinds that share the
    # number fall out below.
    numbers = tuple(sorted({k & 0xFFFF for k in keys}))
    if not numbers:
        return {}, {}
    query = Query(schema.METRICS, ("timestamp", "typeId", "metricId", "value"), among=("metricId", numbers))
    batches = database.collect(query, partial(split_by_metric, keys=keys))
    if len({sum(len(batch[code][0]) for batch in batches if code in batch) for code in columns}) > 1:
        database.look_through(query)  # a sample is a row of each metric
    parts = {code: [batch.pop(code) for batch in batches if code in batch] for code in keys}
    readings: dict[int, Readings] = {}
    lost: dict[int, list[tuple[Ints, Ints]]] = {}
    for code in [code for code, pieces in parts.items() if pieces]:
        times, values = (np.concatenate(column) for column in zip(*parts.pop(code), strict=True))
        return_freed_memory()  # what was joined, and is as large as all readings
        gpu = (code >> 16) & 0xFF
        if code in columns:
            column, metric = columns[code]
            gpu_readings = readings.setdefault(gpu, {})
            reading = make_reading(database, schema.METRICS, column, metric, times, values)
            same = (other.times for other in gpu_readings.values() if np.array_equal(other.times, reading.times))
            gpu_readings[column] = reading._replace(times=next(same, reading.times))  # held once
        else:
            lost.setdefault(gpu, []).append((times, unwrap(values)))
    return readings, {gpu: _union(database, stretches) for gpu, stretches in lost.items()}


def _union(database: Database, stretches: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Merge stretches that may overlap into disjoint ones in order."""
    start, end = (np.concatenate(part) for part in zip(*stretches, strict=True))
    possible = np.abs(end) <= schema.TIME.high
    database.tell(schema.METRICS, "value", "a stretch without an end", int((~possible).sum()))
    _, start, end = union(np.zeros(int(possible.sum()), dtype=np.int64), start[possible], end[possible])
    return start, end


def split_by_metric(rows: Columns, keys: Set[int]) -> dict[int, tuple[Ints, Ints]]:
    """Split rows of GPU_METRICS into times and values of each metric of each GPU.

    nsys writes the metrics of a sample in the same order each time. Where a GPU's rows are in such an order, those of a
    metric are taken by their distance, which is much faster than to look for them.
    """
    split = {}
    for kind in {key >> 16 for key in keys}:
        is_kind = (rows["typeId"] & schema.TYPE_BITS) == kind
        of_kind = slice(None) if is_kind.all() else is_kind
        times, values, metrics = (rows[name][of_kind] for name in ("timestamp", "value", "metricId"))
        period = int(np.argmax(np.append(metrics[1:] == metrics[:1], True))) + 1
        places: dict[int, Any] = {id_: slice(at, None, period) for at, id_ in enumerate(metrics[:period].tolist())}
        if len(places) < period or not np.array_equal(metrics[period:], metrics[:-period]):
            places = {metric: metrics == metric for metric in np.unique(metrics).tolist()}
        for key in [key for key in keys if key >> 16 == kind and key & 0xFFFF in places]:
            split[key] = times[places[key & 0xFFFF]].copy(), values[places[key & 0xFFFF]].copy()
    return split


def _metric_keys(database: Database, wanted: Wanted) -> tuple[dict[int, tuple[str, Metric]], set[int]]:
    """Number each metric of each GPU as rows of GPU_METRICS do: the low bits of typeId, then metricId.

    Returns:
        The column that each key's values fill and its metric, and the keys of stretches marked as missing.
    """
    named = database.read(Query(schema.METRIC_NAMES, required=("typeId", "metricId"), texts=("metricName",)))
    by_type: dict[int, dict[str, int]] = {}
    for type_id, metric_id, name in zip(
        named["typeId"].tolist(), named["metricId"].tolist(), texts(named["metricName"]), strict=True
    ):
        by_type.setdefault(type_id & schema.TYPE_BITS, {})[name] = metric_id
    columns: dict[int, tuple[str, Metric]] = {}
    lost_keys: set[int] = set()
    for type_bits, metric_ids in by_type.items():
        if type_bits >> 8 == schema.DIAGNOSTIC_ROW:
            lost_keys |= {(type_bits << 16) | metric_id for metric_id in metric_ids.values()}
        elif type_bits >> 8 == schema.SAMPLE_ROW:
            for name, column in columns_of(metric_ids, wanted, type_bits & 0xFF).items():
                columns[(type_bits << 16) | metric_ids[name]] = column
    return columns, lost_keys


NO_TIME = -(1 << 62)  # in place of a time that an event lacks


def read_events(database: Database, wanted: Wanted) -> dict[int, Readings]:
    """Read the readings per GPU of exports of 2022, where a sample is one JSON text with a string per metric."""
    types = database.read(Query(schema.GENERIC_TYPES, required=("typeId",), texts=("data",)))
    readings: dict[int, Readings] = {}
    for type_id, data in zip(types["typeId"].tolist(), texts(types["data"]), strict=True):
        columns = columns_of(_field_names(data), wanted, type_id & 0xFF)
        if columns and (type_id >> 8) & 0xFF == schema.SAMPLE_ROW:
            times, values = _read_json_type(database, type_id, columns)
            for name, (column, metric) in columns.items():
                if present := [at for at, of_time in enumerate(values) if name in of_time]:
                    counts = np.array([values[at][name] for at in present], dtype=np.int64)
                    readings.setdefault(type_id & 0xFF, {})[column] = make_reading(
                        database, schema.GENERIC_EVENTS, column, metric, times[present], counts
                    )
    return readings


def _read_json_type(database: Database, type_id: int, wanted: Collection[str]) -> tuple[Ints, list[dict[str, int]]]:
    """Read one type's events: times, and each one's whole numbers by wanted name; others are noted as invalid."""
    events = schema.GENERIC_EVENTS
    stamps = {"timestamp": NO_TIME, "rawTimestamp": NO_TIME}
    rows = database.read(Query(events, ("typeId",), stamps, texts=("data",), among=("typeId", (type_id,))))
    times = rows["timestamp"].copy()
    times[times == NO_TIME] = rows["rawTimestamp"][times == NO_TIME]
    timed = np.not_equal(times, NO_TIME)
    database.tell(events, "timestamp", "without a value", int((~timed).sum()))
    objects = [_json_object(text) for text in texts(rows["data"].filter(pa.array(timed)))]
    values = [
        {name: number for name in wanted if (number := _whole(of_time.get(name))) is not None} for of_time in objects
    ]
    database.tell(events, "data", "without whole numbers", sum(len(numbers) < len(wanted) for numbers in values))
    return times[timed], values


def _field_names(data: str) -> list[str]:
    """List the names of the fields that a type of generic events describes."""
    fields = _json_object(data).get("Fields")
    if not isinstance(fields, list):
        return []
    names = [field.get("Name") for field in fields if isinstance(field, dict)]
    return [name for name in names if isinstance(name, str)]


def _whole(value: object) -> int | None:
    """Return a whole number of at most 64 bits, from JSON or from the text in it; None for anything else."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) else None
    return value if type(value) is int and abs(value) < 1 << 63 else None


def _json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object; an empty one where the text is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
