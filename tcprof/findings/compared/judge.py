"""The findings on a comparison: the verdict on each GPU, cautions, what each side has, and what became of advice."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from tcprof.comparison import Comparison, Side
from tcprof.comparison.gate.judge import Caveat, Gate, judge_condition, judge_finding
from tcprof.comparison.gate.parse import Condition, FindingCondition
from tcprof.comparison.matching.sides import gpu_models
from tcprof.findings import cautions, faults
from tcprof.findings.advise import advise
from tcprof.findings.compared.cautions import find_cautions, find_shared, find_unmapped
from tcprof.findings.compared.verdict import Verdict, judge_change, list_gpus
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.frames import plain_texts

_ON_THE_CPU = ("host_ns",)  # faults are about samples and kernels, and leave it alone
_HAS_FAULT = {"base": "the baseline has a fault", "new": "the new recording has a fault"}


@dataclass(frozen=True)
class ComparedGpu:
    """What the steps of one GPU show."""

    gpu: int
    verdict: Verdict

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict, the most important sentence first."""
        return self.verdict.sentences


@dataclass(frozen=True)
class ComparedFindings:
    """A comparison, and what it says."""

    comparison: Comparison = field(repr=False, compare=False)
    gpus: tuple[ComparedGpu, ...]  # of each GPU on which the steps have work
    cautions: tuple[Finding, ...]  # what makes the sides hard to compare, gravest first
    base: tuple[Finding, ...]  # what was found in the recordings of the baseline: faults, then cautions
    new: tuple[Finding, ...]  # the same of the other side
    caveats: tuple[Caveat, ...]  # why a gate must not trust it, those that concern most first

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU."""
        return tuple(" ".join(gpu.sentences) for gpu in self.gpus)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the figures of a side cannot be trusted, as paragraphs that begin with the side."""
        return self.name_faults("base", "new")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else a reader must know; what both sides have is said once, the rest begins with the side."""
        return self.name_warnings("base", "new")

    def name_faults(self, base: str, new: str) -> tuple[str, ...]:
        """The faults, with other names of the sides."""
        return tuple(
            f"{name}: {text}"
            for name, side in ((base, self.base), (new, self.new))
            for text in texts_of(side, Severity.FAULT)
        )

    def name_warnings(self, base: str, new: str) -> tuple[str, ...]:
        """The warnings, likewise."""
        old, other, both = (texts_of(findings, Severity.CAUTION) for findings in (self.base, self.new, self.cautions))
        of_base = [text if text in other else f"{base}: {text}" for text in old]
        return (*both, *of_base, *(f"{new}: {text}" for text in other if text not in old))


@plain_texts()
def judge_comparison(comparison: Comparison) -> ComparedFindings:
    """The findings on a comparison, its sides' own included."""
    sides = {"base": _judge_side(comparison.base), "new": _judge_side(comparison.new)}
    doubt, gpus = _describe_doubt(comparison, sides), list_gpus(comparison)
    return ComparedFindings(
        comparison=comparison,
        gpus=tuple(ComparedGpu(gpu, _judge_gpu(comparison, gpu, *doubt)) for gpu in gpus),
        cautions=find_cautions(comparison),
        base=sides["base"],
        new=sides["new"],
        caveats=_list_caveats(comparison, sides),
    )


def _judge_gpu(comparison: Comparison, gpu: int, doubt: str, why: str) -> Verdict:
    """What doubts the verdict comes first, and alone where a recording would be compared with itself."""
    findings = judge_change(comparison, gpu)
    more = () if find_shared(comparison) else findings.sentences
    return Verdict(doubt, why, more) if doubt else findings


def judge_gate(
    conditions: Sequence[Condition | FindingCondition],
    findings: ComparedFindings,
    strict: bool = False,
    rows: pd.DataFrame | None = None,
) -> Gate:
    """Judge the conditions of a gate, see ``docs/ci.md``, on the rows of the comparison, or some of them.

    Raises:
        UsageError: A condition names a path that neither side has, or several have.
    """
    comparison = findings.comparison
    rows = comparison.rows if rows is None else rows
    asked = any(isinstance(condition, FindingCondition) for condition in conditions)
    named = [  # of one name the best
        {advice.rule: (advice.gpu, advice.sentence) for advice in reversed(advise(recording)) if advice.is_shown}
        for recording in (comparison.new.recordings if asked else ())
    ]
    judgements = (
        judge_finding(condition, named)
        if isinstance(condition, FindingCondition)
        else judge_condition(condition, rows, comparison.step_path, findings.caveats)
        for condition in conditions
    )
    return Gate(tuple(judgements), strict)


def _judge_side(side: Side) -> tuple[Finding, ...]:
    """Faults, then cautions of its recordings; what several have is said once."""
    findings = [fault for recording in side.recordings for fault in faults.find_faults(recording)]
    findings += [caution for recording in side.recordings for caution in cautions.find_cautions(recording)]
    return tuple(dict.fromkeys(findings))


def _describe_doubt(comparison: Comparison, sides: dict[str, tuple[Finding, ...]]) -> tuple[str, str]:
    """That the sides cannot be compared, or are unreliable, and why; the findings say more. Empty for neither."""
    models = gpu_models(comparison.base, comparison.new)
    if models[0] != models[1]:
        return "Cannot compare: the GPUs differ.", f"They are {models[0]} and {models[1]}."
    if find_shared(comparison):
        return "Cannot compare: both sides have the same recording.", "Give each side its own recordings."
    if unmapped := find_unmapped(comparison):
        return "Unreliable: a mapped range is missing.", f"{unmapped[0].sentence}."
    faulty = [
        name for name, findings in sides.items() if any(finding.severity == Severity.FAULT for finding in findings)
    ]
    return f"Unreliable: see the faults of {' and '.join(faulty)}." if faulty else "", ""


def _list_caveats(comparison: Comparison, sides: dict[str, tuple[Finding, ...]]) -> tuple[Caveat, ...]:
    caveats = [Caveat(finding.sentence) for finding in find_unmapped(comparison)]
    caveats += [Caveat(finding.sentence, "base") for finding in find_shared(comparison)]
    models = gpu_models(comparison.base, comparison.new)
    if models[0] != models[1]:
        caveats.append(Caveat(f"different GPUs: {models[0]} against {models[1]}"))
    # What is lost comes first; what that means, and what to do, is said in full with the faults.
    caveats += [
        Caveat(f"{_HAS_FAULT[side]}: {fault.sentence}", side, _ON_THE_CPU)
        for side, of_side in sides.items()
        for fault in of_side
        if fault.severity == Severity.FAULT
    ]
    return tuple(caveats)
