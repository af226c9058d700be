"""What makes the figures of a recording untrustworthy: lost or disordered samples, lost kernels, samples of other work.

nsys ends with status 0 all the same, and says it in its diagnostics alone. These are untrusted text: only the known
words below, and numbers, are passed on.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.untraced import Untraced, find_untraced_by_gpu
from tcprof.analysis.ranges.summary import find_borders
from tcprof.analysis.samples.borders import MOST_OFFSET_NS
from tcprof.analysis.samples.clock import LOWEST_AGREEMENT_PCT
from tcprof.findings.finding import Finding, Severity, name_gpus
from tcprof.findings.steps import StepFigures
from tcprof.findings.verdict import measure_shares
from tcprof.frames import INSTANCES, KERNEL_INSTANCES, KERNELS, KINDS, LEDGER, MODULES, RANGES, STEP_SUMMARY, STEPS
from tcprof.sources import UNCLOSED, InvalidValues
from tcprof.sources.remedies import Remedies

LOWEST_ADVISED_HZ = 10_000  # nsys's own default
LOWEST_HZ = 10  # nsys samples no slower
NOTABLE_GAP_SHARE = 0.01  # of the time sampled; whole recordings have no gap at all
_MEANING_OF_LOSS = (
    "Figures use the remaining samples: means may be far off, sums across gaps are lower bounds (≥) and are not "
    "compared, and samples next to a gap may be misplaced."
)
_MEANING_OF_DISORDER = "The timestamps of samples may be wrong: all figures from samples are unreliable."
_MEANING_OF_DRIFT = "Samples may be attributed to the wrong kernels: figures of ranges and kernels are unreliable."
_SHORTER = "Record a shorter run."
_TO_YOURSELF = "Record again, with the GPU to yourself."
_MOST_LISTED = 4
_WITH_SHARES = (RANGES, INSTANCES, KERNELS, KERNEL_INSTANCES, MODULES, STEP_SUMMARY, KINDS, STEPS, LEDGER)
_WHOLE_PCT = 100.5  # counters of cycles read a little above 100
_TIMES = "times"
_OF_PEAK = ("mfu_pct", "hfu_pct", "tensor_peak_pct", "fma_pct", "dram_pct", "l1_pct", "l2_pct")
_PEAK_IS_WRONG = "tcprof's figure for the GPU's peak, or for the FLOP of its kernels, is wrong."
_UNTRACED_WORK = "The counters include work that is not in the trace, and some of it was attributed to traced kernels."
_OVERLAP = "Work of several steps overlaps on the GPU, so part of their time counts more than once."
_IN_FILE = "The recording's times or counters contradict each other."

_DISORDERED = re.compile(r"GPU Metrics(?: \[\d{1,4}\])?:? event chronological order was broken")
_OVERFLOW = re.compile(r"(?:GPU Metrics(?: \[\d{1,4}\])?: *)?Sampling buffer overflow")
_FAILED = re.compile(r"GPU Metrics(?: \[\d{1,4}\])?: NVPA_STATUS_[A-Z_]{1,40}")
_NOT_RETURNED = re.compile(r"CUPTI buffers: (\d{1,9}) of (\d{1,9})\. Some CUPTI events might be missing")
# Messages about lost events of CUDA: what is counted, and where the number is.
_LOST_EVENTS = {
    "records dropped": re.compile(r"CUPTI dropped (\d{1,15}) records"),
    "incomplete events dropped": re.compile(r"incomplete CUPTI events dropped: (\d{1,15})"),
    "incomplete events": re.compile(r"(\d{1,15}) CUPTI events were detected incomplete"),
    "events without a time": re.compile(r"(\d{1,15}) GPU events were discarded as their timestamps"),
    "failed buffer allocations": re.compile(r"Couldn't allocate CUPTI buffers (\d{1,15}) times"),
}
_AT_THE_END = ("incomplete events dropped", "incomplete events")  # of kernels that ran when the recording ended
_MANY_LOST = 0.05  # of the launches: few prices are closer than that
_TRUNCATED = re.compile(r"Trace data will likely be truncated|CUPTI events might be missing")


def find_faults(analysis: Analysis, untraced: Mapping[int, Untraced] | None = None) -> tuple[Finding, ...]:
    """Find what was lost, what that means for the figures, and what to do; gravest first."""
    texts = analysis.observed.diagnostics["text"].value_counts(sort=False)
    about_samples = _about_samples(analysis, texts.index.tolist())
    about_clocks = _about_clocks(analysis.clocks, bool(about_samples))
    about_kernels = _about_kernels(texts, analysis)
    wrong = [values for values in analysis.observed.wrong if values.what != UNCLOSED]
    about_file = _about_file(wrong, analysis.recording.remedies)
    untraced = find_untraced_by_gpu(analysis.samples, analysis.activities) if untraced is None else untraced
    return (*about_file, *about_samples, *about_clocks, *about_kernels, *find_other_work(untraced))


def is_fault(text: str) -> bool:
    """Whether a diagnostic of nsys is reported among the faults."""
    patterns = (_DISORDERED, _OVERFLOW, _FAILED, _TRUNCATED, *_LOST_EVENTS.values())
    return any(pattern.search(text) for pattern in patterns)


def lower_frequency(frequency_hz: float) -> int | None:
    """The frequency in Hz to try after an overflow; None where there is none or the frequency is unknown.

    Half of what it was, rounded down to 1, 2 or 5 times a power of ten, but not below nsys's default if it was above.
    """
    half = int(frequency_hz / 2) if frequency_hz >= 2 * LOWEST_HZ else 0
    if not half:
        return None
    decade: int = 10 ** (len(str(half)) - 1)
    rounded = next(step * decade for step in (5, 2, 1) if step * decade <= half)
    return max(rounded, LOWEST_ADVISED_HZ) if frequency_hz > LOWEST_ADVISED_HZ else rounded


_fault = partial(Finding, severity=Severity.FAULT)


def _about_file(wrong: Sequence[InvalidValues], remedies: Remedies) -> list[Finding]:
    if not wrong:
        return []
    listed = [f"{units.format_count(values.count)} of {values.place} ({values.what})" for values in wrong]
    more = f"; and {len(listed) - _MOST_LISTED} more kinds" if len(listed) > _MOST_LISTED else ""
    kept = {values.kept for values in wrong}
    sentence = f"The recording contradicts itself: {'; '.join(listed[:_MOST_LISTED])}{more}"
    done = "corrected where possible" if kept == {True} else "dropped or corrected" if True in kept else "dropped"
    consequence = f"These were {done}; figures use the rest."
    return [_fault("damaged-file", sentence=sentence, consequence=consequence, remedy=remedies.file)]


def find_excess(
    analysis: Analysis, steps: Sequence[StepFigures], untraced: Mapping[int, Untraced] = MappingProxyType({})
) -> list[Finding]:
    """Find shares of more than the whole, whatever their source, with their cause: the one place that looks for them.

    Args:
        untraced: What ``find_untraced_by_gpu`` finds.
    """
    other_work = any(work.is_notable for work in untraced.values())
    most = {  # of one name the largest, in whichever frame: the last one stays
        name: (share, frame, title)
        for share, name, frame, title in sorted(
            (float(np.fmax.reduce(values, initial=0)), column.name, schema.name, column.title)
            for schema in _WITH_SHARES
            for column in schema.columns
            if column.is_share
            for values in (getattr(analysis, schema.name)[column.name].to_numpy(),)
        )
    }
    times = [sum(measure_shares(figures.time, figures.total_ns).values()) for figures in steps]
    most[_TIMES] = (max(times, default=0.0), "steps", "Time of all classes of work")
    beyond = {name: largest for name, largest in most.items() if largest[0] > _WHOLE_PCT}
    causes = dict.fromkeys(_cause_of_excess(analysis, name, other_work) for name in beyond)
    return [
        _fault(
            "excess-shares",
            sentence="Shares exceed the whole: "
            + "; ".join(
                f"{title} ({frame}) {units.format_pct(share)}"
                for share, frame, title in [*beyond.values()][:_MOST_LISTED]
            ),
            consequence=f"{' '.join(causes)} These figures are wrong.",
            remedy=analysis.recording.remedies.file if _IN_FILE in causes else "",
        )
    ][: len(beyond)]


def _cause_of_excess(analysis: Analysis, name: str, other_work: bool) -> str:
    if name in _OF_PEAK and other_work:
        return _UNTRACED_WORK
    if name in _OF_PEAK:
        is_given = analysis.options.get("peak_tflops") is not None
        return "--peak-tflops is lower than the measured rate." if is_given else _PEAK_IS_WRONG
    return _OVERLAP if name == _TIMES and not analysis.observed.wrong else _IN_FILE


def _about_samples(analysis: Analysis, texts: Sequence[str]) -> list[Finding]:
    lost_ns, gaps = analysis.observed.lost_ns, _gaps(analysis.samples, analysis.activities)
    disordered, lost = _quotes(_DISORDERED, texts), [*_quotes(_OVERFLOW, texts), *_quotes(_FAILED, texts)]
    if not lost and lost_ns:
        lost = ["marked by Nsight Systems as missing or inconsistent"]
    are_lost = bool(lost) or bool((gaps["inside_ns"] > NOTABLE_GAP_SHARE * gaps["sampled_ns"]).any())
    if not (disordered or are_lost):
        return []
    quotes = [*disordered, *lost]
    cited = f" ({'; '.join(quotes[:_MOST_LISTED])})" if quotes else ""
    amount = _amounts(gaps, lost_ns) if are_lost else ""
    if disordered:
        head = "Samples were lost, and the remaining ones are out of order" if are_lost else "Samples are out of order"
        meaning = _MEANING_OF_DISORDER
    else:
        head, meaning = "Samples were lost", _MEANING_OF_LOSS
    remedy = _remedy(analysis.recording.frequency_hz, len(gaps), is_too_slow=bool(disordered) and not are_lost)
    return [_fault("lost-samples", sentence=f"{head}{cited}{amount}", consequence=meaning, remedy=remedy)]


def _quotes(pattern: re.Pattern[str], texts: Sequence[str]) -> list[str]:
    matches = [match[0] for match in map(pattern.search, texts) if match]
    return sorted(set(matches))


def _gaps(frame: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """By GPU ``recorded_ns``, ``sampled_ns``, and ``inside_ns``: unsampled between the first and the last of them."""
    used, lengths = find_borders(activities), {}
    gpu, length = frame["gpu"].to_numpy(), (frame["end_ns"] - frame["start_ns"]).to_numpy()
    for number, (first, last) in sorted(find_borders(frame).items()):
        begin, end = used.get(number, (first, last))
        covered = int(length[gpu == number].sum())
        lengths[number] = (max(end, last) - min(begin, first), covered, last - first - covered)
    columns = ["recorded_ns", "sampled_ns", "inside_ns"]
    return pd.DataFrame(list(lengths.values()), index=list(lengths), columns=columns, dtype="int64")


def _amounts(gaps: pd.DataFrame, marked_ns: int) -> str:
    """How much was lost on each GPU, the most first; where no gap shows, what nsys marked on all of them."""
    if gaps.empty:
        return "; none are left"
    lost = (gaps["recorded_ns"] - gaps["sampled_ns"]).sort_values(ascending=False, kind="stable")
    lost = lost[lost > 0]
    if lost.empty:
        return f": {units.format_ns(marked_ns)}" if marked_ns else "; how many is unknown: the samples show no gap"
    shares = 100 * lost / gaps["recorded_ns"]
    amounts = [
        f"GPU {gpu} has none for {units.format_ns(lost[gpu])}, {units.format_pct(shares[gpu])} of recorded time"
        for gpu in lost.index[:_MOST_LISTED]
    ]
    more = f"; {len(lost) - _MOST_LISTED} more GPUs lost samples too" if len(lost) > _MOST_LISTED else ""
    return f": {'; '.join(amounts)}{more}"


def _remedy(frequency_hz: float, gpus: int, *, is_too_slow: bool) -> str:
    """The frequency to try: some metric sets need 10 kHz, and nsys does not refuse less; samples come out of order."""
    if is_too_slow and frequency_hz < LOWEST_ADVISED_HZ:
        was = units.format_hz(frequency_hz)
        why = f"this recording was at {was}, which is too low for some metric sets"
        return f"Record again with --frequency {LOWEST_ADVISED_HZ}: {why}."
    lower = lower_frequency(frequency_hz)
    was = f" (this recording was at {units.format_hz(frequency_hz)})" if lower else ""
    again = f"Record again with {f'--frequency {lower}' if lower else 'a lower --frequency'}{was}."
    fewer = f" {gpus} GPUs were sampled at once: sampling fewer, such as --gpus 0, loses less."
    return again + (fewer if gpus > 1 else "")


def _about_clocks(clocks: pd.DataFrame, damaged: bool) -> list[Finding]:
    findings = []
    for gpu, agreement, error in clocks[["gpu", "agreement_pct", "error_ns"]].itertuples(index=False):
        if error > MOST_OFFSET_NS:
            sentence = (
                f"GPU {gpu}: the clocks of samples and trace drift apart unevenly, by {units.format_ns(error)} beyond "
                "what tcprof can correct"
            )
            findings.append(_fault("clocks", sentence=sentence, consequence=_MEANING_OF_DRIFT, remedy=_SHORTER))
        if agreement < LOWEST_AGREEMENT_PCT:
            cause, remedy = "other work ran on the GPU, or the clocks disagree", _TO_YOURSELF
            if damaged:
                cause, remedy = "the remaining samples may be misplaced, or other work ran on the GPU", ""
            sentence = (
                f"GPU {gpu}: the samples' GR Active does not follow the traced kernels (agreement "
                f"{units.format_pct(max(agreement, 0))}), so nothing can be attributed: {cause}"
            )
            findings.append(_fault("clocks", sentence=sentence, remedy=remedy))
    return findings


def lacks_kernels(analysis: Analysis) -> bool:
    """Whether so many launches have no kernel that nothing can be priced: neither kernels nor idle time."""
    lost = analysis.observed.lost_launches or 0
    return lost > _MANY_LOST * (lost + len(analysis.kernel_instances))


def _about_kernels(texts: pd.Series, analysis: Analysis) -> list[Finding]:
    """Kernels and copies that ran, but are not in the recording.

    nsys says that some may be missing whenever it ends before a process does, and counts those that were still running:
    with a capture range most often all are there. If it says no more, the launches are counted, where they can be.
    ``texts`` has how often nsys said each: processes may say the same.
    """
    lost_launches = analysis.observed.lost_launches
    buffers = sum((int(match[2]) - int(match[1])) * count for match, count in _matches(_NOT_RETURNED, texts))
    events = {
        what: sum(int(match[1]) * count for match, count in _matches(pattern, texts))
        for what, pattern in _LOST_EVENTS.items()
    }
    if not (lost_launches or buffers or any(events.values()) or _matches(_TRUNCATED, texts)):
        return []
    if lost_launches == 0 and all(what in _AT_THE_END for what, number in events.items() if number):
        return []
    numbers = {"launches without a kernel": lost_launches or 0} | events | {"buffers not flushed": buffers}
    numbers_text = "; ".join(f"{what}: {units.format_count(number)}" for what, number in numbers.items() if number > 0)
    sentence = (
        f"Kernels may be missing: CUDA trace events {'were' if any(events.values()) else 'may have been'} lost "
        f"({numbers_text or 'how many is unknown'})"
    )
    consequence = "A missing kernel's time counts as idle, and its tensor cycles go to its neighbours."
    consequence += " So many are missing that advice has no prices." * lacks_kernels(analysis)
    remedy = analysis.recording.remedies.lost
    return [_fault("lost-kernels", sentence=sentence, consequence=consequence, remedy=remedy)]


def _matches(pattern: re.Pattern[str], texts: pd.Series) -> list[tuple[re.Match[str], int]]:
    """Where it is found in the texts, and how often each was said."""
    return [(match, count) for text, count in texts.items() if (match := pattern.search(text))]


_TRACE_ALL = (
    "Record with the GPU to yourself, trace every process that uses it, and graphs with --cuda-graph-trace node."
)
_TRACE_WORKERS = (
    "Record again so that nsys starts the process that uses the GPU: forked workers with "
    "--trace-fork-before-exec=true, servers and containers from within 'tcprof profile'."
)


def find_other_work(untraced: Mapping[int, Untraced]) -> list[Finding]:
    """Samples that show work where nothing was traced, or no tensor work: it also ran beside the traced kernels."""
    findings = [_about_all(untraced)] if any(work.is_all for work in untraced.values()) else []
    for gpu, work in untraced.items():
        if work.is_notable and not work.is_all:
            active, quiet = units.format_ns(work.quiet.shown_ns), units.format_ns(work.quiet.ns)
            sentence = (
                f"GPU {gpu}: busy for {units.format_ns(work.busy_ns)} of the {units.format_ns(work.idle_ns)} in which "
                f"no traced work ran"
                if work.in_pauses
                else f"GPU {gpu}: its Tensor Cores were busy for {active} of {quiet} during kernels that do not use "
                "them"
            )
            sentence += (
                ", with work that the trace does not show: another process, or CUDA graphs that nsys did not record"
            )
            consequence = (
                "Work that ran at the same time as traced kernels is attributed to them: figures are unreliable."
            )
            findings.append(_fault("untraced-work", sentence=sentence, consequence=consequence, remedy=_TRACE_ALL))
    return findings


def _about_all(untraced: Mapping[int, Untraced]) -> Finding:
    """GPUs that worked although the trace has next to nothing of them."""
    rows = {gpu: work for gpu, work in untraced.items() if work.is_all}
    least, most = (units.format_ns(pick(work.busy_ns for work in rows.values())) for pick in (min, max))
    busy = least if least == most else f"{least} to {most}"
    of_it = "almost none" if any(work.traced_ns for work in rows.values()) else "none"
    return _fault(
        "untraced-gpu",
        sentence=f"{name_gpus([*rows])}: the samples show it busy for {busy}, but the trace has {of_it} of that work: "
        f"it ran in a forked worker, in another container, or in a process started before the recording",
        consequence="How long the GPU was really idle is unknown.",
        remedy=_TRACE_WORKERS,
    )
