"""Advice on the two sides of a comparison: what of the baseline's is gone, and what was won."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tcprof import units
from tcprof.analysis.replay import measure_length
from tcprof.comparison import Comparison, Side
from tcprof.findings.advise import advise
from tcprof.findings.pricing.advice import Advice, describe_gain
from tcprof.findings.rules import rules_of_findings

_MOST_NEW = 3  # findings of the new side, in a line


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
    old = [
        ComparedAdvice(
            gpu=gpu,
            rule=rule,
            sentence=each.sentence,
            predicted=describe_gain(each.gain),
            is_gone=(gpu, rule) not in new,
            is_new=False,
            left=_tell_gain(new.get((gpu, rule))),
        )
        for (gpu, rule), each in base.items()
        if each.gain.is_notable
    ]
    added = [
        ComparedAdvice(gpu, rule, each.sentence, "", False, True, _tell_gain(each))
        for (gpu, rule), each in new.items()
        if (gpu, rule) not in base and each.gain.is_notable
    ]
    return (*old, *added)


def _by_gpu_and_rule(side: Side) -> dict[tuple[int, str], Advice]:
    """The advice on a side that is shown as a finding; of one rule the best."""
    found: dict[tuple[int, str], Advice] = {}
    for each in advise(side.typical):
        for gpu in each.gpus if _counts(each) else ():
            found.setdefault((gpu, each.rule), each)
    return found


def _tell_gain(advice: Advice | None) -> str:
    return describe_gain(advice.gain) if advice is not None and advice.gain.is_known else ""


def describe_compared(comparison: Comparison, found: Sequence[ComparedAdvice]) -> tuple[str, ...]:
    """Compared advice in sentences, a line for each GPU, with what a step won."""
    lines = []
    for gpu in sorted({each.gpu for each in found}):
        gone = [f"{each.rule} (predicted: {each.predicted})" for each in found if each.gpu == gpu and each.is_gone]
        left = [each.rule for each in found if each.gpu == gpu and not each.is_gone and not each.is_new]
        new = [f"{each.rule} ({each.left})" for each in found if each.gpu == gpu and each.is_new][:_MOST_NEW]
        lead = f"GPU {gpu}: " if len({each.gpu for each in found}) > 1 else ""
        parts = [f"gone: {', '.join(gone)}"] * bool(gone) + [f"still there: {', '.join(left)}"] * bool(left)
        said = [f"Advice on the baseline: {'; '.join(parts)}."] * bool(parts)
        said += [f"New: {', '.join(new)}."] * bool(new)
        lines.append(f"{lead}{' '.join(filter(None, (*said, describe_won(comparison, gpu))))}")
    return tuple(lines)


def describe_won(comparison: Comparison, gpu: int) -> str:
    """How much less time a step takes, in a sentence; empty where that is not known."""
    base, new = (measure_length(side.typical, gpu) for side in (comparison.base, comparison.new))
    won = 100 * (1 - new / base) if base > 0 else math.nan
    if math.isnan(won):
        return ""
    change = "less" if won >= 0 else "more"
    return f"A step, from its start to the next one's, takes {units.format_pct(abs(won))} {change} time."


def list_names() -> tuple[str, ...]:
    """What conditions may ask for: the names of all findings."""
    return tuple(rules_of_findings())


def findings_by_name(side: Side) -> list[dict[str, tuple[int, str]]]:
    """GPU and sentence of the findings of each recording of a side, by name; of one name the best."""
    return [
        {each.rule: (each.gpu, each.sentence) for each in reversed(advise(one)) if _counts(each)}
        for one in side.recordings
    ]


def _counts(advice: Advice) -> bool:
    """Whether advice is shown as a finding: worth a line, or without a price."""
    return advice.gain.is_notable or not advice.gain.is_known
