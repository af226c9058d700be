"""What a gate says: of each condition the verdict and what was found, and the outcome."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tcprof import units
from tcprof.comparison.gate.judge import HOLDS_BOUND, INCONCLUSIVE, NO_INTERVAL, Found, Judgement, exit_status
from tcprof.comparison.statistics.rows import MEAN, MEDIAN, TOO_FEW
from tcprof.frames import quantity_of
from tcprof.untrusted import printable
from tcprof.views.paths import WHOLE_CAPTURE

_LARGE_RATIO = 10  # from here on "12.9x" is easier to read than "+1190.0 %"
_LONGEST_PATH = 160
_ENDED = {"pass": "Gate passed", "fail": "Gate failed", INCONCLUSIVE: "Gate inconclusive"}
_MORE_RECORDINGS = "The more recordings a side has, the more can be told: tcprof profile --repeat 5 SCRIPT"


@dataclass(frozen=True)
class ConditionView:
    """One condition.

    Attributes:
        name: The condition as it was given, with what that leaves open: the path and, of several, the GPU.
        found: The figures that decide, with their intervals, and why they are inconclusive, if they are.
    """

    name: str
    verdict: str
    found: str


@dataclass(frozen=True)
class GateView:
    """All conditions of a gate.

    Attributes:
        state: pass, fail or inconclusive: how the gate ends.
        doubt: The inconclusive conditions, as one line for a log; empty if there are none.
    """

    conditions: tuple[ConditionView, ...]
    state: str
    outcome: str
    advice: tuple[str, ...]
    doubt: str
    is_strict: bool


def view_gate(judgements: Sequence[Judgement], strict: bool) -> GateView:
    """What a gate says."""
    conditions = tuple(
        ConditionView(name_condition(each), each.verdict, describe_judgement(each)) for each in judgements
    )
    unsure = (f"{name_condition(each)}: {each.reason}" for each in judgements if each.verdict == INCONCLUSIVE)
    doubt = printable("; ".join(unsure))
    helps = any(judgement.reason in (NO_INTERVAL, TOO_FEW, HOLDS_BOUND) for judgement in judgements)
    return GateView(
        conditions=conditions,
        state=_state(judgements, strict),
        outcome=_conclude(judgements, strict),
        advice=(_MORE_RECORDINGS,) if helps else (),
        doubt=f"Gate inconclusive: {doubt}." if doubt else "",
        is_strict=strict,
    )


def name_condition(judgement: Judgement) -> str:
    """The condition as it was given, with what that leaves open: the path and, of several, the GPU; in printable form.

    The path is a recording's, and is not escaped.
    """
    places = []
    if judgement.condition.path != judgement.path:
        path = printable(judgement.path or WHOLE_CAPTURE)
        places.append(path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…")
    if judgement.gpu_count > 1:
        places.append(f"GPU {judgement.gpu}")
    text = printable(judgement.condition.text.strip())
    return f"{text} ({', '.join(places)})" if places else text


def describe_judgement(judgement: Judgement) -> str:
    """What was found, and why it is inconclusive, if it is, in printable form.

    "+12.3 %, 95 % interval +10.1 % to +14.5 %"; where median and mean differ both, and which of them decides.
    """
    median, mean = _describe_found(judgement, judgement.median), _describe_found(judgement, judgement.mean)
    found = median if median == mean else f"median {median or units.UNKNOWN}; mean {mean or units.UNKNOWN}"
    if median != mean and judgement.decided_by in (MEDIAN, MEAN):
        found += f" (the {judgement.decided_by} decides)"
    return ": ".join(part for part in (found, printable(judgement.reason)) if part)


def _describe_found(judgement: Judgement, found: Found) -> str:
    parts = [] if math.isnan(found.value) else [_format(judgement, found.value)]
    if not (math.isnan(found.low) or math.isnan(found.high)):
        parts.append(f"95 % interval {_format(judgement, found.low)} to {_format(judgement, found.high)}")
    return ", ".join(parts)


def _format(judgement: Judgement, value: float) -> str:
    condition = judgement.condition
    if condition.scale == "relative":
        return units.format_signed_pct(100 * (value - 1)) if value < _LARGE_RATIO else units.format_ratio(value)
    if condition.scale == "points":
        return units.format_points(value)
    return quantity_of(condition.quantity).column.format(value)


def _state(judgements: Sequence[Judgement], strict: bool) -> str:
    """How the gate ends; an inconclusive condition that counts as failed fails it."""
    if exit_status(judgements, strict):
        return "fail"
    return INCONCLUSIVE if any(judgement.verdict == INCONCLUSIVE for judgement in judgements) else "pass"


def _conclude(judgements: Sequence[Judgement], strict: bool) -> str:
    counts = Counter(judgement.verdict for judgement in judgements)
    told = [f"{counts[verdict]} {verdict}" for verdict in ("fail", INCONCLUSIVE, "pass") if counts[verdict]]
    ended = _ENDED[_state(judgements, strict)]
    return f"{ended}: of {len(judgements)} condition{'s'[: len(judgements) > 1]} {', '.join(told)}."
