"""What the figures say: the only place that judges. Every output shows what is found here in the same sentences."""

from tcprof.findings.checks import Check, count_checks, summarize_checks
from tcprof.findings.finding import Finding, Severity
from tcprof.findings.judge import Findings, GpuFindings, judge
from tcprof.findings.notes import (
    describe_folding,
    describe_kernel_order,
    describe_outside,
    describe_warm_up,
    why_no_kernels,
)
