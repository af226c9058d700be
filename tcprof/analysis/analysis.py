"""The analysis of one recording: all that a table, a page or a comparison needs, and nothing private of a machine."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis import caveats, faults, summary
from tcprof.analysis.account import NO_ACCOUNT, Evidence, add_rates, add_tensor_time, make_account
from tcprof.analysis.instances import busy_time, instance_windows, list_instances
from tcprof.analysis.iterations import find_iterations
from tcprof.analysis.projection import attribute, build_hierarchy
from tcprof.analysis.sampling import tensor_functions
from tcprof.frames import GPUS, INSTANCES, RANGE_SUMMARY, SAMPLE_METRICS
from tcprof.trace.trace import Recording, Trace

WINDOWS = ("host", "gpu", "busy")


@dataclass(frozen=True)
class Analysis:
    """One recording, analyzed.

    Attributes:
        recording: What is known about the recording.
        window: The windows that figures from samples are taken over: host, gpu or busy.
        tensor_source: Where Tensor Active comes from: cycles, rounded or none.
        gpus: See ``tcprof.frames.GPUS``.
        samples: See ``tcprof.frames.SAMPLES``.
        ranges: One row for each GPU and path, see ``tcprof.frames.RANGE_SUMMARY``.
        instances: One row for each instance of a range, see ``tcprof.frames.INSTANCES``.
        iterations: The instances of the path that iterates, see ``tcprof.frames.ITERATIONS``; empty where none does.
        paths: See ``tcprof.frames.PATHS``.
        activities: See ``tcprof.frames.ACTIVITIES``.
        launched: One row for each launch of a kernel, see ``tcprof.frames.LAUNCHED``; empty where the kernels were
            not fitted.
        kernels: One row for each GPU, kernel and launch geometry, see ``tcprof.frames.KERNELS``.
        kernels_by_path: The same, with a row for each path as well.
        timeline: Where the time went, see ``tcprof.frames.TIMELINE``; these too are empty without a fit.
        ledger: What the figures rest on, see ``tcprof.frames.LEDGER``.
        clocks: Whether samples and trace agree on the time, see ``tcprof.frames.CLOCKS``.
        faults: Why the figures cannot be trusted, with what to do: samples that were lost, are out of order or do not
            follow the kernels, and lost kernels; gravest first. Show them before any figure.
        warnings: What else a reader must know, most important first.
    """

    recording: Recording
    window: str
    tensor_source: str
    gpus: pd.DataFrame
    samples: pd.DataFrame
    ranges: pd.DataFrame
    instances: pd.DataFrame
    iterations: pd.DataFrame
    paths: pd.DataFrame
    activities: pd.DataFrame
    launched: pd.DataFrame
    kernels: pd.DataFrame
    kernels_by_path: pd.DataFrame
    timeline: pd.DataFrame
    ledger: pd.DataFrame
    clocks: pd.DataFrame
    faults: tuple[str, ...]
    warnings: tuple[str, ...]

    def figure_timeline(self) -> Any:
        """Samples over lanes of ranges, as a plotly figure."""
        return _report("figures.figures").figure_timeline(self)

    def _repr_html_(self) -> str:
        return str(_report("notebook").render_analysis(self))


def _report(module: str) -> Any:
    """A module of the room above, which a notebook reaches through an analysis; nothing here depends on it."""
    return import_module(f"tcprof.report.{module}")


def analyze(
    trace: Trace, window: str = "gpu", metrics: Iterable[str] = SAMPLE_METRICS, kernels: bool = True
) -> Analysis:
    """Compute Tensor Active per range, per kernel and for the whole capture.

    Args:
        trace: The recording.
        window: ``host`` is the range as on the CPU time line; ``gpu`` reaches from its first activity's start to its
            last one's end; ``busy`` is the time under at least one of its activities.
        metrics: Columns of the samples to read. The ranges need only ``tensor_active_pct``; large recordings are read
            faster without the others. The fit adds what it needs, the clock check too.
        kernels: Whether to fit the kernels.
    """
    if kernels:
        metrics = {*metrics, "pipe_cycles", "gr_active_pct"}
    with ThreadPoolExecutor() as pool:  # reading is most of the work, and it waits for SQLite
        read_samples, read_launches = pool.submit(trace.samples, metrics), pool.submit(trace.launches)
        recording, activities = trace.recording(), trace.activities(geometry=kernels)
        hierarchy = build_hierarchy(trace.ranges())
        attribution = attribute(hierarchy, read_launches.result(), activities)
        samples = read_samples.result()
    gpus = _all_gpus(trace.gpus(), samples.frame, activities)
    used = _recorded_gpus(gpus, samples.frame, activities)
    counted, work = list_instances(hierarchy, attribution, activities, used)
    evidence = Evidence(activities, samples.frame, gpus, hierarchy, attribution, counted, work)
    instances, ranges = _measure(evidence, used, recording.duration_ns, window, samples.tensor_source == "rounded")
    account = make_account(evidence) if kernels else NO_ACCOUNT
    diagnostics = trace.diagnostics()
    return Analysis(
        recording=recording,
        window=window,
        tensor_source=samples.tensor_source,
        gpus=gpus,
        samples=samples.frame,
        ranges=add_rates(ranges, account, evidence) if kernels else ranges,
        instances=add_tensor_time(instances, account, evidence) if kernels else instances,
        iterations=find_iterations(instances, hierarchy.paths, activities),
        paths=hierarchy.paths,
        activities=activities,
        **vars(account),
        faults=faults.list_faults(recording, samples, activities, account.clocks, diagnostics, trace.lost_launches),
        warnings=caveats.list_caveats(recording, samples, hierarchy, activities, attribution, ranges, diagnostics),
    )


def _measure(
    evidence: Evidence, gpus: list[int], duration_ns: float, window: str, rounded: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Instances, and the range summary, from samples and counts."""
    functions = tensor_functions(evidence.samples)
    windows = instance_windows(evidence.instances, evidence.work, window)
    instances = summary.measure_instances(evidence.instances, windows, functions)
    per_path = summary.summarize_paths(instances, windows, evidence.work, evidence.hierarchy.paths, functions, rounded)
    capture = summary.summarize_capture(
        gpus, evidence.activities, evidence.attribution, evidence.samples, duration_ns, functions
    )
    ranges = RANGE_SUMMARY.concat([capture, per_path]).sort_values("gpu", kind="stable", ignore_index=True)
    each = np.arange(len(instances))
    busy = busy_time(evidence.instances, evidence.work, each, len(instances))
    instances = instances.assign(busy_ns=np.where(instances["activity_count"] > 0, busy, np.nan))
    return INSTANCES.conform(instances), ranges


def _all_gpus(named: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """The GPUs that the export names, and those that only samples or activities speak of."""
    others = sorted({*samples["gpu"].unique(), *activities["gpu"].unique()} - set(named["gpu"]))
    unnamed = pd.DataFrame({"gpu": others, "name": [f"GPU {gpu}" for gpu in others], "chip": ""})
    return GPUS.concat([named, GPUS.conform(unnamed)])


def _recorded_gpus(gpus: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> list[int]:
    """The GPUs that were sampled or used; where there are none, the first one, so that something can be shown."""
    recorded = {*samples["gpu"].unique(), *activities["gpu"].unique()}
    return [gpu for gpu in gpus["gpu"] if gpu in recorded] or gpus["gpu"].tolist()[:1] or [0]
