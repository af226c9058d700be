"""A recording on one screen: the verdict, the checks, and the ranges and kernels that matter most."""

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.findings import Findings, summarize_checks
from tcprof.findings.advise import advise
from tcprof.findings.notes import describe_peaks, describe_utilization
from tcprof.frames import OPS_DOMAIN
from tcprof.untrusted import one_line
from tcprof.views.document import Document, Notes, Part, Section
from tcprof.views.paths import keep_largest
from tcprof.views.recording.advice import view_best
from tcprof.views.recording.facts import describe_base, describe_recording, make_document
from tcprof.views.recording.kernels import list_kernels
from tcprof.views.recording.ranges import list_ranges

MOST_RANGES, MOST_KERNELS = 8, 6  # of each GPU, so that all of it is one screen


def view_recording(
    analysis: Analysis, findings: Findings, ranges: int = MOST_RANGES, kernels: int = MOST_KERNELS
) -> Document:
    """What a first look at a recording should see."""
    shown = {
        "ranges": _longest(analysis.ranges, ranges),
        "kernels": analysis.kernels.groupby("gpu", sort=False).head(kernels),
    }
    base = describe_base(analysis)
    parts: tuple[Part, ...] = (
        Notes((describe_recording(analysis),)),
        Notes((*findings.verdict, *describe_utilization(analysis))),
        Notes(view_best(analysis, advise(analysis))),
        Notes((*summarize_checks(findings.checks), *base)),
        Section("ranges", "", tuple(list_ranges(analysis, shown["ranges"]))),
        Section("kernels", "", tuple(list_kernels(analysis, shown["kernels"]))),
    )
    base = (*base, *describe_peaks(analysis))
    return make_document(analysis, findings, "recording", parts, shown, base=base, rows=shown["ranges"])


def _longest(rows: pd.DataFrame, most: int) -> pd.DataFrame:
    """The whole capture and the paths with most time, each with what it lies in; ops only where there is no other."""
    no_ops = rows[rows["domain"] != OPS_DOMAIN]
    rows = no_ops if (no_ops["depth"] > 0).any() else rows
    return pd.concat(
        [keep_largest(of_gpu, of_gpu["gpu_window_ns"], most) for _, of_gpu in rows.groupby("gpu", sort=False)]
    )


def view_verdict(analysis: Analysis, findings: Findings) -> Document:
    """A recording in some lines: its name, the verdict, the checks, and what is left out."""
    base = describe_base(analysis)
    name = one_line(analysis.recording.file, 120)
    parts: tuple[Part, ...] = (Notes((name, *findings.verdict, *summarize_checks(findings.checks), *base)),)
    return Document(kind="recording", parts=parts, faults=findings.faults, base=base)
