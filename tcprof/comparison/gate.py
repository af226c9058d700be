"""The gate for builds: conditions in which a build fails, parsed, and held against the intervals of the verdict.

::

    QUANTITY ['[' PATH ']'] ('>' | '<' | '>=' | '<=') THRESHOLD

    time > +5%                              the steps' GPU window grew by over 5 %
    tensor_active[step / forward] < 30      Tensor Active of that path is below 30 %
    tensor_kernel_share < -2pt              the tensor kernels' share fell by over 2 points
    finding fp32-matmul                     the new side has this finding, see docs/advice.md
"""

import difflib
import math
import operator
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
from rich.cells import cell_len

from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.comparison.statistics.rows import MEAN, MEDIAN, STEP_TIME, judged_time, of_means, sure_statistics
from tcprof.comparison.statistics.verdicts import EQUAL
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
_TABLE = ("tool", "tcprof", "gate")
_EXAMPLE = """For example: [tool.tcprof.gate] with fail-if = ["step_time > +5%"] and strict = false."""
Verdict = Literal["fail", "pass", "inconclusive"]
INCONCLUSIVE: Verdict = "inconclusive"
INCONCLUSIVE_STATUS = 5  # of a command; see docs/ci.md for all
NO_INTERVAL = "no 95 % interval is known"
HOLDS_BOUND = "the interval includes the bound"
NOT_RECORDED = "not recorded"
NO_RATIO = "the baseline is 0, so there is no change in percent"
_COLUMNS: dict[Scale, str] = {"relative": "ratio", "points": "difference", "absolute": "new"}
_OPERATORS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_SEVERITY: tuple[Verdict, ...] = ("pass", "inconclusive", "fail")
_STATUSES: dict[Verdict, int] = {"pass": 0, "fail": 1, "inconclusive": INCONCLUSIVE_STATUS}
_SIDES = {"base": "the baseline", "new": "the new recording"}
_MOST_NAMED = 5
_LONGEST_NAME = 80  # characters of a name that an error shows; a recording's names may be of any length


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
    """Parse what must hold: the reverse of a condition, such as ``tensor_active > 40``, or ``no finding NAME``."""
    if finding := _NO_FINDING.fullmatch(text):
        return replace(parse_condition(finding[1], findings), text=text)
    plain = _BASELINE.sub(lambda match: f"{match[1] or '+'}{match[2] or '0'}{match[3] or '%'}", text)
    condition = parse_condition(plain, findings)
    if isinstance(condition, FindingCondition):
        raise wrong_condition(
            text, 0, "a test can only require that there is no finding", f"Write 'no {text.strip()}'."
        )
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
            (f"Without brackets, a condition applies to the steps. {_EXAMPLES}"),
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


@dataclass(frozen=True)
class Caveat:
    """Why a gate must not trust a comparison, whatever its intervals say; ``tcprof.findings`` finds them."""

    reason: str
    side: str = ""  # base or new, if it is about that side's figures alone; empty for what makes the sides incomparable
    spares: tuple[str, ...] = ()  # quantities that it does not touch

    def touches(self, condition: Condition) -> bool:
        """Tell whether the condition is about what is in doubt; one with an absolute bound needs no baseline."""
        unused = self.side == "base" and condition.scale == "absolute"
        return condition.quantity not in self.spares and not unused


@dataclass(frozen=True)
class GateFigure:
    """What a gate compares with the bound, on the condition's scale, and its 95 % interval; NaN where unknown."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Judgement:
    """What a comparison says about a condition."""

    condition: Condition | FindingCondition
    gpu: int  # the GPU that was judged; of several the first of those with the worst verdict
    gpu_count: int
    path: str  # the path that was judged, empty for the whole capture; or the name of the finding
    median: GateFigure  # the figure over the instances by their median
    mean: GateFigure  # the same by their mean
    # Of the intervals that count, those of a sure change or else both: fail where all of one meets the condition, pass
    # where nothing of any does, else inconclusive.
    verdict: Verdict
    decided_by: str  # median or mean: which of them has this verdict; both where both have; empty where neither counts
    reason: str  # why it is inconclusive; of a finding what it says


@dataclass(frozen=True)
class Gate:
    """The judgements of all conditions, and how they end; with ``strict`` an inconclusive one fails."""

    judgements: tuple[Judgement, ...]
    strict: bool = False

    @property
    def verdict(self) -> Verdict:
        """Return the worst verdict of all."""
        verdicts: list[Verdict] = ["pass", *(judgement.verdict for judgement in self.judgements)]
        worst = max(verdicts, key=_SEVERITY.index)
        return "fail" if self.strict and worst == INCONCLUSIVE else worst

    @property
    def exit_status(self) -> int:
        """Return 0 where it passes, 1 where it fails, 5 where it is inconclusive."""
        return _STATUSES[self.verdict]


def judge_condition(
    condition: Condition, rows: pd.DataFrame, step_path: str = "", caveats: Sequence[Caveat] = ()
) -> Judgement:
    """Hold a condition against rows of a comparison, on all GPUs on which the path had work; the worst counts.

    One that names no path is about ``step_path``; the step time there is what the verdict judges. What caveats touch is
    inconclusive. UsageError where the rows have no such path, or several.
    """
    rows = _drop_idle_gpus(_select_path(condition, rows, step_path))
    gpu_count = rows["gpu"].nunique()
    quantity_rows = rows[rows["quantity"] == condition.quantity]
    if condition.quantity == STEP_TIME and (rows["path"] == step_path).all():
        quantity_rows = pd.DataFrame([judged_time(gpu_rows) for _, gpu_rows in rows.groupby("gpu")])
    if quantity_rows.empty:
        gpu, path = int(rows["gpu"].iloc[0]), rows["path"].iloc[0]
        return Judgement(condition, gpu, gpu_count, path, GateFigure(), GateFigure(), INCONCLUSIVE, "", NOT_RECORDED)
    judged = [_judge_row(condition, row, gpu_count) for row in quantity_rows.to_dict("records")]
    reason = "; ".join(dict.fromkeys(caveat.reason for caveat in caveats if caveat.touches(condition)))
    if reason:
        judged = [replace(judgement, verdict=INCONCLUSIVE, decided_by="", reason=reason) for judgement in judged]
    return max(judged, key=lambda judgement: _SEVERITY.index(judgement.verdict))


def judge_finding(condition: FindingCondition, recordings: Sequence[Mapping[str, tuple[int, str]]]) -> Judgement:
    """Fail where all recordings have the finding, pass where none does; they have GPU and sentence by finding."""
    count, name = len(recordings), condition.name
    reasons = [findings[name] for findings in recordings if name in findings]
    gpu, reason = reasons[0] if reasons else (0, "not found")
    verdict: Verdict = "pass" if not reasons else "fail" if len(reasons) == count else INCONCLUSIVE
    if verdict == INCONCLUSIVE:
        reason = f"in {len(reasons)} of {count} recordings: {reason}"
    return Judgement(condition, gpu, 1, name, GateFigure(), GateFigure(), verdict, "", reason)


def _judge_row(condition: Condition, row: dict[Any, Any], gpu_count: int) -> Judgement:
    condition = replace(condition, quantity=row["quantity"])
    rows = {MEDIAN: row, MEAN: of_means(row)}
    estimates = {statistic: _pick_figure(condition, columns) for statistic, columns in rows.items()}
    # A sure change decides alone, as in the verdict; an absolute bound concerns no change.
    sure = () if condition.scale == "absolute" else sure_statistics(row)
    verdicts = {statistic: _judge(condition, estimates[statistic]) for statistic in sure or rows}
    verdict = max(verdicts.values(), key=_SEVERITY.index)
    decisive = [statistic for statistic, decision in verdicts.items() if decision == verdict]
    reason = _why_unknown(condition, rows[decisive[0]], estimates[decisive[0]]) if verdict == INCONCLUSIVE else ""
    decided_by = decisive[0] if len(decisive) == 1 else "both"
    median, mean = estimates[MEDIAN], estimates[MEAN]
    return Judgement(condition, row["gpu"], gpu_count, row["path"], median, mean, verdict, decided_by, reason)


def _pick_figure(condition: Condition, row: dict[Any, Any]) -> GateFigure:
    column = _COLUMNS[condition.scale]
    if row["verdict"] == EQUAL and math.isnan(row[f"{column}_low"]):
        # Equal constants have no uncertainty.
        value = {"ratio": 1.0, "difference": 0.0, "new": row["new"]}[column]
        return GateFigure(value, value, value)
    return GateFigure(row[column], row[f"{column}_low"], row[f"{column}_high"])


def _judge(condition: Condition, estimate: GateFigure) -> Verdict:
    meets = _OPERATORS[condition.operator]

    last, first = (estimate.low, estimate.high) if condition.operator.startswith(">") else (estimate.high, estimate.low)
    if meets(last, condition.bound):
        return "fail"
    return "pass" if not math.isnan(first) and not meets(first, condition.bound) else INCONCLUSIVE


def _why_unknown(condition: Condition, row: dict[Any, Any], estimate: GateFigure) -> str:
    needed = {"new": "the new recording"} if condition.scale == "absolute" else _SIDES
    sides = [name for side, name in needed.items() if math.isnan(row[side])]
    if sides:
        return f"unknown in {' and in '.join(sides)}"
    if math.isnan(estimate.value):
        return NO_RATIO if row["base"] == 0 else row["not_judged"]
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return row["not_judged"] or NO_INTERVAL
    return HOLDS_BOUND


def _drop_idle_gpus(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the GPUs on which a path had work; all if there is none, as in a range of the CPU alone."""
    windows = rows[rows["quantity"] == "gpu_window_ns"]
    busy = windows.loc[(windows[["base", "new"]] > 0).any(axis=1), "gpu"]
    return rows[rows["gpu"].isin(busy)] if len(busy) else rows


def _select_path(condition: Condition, rows: pd.DataFrame, step_path: str) -> pd.DataFrame:
    """Select the rows of a condition's path; where several domains have it, those of the default one."""
    paths = rows["path"].unique().tolist()
    if condition.path is None:
        name, at = step_path, 0
        matches = [path for path in paths if path == name]
    else:
        name, at = condition.path, condition.text.find("[") + 1
        matches = _match_paths(paths, name)
    if not matches:
        short = [path for path in paths if path and len(path) <= _LONGEST_NAME]  # comparing long ones takes long
        names = dict.fromkeys([*short, *(path.rpartition(SEPARATOR)[2] for path in short)])
        near = " or ".join(_quoted(difflib.get_close_matches(name[:_LONGEST_NAME], names, 3)))
        hint = f"Did you mean {near}? " if near else ""
        raise wrong_condition(
            condition.text,
            at,
            f"no range is called {name[:_LONGEST_NAME]!r}",
            f"{hint}'tcprof ranges RECORDING' lists the ranges.",
        )
    if len(matches) > 1:
        more = f" and {len(matches) - _MOST_NAMED} more" if len(matches) > _MOST_NAMED else ""
        what = f"{len(matches)} ranges are called {name[:_LONGEST_NAME]!r}: {', '.join(_quoted(matches))}{more}"
        raise wrong_condition(condition.text, at, what, "Give more of the path.")
    selected = rows[rows["path"] == matches[0]]
    default = selected[selected["domain"] == ""]
    return selected if default.empty else default


def _match_paths(paths: Sequence[str], name: str) -> list[str]:
    """List the paths of this name or ending; the exact text goes first, as a range's name may hold slashes."""
    plain = _without_blanks(name)
    for is_called in (
        lambda path: path == name,
        lambda path: _without_blanks(path) == plain,
        lambda path: path.endswith(SEPARATOR + name),
        lambda path: _without_blanks(path).endswith(f"/{plain}"),
    ):
        matches = [path for path in paths if path and is_called(path)]
        if matches:
            return matches
    return []


def _without_blanks(path: str) -> str:
    return "/".join(part.strip() for part in path.split("/"))


def _quoted(names: Sequence[str]) -> list[str]:
    return [repr(name[:_LONGEST_NAME]) for name in names[:_MOST_NAMED]]
