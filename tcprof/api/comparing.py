"""Comparisons of recordings, with the findings on them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TypeAlias

import pandas as pd

from tcprof.api.reading import Report, read
from tcprof.comparison import Comparison, Side
from tcprof.comparison import compare as compare_sides
from tcprof.comparison.gate import Gate, parse_condition
from tcprof.findings.compared import ComparedFindings, judge_comparison, judge_gate
from tcprof.findings.rules import rules_of_findings
from tcprof.untrusted import one_line

_Input: TypeAlias = str | PathLike[str] | Report
_Inputs: TypeAlias = _Input | Sequence[_Input]


class ComparisonReport:
    """A comparison and the findings on it; notebooks show it."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def rows(self) -> pd.DataFrame:
        """Return one row for each GPU, path and quantity, see ``tcprof.frames.COMPARISON``."""
        return self.comparison.rows

    @property
    def modules(self) -> pd.DataFrame:
        """Return the modules of both sides, see ``tcprof.frames.MODULE_CHANGES``."""
        return self.comparison.modules

    @property
    def waterfall(self) -> pd.DataFrame:
        """Return what the changes of time and Tensor Active consist of, see ``tcprof.frames.WATERFALL``."""
        return self.comparison.waterfall

    @cached_property
    def findings(self) -> ComparedFindings:
        """Judge the comparison, as ``tcprof.findings.compared`` does."""
        return judge_comparison(self.comparison)

    @property
    def verdict(self) -> tuple[str, ...]:
        """Return a paragraph for each GPU."""
        return self.findings.verdict

    @property
    def faults(self) -> tuple[str, ...]:
        """List why the figures of a side cannot be trusted, each with its side, gravest first, or nothing."""
        return self.findings.faults

    @property
    def warnings(self) -> tuple[str, ...]:
        """List what else a reader must know, such as what makes the sides hard to compare, most important first."""
        return self.findings.warnings

    def gate(self, conditions: str | Sequence[str], strict: bool = False) -> Gate:
        """Judge conditions such as ``time > +5%``, as ``tcprof compare --fail-if`` does.

        Args:
            conditions: One or several, see ``docs/ci.md``.
            strict: Whether an inconclusive condition fails.

        Returns:
            Its ``verdict`` and ``exit_status``, and a judgement of each condition.

        Raises:
            UsageError: A condition is wrong; the message shows where.
        """
        texts = [conditions] if isinstance(conditions, str) else conditions
        parsed = [parse_condition(text, [*rules_of_findings()]) for text in texts]
        return judge_gate(parsed, self.findings, strict)

    def __repr__(self) -> str:
        names = " → ".join(side.name for side in (self.comparison.base, self.comparison.new))
        return "\n".join((one_line(names), *self.verdict))

    def _repr_html_(self) -> str:
        from tcprof.render.notebook import render_html
        from tcprof.views.comparison import view_comparison

        return render_html(view_comparison([self.findings]))


def compare(
    base: _Inputs,
    new: _Inputs,
    window: str = "gpu",
    mapping: Mapping[str, str] | None = None,
    allow_mismatch: bool = False,
    warm_up: int | str | None = None,
    labels: tuple[str, str] = ("base", "new"),
) -> ComparisonReport:
    """Compare two sides: one recording each, or several of the same program, given as files or as reports of ``read``.

    Args:
        labels: What the baseline and the other side are called in sentences, tables and figures.
        window: Windows that figures from samples are taken over, where files are given.
        mapping: New names of the baseline's ranges by old ones.
        warm_up: Steps that are left out, see ``read``, where files are given.

    Raises:
        InputError: A file is absent, damaged, or not a recording, or one side has no work on any GPU.
        UsageError: There is no such window, the reports have different ones, or the baseline has no range that is to
            be renamed.
    """
    sides = []
    for name, given in zip(labels, (base, new), strict=True):
        several = [given] if isinstance(given, str | PathLike | Report) else given
        reports = (
            report if isinstance(report, Report) else read(report, window, warm_up=warm_up) for report in several
        )
        sides.append(Side(name, tuple(report.analysis for report in reports)))
    return ComparisonReport(compare_sides(sides[0], sides[1], mapping or {}, allow_mismatch))
