"""A finding: what is said of a recording or a comparison, on what evidence, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters.

    A fault makes figures untrustworthy and is shown before any of them; a caution is what else a reader must know;
    a remark is so in most recordings, and no reason for doubt; advice is what to do about the program.
    """

    FAULT = "fault"
    CAUTION = "caution"
    REMARK = "remark"
    ADVICE = "advice"


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        rule: Which rule found it, such as ``lost-samples``.
        severity: How much it matters.
        sentence: What is so, with the figures that show it; without a full stop.
        consequence: What that means for the figures, in whole sentences; may be empty.
        remedy: What to do about it, in whole sentences; empty where nothing can be done.
    """

    rule: str
    severity: Severity
    sentence: str
    consequence: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """All of it as one paragraph."""
        return " ".join(part for part in (f"{self.sentence}.", self.consequence, self.remedy) if part)


def texts_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The findings as paragraphs; what several say appears once."""
    return tuple(dict.fromkeys(finding.text for finding in findings))
