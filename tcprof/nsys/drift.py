"""Find what differs in an export's schema from every known version: reading past it would be silence."""

import re
from collections.abc import Collection, Mapping

from tcprof.nsys import schema
from tcprof.untrusted import one_line

_CONSTANTS = "ENUM_"  # begins the names of nsys's tables of constants


def find_drift(columns: Mapping[str, Collection[str]], unread: Mapping[str, Collection[str]]) -> str:
    """Find a table or column that is renamed or missing, by those that tcprof reads and all others; empty for none."""
    for table, always in schema.ALWAYS.items():
        if table in columns and (missing := sorted(always - {*columns[table]})):
            return f"its table {table} has no column {missing[0]}, which every version of Nsight Systems writes"
    for table, names in columns.items():
        expected = {*schema.metadata.tables[table].columns.keys()}
        for column in sorted(expected - {*names}):
            if renamed := next((name for name in sorted({*names} - expected) if _is_like(name, column)), ""):
                renamed = one_line(renamed, 80)
                return f"its table {table} has a column {renamed}, which tcprof does not know, but no {column}"
    for table, needed in schema.NEEDS.items():
        if table in columns and needed not in columns:
            return f"it has {table}, but no table {needed}, which every version of Nsight Systems writes with it"
    has_work = any(table.name in columns for table in schema.ACTIVITY_TABLES)
    for table in schema.metadata.tables:
        if table in columns:
            continue
        known_so = table in schema.UNIQUE or (table == schema.API_CALLS.name and has_work)
        renamed = next(
            (name for name in unread if _is_like(name, table) or (known_so and _holds(name, unread[name], table))), ""
        )
        if renamed:
            return f"it has a table {one_line(renamed, 80)}, which tcprof does not know, in place of {table}"
    return ""


def _holds(name: str, names: Collection[str], table: str) -> bool:
    """Tell whether a table that nsys does not write has all columns of one that it does."""
    always = schema.ALWAYS.get(table, schema.metadata.tables[table].columns.keys())
    return {*always} <= {*names} and not re.match(schema.LIKE_CALLS, name)


def _is_like(name: str, table: str) -> bool:
    """Tell whether names are alike but for case, underscores, a plural, or what stands before or behind one."""
    upper, other = name.upper(), table.upper()
    plain, known_plain = (re.sub(r"[\W_]+", "", text).rstrip("S") for text in (upper, other))
    is_more = re.match(rf"{other}(?:[^A-Z]|V\d)", upper) or re.search(rf"[^A-Z]{other}$", upper)
    return not upper.startswith(_CONSTANTS) and bool(plain == known_plain or is_more)
