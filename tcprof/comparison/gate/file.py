"""The conditions of a gate in a file of TOML: ``[tool.tcprof.gate]`` of a pyproject.toml, or a file of its own.

::

    [tool.tcprof.gate]
    fail-if = ["step_time > +5%", "tensor_active < -2pt"]
    strict = true
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcprof.comparison.gate.parse import Condition, FindingCondition, parse_condition
from tcprof.errors import InputError, UsageError

_TABLE = ("tool", "tcprof", "gate")
_EXAMPLE = """For example: [tool.tcprof.gate] with fail-if = ["step_time > +5%"] and strict = false."""


@dataclass(frozen=True)
class GateFile:
    """What a file asks for."""

    conditions: tuple[Condition | FindingCondition, ...]
    strict: bool


def read_gate_file(path: Path, findings: Sequence[str]) -> GateFile:
    """The conditions of a file; one that is called pyproject.toml has them in ``[tool.tcprof.gate]``.

    Raises:
        InputError: The file is absent or is no TOML.
        UsageError: It lacks conditions, has another key, or one of its conditions cannot be parsed.
    """
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
    if not (isinstance(conditions, list) and conditions and all(isinstance(each, str) for each in conditions)):
        raise UsageError(f"{path} has no list of conditions, fail-if", _EXAMPLE)
    if not isinstance(strict, bool):
        raise UsageError(f"{path}: strict is neither true nor false", _EXAMPLE)
    try:
        return GateFile(tuple(parse_condition(each, findings) for each in conditions), strict)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from error
