"""The verdicts of a gate, for the terminal and for Markdown."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence

from tcprof import units
from tcprof.comparison.gate.conditions import unit_of
from tcprof.comparison.gate.judgements import CANNOT_TELL, HOLDS_BOUND, NO_INTERVAL, Found, Judgement, exit_status
from tcprof.comparison.statistics.rows import MEAN, MEDIAN, TOO_FEW
from tcprof.report.text.tables import LONGEST_LABEL, WHOLE_CAPTURE, Listing, escape_markdown, render_markdown
from tcprof.untrusted import printable

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


def describe_judgement(judgement: Judgement, quote: Callable[[str], str] = printable) -> str:
    """What was found, and why it cannot be told where it cannot.

    "+12.3 %, 95 % interval +10.1 % to +14.5 %"; where median and mean differ both, and which of them decides.

    Args:
        judgement: The judgement.
        quote: What makes the reason harmless, which may hold names from a recording.
    """
    median, mean = _describe_found(judgement, judgement.median), _describe_found(judgement, judgement.mean)
    found = median if median == mean else f"median {median or units.UNKNOWN}; mean {mean or units.UNKNOWN}"
    if median != mean and judgement.decided_by in (MEDIAN, MEAN):
        found += f" (the {judgement.decided_by} decides)"
    return ": ".join(part for part in (found, quote(judgement.reason)) if part)


def _describe_found(judgement: Judgement, found: Found) -> str:
    """A figure with its interval; empty where it is unknown."""
    parts = [] if math.isnan(found.value) else [_format(judgement, found.value)]
    if not (math.isnan(found.low) or math.isnan(found.high)):
        parts.append(f"95 % interval {_format(judgement, found.low)} to {_format(judgement, found.high)}")
    return ", ".join(parts)


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
        (name_condition(each), each.verdict, describe_judgement(each, lambda text: escape_markdown(printable(text))))
        for each in judgements
    ]
    table = render_markdown(Listing("", ("fails if", "verdict", "found"), rows))
    return "\n\n".join([f"**{outcome}**", table, *advice])


def summarize_doubtful(judgements: Sequence[Judgement]) -> str:
    """Which conditions cannot be told and why, as one line for a log; empty where all can."""
    told = [f"{name_condition(each)}: {each.reason}" for each in judgements if each.verdict == CANNOT_TELL]
    return f"Gate cannot tell {printable('; '.join(told))}." if told else ""


def _conclude(judgements: Sequence[Judgement], strict: bool) -> list[str]:
    """The outcome in one sentence, and what would help where something cannot be told."""
    counts = Counter(judgement.verdict for judgement in judgements)
    told = [f"{counts[verdict]} {verdict}" for verdict in ("fail", CANNOT_TELL, "pass") if counts[verdict]]
    ended = "Gate cannot tell" if counts[CANNOT_TELL] else "Gate passed"
    if exit_status(judgements, strict):
        ended = "Gate failed"
    sentences = [f"{ended}: of {len(judgements)} condition{'s'[: len(judgements) > 1]} {', '.join(told)}."]
    if any(judgement.reason in (NO_INTERVAL, TOO_FEW, HOLDS_BOUND) for judgement in judgements):
        sentences.append("The more recordings a side has, the more can be told: tcprof profile --repeat 5 SCRIPT")
    return sentences
