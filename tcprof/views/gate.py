"""What a gate says: of each condition the verdict and what was found, and the outcome."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ConditionView:
    """One condition.

    Attributes:
        name: The condition as it was given, with what that leaves open: the path and, of several, the GPU.
        verdict: pass, fail or cannot tell.
        found: The figures that decide, with their intervals, and why it cannot be told where it cannot.
    """

    name: str
    verdict: str
    found: str


@dataclass(frozen=True)
class GateView:
    """All conditions of a gate.

    Attributes:
        conditions: The conditions in the order given.
        outcome: One sentence.
        advice: What would help where something cannot be told, in sentences.
        doubt: The conditions that cannot be told, as one line for a log; empty where all can.
        is_strict: Whether a condition that cannot be told fails.
    """

    conditions: tuple[ConditionView, ...]
    outcome: str
    advice: tuple[str, ...]
    doubt: str
    is_strict: bool
