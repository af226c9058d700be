"""What a reader must know of a recording beside its faults: what is absent, rounded, or belongs to no range."""

import re
from collections.abc import Iterable
from functools import partial

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import PRODUCT, parse_name, short_name
from tcprof.analysis.kernels.patterns import read_traits
from tcprof.analysis.kernels.verdicts import RESOLVED, could_be_tensor
from tcprof.analysis.samples.clock import moved_clocks
from tcprof.arrays import union
from tcprof.findings.checks import describe_shift
from tcprof.findings.faults import is_fault
from tcprof.findings.finding import Finding, Severity, has_amd_gpu
from tcprof.findings.steps import find_recording_cost
from tcprof.frames import KERNEL_KINDS, LARGEST_UNCOVERED_PCT
from tcprof.nsys import NEWEST_NSYS, NEWEST_SCHEMA
from tcprof.sources import UNCLOSED, InvalidValues, Recording

# What nsys says in most recordings, or about what tcprof does not use.
_ROUTINE = re.compile(
    "No .* events collected|Not all .* events might have been collected|might have not been started correctly"
    "|Scheduling information is absent|CPU (kernel )?IP|Failed to load symbols"
    "|nvtxDomainDestroy was called with wrong"  # by Python's nvtx at exit
)
_LEFT_OUT = re.compile("Error when processing events|ProcessEventsError")  # of those that one source delivered at once
_LEFT_OUT_TEXT = (
    "could not read some of the events that it recorded ('Importation succeeded with non-fatal errors'): NVTX ranges "
    "may be missing"
)
_SKIPPED_TENSOR = re.compile(r"Skipping metric [\w.]*tensor[\w.]* \(requires unsupported")
_MOST_LISTED = 3
_MOST = 1.25  # of the FLOP that cycles and name allow: what a product needs cannot be more, but for errors of the fit
_NOTABLE_PCT = 1.0  # of the activity time, from which work outside of all ranges is reported
_NOT_RECORDED = "were not recorded"
_SKIPPED = "Nsight Systems skipped the requested tensor counter: this GPU or its driver does not offer it"
_ROUNDED = (
    "Rounded samples: Nsight Systems gives whole percentages, and 1 for anything above 0, so small means are too high"
)


_caution = partial(Finding, severity=Severity.CAUTION)
NO_KERNELS = "no-kernels"

_ONLY_THE_CAPTURE = "only the whole capture can be shown"


def find_cautions(analysis: Analysis) -> tuple[Finding, ...]:
    """What a reader must know, most important first."""
    return (
        *_about_version(analysis.recording),
        *_about_unclosed(analysis.observed.wrong),
        *_about_samples(analysis),
        *_about_coverage(analysis),
        *_about_clocks(analysis.clocks),
        *find_recording_cost(analysis),
        *_about_graphs(analysis.activities),
        *_about_flop(analysis),
        *find_contradictions(analysis),
        *_about_diagnostics(analysis.observed.diagnostics),
        *_about_activities(analysis),
    )


def _about_version(recording: Recording) -> list[Finding]:
    version = re.match(r"(\d{1,4})\.(\d{1,4})", recording.schema_version)
    if not version or (int(version[1]), int(version[2])) <= NEWEST_SCHEMA:
        return []
    newest = ".".join(map(str, NEWEST_SCHEMA))
    sentence = (
        f"The export has schema {version[0]}, but tcprof has been tested only up to {newest} (Nsight Systems "
        f"{NEWEST_NSYS})"
    )
    consequence = "tcprof ignores what it does not know."
    return [_caution("newer-schema", sentence=sentence, consequence=consequence, remedy="Update tcprof.")]


def _about_unclosed(wrong: Iterable[InvalidValues]) -> list[Finding]:
    count = sum(values.count for values in wrong if values.what == UNCLOSED)
    if not count:
        return []
    return [
        _caution(
            "unclosed-ranges",
            sentence=f"{units.format_things(count, 'NVTX range')} never closed",
            consequence="Their ends are unknown, so tcprof ignores them and counts their work towards the enclosing "
            "ranges.",
            remedy="End every range that the program begins, even when an exception is raised.",
        )
    ]


def _about_samples(analysis: Analysis) -> list[Finding]:
    skipped = any(map(_SKIPPED_TENSOR.search, analysis.observed.diagnostics["text"].map(str)))
    if has_amd_gpu(analysis.gpus):
        sentence = "This is an AMD GPU: which kernels used its matrix cores is unknown"
        return [_caution("no-metrics", sentence=sentence)]
    if not len(analysis.samples):
        asked = "were requested but are not in the export" if analysis.recording.metrics_requested else _NOT_RECORDED
        sentence, remedy = f"GPU metrics {asked}, so Tensor Active is unknown", analysis.recording.remedies.metrics
        return [_caution("no-metrics", sentence=sentence, remedy=remedy)]
    if analysis.tensor_source == "none" and skipped:
        return [_caution("no-counter", sentence=_SKIPPED, consequence="Tensor Active is unknown.")]
    if analysis.tensor_source == "none":
        sentence = "The recording's metric set has no Tensor Active"
        remedy = (
            "Record with 'tcprof profile SCRIPT', or with nsys's general metric set for the GPU: the graphics sets of "
            "Ampere and Ada (ga10x-gfxt, ga10x-gfxact, ad10x-gfxt) have none."
        )
        return [_caution("no-tensor-metric", sentence=sentence, remedy=remedy)]
    if analysis.tensor_source == "rounded":
        exact = "'tcprof profile' records exact tensor cycles where the installed nsys can."
        if skipped:
            exact = "Exact tensor cycles were requested but skipped: this GPU or its driver does not offer them."
        return [_caution("rounded-samples", sentence=_ROUNDED, remedy=exact)]
    return []


def _about_coverage(analysis: Analysis) -> list[Finding]:
    findings = []
    if analysis.observed.shared_pipe:
        sentence = "On this GPU the counter also counts half-precision arithmetic that does not run on Tensor Cores"
        findings.append(_caution("shared-counter", sentence=sentence))
    ranges = analysis.ranges
    sampled = ranges["tensor_active_mean_pct"].notna() | (ranges["coverage_pct"] < 50)
    thin = int((ranges["coverage_pct"][sampled] < 50).sum()) if len(analysis.samples) else 0
    if thin:
        sentence = f"{thin} of {len(ranges)} rows have no figures: under half of their window was sampled"
        findings.append(_caution("thin-coverage", sentence=sentence))
    return findings


def _about_clocks(clocks: pd.DataFrame) -> list[Finding]:
    return [
        _caution(
            "moved-samples",
            sentence=f"GPU {row.gpu}: judging by GR Active, sample timestamps are "
            f"{describe_shift(row.shift_ns, row.last_shift_ns)} than the kernels'; tcprof corrected them",
        )
        for row in moved_clocks(clocks).itertuples()
    ]


def _about_flop(analysis: Analysis) -> list[Finding]:
    captures = analysis.ranges[analysis.ranges["depth"] == 0]
    uncovered = captures[captures["uncovered_cycles_pct"] > LARGEST_UNCOVERED_PCT]
    if uncovered.empty:
        return []
    frame = analysis.kernels
    kernels = frame[(frame["tensor_kernel"] | could_be_tensor(frame)) & frame["gpu"].isin(uncovered["gpu"])]
    # Of graphs recorded as a whole, which have no geometry, it is said that their kernels are unknown.
    unknown = kernels[kernels["tensor_flop"].isna() & (kernels["launch_geometry"] != "")]
    if unknown.empty:
        return []
    names = unknown.groupby("name", observed=True)["tensor_cycles"].sum().nlargest(_MOST_LISTED).index
    share = units.format_pct(uncovered["uncovered_cycles_pct"].max())
    named = ", ".join(short_name(name) for name in names)
    more = len(unknown["name"].unique()) - len(names)
    rest = f" and {more} more" * (more > 0)
    bound = "is unknown" if (uncovered["uncovered_cycles_pct"] == 100).all() else "is a lower bound (≥)"
    sentence = (
        f"Tensor FLOP/s {bound}: {share} of the tensor cycles belong to kernels whose matrix instructions, precision "
        f"or rate on this chip are unknown: {named}{rest}"
    )
    return [_caution("flop-not-covered", sentence=sentence)]


def _about_diagnostics(diagnostics: pd.DataFrame) -> list[Finding]:
    """Errors and warnings of nsys, without the faults, and without those that most recordings have."""
    serious = diagnostics[diagnostics["severity"].isin(["warning", "error"])]
    texts = [text for text in serious["text"].map(str).unique() if not (_ROUTINE.search(text) or is_fault(text))]
    texts = list(dict.fromkeys(_LEFT_OUT_TEXT if _LEFT_OUT.search(text) else text for text in texts))
    messages = [f"Nsight Systems: {text}" for text in texts[:_MOST_LISTED]]
    if len(texts) > _MOST_LISTED:
        messages.append(f"Nsight Systems: {len(texts) - _MOST_LISTED} more warnings in the report's diagnostics")
    return [_caution("diagnostics", sentence=text.removesuffix(".")) for text in messages]


def _about_graphs(activities: pd.DataFrame) -> list[Finding]:
    is_graph = (activities["kind"] == "graph").to_numpy()
    if not is_graph.any():
        return []
    gpu, start, end = (activities[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    hidden, busy = (
        int((last - first).sum())
        for _, first, last in (union(gpu[rows], start[rows], end[rows]) for rows in (is_graph, slice(None)))
    )
    sentence = (
        f"CUDA graphs recorded as a whole hide {units.format_pct(100 * hidden / max(busy, 1))} of the GPU's busy time: "
        "which kernels they ran, and which of those used the Tensor Cores, is unknown"
    )
    remedy = "Record with 'tcprof profile --cuda-graph-trace node', or with 'nsys profile --cuda-graph-trace=node'."
    return [_caution("whole-graphs", sentence=sentence, remedy=remedy)]


def _about_activities(analysis: Analysis) -> list[Finding]:
    activities, absent = analysis.activities, []
    if not activities["kind"].isin(KERNEL_KINDS).any():
        what = "no kernels, only copies and memsets" if len(activities) else "no kernels"
        how = analysis.recording.remedies.kernels
        sentence = f"The recording has {what}: record with {how}, and check that the program used a GPU"
        absent.append(_caution(NO_KERNELS, sentence=sentence))
    if len(activities) and not analysis.observed.range_count:
        figures = "steps are detected from the kernels" if len(analysis.steps) else _ONLY_THE_CAPTURE
        what = "NVTX ranges" if analysis.recording.recorder == "nsys" else "ranges"
        sentence = f"The recording has no {what}: {figures}"
        return [*absent, _caution("no-ranges", sentence=sentence)]
    return absent + (_about_attribution(analysis) if len(activities) else [])


def _about_attribution(analysis: Analysis) -> list[Finding]:
    observed = analysis.observed
    findings = [
        _caution(
            "no-range",
            sentence=f"{units.format_pct(cause.share_pct)} of the GPU's activity time "
            f"({units.format_things(cause.count, 'activity', 'activities')}) belongs to no range: {cause.cause}",
            remedy=f"To fix this: {cause.remedy}.",
        )
        for cause in observed.unattributed
        if cause.share_pct >= _NOTABLE_PCT and cause.remedy
    ]
    outside = [
        f"{units.format_pct(cause.share_pct)} {cause.cause} "
        f"({units.format_things(cause.count, 'activity', 'activities')})"
        for cause in observed.unattributed
        if cause.share_pct >= _NOTABLE_PCT and not cause.remedy
    ]
    if outside:
        sentence = f"Of the GPU's activity time, {' and '.join(outside)} counts only in figures of the whole capture"
        findings.append(Finding("outside-steps", Severity.REMARK, sentence=sentence))
    kernels = analysis.activities["name"].cat.categories
    is_pytorch = any(parse_name(str(name)).of_pytorch for name in kernels)  # its backward pass has a thread of its own
    if observed.inherited_count and not is_pytorch:
        sentence = (
            f"{units.format_count(observed.inherited_count)} of {units.format_count(len(analysis.activities))} "
            "activities were launched by threads without a range; tcprof attributes them to the range open on "
            "another thread at launch"
        )
        findings.append(Finding("inherited", Severity.REMARK, sentence=sentence))
    return findings


def find_contradictions(analysis: Analysis) -> list[Finding]:
    """Products that computed more than their tensor cycles allow in their name's precision; less may be padding."""
    launched = analysis.kernel_instances[
        (analysis.kernel_instances["useful_flop"] > 0) & (analysis.kernel_instances["tensor_flop"] > 0)
    ]
    if launched.empty:
        return []
    sums = launched.groupby("kernel")[["useful_flop", "tensor_flop", "tensor_cycles"]].sum()
    rows = analysis.kernels.loc[sums.index]
    sums = sums[~read_traits(rows["name"])["is_convolution"]]  # an op may launch several kernels of a convolution
    findings = []
    for kernel, useful, executed, cycles in sums.itertuples(name=None):
        row, name = rows.loc[kernel], rows["name"].loc[kernel]
        if parse_name(name).work == PRODUCT and row["fit"] == RESOLVED and useful > _MOST * executed:
            sentence = (
                f"{short_name(name)}: name and tensor cycles contradict each other: the operand sizes require "
                f"{useful / cycles:.4g} FLOP per cycle, but {row['precision'].upper()} allows {executed / cycles:.4g}"
            )
            consequence = "Its FLOP, FLOP/s and HFU are too low."
            findings.append(Finding("precision", Severity.CAUTION, sentence, consequence))
    return findings
