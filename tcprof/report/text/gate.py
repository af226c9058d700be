"""The verdicts of a gate, for the terminal and for Markdown."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence

from tcprof import units
from tcprof.comparison.gate.conditions import unit_of
from tcprof.comparison.gate.judgements import HOLDS_BOUND, NO_INTERVAL, Judgement, exit_status
from tcprof.report.text.tables import LONGEST_LABEL, WHOLE_CAPTURE, Listing, printable, render_markdown

_COLORS = {"pass": "32", "cannot tell": "33", "fail": "1;31"}
_VALUES: dict[str, Callable[[float], str]] = {
    "ns": units.format_ns,
    "s": units.format_seconds,
    "pct": units.format_pct,
}
_MARGIN = " " * 13
_LARGE_RATIO = 10  # from here on "12.9x" is easier to read than "+1190.0 %"


def name_condition(judgement: Judgement) -> str:
    """The condition as it was given, with what that leaves open: the path and, of several, the GPU.

    The path is a recording's: it is in printable form, and not escaped for Markdown.
    """
    places = []
    if judgement.condition.path != judgement.path:
        path = printable(judgement.path or WHOLE_CAPTURE.strip("()"))
        places.append(path if len(path) <= LONGEST_LABEL else f"{path[: LONGEST_LABEL - 1]}…")
    if judgement.gpu_count > 1:
        places.append(f"GPU {judgement.gpu}")
    text = printable(judgement.condition.text.strip())
    return f"{text} ({', '.join(places)})" if places else text


def describe_judgement(judgement: Judgement) -> str:
    """What was found: "+12.3 %, 95 % interval +10.1 % to +14.5 %", and why it cannot be told where it cannot."""
    parts = []
    if not math.isnan(judgement.value):
        parts.append(_format(judgement, judgement.value))
    if not (math.isnan(judgement.low) or math.isnan(judgement.high)):
        parts.append(f"95 % interval {_format(judgement, judgement.low)} to {_format(judgement, judgement.high)}")
    found = ", ".join(parts)
    return ": ".join(part for part in (found, judgement.reason) if part)


def _format(judgement: Judgement, value: float) -> str:
    """A figure of a judgement: a change in percent or in points, or a value with its unit."""
    condition = judgement.condition
    if condition.kind == "relative":
        change = units.format_points(100 * (value - 1)).removesuffix(" points")
        return f"{change} %" if value < _LARGE_RATIO else units.format_ratio(value)
    if condition.kind == "points":
        return units.format_points(value)
    return _VALUES.get(unit_of(condition.quantity), units.format_count)(value)


def render_gate(judgements: Sequence[Judgement], strict: bool, width: int, color: bool) -> str:
    """The verdicts as lines: verdict and condition, and below them what was found; the outcome last.

    Args:
        judgements: One for each condition.
        strict: Whether a condition that cannot be told fails the build.
        width: Columns.
        color: Whether verdicts are coloured.
    """
    lines = []
    for judgement in judgements:
        verdict = judgement.verdict
        shown = f"\x1b[{_COLORS[verdict]}m{verdict}\x1b[0m" if color else verdict
        condition = _fill(name_condition(judgement), width).removeprefix(_MARGIN)
        lines += [f"{shown}{_MARGIN[len(verdict) :]}{condition}", _fill(describe_judgement(judgement), width)]
    outcome = textwrap.fill(" ".join(_conclude(judgements, strict)), width, break_on_hyphens=False)
    return "\n".join([*lines, "", outcome])


def _fill(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent=_MARGIN, subsequent_indent=_MARGIN, break_on_hyphens=False)


def render_gate_markdown(judgements: Sequence[Judgement], strict: bool) -> str:
    """The verdicts as Markdown: the outcome, and a table in which names are escaped."""
    outcome, *advice = _conclude(judgements, strict)
    rows: list[tuple[str, ...]] = [
        (name_condition(judgement), judgement.verdict, describe_judgement(judgement)) for judgement in judgements
    ]
    table = render_markdown(Listing("", ("fails if", "verdict", "found"), rows))
    return "\n\n".join([f"**{outcome}**", table, *advice])


def _conclude(judgements: Sequence[Judgement], strict: bool) -> list[str]:
    """The outcome in one sentence, and what would help where something cannot be told."""
    counts = Counter(judgement.verdict for judgement in judgements)
    told = [f"{counts[verdict]} {verdict}" for verdict in ("fail", "cannot tell", "pass") if counts[verdict]]
    ended = "failed" if exit_status(judgements, strict) else "passed"
    sentences = [f"Gate {ended}: of {len(judgements)} condition{'s'[: len(judgements) > 1]} {', '.join(told)}."]
    if any(judgement.reason in (NO_INTERVAL, HOLDS_BOUND) for judgement in judgements):
        sentences.append("The more recordings a side has, the more can be told: tcprof profile --repeat 5 SCRIPT")
    return sentences
