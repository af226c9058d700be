"""The power of GPUs, as nsys's plugin nvml_metrics samples it: generic events, a type of them for each GPU."""

import numpy as np
import pandas as pd
from sqlalchemy import select

from tcprof.frames import POWER
from tcprof.nsys import schema
from tcprof.sources.nsys_sqlite.database import Columns, Database, texts
from tcprof.sources.nsys_sqlite.query import UNKNOWN, Query
from tcprof.sources.nsys_sqlite.samples import ends_of

_TYPE, _EVENT, _FIELD = "typeId", "genericEventId", "fieldIdx"
_REQUIRED = {
    schema.GENERIC_FIELDS: (_TYPE, _FIELD, "fieldNameId"),
    schema.GENERIC_EVENTS: (_EVENT, _TYPE, "timestamp"),
    schema.GENERIC_VALUES: (_EVENT, _FIELD),
}


def read_power(database: Database, gpus: Columns) -> pd.DataFrame:
    """Read samples of power, see ``tcprof.frames.POWER``; none where their GPU is not known.

    Args:
        gpus: Numbers and bus locations, as the export has them.
    """
    if not all(database.has_column(table, name) for table, names in _REQUIRED.items() for name in names):
        return POWER.empty()
    fields, numbers = _find_fields(database), _order_gpus(gpus)
    if not len(fields) == len(numbers) == len({*numbers}):
        return POWER.empty()
    events, values = schema.GENERIC_EVENTS, schema.GENERIC_VALUES
    is_power = events.c.typeId.in_(fields)
    of_events = values.c.genericEventId.in_(select(events.c.genericEventId).where(is_power))
    is_value = of_events & values.c.fieldIdx.in_({*fields.values()})
    defaults = {"intVal": UNKNOWN, "uintVal": UNKNOWN}
    at = pd.DataFrame(database.read(Query(events, _REQUIRED[events], where=is_power)))
    read = pd.DataFrame(database.read(Query(values, _REQUIRED[values], facts=defaults, where=is_value)))
    read = read.assign(power_w=read[[*defaults]].max(axis=1)).drop_duplicates([_EVENT, _FIELD], keep=False)
    samples = at.drop_duplicates(_EVENT, keep=False).merge(read, on=_EVENT)
    samples = samples[(samples[_TYPE].map(fields) == samples[_FIELD]) & (samples["power_w"] != UNKNOWN)]
    of_type = dict(zip(sorted(fields), numbers, strict=True))
    samples = samples.assign(gpu=samples[_TYPE].map(of_type), start_ns=samples["timestamp"])
    samples = samples.drop_duplicates([*POWER.key], keep=False).sort_values([*POWER.key])
    start = samples["start_ns"].to_numpy()
    ends = [ends_of(start[samples["gpu"] == gpu]) for gpu in samples["gpu"].unique()]
    return POWER.conform(samples.assign(end_ns=np.concatenate([start[:0], *ends])))


def _find_fields(database: Database) -> dict[int, int]:
    """Find the types of generic events that sample power, each with the number of its power field."""
    rows = database.read(Query(schema.GENERIC_FIELDS, _REQUIRED[schema.GENERIC_FIELDS]))
    names = database.strings(rows["fieldNameId"])
    by_type: dict[int, dict[str, int]] = {}
    for kind, field, name in zip(*(rows[name].tolist() for name in rows), strict=True):
        by_type.setdefault(kind, {})[names.get(name, "")] = field
    return {kind: fields[schema.POWER_FIELD] for kind, fields in by_type.items() if {*schema.POWER_FIELDS} <= {*fields}}


def _order_gpus(gpus: Columns) -> list[int]:
    """Sort the GPUs' numbers by bus location, as NVML does; none where only some have one.

    A redacted copy has no locations; but it has power only where the numbers are in their order.
    """
    places = sorted({*zip(texts(gpus["busLocation"]), gpus["id"].tolist(), strict=True)})
    locations = {place for place, _ in places if place}
    return [gpu for _, gpu in places] if len(locations) in (0, len(places)) else []
