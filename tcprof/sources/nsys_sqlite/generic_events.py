"""Samples in exports of 2022: one JSON text for each time, with a string for each value."""

import json
import re
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from tcprof.arrays import Ints
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Database, texts
from tcprof.sources.nsys_sqlite.query import Query
from tcprof.sources.nsys_sqlite.readings import Readings, Wanted, columns_of, make_reading

NO_TIME = -(1 << 62)  # in place of a time that an event lacks


def read_events(database: Database, wanted: Wanted) -> dict[int, Readings]:
    """Readings per GPU from exports of 2022, where a sample is one JSON text with a string for each metric."""
    types = database.read(Query(schema.GENERIC_TYPES, required=("typeId",), texts=("data",)))
    readings: dict[int, Readings] = {}
    for type_id, data in zip(types["typeId"].tolist(), texts(types["data"]), strict=True):
        columns = columns_of(_field_names(data), wanted, type_id & 0xFF)
        if columns and (type_id >> 8) & 0xFF == schema.SAMPLE_ROW:
            times, values = _read_json_type(database, type_id, columns)
            for name, (column, metric) in columns.items():
                if known := [at for at, of_time in enumerate(values) if name in of_time]:
                    counts = np.array([values[at][name] for at in known], dtype=np.int64)
                    readings.setdefault(type_id & 0xFF, {})[column] = make_reading(
                        database, schema.GENERIC_EVENTS, column, metric, times[known], counts
                    )
    return readings


def _read_json_type(database: Database, type_id: int, wanted: Collection[str]) -> tuple[Ints, list[dict[str, int]]]:
    """Times of one type's events, and the whole numbers that each has of the wanted names; others are told."""
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
    database.tell(events, "data", "without whole numbers", sum(len(found) < len(wanted) for found in values))
    return times[timed], values


def _field_names(data: str) -> list[str]:
    """The names of the fields that a type of generic events describes."""
    fields = _json_object(data).get("Fields")
    if not isinstance(fields, list):
        return []
    names = [field.get("Name") for field in fields if isinstance(field, dict)]
    return [name for name in names if isinstance(name, str)]


def _whole(value: object) -> int | None:
    """A whole number of at most 64 bits, from JSON or from the text in it; None for anything else."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) else None
    return value if type(value) is int and abs(value) < 1 << 63 else None


def _json_object(text: str) -> dict[str, Any]:
    """A JSON object, or an empty one where the text is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
