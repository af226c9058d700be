"""What a reader must know of a recording beside its faults: what is absent, rounded, or belongs to no range."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof import units
from tcprof.analysis.faults import is_fault
from tcprof.analysis.intervals import union
from tcprof.analysis.projection import CAUSES, REMEDIES, Attribution, Hierarchy
from tcprof.frames import KERNEL_KINDS
from tcprof.sources import Recording, Samples

Ints = npt.NDArray[np.int64]

# What nsys says in most recordings, or about what tcprof does not use.
_ROUTINE = re.compile(
    "No .* events collected|Not all .* events might have been collected|might have not been started correctly"
    "|Scheduling information is absent|CPU (kernel )?IP|Failed to load symbols"
    "|nvtxDomainDestroy was called with wrong"  # by Python's nvtx at exit
)
_SKIPPED_TENSOR = re.compile(r"Skipping metric [\w.]*tensor[\w.]* \(requires unsupported")
_SHOWN = 3


def list_caveats(
    recording: Recording,
    samples: Samples,
    hierarchy: Hierarchy,
    activities: pd.DataFrame,
    attribution: Attribution,
    ranges: pd.DataFrame,
    clocks: pd.DataFrame,
    diagnostics: pd.DataFrame,
) -> tuple[str, ...]:
    """Sentences for the reader, most important first."""
    return (
        *_about_samples(recording, samples, ranges, diagnostics),
        *_about_clocks(clocks),
        *_about_graphs(activities),
        *_about_diagnostics(diagnostics),
        *_about_activities(hierarchy, activities, attribution),
    )


def _about_samples(
    recording: Recording, samples: Samples, ranges: pd.DataFrame, diagnostics: pd.DataFrame
) -> list[str]:
    """Absent and rounded samples."""
    found = []
    skipped = any(map(_SKIPPED_TENSOR.search, diagnostics["text"].map(str)))
    if not len(samples.frame):
        asked = "were asked for but are not in the export" if recording.metrics_requested else "were not recorded"
        found.append(
            f"GPU metrics {asked}, so Tensor Active is unknown. Record with 'tcprof profile SCRIPT', or with "
            "'nsys profile --gpu-metrics-devices=all' (until 2023: --gpu-metrics-device=all)."
        )
    elif samples.tensor_source == "none" and skipped:
        found.append(
            "Nsight Systems skipped the tensor counter that was asked for: this GPU or its driver does not offer it. "
            "Tensor Active is unknown."
        )
    elif samples.tensor_source == "none":
        found.append(
            "The recording's metric set has no Tensor Active. Record with 'tcprof profile SCRIPT', or with nsys's "
            "general metric set for the GPU."
        )
    elif samples.tensor_source == "rounded":
        exact = "'tcprof profile' records exact tensor cycles where the installed nsys can."
        if skipped:
            exact = "Exact tensor cycles were asked for, but skipped: this GPU or its driver does not offer them."
        found.append(
            "Rounded samples: Nsight Systems gives whole percentages, and 1 for anything above 0, so small means are "
            f"too high. {exact}"
        )
    if samples.shared_pipe:
        found.append("On this GPU the counter also counts half-precision arithmetic that is not on Tensor Cores.")
    sampled = ranges["tensor_active_mean_pct"].notna() | (ranges["coverage_pct"] < 50)
    thin = int((ranges["coverage_pct"][sampled] < 50).sum()) if len(samples.frame) else 0
    if thin:
        found.append(f"{thin} of {len(ranges)} rows have no figures: under half of their window was sampled.")
    return found


def _about_clocks(clocks: pd.DataFrame) -> list[str]:
    """Samples that were moved to the time that they show."""
    moved = clocks[clocks["shift_ns"] != 0]
    return [
        f"GPU {gpu}: samples are stamped {units.format_ns(abs(shift))} {'later' if shift > 0 else 'earlier'} than the "
        "kernels that they show, by GR Active; they were moved by that before any figure was taken."
        for gpu, shift in zip(moved["gpu"], moved["shift_ns"], strict=True)
    ]


def _about_diagnostics(diagnostics: pd.DataFrame) -> list[str]:
    """Errors and warnings of nsys, without the faults, and without those that most recordings have."""
    serious = diagnostics[diagnostics["severity"].isin(["warning", "error"])]
    texts = [text for text in serious["text"].map(str).unique() if not (_ROUTINE.search(text) or is_fault(text))]
    found = [f"Nsight Systems: {text}" for text in texts[:_SHOWN]]
    if len(texts) > _SHOWN:
        found.append(f"Nsight Systems: {len(texts) - _SHOWN} more warnings in the report's diagnostics.")
    return found


def _about_graphs(activities: pd.DataFrame) -> list[str]:
    """CUDA graphs that were recorded as a whole, and how much of the time they hide."""
    is_graph = (activities["kind"] == "graph").to_numpy()
    if not is_graph.any():
        return []
    gpu, start, end = (activities[name].to_numpy() for name in ("gpu", "start_ns", "end_ns"))
    hidden, busy = (_length_of_union(gpu[rows], start[rows], end[rows]) for rows in (is_graph, slice(None)))
    return [
        f"CUDA graphs recorded as a whole hide {units.format_pct(100 * hidden / max(busy, 1))} of the GPU's busy time: "
        "which kernels ran in them, and which of these used the Tensor Cores, is unknown. Record with 'tcprof profile "
        "--cuda-graph-trace node', or with 'nsys profile --cuda-graph-trace=node'."
    ]


def _length_of_union(group: Ints, start: Ints, end: Ints) -> int:
    """Time under at least one of the intervals of each group."""
    _, first, last = union(group, start, end)
    return int((last - first).sum())


def _about_activities(hierarchy: Hierarchy, activities: pd.DataFrame, attribution: Attribution) -> list[str]:
    """Absent kernels and ranges, and GPU time that belongs to no range."""
    absent = []
    if not activities["kind"].isin(KERNEL_KINDS).any():
        what = "no kernels, only copies and sets" if len(activities) else "no kernels"
        absent.append(
            f"The recording has {what}: record with --trace=cuda,nvtx, and check that the program used a GPU."
        )
    if len(activities) and not len(hierarchy.ranges):
        return [*absent, "The recording has no NVTX ranges: only the whole capture can be shown."]
    return absent + (_about_attribution(activities, attribution) if len(activities) else [])


def _about_attribution(activities: pd.DataFrame, attribution: Attribution) -> list[str]:
    """GPU time that belongs to no range, and activities that another thread launched."""
    duration = (activities["end_ns"] - activities["start_ns"]).to_numpy()
    found = []
    codes = attribution.cause.codes
    shares = 100 * np.bincount(codes, duration, minlength=len(CAUSES)) / max(int(duration.sum()), 1)
    counts = np.bincount(codes, minlength=len(CAUSES))
    for code in np.argsort(-shares, kind="stable").tolist():
        if CAUSES[code] and shares[code] >= 1:
            found.append(
                f"{units.format_pct(shares[code])} of the GPU's activity time ({units.format_count(counts[code])} "
                f"activities) belongs to no range: {CAUSES[code]}. To fix this: {REMEDIES[CAUSES[code]]}."
            )
    is_inherited = np.zeros(len(activities), dtype=bool)
    is_inherited[attribution.activity[attribution.inherited]] = True
    if is_inherited.any():
        found.append(
            f"{units.format_count(is_inherited.sum())} of {units.format_count(len(activities))} activities were "
            "launched by threads without a range (PyTorch's backward pass) and are counted for the range open in their "
            "process."
        )
    return found
