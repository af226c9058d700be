"""What the figures of a recording say: the verdict, the checks before it can be trusted, and notes on its base.

The only place that judges a recording. Terminal, JSON, Markdown, page, notebook and Python show the same sentences.
"""

from tcprof.findings.checks import Check
from tcprof.findings.judge import Findings, GpuFindings, describe, judge, summarize_checks
from tcprof.findings.notes import describe_outside, describe_warm_up, why_no_kernels

__all__ = [
    "Check",
    "Findings",
    "GpuFindings",
    "describe",
    "describe_outside",
    "describe_warm_up",
    "judge",
    "summarize_checks",
    "why_no_kernels",
]
