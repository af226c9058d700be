"""What a comparison says: is it faster, by how much, how sure, why, and what makes the sides hard to compare."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.comparison import Comparison, Side
from tcprof.comparison.comparison import MEASURED, shared_recordings
from tcprof.comparison.gate import Caveat, Condition, FindingCondition, Gate, judge_condition, judge_finding
from tcprof.comparison.matching.sides import gpu_models, join_facts
from tcprof.findings import cautions, faults
from tcprof.findings.advise import advise
from tcprof.findings.compared.verdict import Verdict, judge_change, list_gpus
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.frames import python_string_storage
from tcprof.untrusted import one_line

_ON_THE_CPU = ("host_ns",)  # faults are about samples and kernels, and leave it alone
_HAS_FAULT = {"base": "the baseline has a fault", "new": "the new recording has a fault"}


@dataclass(frozen=True)
class ComparedFindings:
    """A comparison, and what it says."""

    comparison: Comparison = field(repr=False, compare=False)
    gpus: tuple[Verdict, ...]  # of each GPU on which the steps have work
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


@python_string_storage()
def judge_comparison(comparison: Comparison) -> ComparedFindings:
    """The findings on a comparison, its sides' own included."""
    sides = {"base": _judge_side(comparison.base), "new": _judge_side(comparison.new)}
    doubt = _describe_doubt(comparison, sides)
    return ComparedFindings(
        comparison=comparison,
        gpus=tuple(_judge_gpu(comparison, gpu, *doubt) for gpu in list_gpus(comparison)),
        cautions=find_cautions(comparison),
        base=sides["base"],
        new=sides["new"],
        caveats=_list_caveats(comparison, sides),
    )


def _judge_gpu(comparison: Comparison, gpu: int, doubt: str, why: str) -> Verdict:
    """What doubts the verdict comes first, and alone where a recording would be compared with itself."""
    findings = judge_change(comparison, gpu)
    more = () if find_shared(comparison) else findings.sentences
    return Verdict(gpu, doubt, why, more) if doubt else findings


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
        caveats.append(Caveat(f"different GPUs: {models[0]} vs. {models[1]}"))
    # What is lost comes first; what that means, and what to do, is said in full with the faults.
    caveats += [
        Caveat(f"{_HAS_FAULT[side]}: {fault.sentence}", side, _ON_THE_CPU)
        for side, of_side in sides.items()
        for fault in of_side
        if fault.severity == Severity.FAULT
    ]
    return tuple(caveats)


LONGER = 1.5  # times as long: then captures differ in what they hold
CLOCK_PCT = 3.0  # beyond the spread of each side: the change itself shifts power draw, and with it the clock
LOADED_PCT = 50.0  # GR Active from which a sample's clock counts as one under load
_MOST_NAMED = 5  # recordings, each with the files that hold it
_SOURCES = {"cycles": "exact cycles", "rounded": "rounded percentages", "none": "no samples"}
_SIDES = ("baseline", "new side")
_ASSUMED = "Run-to-run variation is assumed: a side has only one recording"

_caution = partial(Finding, severity=Severity.CAUTION)


def find_unmapped(comparison: Comparison) -> list[Finding]:
    """New names of ranges that are nowhere."""
    sentence = "--map names a range that the new side does not have: {!r} (for the baseline's {!r})"
    return [_caution("unmapped-range", sentence=sentence.format(new, old)) for old, new in comparison.unmapped]


def find_shared(comparison: Comparison) -> list[Finding]:
    """Recordings that are on both sides."""
    shared = shared_recordings(comparison.base, comparison.new)
    if not shared:
        return []
    sentence = f"Both sides have the same recording: {_list_groups(shared)}"
    consequence = "A comparison of a recording with itself shows no change."
    remedy = "Give each side its own recordings."
    return [_caution("same-recording", sentence=sentence, consequence=consequence, remedy=remedy)]


def find_cautions(comparison: Comparison) -> tuple[Finding, ...]:
    """What a reader must know before the figures of a comparison, gravest first."""
    sides = comparison.base, comparison.new
    repeat = comparison.base.recordings[0].recording.remedies.repeat
    assumed = _caution("assumed-spread", sentence=_ASSUMED, remedy=repeat)
    return (
        *find_unmapped(comparison),
        *find_shared(comparison),
        *_about_machines(sides),
        *_about_recorders(sides),
        *_about_captures(sides),
        *_about_ranges(sides),
        *([assumed] if comparison.spread != MEASURED else []),
    )


def _list_groups(groups: Iterable[tuple[str, ...]]) -> str:
    """Names of files, those of one recording together; a name that several have stands once."""
    named = [" and ".join(dict.fromkeys(one_line(name) for name in group)) for group in groups]
    more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + more


def _about_machines(sides: tuple[Side, Side]) -> Iterator[Finding]:
    if copies := dict.fromkeys(group for side in sides for group in side.copies):
        yield _caution("copies", sentence=f"Copies of one recording count once: {_list_groups(copies)}")
    counts = [max(recording.activities["gpu"].nunique() for recording in side.recordings) for side in sides]
    if counts[0] != counts[1] and all(counts):
        base, new = (units.format_things(count, "GPU") for count in counts)
        sentence = f"The baseline has work on {base}, the new side on {new}"
        yield _caution(
            "different-gpu-counts", sentence=sentence, consequence="Only GPUs with the same index are compared."
        )
    gpus = gpu_models(*sides)
    if gpus[0] != gpus[1]:
        sentence = f"Different GPUs: {gpus[0]} vs. {gpus[1]}"
        yield _caution("different-gpus", sentence=sentence, consequence="Times cannot be compared.")
        return
    by_side = [_measure_clocks(side) for side in sides]
    clocks = [float(np.median(values)) for values in by_side]
    change = 100 * (clocks[1] / clocks[0] - 1)
    spread = max(100 * (max(values) / min(values) - 1) for values in by_side)
    if abs(change) > CLOCK_PCT + spread:
        base, new = map(units.format_hz, clocks)
        changed = units.format_pct(abs(change))
        sentence = f"GPU clocks under load differ by {changed} ({base} → {new}); kernel times are affected"
        remedy = "One side may draw more power. Lock the clocks (nvidia-smi --lock-gpu-clocks) to find out."
        yield _caution("different-clocks", sentence=sentence, remedy=remedy)


def _about_recorders(sides: tuple[Side, Side]) -> Iterator[Finding]:

    def differ(fact: Callable[[Analysis], str]) -> list[str]:
        facts = [[fact(recording) for recording in side.recordings] for side in sides]
        texts = [join_facts(of_side) for of_side in facts]
        return texts if texts[0] != texts[1] and all(map(any, facts)) else []  # what one does not say may be the same

    if sources := differ(lambda recording: _SOURCES[recording.tensor_source]):
        sentence = f"Tensor Active comes from {sources[0]} in the baseline, but from {sources[1]} on the new side"
        yield _caution("different-samples", sentence=sentence)
    for rule, what, facts in (
        ("different-drivers", "driver", differ(lambda recording: recording.recording.driver_version)),
        ("different-recorders", "Nsight Systems version", differ(lambda recording: recording.recording.nsys_version)),
        ("different-frequencies", "sampling frequency", differ(lambda e: units.format_hz(e.recording.frequency_hz))),
    ):
        if facts:
            yield _caution(rule, sentence=f"Different {what}: {facts[0]} vs. {facts[1]}")


def _about_captures(sides: tuple[Side, Side]) -> Iterator[Finding]:
    lengths = [np.median([recording.recording.duration_ns for recording in side.recordings]) for side in sides]
    counts = _count_steps(sides)
    if min(lengths) > 0 and max(lengths) > LONGER * min(lengths):
        base, new = map(units.format_ns, lengths)
        yield _caution(
            "different-lengths", sentence=f"The captures last {base} and {new}: compare steps, not whole captures"
        )
    elif counts[0] != counts[1] and all(counts):
        base, new = (units.format_things(count, "step") for count in counts)
        sentence = f"The baseline has {base}, the new side {new}: compare steps, not the ranges around them"
        yield _caution("different-counts", sentence=sentence)
    hiding = [
        name
        for name, side in zip(_SIDES, sides, strict=True)
        if any((recording.activities["kind"] == "graph").any() for recording in side.recordings)
    ]
    if hiding:
        sentence = f"CUDA graphs were recorded as a whole in the {' and the '.join(hiding)}: their kernels are unknown"
        yield _caution("whole-graphs", sentence=sentence, remedy="Record both sides with --cuda-graph-trace node.")


def _about_ranges(sides: tuple[Side, Side]) -> Iterator[Finding]:
    few = [
        f"{units.format_things(count, 'step')} in the {name}"
        for name, count in zip(_SIDES, _count_steps(sides), strict=True)
        if 0 < count < FEWEST_INSTANCES
    ]
    if few:
        sentence = f"Only {' and '.join(few)}: too few for a confidence interval or to detect warm-up"
        yield _caution("few-steps", sentence=sentence)
    common = [{*zip(side.first.ranges["domain"], side.first.ranges["path"], strict=True)} for side in sides]
    if not any(path for _, path in common[0] & common[1]):
        sentence = "The sides have no range in common: only the whole captures are compared"
        yield _caution("no-common-range", sentence=sentence)


def _count_steps(sides: tuple[Side, Side]) -> list[int]:
    return [max(side.first.steps.groupby("gpu").size(), default=0) for side in sides]


def _measure_clocks(side: Side) -> list[float]:
    """The median clock of each recording's samples in which the GPU worked, in Hz; NaN where not recorded."""
    clocks = []
    for samples in (recording.samples for recording in side.recordings):
        loaded = (samples["gr_active_pct"] >= LOADED_PCT) | (samples["tensor_active_pct"] >= LOADED_PCT)
        clocks.append(samples.loc[loaded, "gpc_clock_hz"].median())
    return clocks
