"""The findings on a recording: for each GPU the verdict and the checks, and all of it as plain strings."""

from collections.abc import Sequence
from dataclasses import dataclass

from tcprof.analysis import Analysis
from tcprof.findings.checks import GOOD, Check, list_checks
from tcprof.findings.iterations import IterationFigures, measure_iterations
from tcprof.findings.notes import describe_warm_up
from tcprof.findings.verdict import judge_capture, judge_iterations
from tcprof.untrusted import one_line


@dataclass(frozen=True)
class GpuFindings:
    """What the figures of one GPU say.

    Attributes:
        gpu: Number of the GPU.
        sentences: The verdict, the most important sentence first.
        checks: What was checked before the figures can be trusted.
        figures: The figures of its iterations that the verdict rests on; None where it rests on the whole capture.
    """

    gpu: int
    sentences: tuple[str, ...]
    checks: tuple[Check, ...]
    figures: IterationFigures | None


@dataclass(frozen=True)
class Findings:
    """What the figures of a recording say.

    Attributes:
        gpus: Of each GPU, in the order of the range summary.
    """

    gpus: tuple[GpuFindings, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU; of several, its number stands first."""
        several = len(self.gpus) > 1
        return tuple((f"GPU {gpu.gpu}: " if several else "") + " ".join(gpu.sentences) for gpu in self.gpus)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all GPUs."""
        return tuple(check for gpu in self.gpus for check in gpu.checks)


def judge(analysis: Analysis, gpu: int | None = None) -> Findings:
    """Judge a recording.

    Args:
        analysis: The recording.
        gpu: Only this GPU; None: all.
    """
    captures = analysis.ranges[analysis.ranges["depth"] == 0].drop_duplicates("gpu")
    if gpu is not None:
        captures = captures[captures["gpu"] == gpu]
    found = []
    for _, row in captures.iterrows():
        number = int(row["gpu"])
        figures = measure_iterations(analysis, number)
        sentences = judge_capture(analysis, row) if figures is None else judge_iterations(analysis, number, figures)
        found.append(GpuFindings(number, sentences, list_checks(analysis, row, figures), figures))
    return Findings(tuple(found))


def summarize_checks(checks: Sequence[Check]) -> list[str]:
    """Checks in lines: how many are in order, and those that are not."""
    rest = [check for check in checks if check.state != GOOD]
    number = len(checks) - len(rest)
    lines = [f"Checks: {'all ' if not rest else ''}{number}{f' of {len(checks)}' if rest else ''} in order."]
    several = len({check.gpu for check in checks}) > 1
    for check in rest:
        where = f"GPU {check.gpu}: " if several else ""
        lines.append(f"Check: {where}{check.name} ({check.spoken}): {check.sentence}.")
    return lines


def describe(analysis: Analysis) -> str:
    """A recording in some lines: its name, its faults, the verdict, the checks, and what is left out."""
    findings = judge(analysis)
    return "\n".join(
        line
        for line in (
            one_line(analysis.recording.file, 120),
            *(f"warning: {one_line(fault, 1000)}" for fault in analysis.faults),
            *findings.verdict,
            *summarize_checks(findings.checks),
            describe_warm_up(analysis),
        )
        if line
    )
