"""What to do first, and what it saves."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.findings import Findings
from tcprof.findings.finding import name_gpus
from tcprof.findings.notes import as_sentence
from tcprof.findings.pricing.advice import (
    ALL_WORK,
    NOTABLE_PCT,
    Advice,
    Gain,
    Option,
    describe_futile,
    describe_gain,
    name_advice,
)
from tcprof.findings.steps import measure_cost
from tcprof.frames import ADVICE
from tcprof.views.document import Code, Document, Notes, Part, Section, TopFinding, TopFindings
from tcprof.views.paths import kernel_names, link, module_names, range_names
from tcprof.views.recording import describe_base, document_data, head, list_notes, make_document

MOST_SHOWN = 3  # where advice stands beside the verdict


def view_advice(analysis: Analysis, findings: Findings, advice: Sequence[Advice], with_notes: bool = True) -> Document:
    """Show all advice on a recording, best first; with notes also evidence, alternatives, and what figures are over."""
    notable, folded = split_notable(advice)
    base = describe_base(analysis)
    names, rest = _name_all(analysis, notable)
    parts: tuple[Part, ...] = (
        head(analysis, findings),
        Notes(findings.headline),
        *(
            Section(f"advice-{number}", name, _detail(entry) if with_notes else _outline(entry))
            for number, (name, entry) in enumerate(zip(names, notable, strict=True), 1)
        ),
        Notes(rest),
        Notes((*(line for line, _ in _fold(folded)), *list_notes(findings.remarks, base, with_notes).lines)),
    )
    data = {**document_data(analysis, findings, {}), "advice": [_plain(entry) for entry in advice]}
    empty, rows = "No rule has advice on this recording.", list_advice(advice)
    return make_document(analysis, findings, "advice", parts, {}, base=base, data=data, rows=rows, if_empty=empty)


def list_leads(analysis: Analysis, advice: Sequence[Advice]) -> TopFindings:
    """List the best advice, with what on a page shows what it is about."""
    notable, _ = split_notable(advice)
    items = tuple(_make_leads(analysis, notable)[:MOST_SHOWN])
    rest = len(notable) - len(items)
    base = " ".join(describe_savings(analysis, notable[:MOST_SHOWN]))
    return TopFindings(items, base, f"{units.format_count(rest)} more" if rest else "")


def _make_leads(analysis: Analysis, entries: Sequence[Advice]) -> list[TopFinding]:
    several = _has_several(analysis)
    kernels = analysis.kernels.assign(link=kernel_names(analysis.kernels))
    count: Counter[str] = Counter()
    leads = []
    for entry in entries:
        count[entry.rule] += 1
        gain = describe_futile(entry.gain) if entry.gain.is_futile else describe_gain(entry.gain)
        gain = as_sentence(gain).removesuffix(".") if entry.gain.is_known else ""
        name = entry.rule if count[entry.rule] == 1 else f"{entry.rule}-{count[entry.rule]}"
        about, place = _links_of(analysis, kernels, entry), name_gpus(entry.gpus) if several else ""
        selects = link("finding", name) if about else ""
        saves = entry.gain.is_known and not entry.gain.is_futile
        saving = (units.format_ns(entry.gain.likely_ns), entry.gain.shares_pct) if saves else ("", (0.0, 0.0, 0.0))
        sure = entry.confidence, entry.raise_confidence
        sentence = f"{entry.sentence}."
        leads.append(TopFinding(name, entry.rule, entry.action, gain, *saving, sentence, about, place, selects, *sure))
    return leads


def _has_several(analysis: Analysis) -> bool:
    return bool(analysis.gpus["gpu"].nunique() > 1)


def describe_savings(analysis: Analysis, advice: Sequence[Advice]) -> tuple[str, ...]:
    """Say what savings are relative to, with both step times where profiling changes it; nothing if none is known."""
    base, rest = _base_of_savings(analysis, advice)
    return (f"Savings are relative to {base}.", *rest) if base else ()


def _base_of_savings(analysis: Analysis, advice: Sequence[Advice]) -> tuple[str, tuple[str, ...]]:
    """Name what savings are relative to, empty if none is known, and what those of GPUs without steps are."""
    priced = [entry for entry in advice if entry.gain.is_known]
    steps = analysis.step_summary.set_index("gpu")
    stepless = {gpu for entry in priced for gpu in entry.gpus}.difference(steps.index)
    in_steps = [entry for entry in priced if stepless.isdisjoint(entry.gpus)]
    if not in_steps:
        return ALL_WORK if priced else "", ()
    rest = (f"Savings on {name_gpus([*stepless])} are relative to {ALL_WORK}.",) if stepless else ()
    mean_ns = steps["total_ns"] / steps["step_count"]
    recorded, unprofiled = (
        " or ".join(dict.fromkeys(map(units.format_ns, lengths)))  # GPUs may have steps of their own lengths
        for lengths in (
            [mean_ns[list(entry.gpus)].mean() for entry in in_steps],
            [entry.gain.step_ns for entry in in_steps],
        )
    )
    if unprofiled == recorded:
        return f"the mean step of {recorded}", rest
    cost, entry = measure_cost(analysis), in_steps[0]
    is_measured = cost is not None and not (  # the recorded steps are others, if they cannot be played as short as that
        entry.gain.step_ns > mean_ns[list(entry.gpus)].mean() * cost.unprofiled.high / cost.recorded.low
    )
    how = "measured" if is_measured else "estimated"
    return f"the mean unprofiled step of {unprofiled} ({how}; {recorded} profiled)", rest


def _name_all(analysis: Analysis, advice: Sequence[Advice]) -> tuple[list[str], tuple[str, ...]]:
    """Name each finding in a line, numbered; the first with a saving says what savings are relative to."""
    base, rest = _base_of_savings(analysis, advice)
    gpus = [f"{name_gpus(entry.gpus)}: " if _has_several(analysis) else "" for entry in advice]
    lines = [f"{number}. {gpus[number - 1]}{name_advice(entry)}" for number, entry in enumerate(advice, 1)]
    for number, entry in enumerate(advice):
        if entry.gain.is_known:
            lines[number] += f", relative to {base}"
            break
    return lines, rest


def _links_of(analysis: Analysis, kernels: pd.DataFrame, advice: Advice) -> tuple[str, ...]:
    """Link what advice is about on a page: its kernels, longest first, or else its ranges, or its modules."""
    gpu = advice.gpu
    gpu_rows = kernels[kernels["gpu"] == gpu].sort_values("total_ns", ascending=False, kind="stable")
    for kind, wanted, column, names in (
        ("kernel", advice.about.kernels, gpu_rows["name"], gpu_rows["link"]),
        ("range", advice.about.ranges, analysis.paths["path"], range_names(analysis.paths)),
        ("module", advice.about.modules, analysis.modules["module"], module_names(analysis.modules)),
    ):
        named = pd.Series(names, index=column.index)[column.isin(wanted)].drop_duplicates()
        if len(named):
            return tuple(link(kind, name, gpu) for name in named)
    return ()


def view_best(analysis: Analysis, advice: Sequence[Advice]) -> tuple[str, ...]:
    """Show the best advice, a line each; the first says what savings are relative to."""
    lines, rest = _name_all(analysis, split_notable(advice)[0][:MOST_SHOWN])
    return (*lines, *rest)


def view_sections(analysis: Analysis, advice: Sequence[Advice]) -> tuple[Part, ...]:
    """Show all advice as the parts of one section, in which what is not worth a line has a section of its own."""
    notable, folded = split_notable(advice)
    leads = _make_leads(analysis, [*notable, *folded])
    parts_of = {id(entry): (lead, *_detail(entry)) for lead, entry in zip(leads, [*notable, *folded], strict=True)}
    parts: list[Part] = [part for entry in notable for part in parts_of[id(entry)]]
    for number, (line, of_fold) in enumerate(_fold(folded)):
        inside = tuple(part for entry in of_fold for part in parts_of[id(entry)])
        parts.append(Section(f"folded-{number}", line, inside, folded=True))
    return tuple(parts)


def split_notable(advice: Sequence[Advice]) -> tuple[list[Advice], list[Advice]]:
    """Split advice into what is worth a line, best first, then without a price; and what saves too little."""
    return [entry for entry in advice if entry.is_shown], [entry for entry in advice if not entry.is_shown]


def list_advice(advice: Sequence[Advice]) -> pd.DataFrame:
    """Make a frame of advice, see ``tcprof.frames.ADVICE``."""
    if not advice:
        return ADVICE.empty()
    rows = [{**vars(entry), **entry.gain.figures, "gpus": ", ".join(map(str, entry.gpus))} for entry in advice]
    return ADVICE.conform(pd.DataFrame(rows))


def _fold(folded: Sequence[Advice]) -> list[tuple[str, list[Advice]]]:
    """Fold what is not worth a line: what saves little, and what saves nothing or costs time, with the reason."""
    futile = [entry for entry in folded if entry.gain.is_futile]
    little = [entry for entry in folded if not entry.gain.is_futile]
    lines = []
    if little:
        names = ", ".join(f"{entry.rule} ({units.format_pct(entry.gain.likely_pct)})" for entry in little)
        of = " or ".join(dict.fromkeys(entry.gain.of for entry in little))
        sentence = f"Each saves less than {NOTABLE_PCT:g} % of {of}: {names}."
        lines.append((sentence, little))
    if futile:
        why = "; ".join(f"{entry.rule} ({entry.options[0].title}: {describe_futile(entry.gain)})" for entry in futile)
        lines.append((f"Not worth it here: {why}.", futile))
    return lines


def _describe_finding(advice: Advice) -> str:
    return " ".join(part for part in (f"{advice.sentence}.", advice.consequence, f"({advice.rule})") if part)


def _describe_confidence(advice: Advice) -> str:
    return f"Confidence: {advice.confidence}. {advice.raise_confidence}".strip()


def _outline(advice: Advice) -> tuple[Part, ...]:
    """Show what was found, the code of the best option, the other options, and how sure this is."""
    parts: list[Part] = [Notes((_describe_finding(advice),))]
    for first in advice.options[:1]:
        parts.append(Code(first.code) if first.code else Notes((_describe_option(first, is_first=True),)))
    rest = (*(_describe_option(option, is_first=False) for option in advice.options[1:]), _describe_confidence(advice))
    return (*parts, Notes(rest))


def _detail(advice: Advice) -> tuple[Part, ...]:
    """Show all of a finding, with its evidence."""
    parts: list[Part] = [Notes((_describe_finding(advice),), items=tuple(advice.evidence))]
    for number, option in enumerate(advice.options):
        is_first = number == 0
        parts.append(Notes((_describe_option(option, is_first),)))
        if option.code and (is_first or option.gain.is_notable or not option.gain.is_known):
            parts.append(Code(option.code))
    return (*parts, Notes((_describe_confidence(advice),)))


def _describe_option(option: Option, is_first: bool) -> str:
    if option.gain.is_futile:
        return f"Not {option.title}: it {describe_futile(option.gain)}."
    lead = "To do: " if is_first else "Or: "
    if is_first or not option.gain.is_known:
        return f"{lead}{option.title}."
    return f"{lead}{option.title}, which {describe_gain(option.gain)}."


def _plain(advice: Advice) -> dict[str, Any]:
    options = [{**vars(option), "gain": _plain_gain(option.gain)} for option in advice.options]
    plain = {"severity": str(advice.severity), "gain": _plain_gain(advice.gain), "about": vars(advice.about)}
    return {**vars(advice), **plain, "options": options}


def _plain_gain(gain: Gain) -> dict[str, Any]:
    return {**gain.figures, "of": gain.of, "reason": gain.reason}
