"""Why a gate must not trust a comparison, whatever its intervals say: faults, other GPUs, a name that is nowhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from tcprof.comparison.caveats import gpu_models
from tcprof.comparison.comparison import Comparison
from tcprof.comparison.gate.conditions import Condition

_ON_THE_CPU = ("host_ns",)  # faults are about samples and kernels, and leave it alone
_TOLD = {"base": "the baseline has a fault", "new": "the new recording has a fault"}


@dataclass(frozen=True)
class Doubt:
    """A reason for which a condition cannot be told.

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
        unused = self.side == "base" and condition.kind == "absolute"
        return condition.quantity not in self.spares and not unused


def list_doubts(comparison: Comparison) -> tuple[Doubt, ...]:
    """All of them, those that concern most first."""
    found = [Doubt(sentence.rstrip(".")) for sentence in comparison.unmapped]
    models = gpu_models(comparison.base, comparison.new)
    if models[0] != models[1]:
        found.append(Doubt(f"different GPUs: {models[0]} against {models[1]}"))
    for name, side in (("base", comparison.base), ("new", comparison.new)):
        # What is lost comes first; what that means, and what to do, stands with the faults in full.
        found += [Doubt(f"{_TOLD[name]}: {_first_sentence(fault)}", name, _ON_THE_CPU) for fault in side.faults]
    return tuple(found)


def find_doubt(condition: Condition, doubts: Sequence[Doubt]) -> str:
    """Why the condition cannot be told; empty where nothing is in doubt."""
    return "; ".join(dict.fromkeys(doubt.reason for doubt in doubts if doubt.touches(condition)))


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
