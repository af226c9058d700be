"""The conditions of a gate, in which a build fails: an expression such as ``time > +5%`` parsed.

::

    QUANTITY ['[' PATH ']'] ('>' | '<' | '>=' | '<=') THRESHOLD

    time > +5%                              the steps' GPU window grew by over 5 %
    tensor_active[step / forward] < 30      Tensor Active of that path is below 30 %
    tensor_kernel_share < -2pt              the tensor kernels' share fell by over 2 points
    finding fp32-matmul                     the new side has this finding, see docs/advice.md
"""

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from rich.cells import cell_len

from tcprof.errors import InputError, UsageError
from tcprof.frames import LISTED_QUANTITIES

Scale = Literal["relative", "points", "absolute"]

CONDITIONS = MappingProxyType({quantity.gate_name: quantity for quantity in LISTED_QUANTITIES})

_EXAMPLES = "For example: --fail-if 'time > +5%' or --fail-if 'tensor_active[step / forward] < 30'."
_NS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}  # the micro sign and the letter
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_BOUNDS = {
    "pct": "a change of +10% or -10%, or of +2pt or -2pt (points), or a value such as 30 or 30%",
    "ns": "a change of +5% or -5%, or a value with its unit (ns, us, ms, s), such as 30ms",
    "s": "a change of +5% or -5%, or a value with its unit (ns, us, ms, s), such as 30ms",
    "count": "a change of +5% or -5%, or a value such as 1000",
    "tflops": "a change of +5% or -5%, or a value in TFLOP/s, such as 400",
    "cycles": "a change of +5% or -5%, or a value such as 1000",
    "bytes": "a change of +5% or -5%, or a value with its unit (B, KiB, MiB, GiB, TiB), such as 30GiB",
}
_FINDING = re.compile(r"\s*finding\s+([\w-]+)\s*")
_NO_FINDING = re.compile(r"\s*no\s+(finding\b.*)")
_BASELINE = re.compile(r"\bbaseline(?:\s*([+-])\s*([0-9.]+)\s*(%|pt))?(?=\s*$)")
_REVERSED = {">": "<=", "<": ">=", ">=": "<", "<=": ">"}
_QUANTITY = re.compile(r"\s*(\w*)\s*")
_CLOSING = re.compile(r"\](?=\s*[<>])")  # a range's name may hold brackets: the last one before an operator closes
_OPERATOR = re.compile(r"\s*(>=|<=|>|<)")
_THRESHOLD = re.compile(r"\s*(([+-]?)([0-9]{1,15}(?:\.[0-9]{1,15})?)[ \t]*(\S*))\s*")


@dataclass(frozen=True)
class Condition:
    """A condition in which a build fails."""

    text: str
    quantity: str  # quantity of the comparison's rows, such as gpu_window_ns
    path: str | None  # path, or its last names, as given; None for that of the steps
    operator: str  # >, <, >= or <=
    bound: float  # with what it is compared: a ratio (1.05 for +5%), points, or a value in the quantity's own unit
    # What is compared: relative, the ratio of new value and baseline; points, their difference; absolute, the new value
    scale: Scale


@dataclass(frozen=True)
class FindingCondition:
    """A build fails where the new side has the finding of this name."""

    text: str
    name: str


def parse_condition(text: str, findings: Sequence[str] = ()) -> Condition | FindingCondition:
    """Parse an expression of the grammar above."""
    if finding := _FINDING.fullmatch(text):
        if finding[1] not in findings:
            what, hint = f"no finding is called {finding[1]!r}", f"Findings: {', '.join(findings)}."
            raise wrong_condition(text, finding.start(1), what, hint)
        return FindingCondition(text, finding[1])
    word = _QUANTITY.match(text)
    assert word is not None  # it matches nothing, too
    name, at = word[1], word.end()
    if name not in CONDITIONS:
        near = difflib.get_close_matches(name, CONDITIONS, 1)
        guess = f"Did you mean {near[0]}? " if near else ""
        what = f"there is no quantity {name!r}" if name else "a quantity is expected here"
        raise wrong_condition(text, word.start(1), what, f"{guess}Quantities: {', '.join(CONDITIONS)}. {_EXAMPLES}")
    path, at = _read_path(text, at)
    compares = _OPERATOR.match(text, at)
    if compares is None:
        raise wrong_condition(text, _skip_blanks(text, at), "> or <, >= or <= is expected here", _EXAMPLES)
    scale, bound = _read_threshold(text, compares.end(), name)
    return Condition(text, CONDITIONS[name].name, path, compares[1], bound, scale)


def parse_requirement(text: str, findings: Sequence[str] = ()) -> Condition | FindingCondition:
    """Parse what must hold, such as ``tensor_active > 40`` or ``time <= baseline + 3 %``: the reverse of a condition.

    ``no finding NAME`` requires that the new side has no such finding.
    """
    if finding := _NO_FINDING.fullmatch(text):
        return replace(parse_condition(finding[1], findings), text=text)
    plain = _BASELINE.sub(lambda match: f"{match[1] or '+'}{match[2] or '0'}{match[3] or '%'}", text)
    condition = parse_condition(plain, findings)
    if isinstance(condition, FindingCondition):
        raise wrong_condition(text, 0, "a test requires that there is no finding", f"Write 'no {text.strip()}'.")
    return replace(condition, text=text, operator=_REVERSED[condition.operator])


def _read_path(text: str, at: int) -> tuple[str | None, int]:
    """Read the path in brackets, if there is one, and the position behind it."""
    if not text.startswith("[", at):
        return None, at
    closing = [match.start() for match in _CLOSING.finditer(text, at)]
    end = closing[-1] if closing else text.rfind("]")
    if end < at:
        raise wrong_condition(text, at, "this bracket is not closed", _EXAMPLES)
    path = text[at + 1 : end].strip()
    if not path:
        raise wrong_condition(
            text,
            at,
            "a path is expected in the brackets",
            (f"Without brackets, a condition is about the steps. {_EXAMPLES}"),
        )
    return path, end + 1


def _read_threshold(text: str, at: int, name: str) -> tuple[Scale, float]:
    """Read scale and bound from the rest of an expression that begins with the quantity's name."""
    unit = CONDITIONS[name].column.unit
    takes = f"{name} takes {_BOUNDS[unit]}. {_EXAMPLES}"
    match = _THRESHOLD.match(text, at)
    if match is None:
        raise wrong_condition(text, _skip_blanks(text, at), "a bound is expected here", takes)
    whole, sign, number, suffix = match.groups()
    if match.end() < len(text):
        raise wrong_condition(text, match.end(), "nothing may follow the bound", takes)
    value = Decimal(sign + number)
    if sign and suffix == "%" and value >= -100:
        return "relative", float((100 + value) / 100)
    if unit == "pct" and abs(value) <= 100:
        if sign and suffix == "pt":
            return "points", float(value)
        if not sign and suffix in ("", "%"):
            return "absolute", float(value)
    elif not sign and unit in ("ns", "s") and suffix in _NS:
        return "absolute", float(value * _NS[suffix] / (1 if unit == "ns" else 10**9))
    elif not sign and unit == "bytes" and suffix in _BYTES:
        return "absolute", float(value * _BYTES[suffix])
    elif not sign and unit in ("count", "cycles", "tflops") and not suffix:
        return "absolute", float(value)
    raise wrong_condition(text, match.start(1), f"{whole!r} is not a bound for {name}", takes)


def _skip_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def wrong_condition(text: str, position: int, what: str, hint: str) -> UsageError:
    """Make the error of an expression, with a line that points at the position of what is wrong."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return UsageError(f"condition: {what}.\n    {printable}\n    {' ' * cell_len(printable[:position])}^", hint)


_TABLE = ("tool", "tcprof", "gate")
_EXAMPLE = """For example: [tool.tcprof.gate] with fail-if = ["step_time > +5%"] and strict = false."""


@dataclass(frozen=True)
class GateFile:
    """What a file asks for."""

    conditions: tuple[Condition | FindingCondition, ...]
    strict: bool


def read_gate_file(path: Path, findings: Sequence[str]) -> GateFile:
    """Read the conditions of a file; one that is called pyproject.toml has them in ``[tool.tcprof.gate]``."""
    try:
        table: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"it is not TOML: {error}"
        raise InputError(f"{path} cannot be read: {why}.", "Give the file with the conditions to --gate.") from error
    for name in _TABLE if path.name == "pyproject.toml" else ():
        table = table.get(name, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path} has no table [{'.'.join(_TABLE)}]", _EXAMPLE)
    conditions, strict = table.get("fail-if"), table.get("strict", False)
    if unknown := sorted(table.keys() - {"fail-if", "strict"}):
        raise UsageError(f"{path}: a gate has no {unknown[0]!r}", _EXAMPLE)
    if not (isinstance(conditions, list) and conditions and all(isinstance(text, str) for text in conditions)):
        raise UsageError(f"{path} has no list of conditions named fail-if", _EXAMPLE)
    if not isinstance(strict, bool):
        raise UsageError(f"{path}: strict must be true or false", _EXAMPLE)
    try:
        return GateFile(tuple(parse_condition(condition, findings) for condition in conditions), strict)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error
