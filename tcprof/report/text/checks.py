"""The checks of ``tcprof doctor``, for the terminal and as JSON."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from tcprof.record.doctor.checks import Check
from tcprof.render.json_document import render_document
from tcprof.untrusted import printable

_COLORS = {"pass": "32", "warn": "33", "fail": "1;31"}


def is_ready(checks: Sequence[Check]) -> bool:
    """Whether a recording is possible."""
    return all(check.status != "fail" for check in checks)


def render_checks(checks: Sequence[Check], width: int, color: bool) -> str:
    """The checks as lines: status, name, evidence, and below it the remedy; the verdict last."""
    indent = max(len(check.name) for check in checks) + 8
    lines = []
    for check in checks:
        status = f"\x1b[{_COLORS[check.status]}m{check.status}\x1b[0m" if color else check.status
        evidence = _fill(check.evidence, width, indent)
        lines.append(f"{status}  {check.name:<{indent - 6}}{evidence.lstrip()}")
        if check.remedy:
            lines.append(_fill(f"→ {check.remedy}", width, indent))
    failed = [check.name for check in checks if check.status == "fail"]
    verdict = f"Not ready to record: {', '.join(failed)}." if failed else "Ready to record: tcprof profile SCRIPT"
    return "\n".join([*lines, "", verdict])


def render_checks_json(checks: Sequence[Check]) -> str:
    """The checks as JSON."""
    return render_document("doctor", ready=is_ready(checks), checks=[asdict(check) for check in checks])


def _fill(text: str, width: int, indent: int) -> str:
    margin = " " * indent
    return textwrap.fill(
        printable(text),
        width,
        initial_indent=margin,
        subsequent_indent=margin,
        break_on_hyphens=False,
        break_long_words=False,  # a path or a command is to be copied
    )
