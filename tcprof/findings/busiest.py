"""What is said of the GPUs that worked longest, where a recording has more than a page can show."""

from dataclasses import replace

from tcprof.analysis.analysis import Analysis
from tcprof.analysis.gpus import busiest_gpus, keep_gpus
from tcprof.findings.finding import Finding, Severity
from tcprof.findings.judge import Findings

MOST_GPUS = 16  # more than a machine has today; a page has figures, a timeline and tables of each


def keep_busiest(analysis: Analysis, findings: Findings) -> tuple[Analysis, Findings]:
    """A recording and its findings without the GPUs that a page leaves out, and with a remark on how many these are."""
    if len(analysis.gpus) <= MOST_GPUS:
        return analysis, findings
    gpus = busiest_gpus(analysis, MOST_GPUS)
    sentence = (
        f"This page shows {len(gpus)} of {len(analysis.gpus)} GPUs, those that worked longest; 'tcprof ranges' and the "
        "other commands show all"
    )
    remark = Finding("most-gpus", Severity.REMARK, sentence=sentence)
    of_gpus = tuple(each for each in findings.gpus if each.gpu in gpus)
    return keep_gpus(analysis, gpus), replace(findings, gpus=of_gpus, found=(*findings.found, remark))
