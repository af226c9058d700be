"""What is said of a gate: its conditions with their verdicts and what was found, and how it ended."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tcprof import units
from tcprof.comparison.gate import HOLDS_BOUND, INCONCLUSIVE, NO_INTERVAL, Condition, Gate, GateFigure, Judgement
from tcprof.comparison.statistics.rows import MEAN, MEDIAN, TOO_FEW
from tcprof.errors import TcprofError
from tcprof.frames import COMPARISON, quantity_of
from tcprof.sources.remedies import Recorder
from tcprof.untrusted import printable
from tcprof.views.document import Document, Notes
from tcprof.views.paths import WHOLE_CAPTURE

NO_BASELINE = "there is no baseline yet"
_LARGE_RATIO = 10  # from here on "12.9x" is easier to read than "+1190.0 %"
_LONGEST_PATH = 160
_ENDED = {"pass": "Gate passed", "fail": "Gate failed", INCONCLUSIVE: "Gate inconclusive"}
_MORE_RECORDINGS = "Record more runs per side to reach a decision"
_BY_TCPROF = "tcprof profile --repeat 5 SCRIPT"


@dataclass(frozen=True)
class ConditionView:
    """One condition: its name with what that leaves open, its verdict, and the figures or the reason behind it."""

    name: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class GateView:
    """All conditions of a gate."""

    conditions: tuple[ConditionView, ...]
    state: str  # pass, fail or inconclusive: how the gate ends
    outcome: str  # the same in a sentence
    advice: tuple[str, ...]  # what would help where something is inconclusive, in sentences
    doubt: str  # the inconclusive conditions, as one line for a log; empty if there are none
    is_strict: bool  # whether an inconclusive condition fails


def view_gate(gate: Gate, recorder: Recorder = "nsys") -> GateView:
    """Show what a gate says of recordings that a profiler wrote."""
    judgements = gate.judgements
    unsure = (
        f"{name_condition(judgement)}: {judgement.reason}"
        for judgement in judgements
        if judgement.verdict == INCONCLUSIVE
    )
    doubt = printable("; ".join(unsure))
    helps = any(judgement.reason in (NO_INTERVAL, TOO_FEW, HOLDS_BOUND) for judgement in judgements)
    counts = Counter(judgement.verdict for judgement in judgements)
    counted = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("fail", INCONCLUSIVE, "pass") if counts[verdict])
    return GateView(
        conditions=tuple(
            ConditionView(name_condition(judgement), judgement.verdict, describe_judgement(judgement))
            for judgement in judgements
        ),
        state=gate.verdict,
        outcome=f"{_ENDED[gate.verdict]}: {counted} ({units.format_things(len(judgements), 'condition')}).",
        advice=(f"{_MORE_RECORDINGS}{f': {_BY_TCPROF}' * (recorder == 'nsys')}",) if helps else (),
        doubt=f"Gate inconclusive: {doubt}." if doubt else "",
        is_strict=gate.strict,
    )


def view_without_baseline(conditions: Sequence[str], why: TcprofError) -> Document:
    """Say that the baseline has no run yet: all conditions pass, since there is nothing to compare with."""
    sentence = f"Nothing to compare with: {why.message}"
    listed = tuple(
        ConditionView(printable(text.strip()), "pass", f"{NO_BASELINE}: {why.message}") for text in conditions
    )
    outcome = f"{_ENDED['pass']}: {NO_BASELINE}."
    gate = GateView(listed, "pass", outcome, (), "", is_strict=False) if listed else None
    lines = tuple(filter(None, (sentence, why.hint)))
    data = {"verdict": lines}
    return Document("comparison", (Notes(lines),), data=data, rows=COMPARISON.empty(), if_empty=sentence, gate=gate)


def name_condition(judgement: Judgement) -> str:
    """Name the condition as it was given, with the path and the GPU where it leaves these open; in printable form."""
    places, condition = [], judgement.condition
    if isinstance(condition, Condition):
        quantity = quantity_of(condition.quantity)
        places += [] if condition.text.strip().startswith(quantity.gate_name) else [quantity.column.title]
    if isinstance(condition, Condition) and condition.path != judgement.path:
        path = printable(judgement.path or WHOLE_CAPTURE)
        places.append(path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 1]}…")
    if judgement.gpu_count > 1:
        places.append(f"GPU {judgement.gpu}")
    text = printable(condition.text.strip())
    return f"{text} ({', '.join(places)})" if places else text


def describe_judgement(judgement: Judgement) -> str:
    """Say what was found, such as "+12.3 %, 95 % interval +10.1 % to +14.5 %", and why it is inconclusive, if it is."""
    figures, condition = "", judgement.condition
    if isinstance(condition, Condition):
        median, mean = _describe(condition, judgement.median), _describe(condition, judgement.mean)
        figures = median if median == mean else f"median {median or units.UNKNOWN}; mean {mean or units.UNKNOWN}"
        if median != mean and judgement.decided_by in (MEDIAN, MEAN):
            figures += f" (the {judgement.decided_by} decides)"
    return ": ".join(part for part in (figures, printable(judgement.reason)) if part)


def _describe(condition: Condition, estimate: GateFigure) -> str:
    parts = [] if math.isnan(estimate.value) else [_format(condition, estimate.value)]
    if not (math.isnan(estimate.low) or math.isnan(estimate.high)):
        parts.append(f"95 % interval {_format(condition, estimate.low)} to {_format(condition, estimate.high)}")
    return ", ".join(parts)


def _format(condition: Condition, value: float) -> str:
    if condition.scale == "relative":
        return units.format_signed_pct(100 * (value - 1)) if value < _LARGE_RATIO else units.format_ratio(value)
    if condition.scale == "points":
        return units.format_points(value)
    return quantity_of(condition.quantity).column.format(value)
