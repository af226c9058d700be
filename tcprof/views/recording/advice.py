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
from tcprof.findings.recording_cost import measure_cost
from tcprof.frames import ADVICE
from tcprof.views.document import Code, Document, Lead, Leads, Notes, Part, Section
from tcprof.views.paths import kernel_names, link, module_names, range_names
from tcprof.views.recording import describe_base, document_data, head, list_notes, make_document

MOST_SHOWN = 3  # where advice stands beside the verdict


def view_advice(analysis: Analysis, findings: Findings, advice: Sequence[Advice], with_notes: bool = True) -> Document:
    """All advice on a recording, best first.

    Args:
        with_notes: Whether it also has the evidence, the code of alternatives, and what the figures are over.
    """
    shown, folded = split_notable(advice)
    base = describe_base(analysis)
    parts: tuple[Part, ...] = (
        head(analysis, findings),
        Notes(findings.headline),
        Notes(describe_savings(analysis, shown)),
        *(
            Section(
                f"advice-{number}",
                f"{number}. {_name(analysis, each)}",
                _detail(each) if with_notes else _outline(each),
            )
            for number, each in enumerate(shown, 1)
        ),
        Notes((*(line for line, _ in _fold(folded)), *list_notes(findings.remarks, base, with_notes).lines)),
    )
    data = {**document_data(analysis, findings, {}), "advice": [_plain(each) for each in advice]}
    empty, rows = "No rule has advice on this recording.", list_advice(advice)
    return make_document(analysis, findings, "advice", parts, {}, base=base, data=data, rows=rows, if_empty=empty)


def list_leads(analysis: Analysis, advice: Sequence[Advice]) -> Leads:
    """The best advice, with what on a page shows what it is about."""
    shown, _ = split_notable(advice)
    items = tuple(_make_leads(analysis, shown)[:MOST_SHOWN])
    rest = len(shown) - len(items)
    base = " ".join(describe_savings(analysis, shown[:MOST_SHOWN]))
    return Leads(items, base, f"{units.format_count(rest)} more" if rest else "")


def _make_leads(analysis: Analysis, shown: Sequence[Advice]) -> list[Lead]:
    several = _has_several(analysis)
    kernels = analysis.kernels.assign(link=kernel_names(analysis.kernels))
    count: Counter[str] = Counter()
    leads = []
    for each in shown:
        count[each.rule] += 1
        gain = describe_futile(each.gain) if each.gain.is_futile else describe_gain(each.gain)
        gain = as_sentence(gain).removesuffix(".") if each.gain.is_known else ""
        name = each.rule if count[each.rule] == 1 else f"{each.rule}-{count[each.rule]}"
        about, place = _links_of(analysis, kernels, each), name_gpus(each.gpus) if several else ""
        selects = link("finding", name) if about else ""
        saves = each.gain.is_known and not each.gain.is_futile
        saving = (units.format_ns(each.gain.likely_ns), each.gain.shares_pct) if saves else ("", (0.0, 0.0, 0.0))
        found = Lead(name, each.rule, each.action, gain, *saving, f"{each.sentence}.", about, place, selects)
        leads.append(found)
    return leads


def _has_several(analysis: Analysis) -> bool:
    return bool(analysis.gpus["gpu"].nunique() > 1)


def _name(analysis: Analysis, advice: Advice) -> str:
    return f"{name_gpus(advice.gpus)}: {name_advice(advice)}" if _has_several(analysis) else name_advice(advice)


def describe_savings(analysis: Analysis, advice: Sequence[Advice]) -> tuple[str, ...]:
    """What savings are relative to, with both step times where profiling changes that; nothing where none is known."""
    known = [each for each in advice if each.gain.is_known]
    if not known:
        return ()
    steps = analysis.step_summary.set_index("gpu")
    others = {gpu for each in known for gpu in each.gpus}.difference(steps.index)
    known = [each for each in known if others.isdisjoint(each.gpus)]
    if not known:
        return (f"Savings are of {ALL_WORK}.",)
    rest = (f"Savings on {name_gpus([*others])} are of {ALL_WORK}.",) if others else ()
    mean_ns = steps["total_ns"] / steps["step_count"]
    recorded, unprofiled = (
        " or ".join(dict.fromkeys(map(units.format_ns, lengths)))  # GPUs may have steps of their own lengths
        for lengths in ([mean_ns[list(each.gpus)].mean() for each in known], [each.gain.step_ns for each in known])
    )
    if unprofiled == recorded:
        return f"Savings are of the mean step, {recorded}.", *rest
    how = "estimated" if measure_cost(analysis) is None else "measured"
    return f"Savings are of the mean step: {unprofiled} unprofiled ({how}), {recorded} recorded.", *rest


def _links_of(analysis: Analysis, kernels: pd.DataFrame, advice: Advice) -> tuple[str, ...]:
    """What selects on a page what advice is about: its kernels, longest first, or else its ranges, or its modules."""
    gpu = advice.gpu
    of_gpu = kernels[kernels["gpu"] == gpu].sort_values("total_ns", ascending=False, kind="stable")
    for kind, wanted, found, names in (
        ("kernel", advice.about.kernels, of_gpu["name"], of_gpu["link"]),
        ("range", advice.about.ranges, analysis.paths["path"], range_names(analysis.paths)),
        ("module", advice.about.modules, analysis.modules["module"], module_names(analysis.modules)),
    ):
        mine = pd.Series(names, index=found.index)[found.isin(wanted)].drop_duplicates()
        if len(mine):
            return tuple(link(kind, name, gpu) for name in mine)
    return ()


def view_best(analysis: Analysis, advice: Sequence[Advice]) -> tuple[str, ...]:
    """The best advice, a line each, and what savings are relative to."""
    best = split_notable(advice)[0][:MOST_SHOWN]
    lines = [f"{number}. {_name(analysis, each)}" for number, each in enumerate(best, 1)]
    return (*lines, *describe_savings(analysis, best))


def view_sections(analysis: Analysis, advice: Sequence[Advice]) -> tuple[Part, ...]:
    """All advice as the parts of one section, in which what is not worth a line has a section of its own."""
    shown, folded = split_notable(advice)
    leads = _make_leads(analysis, [*shown, *folded])
    told = {id(each): (lead, *_detail(each)) for lead, each in zip(leads, [*shown, *folded], strict=True)}
    parts: list[Part] = [part for each in shown for part in told[id(each)]]
    for number, (line, of_fold) in enumerate(_fold(folded)):
        inside = tuple(part for each in of_fold for part in told[id(each)])
        parts.append(Section(f"folded-{number}", line, inside, folded=True))
    return tuple(parts)


def split_notable(advice: Sequence[Advice]) -> tuple[list[Advice], list[Advice]]:
    """Advice that is worth a line, best first, then what has no price; and what saves too little."""
    return [each for each in advice if each.is_shown], [each for each in advice if not each.is_shown]


def list_advice(advice: Sequence[Advice]) -> pd.DataFrame:
    """Advice as a frame, see ``tcprof.frames.ADVICE``."""
    if not advice:
        return ADVICE.empty()
    rows = [{**vars(each), **each.gain.figures, "gpus": ", ".join(map(str, each.gpus))} for each in advice]
    return ADVICE.conform(pd.DataFrame(rows))


def _fold(folded: Sequence[Advice]) -> list[tuple[str, list[Advice]]]:
    """What is not worth a line of its own: what saves little, and what saves nothing or costs time, with the reason."""
    futile = [each for each in folded if each.gain.is_futile]
    little = [each for each in folded if not each.gain.is_futile]
    found = []
    if little:
        names = ", ".join(f"{each.rule} ({units.format_pct(each.gain.likely_pct)})" for each in little)
        of = " or ".join(dict.fromkeys(each.gain.of for each in little))
        said = f"Each saves less than {NOTABLE_PCT:g} % of {of}: {names}."
        found.append((said, little))
    if futile:
        why = "; ".join(f"{each.rule} ({each.options[0].title}: {describe_futile(each.gain)})" for each in futile)
        found.append((f"Not worth it here: {why}.", futile))
    return found


def _describe_finding(advice: Advice) -> str:
    return " ".join(part for part in (f"{advice.sentence}.", advice.consequence, f"({advice.rule})") if part)


def _describe_confidence(advice: Advice) -> str:
    return f"Confidence: {advice.confidence}. {advice.raise_confidence}".strip()


def _outline(advice: Advice) -> tuple[Part, ...]:
    """What was found, the code of the best option, the other options, and how sure this is."""
    parts: list[Part] = [Notes((_describe_finding(advice),))]
    for first in advice.options[:1]:
        parts.append(Code(first.code) if first.code else Notes((_describe_option(first, is_first=True),)))
    rest = (*(_describe_option(option, is_first=False) for option in advice.options[1:]), _describe_confidence(advice))
    return (*parts, Notes(rest))


def _detail(advice: Advice) -> tuple[Part, ...]:
    """All of a finding, with its evidence."""
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
