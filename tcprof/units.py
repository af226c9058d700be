"""The only place where a number becomes text.

Every function takes a number and gives what a person reads; unknown (NaN, None) is "–", never 0.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, SupportsFloat

if TYPE_CHECKING:
    import pandas as pd

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
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|points?|[nµm]?s|[KMGT]i?B|B|[kMGTP]?(?:Hz|W|J|FLOP(?:/s)?))(?![\w/]))")


_Options = ParamSpec("_Options")


def _to_float(value: SupportsFloat | None) -> float | None:
    """Convert a value; None where it is unknown."""
    try:
        number = math.nan if value is None else float(value)
    except TypeError:  # pandas.NA and NaT are no numbers
        return None
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def _if_known(
    write: Callable[Concatenate[float, _Options], str],
) -> Callable[Concatenate[SupportsFloat | None, _Options], str]:
    """Write unknown values as such, and leave the rest to the function."""

    @wraps(write)
    def write_any(value: SupportsFloat | None, /, *args: _Options.args, **options: _Options.kwargs) -> str:
        number = _to_float(value)
        return UNKNOWN if number is None else write(number, *args, **options)

    return write_any


def _rounded(value: float) -> float:
    """Round a value to its first three digits."""
    return float(f"{value:z.2e}")


def _digits(value: float) -> str:
    """Write a value with three significant digits, at most three decimals, never in exponent form."""
    if value == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(_rounded(value))))
    return f"{value:z.{min(max(0, decimals), 3)}f}"


@_if_known
def format_ns(value: float) -> str:
    """Write a duration given in nanoseconds: "1.72 ms"."""
    if abs(value) < _LEAST_NS:
        return "0 ns"
    scale, unit = next((pair for pair in _TIMES if abs(_rounded(value)) >= pair[0]), _TIMES[-1])
    return f"{_digits(value / scale)} {unit}"


@_if_known
def format_seconds(value: float) -> str:
    """Write a duration given in seconds: "1.72 ms"."""
    return format_ns(value * 1e9)


@_if_known
def format_pct(value: float) -> str:
    """Write a percentage, 0 to 100: "87.3 %"; small ones keep two digits: "0.031 %"."""
    if 0 < abs(value) < 0.001:
        return "<0.001 %"
    decimals = 1 if abs(value) >= 1 or value == 0 else 2 if abs(value) >= 0.1 else 3
    return f"{value:z.{decimals}f} %"


@_if_known
def format_rough_pct(value: float) -> str:
    """Write an estimated percentage: "17 %", "5.2 %", "0 %"."""
    if 0 < abs(value) < 1:
        return format_pct(value)
    return f"{value:z.{1 if 1 <= abs(value) < 9.95 else 0}f} %"


def _signed_percentage(value: float) -> str:
    """Write the digits of a difference of percentages: "+37.5"."""
    if value == 0:
        return "0.0"
    if abs(value) < 0.001:
        return "<0.001"
    return f"{value:+.{1 if abs(value) >= 1 else 2 if abs(value) >= 0.1 else 3}f}"


@_if_known
def format_points(value: float) -> str:
    """Write a difference of two percentages, signed: "+37.5 points"."""
    return f"{_signed_percentage(value)} points"


@_if_known
def format_signed_pct(value: float) -> str:
    """Write a change in percent, signed: "+12.3 %"."""
    return f"{_signed_percentage(value)} %"


def _change_digits(value: float, in_points: bool) -> str:
    """Write the digits of a change; of a ratio near 1 so many that they show a difference."""
    if in_points:
        return _signed_percentage(value)
    return f"{value:.3f}" if abs(value - 1) < _NEAR_ONE else _ratio_digits(value)


def _ratio_digits(value: float) -> str:
    return _digits(value) if value >= _LEAST_RATIO else f"<{_LEAST_RATIO}"


@_if_known
def format_change(value: float, in_points: bool) -> str:
    """Write a change: the difference "+8.7 pt" of a percentage, else a ratio, "1.42x" or near 1 "1.003x"."""
    return _change_digits(value, in_points) + (" pt" if in_points else "x")


def format_change_interval(low: float, high: float, in_points: bool) -> str:
    """Write the ends of a change's interval, beside which the change has the unit: "+8.0 to +9.3", "1.38 to 1.46"."""

    def write(value: SupportsFloat | None) -> str:
        return _change_digits(float(value or 0), in_points)

    return describe_interval(low, high, write) or UNKNOWN


def describe_interval(low: float, high: float, write: Callable[[SupportsFloat | None], str]) -> str:
    """Write the known ends of an interval: "1.38x to 1.46x", "up to 1.46x", "1.38x or more"; empty for none."""
    if _to_float(low) is None:
        return "" if _to_float(high) is None else f"up to {write(high)}"
    return f"{write(low)} or more" if _to_float(high) is None else f"{write(low)} to {write(high)}"


@_if_known
def format_count(value: float) -> str:
    """Write a count: "1,440"; from ten million on "4.03 G"; of what is less often than once, "0.3"."""
    if abs(value) < 1e7:
        return f"{value:.1g}" if 0 < value < _SELDOM else f"{value:z,.0f}"
    scale, prefix = next(pair for pair in _SI if abs(_rounded(value)) >= pair[0])
    return f"{_digits(value / scale)} {prefix}"


def format_things(count: SupportsFloat | None, noun: str, plural: str = "") -> str:
    """Write a count with its noun: "1 launch", "1,440 launches"; the plural has an s where none is given."""
    text = format_count(count)
    return f"{text} {noun if text == '1' else plural or noun + 's'}"


@_if_known
def format_hz(value: float) -> str:
    """Write a frequency: "20 kHz", "1.98 GHz"."""
    scale, prefix = next((pair for pair in _SI if abs(_rounded(value)) >= pair[0]), (1.0, ""))
    text = _digits(value / scale)
    if "." in text and prefix != "G":  # clocks are compared, and keep their digits
        text = text.rstrip("0").rstrip(".")
    return f"{text} {prefix}Hz"


@_if_known
def format_bytes(value: float) -> str:
    """Write a size in binary units: "139.8 GiB"."""
    for unit, decimals in (("B", 0), ("KiB", 1), ("MiB", 1), ("GiB", 1)):
        if abs(round(value, decimals)) < 1024:
            return f"{value:z.{decimals}f} {unit}"
        value /= 1024
    return f"{value:z.1f} TiB"


@_if_known
def format_ratio(value: float) -> str:
    """Write a ratio of two quantities: "1.42x"."""
    return f"{_ratio_digits(value)}x"


@_if_known
def format_flops(value: float) -> str:
    """Write a rate given in TFLOP/s: "762 TFLOP/s", "4.09 GFLOP/s"; one of many GPUs as "1273 PFLOP/s"."""
    if value == 0:
        return "0 FLOP/s"
    prefixes = _SI if abs(value) >= _MANY_TFLOPS else _SI[1:]  # data sheets of single GPUs are in TFLOP/s
    scale, prefix = next((pair for pair in prefixes if abs(_rounded(value)) >= pair[0] / 1e12), _SI[-1])
    return f"{_digits(value * 1e12 / scale)} {prefix}FLOP/s"


def at_least(text: str) -> str:
    """Mark a written number as a lower bound: "≥ 762 TFLOP/s"."""
    return text if text == UNKNOWN else f"≥ {text}"


@_if_known
def format_signed_ns(value: float) -> str:
    """Write a difference of times given in nanoseconds: "+1.20 ms"."""
    return f"{'+' if value > 0 else ''}{format_ns(value)}"


def format_interval(low: float, high: float, write: Callable[[SupportsFloat | None], str]) -> str:
    """Write both ends of an interval: "13.5–15.5 %"; one figure where both read the same, empty where it is unknown."""
    ends = write(low), write(high)
    if not low <= high:
        return ""
    if ends[0] == ends[1]:
        return ends[0]
    (first, _, unit), (_, _, same) = ends[0].rpartition(" "), ends[1].rpartition(" ")
    return f"{first if first and unit == same else ends[0]}–{ends[1]}"


def format_pct_interval(low: float, high: float) -> str:
    """Write both ends of a percentage's interval; "unresolved" where it could be any, empty where they are unknown."""
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
    """Write a value of a table by the end of its column's name, or a symbol such as ``W``; None is unknown."""
    if isinstance(value, str):
        return value or UNKNOWN
    number = _to_float(value)  # type: ignore[arg-type]  # what is no number is unknown
    if number is None:
        return UNKNOWN
    if unit in _FORMATS:
        return _FORMATS[unit](number)
    return format_hz(number).removesuffix("Hz") + unit if unit else f"{number:g}"


def symbol_of(unit: str) -> str:
    """Return the symbol behind an axis' numbers, which takes a prefix: "Hz" for hz; W is its own."""
    return _SYMBOLS.get(unit, unit)


def unit_of_heading(unit: str) -> str:
    """Return the unit that goes into a narrow column's heading, so that its values need none."""
    return _IN_HEADINGS.get(unit, ("", ""))[1]


def join_units(text: str, space: str) -> str:
    """Put another character between each value and its unit, so that no line ends there."""
    return _BEFORE_UNIT.sub(space, text)


def bare(text: str, unit: str) -> str:
    """Strip the unit that is in the column's heading."""
    return text.removesuffix(_IN_HEADINGS.get(unit, ("", ""))[0]).rstrip()


def list_records(frame: "pd.DataFrame") -> list[dict[Any, Any]]:
    """List the rows of a frame."""
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    return rows


def plain(value: Any, from_frame: "Callable[[pd.DataFrame], Any]" = list_records) -> Any:
    """Turn a value into one that JSON knows: of a dataclass its fields, of a frame its rows, null for NaN."""
    if isinstance(value, str | int) or value is None:
        return value
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(item, from_frame) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, from_frame) for item in value]
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return plain(from_frame(value), from_frame)
    return plain(value.item(), from_frame) if isinstance(value, np.generic) else value
