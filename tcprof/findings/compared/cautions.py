"""What makes two sides hard to compare."""

from collections.abc import Iterable
from functools import partial

import numpy as np

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.comparison import Comparison, Side
from tcprof.comparison.comparison import MEASURED
from tcprof.comparison.side import gpu_models, join_facts, shared_recordings
from tcprof.findings.finding import Finding, Severity
from tcprof.untrusted import one_line

LONGER = 1.5  # times as long: then captures differ in what they hold
CLOCK_PCT = 1.0  # clocks that differ by less are the same
LOADED_PCT = 50.0  # GR Active from which a sample's clock counts as one under load
_MOST_NAMED = 5  # recordings, each with the files that hold it
_SOURCES = {"cycles": "exact cycles", "rounded": "rounded percentages", "none": "no samples"}
_SIDES = ("baseline", "other recording")
_ASSUMED = (
    "Iterations of one recording are not independent runs, so how much runs differ is assumed, not measured: record "
    "each side several times with 'tcprof profile --repeat 5', and give all its recordings"
)

_caution = partial(Finding, severity=Severity.CAUTION)


def find_unmapped(comparison: Comparison) -> list[Finding]:
    """New names of ranges that are nowhere."""
    return [
        _caution(
            "unmapped-range",
            sentence=f"The new side has no range {new!r}, which {old!r} of the baseline was mapped to",
        )
        for old, new in comparison.unmapped
    ]


def find_shared(comparison: Comparison) -> list[Finding]:
    """Recordings that are on both sides."""
    shared = shared_recordings(comparison.base, comparison.new)
    if not shared:
        return []
    sentence = f"Both sides have the same recording: {_list_groups(shared)}"
    consequence = "A recording shows no change against itself."
    remedy = "Give each side recordings of its own."
    return [_caution("same-recording", sentence=sentence, consequence=consequence, remedy=remedy)]


def find_cautions(comparison: Comparison) -> tuple[Finding, ...]:
    """What a reader must know before the figures of a comparison, gravest first."""
    base, new = comparison.base, comparison.new
    found = [
        *find_unmapped(comparison),
        *find_shared(comparison),
        *_about_copies(base, new),
        *_about_machines(base, new),
        *_about_recorders(base, new),
        *_about_lengths(base, new),
        *_about_graphs(base, new),
        *_about_iterations(base, new),
    ]
    common = [{*zip(side.first.ranges["domain"], side.first.ranges["path"], strict=True)} for side in (base, new)]
    if not any(path for _, path in common[0] & common[1]):
        sentence = "The recordings have no range in common: only the whole captures are compared"
        found.append(_caution("no-common-range", sentence=sentence))
    if comparison.spread != MEASURED:
        found.append(_caution("assumed-spread", sentence=_ASSUMED))
    return tuple(found)


def _about_copies(base: Side, new: Side) -> list[Finding]:
    copies = dict.fromkeys((*base.copies, *new.copies))
    if not copies:
        return []
    return [_caution("copies", sentence=f"Copies of one recording count once: {_list_groups(copies)}")]


def _list_groups(groups: Iterable[tuple[str, ...]]) -> str:
    """Names of files, those of one recording together; a name that several have stands once."""
    named = [" and ".join(dict.fromkeys(one_line(name) for name in group)) for group in groups]
    more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return "; ".join(named[:_MOST_NAMED]) + more


def _about_machines(base: Side, new: Side) -> list[Finding]:
    gpus = gpu_models(base, new)
    if gpus[0] != gpus[1]:
        sentence = f"Different GPUs: {gpus[0]} against {gpus[1]}"
        consequence = "Times cannot be compared; shares only with care."
        return [_caution("different-gpus", sentence=sentence, consequence=consequence)]
    clocks = [_clock_under_load(side) for side in (base, new)]
    change = 100 * (clocks[1] / clocks[0] - 1)
    if not abs(change) > CLOCK_PCT:
        return []
    slower, faster = (units.format_hz(clock) for clock in (clocks if change > 0 else clocks[::-1]))
    sentence = (
        f"The GPU's clock under load was {units.format_pct(abs(change))} {'higher' if change > 0 else 'lower'} than in "
        f"the baseline ({slower} against {faster}): that changes the time of kernels without any change of the code"
    )
    remedy = "Fix the clock with 'nvidia-smi --lock-gpu-clocks', or compare cycles."
    return [_caution("different-clocks", sentence=sentence, remedy=remedy)]


def _about_recorders(base: Side, new: Side) -> list[Finding]:
    sides, found = (base, new), []
    sources = [join_facts(_SOURCES[each.tensor_source] for each in side.recordings) for side in sides]
    if sources[0] != sources[1]:
        sentence = f"Tensor Active comes from {sources[0]} in the baseline and from {sources[1]} in the other recording"
        found.append(_caution("different-samples", sentence=sentence))
    frequencies = [
        join_facts(units.format_hz(each.recording.frequency_hz) for each in side.recordings) for side in sides
    ]
    for rule, what, told in (
        ("different-drivers", "driver", [_facts(side, "driver_version") for side in sides]),
        ("different-recorders", "Nsight Systems version", [_facts(side, "nsys_version") for side in sides]),
        ("different-frequencies", "sampling frequency", frequencies),
    ):
        if told[0] != told[1]:
            found.append(_caution(rule, sentence=f"Different {what}: {told[0]} against {told[1]}"))
    return found


def _facts(side: Side, what: str) -> str:
    return join_facts(str(getattr(recording.recording, what)) for recording in side.recordings)


def _about_lengths(base: Side, new: Side) -> list[Finding]:
    lengths = [np.median([each.recording.duration_ns for each in side.recordings]) for side in (base, new)]
    if min(lengths) <= 0 or max(lengths) <= LONGER * min(lengths):
        return []
    told = [units.format_ns(length) for length in lengths]
    sentence = (
        f"The captures are {told[0]} and {told[1]} long: figures of the whole capture cannot be compared, those of "
        "iterations can"
    )
    return [_caution("different-lengths", sentence=sentence)]


def _about_graphs(base: Side, new: Side) -> list[Finding]:
    hiding = [
        name
        for name, side in zip(_SIDES, (base, new), strict=True)
        if any((recording.activities["kind"] == "graph").any() for recording in side.recordings)
    ]
    if not hiding:
        return []
    sentence = (
        f"CUDA graphs were recorded as a whole in the {' and in the '.join(hiding)}: which kernels came or went, and "
        "how many there are, is not known of these"
    )
    return [_caution("whole-graphs", sentence=sentence, remedy="Record both sides with --cuda-graph-trace node.")]


def _about_iterations(base: Side, new: Side) -> list[Finding]:
    counts, found = [_iteration_count(side.first) for side in (base, new)], []
    if counts[0] != counts[1] and all(counts):
        sentence = (
            f"The baseline has {counts[0]} iteration{'s'[: counts[0] > 1]}, the other recording {counts[1]}: compare "
            "iterations, not the ranges that hold them"
        )
        found.append(_caution("different-counts", sentence=sentence))
    few = {name: count for name, count in zip(_SIDES, counts, strict=True) if 0 < count < FEWEST_INSTANCES}
    found += [
        _caution(
            "few-iterations",
            sentence=f"The {name} has only {count} iteration{'s'[: count > 1]}: that is too few for an interval, and "
            "to tell which are warm-up",
        )
        for name, count in few.items()
    ]
    return found


def _iteration_count(analysis: Analysis) -> int:
    return int(analysis.iterations.groupby("gpu").size().max()) if len(analysis.iterations) else 0


def _clock_under_load(side: Side) -> float:
    """The median clock of the samples in which the GPU worked, in Hz; NaN where not recorded."""
    found = [_median_clock(recording) for recording in side.recordings]
    return float(np.median(found))


def _median_clock(analysis: Analysis) -> float:
    samples = analysis.samples
    loaded = (samples["gr_active_pct"] >= LOADED_PCT) | (samples["tensor_active_pct"] >= LOADED_PCT)
    clocks = samples.loc[loaded, "gpc_clock_hz"].dropna()
    return float(clocks.median()) if len(clocks) else float("nan")
