"""Comparisons of recordings, with what they say."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TypeAlias

from tcprof.analysis import Analysis
from tcprof.api.reading import Judged, read
from tcprof.comparison import Comparison, Side
from tcprof.comparison import compare as compare_sides
from tcprof.comparison.gate.judge import Gate
from tcprof.comparison.gate.parse import parse_condition
from tcprof.findings.compared import ComparedFindings, judge_comparison, judge_gate
from tcprof.findings.rules import rules_of_findings
from tcprof.untrusted import one_line

_Input: TypeAlias = str | PathLike[str] | Analysis
_Inputs: TypeAlias = _Input | Sequence[_Input]


class JudgedComparison(Judged, Comparison):
    """A comparison with what it says, which notebooks show."""

    @cached_property
    def findings(self) -> ComparedFindings:
        """What it says, as ``tcprof.findings.compared`` judges it."""
        return judge_comparison(self)

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
        names = " → ".join(side.name for side in (self.base, self.new))
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
) -> JudgedComparison:
    """Compare two sides: one recording each, or several of the same program, given as files or as analyses.

    Args:
        labels: What the baseline and the other side are called in sentences, tables and figures.
        window: Windows that figures from samples are taken over, where files are given.
        mapping: New names of the baseline's ranges by old ones.
        warm_up: Steps that are left out, see ``read``, where files are given.

    Raises:
        InputError: A file is absent, damaged, or not a recording, or one side has no work on any GPU.
        UsageError: There is no such window, the analyses have different ones, or the baseline has no range that is to
            be renamed.
    """
    sides = []
    for name, given in zip(labels, (base, new), strict=True):
        several = [given] if isinstance(given, str | PathLike | Analysis) else given
        read_in = (each if isinstance(each, Analysis) else read(each, window, warm_up=warm_up) for each in several)
        sides.append(Side(name, tuple(read_in)))
    return compare_sides(sides[0], sides[1], mapping or {}, allow_mismatch, JudgedComparison)
