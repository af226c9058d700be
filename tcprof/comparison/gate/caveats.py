"""Why a gate must not trust a comparison, whatever its intervals say. ``tcprof.findings`` finds the reasons."""

from collections.abc import Sequence
from dataclasses import dataclass

from tcprof.comparison.gate.parse import Condition


@dataclass(frozen=True)
class Caveat:
    """A reason why a condition is inconclusive.

    Attributes:
        reason: The reason, as words without a full stop.
        side: base or new, if it is about that side's figures alone; empty for what makes the sides incomparable.
        spares: Quantities that it does not touch.
    """

    reason: str
    side: str = ""
    spares: tuple[str, ...] = ()

    def touches(self, condition: Condition) -> bool:
        """Whether the condition is about what is in doubt; one with an absolute bound needs no baseline."""
        unused = self.side == "base" and condition.scale == "absolute"
        return condition.quantity not in self.spares and not unused


def find_doubt(condition: Condition, doubts: Sequence[Caveat]) -> str:
    """Why the condition is inconclusive; empty where nothing is in doubt."""
    return "; ".join(dict.fromkeys(doubt.reason for doubt in doubts if doubt.touches(condition)))
