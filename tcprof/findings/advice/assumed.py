"""Advice that saves a part of the exposed time of some kernels."""

from collections.abc import Sequence

import pandas as pd

from tcprof.findings.advice.advice import LOW, Advice, Option
from tcprof.findings.advice.step import Levels, Step
from tcprof.findings.finding import Severity


def save(shares: Sequence[float], time_ns: float) -> Levels:
    """Shares of a time: low, likely and high."""
    return shares[0] * time_ns, shares[1] * time_ns, shares[2] * time_ns


def advise_on_kernels(
    step: Step,
    rule: str,
    sentence: str,
    consequence: str,
    evidence: Sequence[str],
    options: Sequence[tuple[str, Sequence[str], Levels]],
    confidence: str = LOW,
    raise_confidence: str = "Try it, and compare with 'tcprof compare'.",
) -> Advice:
    """Advice whose options save kernel time.

    Args:
        step: The step.
        rule: Which rule found it.
        sentence: What was found.
        consequence: What that means.
        evidence: Figures, a line each.
        options: Of each title, code, and the exposed time that it saves; that to begin with first.
        confidence: high, medium or low.
        raise_confidence: What would raise it.
    """
    priced = tuple(Option(title, tuple(code), step.price_kernels(saved)) for title, code, saved in options)
    return Advice(
        rule=rule,
        severity=Severity.ADVICE,
        sentence=sentence,
        consequence=consequence,
        gpu=step.gpu,
        gain=priced[0].gain,
        evidence=tuple(evidence),
        options=priced,
        confidence=confidence,
        raise_confidence=raise_confidence,
    )


def time_of(rows: pd.DataFrame) -> float:
    """Exposed time of kernels together."""
    return float(rows["exposed_ns"].sum())
