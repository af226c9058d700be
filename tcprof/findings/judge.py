"""The findings on a recording: for each GPU the verdict and the checks, and what is to be said before any figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tcprof.analysis import Analysis
from tcprof.analysis.analysis import busiest_gpus, keep_gpus
from tcprof.findings.cautions import find_cautions
from tcprof.findings.checks import GOOD, Check, list_checks
from tcprof.findings.faults import UNTRACED_WORK, find_faults
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.findings.headline import describe_measured, say_capture, say_iterations, say_where
from tcprof.findings.iterations import IterationFigures, measure_iterations
from tcprof.findings.verdict import judge_capture, judge_iterations
from tcprof.findings.words import IDLED, NOTHING_TRACED
from tcprof.frames import plain_texts

MOST_GPUS = 16  # more than a machine has today; a page has figures, a timeline and tables of each


@dataclass(frozen=True)
class GpuFindings:
    """What the figures of one GPU say.

    Attributes:
        headline: The verdict in two short sentences, or three.
        measured: What these and the figures beside them are over.
        sentences: The verdict at length, the most important sentence first.
        figures: Of the iterations that the verdict rests on; None where it rests on the whole capture.
        idle_is_known: Whether the GPU did nothing where nothing was traced.
        where: How busy the Tensor Cores were in the ranges of an iteration; empty where these do not tell.
    """

    gpu: int
    headline: tuple[str, ...]
    measured: str
    sentences: tuple[str, ...]
    checks: tuple[Check, ...]
    figures: IterationFigures | None
    idle_is_known: bool = True
    where: str = ""


@dataclass(frozen=True)
class Findings:
    """What the figures of a recording say: of each GPU, and faults, then cautions, each gravest first."""

    gpus: tuple[GpuFindings, ...]
    found: tuple[Finding, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU, which begins with its number if there are several."""
        several = len(self.gpus) > 1
        return tuple((f"GPU {gpu.gpu}: " if several else "") + " ".join(gpu.sentences) for gpu in self.gpus)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all GPUs."""
        return tuple(check for gpu in self.gpus for check in gpu.checks)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the figures cannot be trusted, as paragraphs, gravest first. Show them before any figure."""
        return texts_of(each for each in self.found if each.severity == Severity.FAULT)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else a reader must know, likewise; what is so in most recordings comes last."""
        return (*texts_of(each for each in self.found if each.severity == Severity.CAUTION), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of the warnings that are so in most recordings, and no reason for doubt."""
        return texts_of(each for each in self.found if each.severity == Severity.REMARK)


@plain_texts()
def judge(analysis: Analysis, gpu: int | None = None) -> Findings:
    """Judge a recording; with a GPU, only the verdict and the checks of this one."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0].drop_duplicates("gpu")
    if gpu is not None:
        captures = captures[captures["gpu"] == gpu]
    faults = find_faults(analysis)
    idled = NOTHING_TRACED if any(each.rule == UNTRACED_WORK for each in faults) else IDLED
    found = []
    for _, row in captures.iterrows():
        number = int(row["gpu"])
        figures = measure_iterations(analysis, number)
        if figures is None:
            sentences, headline = judge_capture(analysis, row, idled), say_capture(analysis, row, idled)
        else:
            sentences = judge_iterations(analysis, number, figures, idled)
            headline = say_iterations(analysis, figures, idled)
        measured, where = describe_measured(analysis, number, figures), say_where(analysis, number, figures)
        checks = list_checks(analysis, row, figures, bool(faults))
        found.append(GpuFindings(number, headline, measured, sentences, checks, figures, idled == IDLED, where))
    return Findings(tuple(found), (*faults, *find_cautions(analysis)))


def count_checks(checks: Sequence[Check]) -> str:
    """How many of some checks pass, and which do not, in one line."""
    rest = [check for check in checks if check.state != GOOD]
    said = f"{len(checks) - len(rest)} of {len(checks)} checks pass"
    return f"{said}. See: {', '.join(check.name for check in rest)}" if rest else said


def summarize_checks(checks: Sequence[Check]) -> list[str]:
    """Checks in lines: how many pass, and those that do not."""
    rest = [check for check in checks if check.state != GOOD]
    passed = f"all {len(checks)}" if not rest else f"{len(checks) - len(rest)} of {len(checks)}"
    lines = [f"Checks: {passed} pass."]
    several = len({check.gpu for check in checks}) > 1
    for check in rest:
        where = f"GPU {check.gpu}: " if several else ""
        lines.append(f"Check: {where}{check.name} ({check.spoken}): {check.sentence}.")
    return lines


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
