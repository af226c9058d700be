"""Build the SQL that reads a table, and the SQL that finds its invalid rows.

A sound export is read by a plain statement, and its numbers are checked as they come, which costs next to nothing.
Only where one is not allowed, the table is looked through: SQLite keeps values of any type in columns of any type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from tcprof.nsys.schema import Limits

UNKNOWN = -1  # in place of NULL where an id or a count is read as an integer
LONGEST_TEXT = 65_536  # bytes: names of kernels have some ten thousand at most
MOST_COMPARED = 16  # numbers that a column is compared with one by one
_TYPES = {"text": "text", "blob": "bytes", "real": "fractions", "null": "without a value"}


@dataclass(frozen=True)
class Query:
    """Rows of a table."""

    table: sa.Table  # the table
    required: tuple[str, ...] = ()  # columns of integers: a row without one of them is left out
    # Columns of integers that may be absent or NULL, and the number that is read then.
    optional: Mapping[str, int] = field(default_factory=dict)
    # The same, but what is no such integer is unknown too, instead of its row being left out.
    facts: Mapping[str, int] = field(default_factory=dict)
    # Columns of text, read as bytes, since Arrow takes only valid UTF-8; absent and NULL are empty.
    texts: tuple[str, ...] = ()
    # A required column, and the numbers of it that are wanted; rows where it holds none count as wrong.
    among: tuple[str, tuple[int, ...]] | None = None
    where: sa.ColumnElement[bool] | None = None  # A further condition
    # Bytes of a text that are read. One of ``LONGEST_TEXT`` bytes is noted as invalid: no sound text is so long.
    longest: int = LONGEST_TEXT

    @property
    def defaults(self) -> dict[str, int | None]:
        """Map the columns of integers to what is read in place of NULL."""
        return {**dict.fromkeys(self.required), **self.optional, **self.facts}

    def plain(self, columns: set[str], thorough: bool) -> sa.Select[Any]:
        """Build the statement that reads a sound table.

        Args:
            thorough: Whether to read rows, too, that ``among`` cannot choose since its column holds no number. That
                takes a fifth longer.
        """
        numbers = (self._number(name, default, columns) for name, default in self.defaults.items())
        texts = (self._text(name, columns) for name in self.texts)
        return sa.select(*numbers, *texts).select_from(self.table).where(self._wanted(thorough))

    def strict(self, columns: set[str], limits: Mapping[str, Limits]) -> sa.Select[Any]:
        """Build the same statement without invalid rows; invalid facts become unknown."""
        facts = (
            sa.case((self._sound(name, limits[name]), self.table.c[name]), else_=default).label(name)
            if name in columns
            else sa.literal(default).label(name)
            for name, default in self.facts.items()
        )
        integers = {**dict.fromkeys(self.required), **self.optional}
        numbers = (self._number(name, default, columns) for name, default in integers.items())
        texts = (self._text(name, columns) for name in self.texts)
        sound = (self._allowed(name, limits[name]) for name in integers if name in columns)
        return sa.select(*numbers, *facts, *texts).select_from(self.table).where(self._wanted(thorough=False), *sound)

    def wrong(self, columns: set[str], limits: Mapping[str, Limits]) -> dict[tuple[str, str], sa.ColumnElement[int]]:
        """Build a count of each kind of invalid value, by column and the kind in words."""
        counts: dict[tuple[str, str], sa.ColumnElement[int]] = {}
        for name in (name for name in self.defaults if name in columns):
            c = self.table.c[name]
            for kind, words in _TYPES.items():
                if kind != "null" or name in self.required:
                    counts[name, words] = _count(sa.func.typeof(c) == kind)
            beyond = sa.and_(sa.func.typeof(c) == "integer", sa.not_(c.between(*limits[name])))
            counts[name, "out of range"] = _count(beyond)
        return counts

    def count_wrong(self, columns: set[str], limits: Mapping[str, Limits]) -> sa.Select[Any]:
        """Build the statement for the counts of ``wrong``, in their order."""
        counts: list[sa.ColumnElement[Any]] = list(self.wrong(columns, limits).values())
        return sa.select(*counts).select_from(self.table).where(self._wanted())

    def _wanted(self, thorough: bool = True) -> sa.ColumnElement[bool]:
        where = sa.true() if self.where is None else self.where
        if self.among is None:
            return where
        c = self.table.c[self.among[0]]
        if not thorough:
            return sa.and_(where, _among(c, self.among[1]))
        # Where the number is wrong, the row may be one that is wanted.
        beyond = sa.not_(c.between(*c.info["limits"]))
        return sa.and_(where, sa.or_(_among(c, self.among[1]), beyond, c != sa.cast(c, sa.BigInteger), c.is_(None)))

    def _number(self, name: str, default: int | None, columns: set[str]) -> sa.ColumnElement[Any]:
        c = self.table.c[name]
        if name not in columns:
            return sa.literal(default).label(name)
        return c if default is None else sa.func.coalesce(c, default).label(name)

    def _text(self, name: str, columns: set[str]) -> sa.ColumnElement[Any]:
        text = sa.func.coalesce(self.table.c[name], "") if name in columns else sa.literal("")
        return sa.func.substr(sa.cast(text, sa.LargeBinary), 1, self.longest).label(name)

    def _sound(self, name: str, limits: Limits) -> sa.ColumnElement[bool]:
        c = self.table.c[name]
        return sa.and_(sa.func.typeof(c) == "integer", c.between(*limits))

    def _allowed(self, name: str, limits: Limits) -> sa.ColumnElement[bool]:
        sound = self._sound(name, limits)
        return sound if name in self.required else sa.or_(self.table.c[name].is_(None), sound)


def _among(column: sa.ColumnElement[Any], numbers: tuple[int, ...]) -> sa.ColumnElement[bool]:
    """Test whether a column holds one of some numbers, run by run, which is much faster than ``IN``."""
    ordered = sorted(set(numbers))
    if len(ordered) > MOST_COMPARED:
        return column.in_(ordered)
    breaks = [0, *(place for place in range(1, len(ordered)) if ordered[place] != ordered[place - 1] + 1), len(ordered)]
    runs = [(ordered[low], ordered[high - 1]) for low, high in pairwise(breaks)]
    return sa.or_(sa.false(), *(column == low if low == high else column.between(low, high) for low, high in runs))


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)
