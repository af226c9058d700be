"""The only place where a number becomes text.

Every function takes a number and gives what a person reads; unknown (NaN, None) is "–", never 0.
"""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import SupportsFloat

UNKNOWN = "–"
UNRESOLVED = "unresolved"  # in place of an interval that says nothing
_LEAST_NS = 0.0005  # what is less comes from rounding alone
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_LEAST_RATIO = 0.001  # what is less reads so: a ratio of times is never 0
_NEAR_ONE = 0.1  # ratios so near to 1 need three decimals
_SELDOM = 0.95  # what happens less often than once
_SI = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MANY_TFLOPS = 1e5


# The space of a value as the functions below write it; in sentences anything may follow but more of a word.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|points?|[nµm]?s|[KMGT]i?B|B|[kMGTP]?(?:Hz|W|FLOP(?:/s)?))(?![\w/]))")


def _known(value: SupportsFloat | None) -> float | None:
    """The value as a float, or None where it is unknown."""
    try:
        number = math.nan if value is None else float(value)
    except TypeError:  # pandas.NA and NaT are no numbers
        return None
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def _rounded(value: float) -> float:
    """The value with its first three digits."""
    return float(f"{value:z.2e}")


def _digits(value: float) -> str:
    """A number with three significant digits, at most three of them decimals, never in exponent form."""
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(_rounded(value))))
    return f"{value:z.{min(max(0, decimals), 3)}f}"


def format_ns(value: SupportsFloat | None) -> str:
    """A duration given in nanoseconds: "1.72 ms"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    if abs(number) < _LEAST_NS:
        return "0 ns"
    scale, unit = next((pair for pair in _TIMES if abs(_rounded(number)) >= pair[0]), _TIMES[-1])
    return f"{_digits(number / scale)} {unit}"


def format_seconds(value: SupportsFloat | None) -> str:
    """A duration given in seconds: "1.72 ms"."""
    number = _known(value)
    return UNKNOWN if number is None else format_ns(number * 1e9)


def format_pct(value: SupportsFloat | None) -> str:
    """A percentage, 0 to 100: "87.3 %"; small ones keep two digits: "0.031 %"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    if 0 < abs(number) < 0.001:
        return "<0.001 %"
    decimals = 1 if abs(number) >= 1 or number == 0 else 2 if abs(number) >= 0.1 else 3
    return f"{number:z.{decimals}f} %"


def format_rough_pct(value: SupportsFloat | None) -> str:
    """An estimated percentage: "17 %", "5.2 %", "0 %"."""
    number = _known(value)
    if number is None or 0 < abs(number) < 1:
        return format_pct(number)
    return f"{number:z.{1 if 1 <= abs(number) < 9.95 else 0}f} %"


def _signed_percentage(value: float) -> str:
    """The digits of a difference of percentages: "+37.5"."""
    if value == 0:
        return "0.0"
    if abs(value) < 0.001:
        return "<0.001"
    return f"{value:+.{1 if abs(value) >= 1 else 2 if abs(value) >= 0.1 else 3}f}"


def format_points(value: SupportsFloat | None) -> str:
    """A difference of two percentages, signed: "+37.5 points"."""
    number = _known(value)
    return UNKNOWN if number is None else f"{_signed_percentage(number)} points"


def format_signed_pct(value: SupportsFloat | None) -> str:
    """A change in percent, signed: "+12.3 %"."""
    number = _known(value)
    return UNKNOWN if number is None else f"{_signed_percentage(number)} %"


def _change_digits(value: float, in_points: bool) -> str:
    """The digits of a change; of a ratio near 1 so many that they show a difference."""
    if in_points:
        return _signed_percentage(value)
    return f"{value:.3f}" if abs(value - 1) < _NEAR_ONE else _ratio_digits(value)


def _ratio_digits(value: float) -> str:
    return _digits(value) if value >= _LEAST_RATIO else f"<{_LEAST_RATIO}"


def format_change(value: SupportsFloat | None, in_points: bool) -> str:
    """A change of a quantity: a difference "+8.7 pt" of a percentage, else a ratio, "1.42x" or near 1 "1.003x"."""
    number = _known(value)
    return UNKNOWN if number is None else _change_digits(number, in_points) + (" pt" if in_points else "x")


def format_change_interval(low: float, high: float, in_points: bool) -> str:
    """The ends of a change's interval, beside which the change has the unit: "+8.0 to +9.3", "1.38 to 1.46"."""

    def write(value: SupportsFloat | None) -> str:
        return _change_digits(float(value or 0), in_points)

    return describe_interval(low, high, write) or UNKNOWN


def describe_interval(low: float, high: float, write: Callable[[SupportsFloat | None], str]) -> str:
    """The ends of an interval that are known: "1.38x to 1.46x", "up to 1.46x", "1.38x or more"; empty for none."""
    if _known(low) is None:
        return "" if _known(high) is None else f"up to {write(high)}"
    return f"{write(low)} or more" if _known(high) is None else f"{write(low)} to {write(high)}"


def format_count(value: SupportsFloat | None) -> str:
    """A count: "1,440"; from ten million on "4.03 G"; of what is less often than once, "0.3"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    if abs(number) < 1e7:
        return f"{number:.1g}" if 0 < number < _SELDOM else f"{number:z,.0f}"
    scale, prefix = next(pair for pair in _SI if abs(_rounded(number)) >= pair[0])
    return f"{_digits(number / scale)} {prefix}"


def format_things(count: SupportsFloat | None, noun: str, plural: str = "") -> str:
    """So many of something: "1 launch", "1,440 launches"; the plural has an s where none is given."""
    text = format_count(count)
    return f"{text} {noun if text == '1' else plural or noun + 's'}"


def format_hz(value: SupportsFloat | None) -> str:
    """A frequency: "20 kHz", "1.98 GHz"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    scale, prefix = next((pair for pair in _SI if abs(_rounded(number)) >= pair[0]), (1.0, ""))
    text = _digits(number / scale)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {prefix}Hz"


def format_bytes(value: SupportsFloat | None) -> str:
    """A size in binary units: "139.8 GiB"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    for unit, decimals in (("B", 0), ("KiB", 1), ("MiB", 1), ("GiB", 1)):
        if abs(round(number, decimals)) < 1024:
            return f"{number:z.{decimals}f} {unit}"
        number /= 1024
    return f"{number:z.1f} TiB"


def format_ratio(value: SupportsFloat | None) -> str:
    """A ratio of two quantities: "1.42x"."""
    number = _known(value)
    return UNKNOWN if number is None else f"{_ratio_digits(number)}x"


def format_flops(value: SupportsFloat | None) -> str:
    """A rate given in TFLOP/s: "762 TFLOP/s", "4.09 GFLOP/s"; one of many GPUs as "1273 PFLOP/s"."""
    number = _known(value)
    if number is None:
        return UNKNOWN
    if number == 0:
        return "0 FLOP/s"
    prefixes = _SI if abs(number) >= _MANY_TFLOPS else _SI[1:]  # data sheets of single GPUs are in TFLOP/s
    scale, prefix = next((pair for pair in prefixes if abs(_rounded(number)) >= pair[0] / 1e12), _SI[-1])
    return f"{_digits(number * 1e12 / scale)} {prefix}FLOP/s"


def at_least(text: str) -> str:
    """A number that was written, marked as a lower bound: "≥ 762 TFLOP/s"."""
    return text if text == UNKNOWN else f"≥ {text}"


def format_signed_ns(value: SupportsFloat | None) -> str:
    """A difference of times given in nanoseconds: "+1.20 ms"."""
    number = _known(value)
    return f"{'+' if number is not None and number > 0 else ''}{format_ns(number)}"


def format_interval(low: float, high: float, write: Callable[[SupportsFloat | None], str]) -> str:
    """Both ends of an interval: "13.5–15.5 %"; one figure where both read the same, empty where it is unknown."""
    ends = write(low), write(high)
    if not low <= high:
        return ""
    if ends[0] == ends[1]:
        return ends[0]
    (first, _, unit), (_, _, same) = ends[0].rpartition(" "), ends[1].rpartition(" ")
    return f"{first if first and unit == same else ends[0]}–{ends[1]}"


def format_pct_interval(low: float, high: float) -> str:
    """Both ends of a percentage's interval; "unresolved" where it could be any, empty where they are unknown."""
    return UNRESOLVED if low <= 0 and high >= 100 else format_interval(low, high, format_pct)


# What a number is measured in -> how it is written. A column's name ends in one of these.
_FORMATS: Mapping[str, Callable[[SupportsFloat | None], str]] = MappingProxyType(
    {
        "ns": format_ns,
        "s": format_seconds,
        "pct": format_pct,
        "points": format_points,
        "count": format_count,
        "cycles": format_count,
        "flop": format_count,
        "hz": format_hz,
        "bytes": format_bytes,
        "ratio": format_ratio,
        "tflops": format_flops,
    }
)
SUFFIXES = frozenset(_FORMATS)
_SYMBOLS = MappingProxyType({"pct": "%", "hz": "Hz", "bytes": "B", "count": "", "ratio": "x"})
_IN_HEADINGS = MappingProxyType({"pct": (" %", "%"), "tflops": ("FLOP/s", "FLOP/s")})


def format_value(value: object, unit: str) -> str:
    """Anything that a table shows, as text; None is unknown.

    Args:
        unit: What a number is measured in: the end of a column's name, such as ``ns``; or a unit's symbol, such as
            ``W``, before which a prefix is put; empty for words and bare numbers.
    """
    if isinstance(value, str):
        return value or UNKNOWN
    number = _known(value)  # type: ignore[arg-type]  # what is no number is unknown
    if number is None:
        return UNKNOWN
    if unit in _FORMATS:
        return _FORMATS[unit](number)
    if not unit:
        return f"{number:g}"
    return format_hz(number).removesuffix("Hz") + unit


def symbol_of(unit: str) -> str:
    """What stands behind an axis' numbers, with a prefix before it: "Hz" for hz; a symbol such as W is its own."""
    return _SYMBOLS.get(unit, unit)


def unit_of_heading(unit: str) -> str:
    """The unit that goes into a column's heading where space is scarce, so that its values need none."""
    return _IN_HEADINGS.get(unit, ("", ""))[1]


def join_units(text: str, space: str) -> str:
    """A text in which another character stands between each value and its unit, so that no line ends there."""
    return _BEFORE_UNIT.sub(space, text)


def bare(text: str, unit: str) -> str:
    """A value without the unit that is in its column's heading."""
    return text.removesuffix(_IN_HEADINGS.get(unit, ("", ""))[0]).rstrip()
