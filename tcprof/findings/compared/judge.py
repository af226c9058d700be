"""The findings on a comparison: the verdict on each GPU, cautions, what each side has, and what became of advice."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from tcprof import units
from tcprof.comparison import Comparison, Side
from tcprof.comparison.gate.judge import Caveat, Gate, judge_condition, judge_finding
from tcprof.comparison.gate.parse import Condition, FindingCondition
from tcprof.comparison.matching.places import gpu_models
from tcprof.comparison.waterfall import TIME, TOTAL
from tcprof.findings import cautions, faults
from tcprof.findings.advise import advise
from tcprof.findings.compared.cautions import find_cautions, find_shared, find_unmapped
from tcprof.findings.compared.verdict import Verdict, judge_change, list_gpus
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.findings.pricing.advice import Advice, describe_gain
from tcprof.frames import plain_texts

_ON_THE_CPU = ("host_ns",)  # faults are about samples and kernels, and leave it alone
_HAS_FAULT = {"base": "the baseline has a fault", "new": "the new recording has a fault"}
_MOST_NEW = 3  # findings of the new side, in a line


@dataclass(frozen=True)
class ComparedGpu:
    """What the iterations of one GPU show."""

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
    gpus: tuple[ComparedGpu, ...]  # of each GPU on which the iterations have work
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
        old, other, both = (texts_of(found, Severity.CAUTION) for found in (self.base, self.new, self.cautions))
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
    """What doubts the verdict comes first."""
    found = judge_change(comparison, gpu)
    return Verdict(doubt, why, found.sentences) if doubt else found


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
    asked = any(isinstance(each, FindingCondition) for each in conditions)
    named = [  # of one name the best
        {each.rule: (each.gpu, each.sentence) for each in reversed(advise(one)) if each.is_shown}
        for one in (comparison.new.recordings if asked else ())
    ]
    judgements = (
        judge_finding(each, named)
        if isinstance(each, FindingCondition)
        else judge_condition(each, rows, comparison.iteration_path, findings.caveats)
        for each in conditions
    )
    return Gate(tuple(judgements), strict)


def _judge_side(side: Side) -> tuple[Finding, ...]:
    """Faults, then cautions of its recordings; what several have is said once."""
    found = [each for recording in side.recordings for each in faults.find_faults(recording)]
    found += [each for recording in side.recordings for each in cautions.find_cautions(recording)]
    return tuple(dict.fromkeys(found))


def _describe_doubt(comparison: Comparison, sides: dict[str, tuple[Finding, ...]]) -> tuple[str, str]:
    """That the sides cannot be compared, or are unreliable, and why; the findings say more. Empty for neither."""
    models = gpu_models(comparison.base, comparison.new)
    if models[0] != models[1]:
        return "Cannot compare: the GPUs differ.", f"They are {models[0]} and {models[1]}."
    if find_shared(comparison):
        return "Cannot compare: both sides have the same recording.", ""
    faulty = [name for name, found in sides.items() if any(each.severity == Severity.FAULT for each in found)]
    return f"Unreliable: see the faults of {' and '.join(faulty)}." if faulty else "", ""


def _list_caveats(comparison: Comparison, sides: dict[str, tuple[Finding, ...]]) -> tuple[Caveat, ...]:
    found = [Caveat(finding.sentence) for finding in find_unmapped(comparison)]
    found += [Caveat(finding.sentence, "base") for finding in find_shared(comparison)]
    models = gpu_models(comparison.base, comparison.new)
    if models[0] != models[1]:
        found.append(Caveat(f"different GPUs: {models[0]} against {models[1]}"))
    # What is lost comes first; what that means, and what to do, is said in full with the faults.
    found += [
        Caveat(f"{_HAS_FAULT[side]}: {fault.sentence}", side, _ON_THE_CPU)
        for side, of_side in sides.items()
        for fault in of_side
        if fault.severity == Severity.FAULT
    ]
    return tuple(found)


@dataclass(frozen=True)
class ComparedAdvice:
    """Advice on the baseline, and what became of it; or what the new side has instead."""

    gpu: int
    rule: str
    sentence: str
    predicted: str  # what it was expected to win on the baseline, in words; empty for what is new
    is_gone: bool  # whether the new side has no such advice
    is_new: bool  # whether the baseline has none
    left: str  # what it is expected to win on the new side, in words; empty where it is gone, or without a price there

    @property
    def now(self) -> str:
        """What became of it, in words."""
        state = "gone" if self.is_gone else "new" if self.is_new else "still there"
        return f"{state}: {self.left}" if self.left else state


def compare_advice(comparison: Comparison) -> tuple[ComparedAdvice, ...]:
    """The priced advice on the baseline that is worth a line, and whether it is gone; then what the new side has."""
    base, new = (_by_gpu_and_rule(side) for side in (comparison.base, comparison.new))
    return tuple(
        ComparedAdvice(
            gpu=gpu,
            rule=rule,
            sentence=each.sentence,
            predicted=_tell_gain(base.get((gpu, rule))),
            is_gone=(gpu, rule) not in new,
            is_new=(gpu, rule) not in base,
            left=_tell_gain(new.get((gpu, rule))),
        )
        for (gpu, rule), each in (base | new | base).items()  # of what both have, the baseline's
        if each.gain.is_notable
    )


def _by_gpu_and_rule(side: Side) -> dict[tuple[int, str], Advice]:
    """The advice on a side that is shown as a finding; of one rule the best."""
    found: dict[tuple[int, str], Advice] = {}
    for each in advise(side.typical):
        for gpu in each.gpus if each.is_shown else ():
            found.setdefault((gpu, each.rule), each)
    return found


def _tell_gain(advice: Advice | None) -> str:
    return describe_gain(advice.gain) if advice is not None and advice.gain.is_known else ""


def describe_compared(comparison: Comparison, found: Sequence[ComparedAdvice], gains: bool) -> tuple[str, ...]:
    """Compared advice, a line for each GPU; with ``gains`` also what each predicts, and how the mean step changed."""
    lines = []
    for gpu in sorted({each.gpu for each in found}):
        own = [each for each in found if each.gpu == gpu]
        gone = [f"{each.rule} (predicted: {each.predicted})" if gains else each.rule for each in own if each.is_gone]
        left = [each.rule for each in own if not each.is_gone and not each.is_new]
        new = [f"{each.rule} ({each.left})" if gains else each.rule for each in own if each.is_new][:_MOST_NEW]
        lead = f"GPU {gpu}: " if len({each.gpu for each in found}) > 1 else ""
        kinds = (("gone", gone), ("still there", left if gains or not (gone or new) else []), ("new", new))
        told = "; ".join(f"{what}: {', '.join(rules)}" for what, rules in kinds if rules)
        lines.append(f"{lead}Advice {told}.{f' {describe_won(comparison, gpu)}' if gains else ''}".rstrip())
    return tuple(lines)


def describe_won(comparison: Comparison, gpu: int) -> str:
    """By how much the mean step time changed, in a sentence; empty where that is not known."""
    parts = comparison.waterfall
    total = parts[(parts["gpu"] == gpu) & (parts["quantity"] == TIME) & (parts["part"] == TOTAL)]
    if total.empty or not comparison.iteration_path:
        return ""
    base, new = (float(total[side].iloc[0]) for side in ("base", "new"))
    change = units.format_signed_pct(100 * (new / base - 1))
    return f"Mean step time {units.format_ns(base)} → {units.format_ns(new)} ({change})."
