"""Samples in the table GPU_METRICS: one row for each value, of all GPUs together."""

from collections.abc import Set
from functools import partial

import numpy as np

from tcprof.arrays import Ints
from tcprof.chips import Metric
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Columns, Database, texts
from tcprof.sources.nsys_sqlite.query import Query
from tcprof.sources.nsys_sqlite.readings import Readings, Wanted, columns_of, make_reading, unwrap

Lost = dict[int, tuple[Ints, Ints]]  # of each GPU, starts and ends of stretches


def read_table(database: Database, wanted: Wanted) -> tuple[dict[int, Readings], Lost]:
    """Readings per GPU from GPU_METRICS, and the stretches marked as missing, which are disjoint and in order."""
    columns, lost_keys = _metric_keys(database, wanted)
    keys = columns.keys() | lost_keys
    # A metric's number alone is tested in SQL, since that is cheap; the rows of other GPUs or kinds that share the
    # number fall out below.
    numbers = tuple(sorted({k & 0xFFFF for k in keys}))
    if not numbers:
        return {}, {}
    query = Query(schema.METRICS, ("timestamp", "typeId", "metricId", "value"), among=("metricId", numbers))
    batches = database.collect(query, partial(_by_key, keys=keys))
    if len({sum(len(batch[code][0]) for batch in batches if code in batch) for code in columns}) > 1:
        database.look_through(query)  # a sample is a row of each metric
    parts = {code: collected for code in keys if (collected := [batch[code] for batch in batches if code in batch])}
    readings: dict[int, Readings] = {}
    lost: dict[int, list[tuple[Ints, Ints]]] = {}
    for code in list(parts):
        times, values = (np.concatenate(column) for column in zip(*parts.pop(code), strict=True))
        gpu = (code >> 16) & 0xFF
        if code in columns:
            column, metric = columns[code]
            readings.setdefault(gpu, {})[column] = make_reading(database, schema.METRICS, column, metric, times, values)
        else:
            lost.setdefault(gpu, []).append((times, unwrap(values)))
    return readings, {gpu: _union(database, stretches) for gpu, stretches in lost.items()}


def _union(database: Database, stretches: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Stretches that may overlap, as disjoint ones in order."""
    start, end = (np.concatenate(part) for part in zip(*stretches, strict=True))
    possible = np.abs(end) <= schema.TIME.high
    database.tell(schema.METRICS, "value", "no end of a stretch", int((~possible).sum()))
    order = np.argsort(start[possible], kind="stable")
    start, end = start[possible][order], np.maximum.accumulate(end[possible][order])
    first = np.flatnonzero(np.append(True, start[1:] > end[:-1])) if len(start) else order
    last = np.append(first[1:] - 1, len(start) - 1) if len(start) else order
    lasting = end[last] > start[first]
    return start[first][lasting], end[last][lasting]


def _by_key(rows: Columns, keys: Set[int]) -> dict[int, tuple[Ints, Ints]]:
    """Times and values in some rows of GPU_METRICS, for each metric of each GPU."""
    row_keys = (rows["typeId"] & 0xFFFF) << 16 | rows["metricId"]
    found = {}
    for code in keys:
        mask = row_keys == code
        if mask.any():
            found[code] = (rows["timestamp"][mask], rows["value"][mask])
    return found


def _metric_keys(database: Database, wanted: Wanted) -> tuple[dict[int, tuple[str, Metric]], set[int]]:
    """Which metric of which GPU a row of GPU_METRICS holds, as one number: the low bits of typeId, then metricId.

    Returns:
        The column that each key's values fill and its metric, and the keys of stretches marked as missing.
    """
    named = database.read(Query(schema.METRIC_NAMES, required=("typeId", "metricId"), texts=("metricName",)))
    by_type: dict[int, dict[str, int]] = {}
    for type_id, metric_id, name in zip(
        named["typeId"].tolist(), named["metricId"].tolist(), texts(named["metricName"]), strict=True
    ):
        by_type.setdefault(type_id & 0xFFFF, {})[name] = metric_id
    columns: dict[int, tuple[str, Metric]] = {}
    lost_keys: set[int] = set()
    for type_bits, metric_ids in by_type.items():
        if type_bits >> 8 == schema.DIAGNOSTIC_ROW:
            lost_keys |= {(type_bits << 16) | metric_id for metric_id in metric_ids.values()}
        elif type_bits >> 8 == schema.SAMPLE_ROW:
            for name, found in columns_of(metric_ids, wanted, type_bits & 0xFF).items():
                columns[(type_bits << 16) | metric_ids[name]] = found
    return columns, lost_keys
