"""The analysis of one recording: all that a table, a page or a comparison needs, and nothing private of a machine."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tcprof.analysis.fingerprint import Marks, take_fingerprint
from tcprof.analysis.gpus import list_gpus
from tcprof.analysis.kernels.launch_rates import rate_launches
from tcprof.analysis.observed import Observed, observe
from tcprof.analysis.ranges import summary
from tcprof.analysis.ranges.instances import Work, busy_time, instance_windows, list_instances
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, attribute, build_hierarchy
from tcprof.analysis.samples.clock import align_samples, check_clocks
from tcprof.analysis.samples.sampling import Tensor, Windows, tensor_functions, without_errors
from tcprof.analysis.steps.inferred_steps import KERNEL_ORDER, add_to_ranges, find_ordered_iterations
from tcprof.analysis.steps.iterations import find_iterating_paths, find_iterations
from tcprof.analysis.steps.warm_up import choose_warm_up, find_left_out
from tcprof.analysis.time.account import NO_ACCOUNT, Account, Evidence, add_iterations, make_account
from tcprof.frames import INSTANCES, MODULES, RANGES, SAMPLE_METRICS, WORK, plain_texts
from tcprof.memory import return_freed_memory
from tcprof.sources import Recording, Samples, Source

if TYPE_CHECKING:
    from tcprof.analysis.kernels.launches import KernelFit

WINDOWS = ("host", "gpu", "busy")
# What a fit needs beside Tensor Active, for the SM clock and for what bounds a kernel: else the verdict on a recording
# would depend on the metrics that a command shows.
_OF_FIT = ("pipe_cycles", "sm_active_pct", "sm_issue_pct", "dram_read_pct", "dram_write_pct", "l2_cycles", *WORK)


@dataclass(frozen=True, repr=False, eq=False)
class Analysis:
    """One recording, analyzed.

    Figures per path, iteration and step are without warm-up; those of the whole capture and of ranges around the
    iterations have it. ``instances`` and ``iterations`` hold all, with a column that marks warm-up.

    Attributes:
        recording: What is known about the recording.
        window: The windows that figures from samples are taken over: host, gpu or busy.
        tensor_source: Where Tensor Active comes from: cycles, rounded or none.
        gpus: See ``tcprof.frames.GPUS``.
        samples: See ``tcprof.frames.SAMPLES``.
        nvtx_ranges: The NVTX ranges as they were recorded, see ``tcprof.frames.NVTX_RANGES``, in the order in which
            ``instances``, ``iterations`` and ``launched`` number them; after them the iterations from the kernels'
            order, if there are any.
        ranges: One row for each GPU and path, see ``tcprof.frames.RANGES``.
        instances: One row for each instance of a range, see ``tcprof.frames.INSTANCES``.
        iterations: The instances of the path that iterates, see ``tcprof.frames.ITERATIONS``; where none does, what
            repeats in the order of the kernels; empty where nothing does.
        paths: See ``tcprof.frames.PATHS``.
        activities: See ``tcprof.frames.ACTIVITIES``.
        api_calls: The API calls that started them, see ``tcprof.frames.API_CALLS``.
        waits: The API calls that waited for a GPU, see ``tcprof.frames.WAITS``.
        kernel_instances: One row for each launch of a kernel, see ``tcprof.frames.KERNEL_INSTANCES``; empty where
            the kernels were not fitted.
        kernels: One row for each GPU, kernel and launch geometry, see ``tcprof.frames.KERNELS``.
        split_by_path: Makes ``kernels_by_path``, which few ask for.
        modules: One row for each GPU, module and phase, see ``tcprof.frames.MODULES``; empty where no range names one.
        timeline: Where the time went, see ``tcprof.frames.TIMELINE``; these too are empty without a fit.
        ledger: What the figures rest on, see ``tcprof.frames.LEDGER``.
        clocks: Whether samples and trace agree on the time, see ``tcprof.frames.CLOCKS``.
        outside: What was sampled outside of the whole capture, see ``tcprof.frames.OUTSIDE``.
        tensor: What the tensor pipes of each GPU did, as functions of time: samples shared among their launches.
        observed: What was noticed beside the frames; ``tcprof.findings`` judges it.
    """

    recording: Recording
    window: str
    tensor_source: str
    gpus: pd.DataFrame
    samples: pd.DataFrame
    nvtx_ranges: pd.DataFrame
    ranges: pd.DataFrame
    instances: pd.DataFrame
    iterations: pd.DataFrame
    paths: pd.DataFrame
    activities: pd.DataFrame
    api_calls: pd.DataFrame
    waits: pd.DataFrame
    kernel_instances: pd.DataFrame
    kernels: pd.DataFrame
    split_by_path: Callable[[], pd.DataFrame]
    modules: pd.DataFrame
    timeline: pd.DataFrame
    ledger: pd.DataFrame
    clocks: pd.DataFrame
    outside: pd.DataFrame
    tensor: Mapping[int, Tensor]
    observed: Observed

    @cached_property
    @plain_texts()
    def kernels_by_path(self) -> pd.DataFrame:
        """The kernels, with a row for each path as well."""
        return self.split_by_path()

    @cached_property
    def fingerprint(self) -> Marks:
        """What copies of the recording have in common, and no other run has."""
        return take_fingerprint(self.samples if self.activities.empty else self.activities)

    @property
    def unprofiled(self) -> pd.DataFrame:
        """The steps of a run without a profiler, see ``tcprof.frames.UNPROFILED``; empty where there was none."""
        return self.observed.unprofiled


@plain_texts()
def analyze(
    source: Source,
    window: str = "gpu",
    metrics: Iterable[str] = SAMPLE_METRICS,
    kernels: bool = True,
    warm_up: int | str | None = None,
    iteration: str | None = None,
    peak_tflops: float | None = None,
) -> Analysis:
    """Compute Tensor Active per range, per kernel and for the whole capture.

    Args:
        window: ``host`` is the range as on the CPU time line; ``gpu`` reaches from its first activity's start to its
            last one's end; ``busy`` is the time under at least one of its activities.
        metrics: Columns of the samples to read. The ranges need only ``tensor_active_pct``; large recordings are read
            faster without the others. The fit adds what it needs, the clock check too.
        warm_up: How many first iterations are warm-up, or ``all`` to count all; None: those that are found to be.
        iteration: The range that iterates, see ``find_iterations``, or ``steps.inferred_steps.KERNEL_ORDER``; None: the
            one that is found.
        peak_tflops: The peak in 10^12 FLOP/s that FLOP are held against; None for the dense one of each kernel's
            precision.

    Raises:
        UsageError: There is no such warm-up, or no such range.
    """
    recorded = _read(source, metrics, kernels)
    activities, samples = recorded.activities, recorded.samples
    gpus, used = list_gpus(source.gpus(), samples.frame, activities)
    hierarchy, attribution, instances, work, chosen = _place(source, recorded, used, iteration)
    found = _fit(recorded, hierarchy, attribution, gpus) if kernels else None
    tensor = tensor_functions(samples.frame, rate_launches(activities, found))
    return_freed_memory()
    windows = instance_windows(instances, work, window)
    instances = summary.measure_instances(instances, windows, tensor)
    iterations = choose_warm_up(find_iterations(instances, hierarchy.paths, activities, chosen), warm_up)
    instances = instances.assign(warm_up=find_left_out(instances, iterations))
    evidence = Evidence(activities, samples.frame, gpus, hierarchy, attribution, instances, work, peak_tflops, window)
    ranges, tensor = _summarize(evidence, windows, tensor, used, recorded.recording.duration_ns, samples.tensor_source)
    ranges, instances, account, modules = _account(evidence, found, ranges, iterations)
    return Analysis(
        window=window,
        tensor_source=samples.tensor_source,
        gpus=gpus,
        samples=samples.frame,
        nvtx_ranges=hierarchy.ranges,
        paths=hierarchy.paths,
        ranges=ranges,
        instances=instances,
        iterations=iterations,
        **recorded.frames,
        **vars(account),
        modules=modules,
        outside=summary.measure_outside(used, activities, samples.frame, recorded.recording.duration_ns, tensor),
        tensor=tensor,
        observed=observe(source, samples, recorded.hierarchy, activities, recorded.attribution),
    )


@dataclass(frozen=True)
class _Recorded:
    """What is in a recording: its activities attributed to its ranges, its samples on the clock of the trace."""

    recording: Recording
    api_calls: pd.DataFrame
    waits: pd.DataFrame
    activities: pd.DataFrame
    hierarchy: Hierarchy
    attribution: Attribution
    samples: Samples
    clocks: pd.DataFrame
    has_geometry: bool

    @property
    def frames(self) -> dict[str, Any]:
        """What an analysis has of it as it was read."""
        return {name: getattr(self, name) for name in ("recording", "activities", "api_calls", "waits", "clocks")}


def _read(source: Source, metrics: Iterable[str], kernels: bool) -> _Recorded:
    """What is in a recording, with what a fit needs, if there is to be one."""
    metrics = {*metrics, "gr_active_pct", *(_OF_FIT if kernels else ())}
    with ThreadPoolExecutor() as pool:  # reading is most of the work, and it waits for SQLite
        read_samples, read_launches = pool.submit(source.samples, metrics), pool.submit(source.api_calls)
        read_waits = pool.submit(source.waits)
        recording, activities = source.recording(), source.activities(geometry=kernels)
        hierarchy = build_hierarchy(source.ranges())
        launches, waits = read_launches.result(), read_waits.result()
        attribution = attribute(hierarchy, launches, activities)
        samples = read_samples.result()
    clocks = check_clocks(activities, samples.frame)
    samples = replace(samples, frame=align_samples(samples.frame, clocks))
    return_freed_memory()
    return _Recorded(recording, launches, waits, activities, hierarchy, attribution, samples, clocks, kernels)


def _place(
    source: Source, recorded: _Recorded, gpus: list[int], iteration: str | None
) -> tuple[Hierarchy, Attribution, pd.DataFrame, Work, str | list[int]]:
    """The ranges with what belongs to them, and what iterates, see ``find_iterations``.

    Where no range iterates, the iterations from the kernels' order are among them.
    """
    hierarchy, attribution, activities = recorded.hierarchy, recorded.attribution, recorded.activities
    instances, work = list_instances(hierarchy, attribution, activities, gpus)
    if iteration not in (None, KERNEL_ORDER):
        return hierarchy, attribution, instances, work, iteration
    chosen = [] if iteration else find_iterating_paths(instances, hierarchy.paths, activities)
    with_geometry = activities if recorded.has_geometry or chosen else source.activities(geometry=True)
    found = None if chosen else find_ordered_iterations(recorded.api_calls, with_geometry)
    if found is None:
        return hierarchy, attribution, instances, work, iteration or chosen
    hierarchy, attribution = add_to_ranges(found, hierarchy, attribution)
    instances, work = list_instances(hierarchy, attribution, activities, gpus)
    return hierarchy, attribution, found.set_windows(instances, len(recorded.hierarchy.ranges)), work, KERNEL_ORDER


def _fit(recorded: _Recorded, hierarchy: Hierarchy, attribution: Attribution, gpus: pd.DataFrame) -> "KernelFit":
    """The fit of all launches, each with its path and innermost range."""
    from tcprof.analysis.kernels.launches import fit_launches  # here, since what needs no fit should not wait for it

    return fit_launches(recorded.activities, hierarchy, attribution, recorded.samples.frame, gpus, recorded.clocks)


def _summarize(
    evidence: Evidence,
    windows: Windows,
    tensor: dict[int, Tensor],
    gpus: list[int],
    duration_ns: float,
    tensor_source: str,
) -> tuple[pd.DataFrame, dict[int, Tensor]]:
    """The range summary, from samples and counts: of each GPU the whole capture, then the paths.

    And the functions for means alone, which is all that is asked of them later.
    """
    per_path = summary.summarize_paths(
        evidence.instances, windows, evidence.work, evidence.hierarchy.paths, tensor, tensor_source == "rounded"
    )
    return_freed_memory()
    capture = summary.summarize_capture(
        gpus, evidence.activities, evidence.attribution, evidence.samples, duration_ns, tensor
    )
    ranges = RANGES.concat([capture, per_path]).sort_values("gpu", kind="stable", ignore_index=True)
    return ranges, without_errors(tensor)


def _account(
    evidence: Evidence, found: "KernelFit | None", ranges: pd.DataFrame, iterations: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, Account, pd.DataFrame]:
    """The ranges, the instances, the account of the time, and the modules; without a fit only what needs none."""
    return_freed_memory()
    instances = _with_busy_time(evidence)
    if found is None:
        return ranges, instances, NO_ACCOUNT, MODULES.empty()
    from tcprof.analysis.flop.launches import add_useful_flop  # here, since what needs no fit should not wait
    from tcprof.analysis.modules.assignment import find_homes
    from tcprof.analysis.modules.summary import summarize_modules
    from tcprof.analysis.time.mfu import add_useful_sums
    from tcprof.analysis.time.range_metrics import add_rates

    return_freed_memory()
    homes = find_homes(evidence.hierarchy, evidence.attribution, len(evidence.activities))
    account = add_useful_flop(make_account(evidence, found), evidence, homes)
    return_freed_memory()
    account = add_iterations(account, evidence, iterations)
    modules, of_launch = summarize_modules(found, account, evidence, iterations, homes)
    account = replace(account, kernel_instances=account.kernel_instances.assign(module=of_launch))
    return_freed_memory()
    ranges, instances = add_rates(ranges, instances, account, evidence)
    return *add_useful_sums(ranges, instances, account, evidence), account, modules


def _with_busy_time(evidence: Evidence) -> pd.DataFrame:
    """The instances with the time under their work."""
    instances = evidence.instances
    busy = busy_time(instances, evidence.work, np.arange(len(instances)), len(instances))
    return INSTANCES.conform(instances.assign(busy_ns=np.where(instances["activity_count"] > 0, busy, np.nan)))
