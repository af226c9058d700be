"""Select the generic events that sample power, by nsys's plugin nvml_metrics; any other may be private."""

from typing import Any

import sqlalchemy as sa

from tcprof.nsys import schema

# What samples of power are chosen by, and need: all of it, or none is kept.
_OF_POWER = {
    schema.GENERIC_FIELDS.name: {"typeId", "fieldIdx", "fieldNameId"},
    schema.GENERIC_EVENTS.name: {"genericEventId", "typeId"},
    schema.GENERIC_VALUES.name: {"genericEventId", "fieldIdx"},
    schema.STRINGS.name: {"id", "value"},
    schema.GPUS.name: {"id", "busLocation"},
}


def has_power(tables: dict[str, sa.Table]) -> bool:
    """Tell whether an export may have samples of power, and says enough of them."""
    return all(name in tables and needed <= {*tables[name].c.keys()} for name, needed in _OF_POWER.items())


def power_types(tables: dict[str, sa.Table]) -> sa.Select[Any]:
    """Select the types of samples of power. They are in the order of bus locations, which a copy lacks.

    So there are none unless the GPUs' numbers, which it has, are in this order as well.
    """
    fields, one, other = tables[schema.GENERIC_FIELDS.name].c, *(tables[schema.GPUS.name].alias() for _ in range(2))
    place, next_place = (sa.func.coalesce(gpu.c.busLocation, "") for gpu in (one, other))
    is_wrong = sa.or_((place == "") != (next_place == ""), sa.and_(place != "", place >= next_place))
    is_out_of_order = sa.exists().where(one.c.id < other.c.id, is_wrong)
    named = sa.select(fields.typeId).where(fields.fieldNameId.in_(power_names(tables)), sa.not_(is_out_of_order))
    return named.group_by(fields.typeId).having(
        sa.func.count(fields.fieldNameId.distinct()) == len(schema.POWER_FIELDS)
    )


def power_names(tables: dict[str, sa.Table]) -> sa.Select[Any]:
    """Select the numbers of the strings that name the fields of such a sample."""
    strings = tables[schema.STRINGS.name].c
    return sa.select(strings.id).where(strings.value.in_(schema.POWER_FIELDS))
