"""The same sides with another one of them as the baseline."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tcprof.comparison.comparison import Comparison, compare
from tcprof.comparison.side import Side
from tcprof.errors import InputError, UsageError

MOST_SIDES = 4  # of more, every side against every other one takes too long
Thing = TypeVar("Thing")


def put_first(things: Sequence[Thing], place: int) -> list[Thing]:
    """What belongs to each side, with that of another one as the baseline: the two change places."""
    swapped = list(things)
    swapped[0], swapped[place] = swapped[place], swapped[0]
    return swapped


def compare_other_ways(
    sides: Sequence[Side], mapping: Mapping[str, str], allow_mismatch: bool = False
) -> list[list[Comparison]]:
    """Compare with each side but the first as the baseline.

    Returns:
        For each of these sides its comparisons with the others, see ``put_first``. Empty where there are too many
        sides, or where one of these comparisons is refused.
    """
    back = {new: old for old, new in mapping.items()}
    if len(sides) > MOST_SIDES or len(back) < len(mapping):
        return []
    try:
        return [_compare_way(put_first(sides, place), place, back, allow_mismatch) for place in range(1, len(sides))]
    except (InputError, UsageError):
        return []


def _compare_way(sides: Sequence[Side], place: int, back: Mapping[str, str], allow_mismatch: bool) -> list[Comparison]:
    """The first against the others, of which the one at a place has the old names of ranges."""
    return [
        compare(sides[0], side, back if number == place else {}, allow_mismatch)
        for number, side in enumerate(sides[1:], 1)
    ]
