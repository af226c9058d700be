"""The analysis of one recording: all that a table, a page or a comparison needs, and nothing private of a machine."""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.folding import fold_kernels
from tcprof.analysis.kernels.launch_rates import rate_launches
from tcprof.analysis.kernels.untraced import find_hardly_traced, hide_idle
from tcprof.analysis.observed import Marks, Observed, observe, take_fingerprint
from tcprof.analysis.ranges import summary
from tcprof.analysis.ranges.captured import CapturedNodes, find_captured_nodes
from tcprof.analysis.ranges.instances import Evidence, Work, busy_time, instance_windows, list_instances
from tcprof.analysis.ranges.projection import (
    Attribution,
    Hierarchy,
    attribute,
    build_hierarchy,
    list_remedies,
    ranges_of_activities,
)
from tcprof.analysis.samples.clock import align_samples, check_clocks
from tcprof.analysis.samples.sampling import tensor_functions
from tcprof.analysis.steps.called_models import join_called_models
from tcprof.analysis.steps.counted_steps import count_steps
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER, add_to_ranges, find_detected_steps
from tcprof.analysis.steps.marked_steps import (
    are_layers,
    find_iterating_paths,
    hold_most,
    mark_left_out,
    set_outside_steps,
)
from tcprof.analysis.steps.step_summary import summarize_kinds, summarize_steps
from tcprof.arrays import Ints, return_freed_memory
from tcprof.frames import (
    GPUS,
    INSTANCES,
    KERNEL_INSTANCES,
    KERNELS,
    LEDGER,
    MODULES,
    RANGES,
    SAMPLE_METRICS,
    TIMELINE,
    WORK,
    python_string_storage,
)
from tcprof.frames.schema import Deferred, Frame
from tcprof.sources import Recording, Samples, Source

if TYPE_CHECKING:
    from tcprof.analysis.kernels.launches import KernelFit

WINDOWS = ("host", "gpu", "busy")
# What a fit needs beside Tensor Active, for the SM clock and for what bounds a kernel: else the verdict on a recording
# would depend on the metrics that a command shows.
_FOR_FIT = ("pipe_cycles", "sm_active_pct", "sm_issue_pct", "dram_read_pct", "dram_write_pct", "l2_cycles", *WORK)
_OF_FIT = (KERNEL_INSTANCES, KERNELS, TIMELINE, LEDGER, MODULES)
_AS_READ = ("tensor_source", "recording", "activities", "api_calls", "waits", "clocks")
MOST_GPUS = 16  # more than a machine has today: those with advice, and with figures, a timeline and tables on a page
_KEYS = {"activity": "activities", "kernel": "kernels", "step": "steps", "module": "modules"}  # of launches


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Analysis:
    """One recording, analyzed; frames are called as in ``tcprof.frames``.

    Figures per path and step are without warm-up and slow steps, those per step of the first role; figures of the
    whole capture and of ranges around the steps have all. ``instances`` and ``steps`` hold and mark all.
    """

    recording: Recording
    window: str  # the windows that figures from samples are taken over: host, gpu or busy
    options: Mapping[str, Any]  # what it was made with: see ``analyze``
    tensor_source: str  # where Tensor Active comes from: cycles, rounded or none
    gpus: Frame = Frame()
    samples: Frame = Frame()
    # As they were recorded, in the order in which ``instances``, ``steps`` and ``kernel_instances`` number them;
    # after them the steps from the kernels' order, if there are any.
    nvtx_ranges: Frame = Frame()
    ranges: Frame = Frame()  # one row for each GPU and path
    instances: Frame = Frame()
    # Of the path that iterates; where none does, what repeats in the order of the kernels; empty where nothing does.
    steps: Frame = Frame()
    kinds: Frame = Frame()  # their roles; figures are over the first of each GPU
    paths: Frame = Frame()
    activities: Frame = Frame()
    api_calls: Frame = Frame()
    waits: Frame = Frame()
    # These, and the time line and the ledger, are empty where the kernels were not fitted.
    kernel_instances: Frame = Frame()
    kernels: Frame = Frame()
    kernels_by_path: Frame = Frame()  # with a row for each path as well
    modules: Frame = Frame()  # empty where no range names one
    timeline: Frame = Frame()
    ledger: Frame = Frame()
    clocks: Frame = Frame()
    outside: Frame = Frame()
    step_summary: Frame = Frame()  # one row for each GPU with steps, without warm-up and slow ones
    observed: Observed

    @cached_property
    def fingerprint(self) -> Marks:
        """Marks that copies of the recording share, and no other run has."""
        return take_fingerprint(self.samples if self.activities.empty else self.activities)

    def counted_steps(self, gpu: int) -> pd.DataFrame:
        """Return the steps of a GPU that figures are over."""
        return self.steps[(self.steps["gpu"] == gpu) & self.steps["counted"]]

    def whole_capture(self, gpu: int) -> pd.DataFrame:
        """Return the row of ``ranges`` for all of a GPU's capture; empty where it has none."""
        return self.ranges[(self.ranges["gpu"] == gpu) & (self.ranges["depth"] == 0)]

    def is_busy_known(self, gpu: int) -> bool:
        """Tell whether the trace shows the work of a GPU, so that the rest of its time is idle time."""
        return bool(self.whole_capture(gpu)["busy_ns"].notna().any())

    def column(self, frame: str, name: str) -> npt.NDArray[Any]:
        """Return a column of one of the frames above; of a saved analysis it reads no other."""
        stored = vars(self)[frame]
        if isinstance(stored, Deferred) and stored.column:
            return stored.column(name)
        values: npt.NDArray[Any] = getattr(self, frame)[name].to_numpy()
        return values

    def replace(self, **changes: Any) -> "Analysis":
        """Copy it with other fields; what is ``Deferred`` stays so, as it would not with ``dataclasses.replace``."""
        stored = {one.name: vars(self)[one.name] for one in fields(self)}
        return Analysis(**(stored | changes))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "kernels_by_path": self.kernels_by_path}  # what makes them cannot be pickled

    @property
    def unprofiled(self) -> pd.DataFrame:
        """Return the steps of an unprofiled run, see ``tcprof.frames.UNPROFILED``; empty where there was none."""
        return self.observed.unprofiled

    @property
    def driver_log(self) -> pd.DataFrame:
        """Return what the driver said of the GPUs, see ``tcprof.frames.DRIVER_LOG``; empty if it was not asked."""
        return self.observed.driver_log


@python_string_storage()
def analyze(
    source: Source,
    window: str = "gpu",
    metrics: Iterable[str] = SAMPLE_METRICS,
    kernels: bool = True,
    warm_up: int | str | None = None,
    step: str | None = None,
    peak_tflops: float | None = None,
) -> Analysis:
    """Compute Tensor Active per range, per kernel and for the whole capture; ``tcprof.read`` has the options."""
    options: dict[str, Any] = {"metrics": sorted({*metrics}), "kernels": kernels, "warm_up": warm_up}
    recorded = _read(source, options["metrics"], kernels)
    activities, samples, duration_ns = recorded.activities, recorded.samples.frame, recorded.recording.duration_ns
    gpus, used = list_gpus(source.gpus(), samples, activities)
    placed, instances, work, chosen = _place(recorded, used, step)
    hierarchy, attribution, fit = placed.hierarchy, placed.attribution, _fit(placed, gpus) if kernels else None
    tensor = tensor_functions(samples, rate_launches(activities, fit))
    windows = instance_windows(instances, work, window)
    instances = summary.measure_instances(instances, windows, tensor)
    calls = recorded.api_calls, recorded.setup_calls
    steps, step_of = count_steps(instances, hierarchy, attribution, activities, samples, *calls, chosen, warm_up)
    instances = mark_left_out(instances, steps)
    attribution = set_outside_steps(attribution, activities, instances, steps)
    parts = [summary.summarize_capture(used, activities, attribution, samples, duration_ns, tensor)]
    parts.append(summary.summarize_paths(instances, windows, work, hierarchy.paths, tensor, recorded.samples))
    kinds = summarize_kinds(steps, instances, activities, tensor)
    frames = {"steps": steps, "step_summary": summarize_steps(steps, activities, tensor, recorded.samples)}
    frames["outside"] = summary.measure_outside(used, activities, samples, duration_ns, tensor)
    del tensor  # as large as the samples
    of_ranges = hierarchy, attribution, instances, work, list_remedies(recorded.recording.remedies.launches)
    evidence = Evidence(activities, samples, gpus, *of_ranges, peak_tflops, window, recorded.captured)
    frames |= _account(evidence, fit, parts, steps, step_of, kinds)
    frames |= hide_idle(frames, find_hardly_traced(samples, activities))
    return Analysis(
        window=window,
        options={**options, "step": step, "peak_tflops": peak_tflops},
        **{"nvtx_ranges": hierarchy.ranges, "gpus": gpus, "samples": samples, "paths": hierarchy.paths, **frames},
        **{name: getattr(recorded, name) for name in _AS_READ},
        observed=_observe(source, recorded, attribution),
    )


def _observe(source: Source, recorded: "_Recorded", attribution: Attribution) -> Observed:
    read = recorded.recording, recorded.samples, recorded.hierarchy, recorded.kernel_count
    return observe(source, *read, recorded.activities, attribution)


@dataclass(frozen=True)
class _Recorded:
    """What is in a recording: its activities attributed to its ranges, its samples on the clock of the trace."""

    recording: Recording
    api_calls: pd.DataFrame
    waits: pd.DataFrame
    setup_calls: pd.DataFrame
    activities: pd.DataFrame
    kernel_count: int
    hierarchy: Hierarchy
    attribution: Attribution
    captured: CapturedNodes | None
    samples: Samples
    clocks: pd.DataFrame

    @property
    def tensor_source(self) -> str:
        """Return where Tensor Active comes from."""
        return self.samples.tensor_source


def _read(source: Source, metrics: Iterable[str], kernels: bool) -> _Recorded:
    metrics = {*metrics, "gr_active_pct", *(_FOR_FIT if kernels else ())}
    with ThreadPoolExecutor() as pool:  # reading is most of the work, and it waits for SQLite
        read_samples, read_launches = pool.submit(source.samples, metrics), pool.submit(source.api_calls)
        read_waits, read_setup = pool.submit(source.waits), pool.submit(source.setup_calls)
        recording, (activities, kernel_count) = source.recording(), fold_kernels(source.activities())
        launches, waits = read_launches.result(), read_waits.result()
        hierarchy = build_hierarchy(join_called_models(source.ranges(), launches, activities))
        attribution = attribute(hierarchy, launches, activities, source.marks())
        captured = find_captured_nodes(source, hierarchy, activities)
        samples = read_samples.result()
    clocks = check_clocks(activities, samples.frame)
    samples = replace(samples, frame=align_samples(samples.frame, clocks))
    return_freed_memory()
    setup = read_setup.result()
    of_program = launches, waits, setup, activities, kernel_count, hierarchy, attribution, captured
    return _Recorded(recording, *of_program, samples, clocks)


def _place(
    recorded: _Recorded, gpus: list[int], step: str | None
) -> tuple[_Recorded, pd.DataFrame, Work, str | list[int]]:
    """Attribute activities to ranges, and find what iterates, see ``find_marked_steps``."""
    hierarchy, attribution, activities = recorded.hierarchy, recorded.attribution, recorded.activities
    instances, work = list_instances(hierarchy, attribution, activities, gpus)
    if step not in (None, KERNEL_ORDER):
        return recorded, instances, work, step
    chosen = [] if step else find_iterating_paths(instances, hierarchy.paths, activities)
    is_known = chosen and hold_most(chosen, instances, hierarchy.paths, activities)
    ordered = None if is_known else find_detected_steps(recorded.api_calls, activities, recorded.waits)
    if ordered is None or are_layers(len(ordered.ranges), instances, hierarchy.paths):
        return recorded, instances, work, step or chosen
    wider, attribution = add_to_ranges(ordered, hierarchy, attribution)
    instances, work = list_instances(wider, attribution, activities, gpus)
    placed = replace(recorded, hierarchy=wider, attribution=attribution)
    return placed, ordered.set_windows(instances, len(hierarchy.ranges)), work, KERNEL_ORDER


def _fit(placed: _Recorded, gpus: pd.DataFrame) -> "KernelFit":
    from tcprof.analysis.kernels.launches import fit_kernels  # here, since what needs no fit should not wait for it

    activities = placed.activities
    path_id = np.append(placed.hierarchy.path_id, -1)[ranges_of_activities(placed.attribution, len(activities))]
    return_freed_memory()
    return fit_kernels(activities, path_id, placed.samples.frame, gpus, placed.clocks)


def _account(
    evidence: Evidence,
    fit: "KernelFit | None",
    parts: list[pd.DataFrame],
    steps: pd.DataFrame,
    step_of: Ints,
    kinds: pd.DataFrame,
) -> dict[str, Any]:
    return_freed_memory()
    ranges = pd.concat([part for part in parts if len(part)])  # of each GPU the capture, then the paths
    ranges, instances = ranges.sort_values("gpu", kind="stable", ignore_index=True), evidence.instances
    busy = busy_time(instances, evidence.work, np.arange(len(instances)), len(instances))
    instances = instances.assign(busy_ns=np.where(instances["activity_count"] > 0, busy, np.nan))
    account: dict[str, Any] = {schema.name: schema.empty() for schema in _OF_FIT}
    account |= {"kernels_by_path": KERNELS.empty(), "kinds": kinds}
    if fit is not None:
        from tcprof.analysis.accounting import summarize_fit  # here, since what needs no fit should not wait
        from tcprof.analysis.time.range_metrics import add_rates

        account = summarize_fit(evidence, fit, steps, step_of, kinds)
        return_freed_memory()
        ranges, instances = add_rates(ranges, instances, account["kernel_instances"], account["kernels"], evidence)
    return {"ranges": RANGES.conform(ranges), "instances": INSTANCES.conform(instances), **account}


def list_gpus(gpus: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """List the GPUs with samples or activities, or at least the first; and their numbers.

    An export names all GPUs of its machine, though only some may have been recorded.
    """
    used = {*samples["gpu"].unique(), *activities["gpu"].unique()}
    unnamed = sorted(used - set(gpus["gpu"]))
    rows = pd.DataFrame({"gpu": unnamed, "name": [f"GPU {gpu}" for gpu in unnamed], "chip": ""})
    gpus = GPUS.concat([gpus, GPUS.conform(rows)])
    gpus = (gpus[gpus["gpu"].isin(used)] if used else gpus[:1]).reset_index(drop=True)
    return gpus, gpus["gpu"].tolist() or [0]


def busiest_gpus(analysis: Analysis, most: int) -> list[int]:
    """Return the GPUs that worked longest, in order of their number."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0]
    chosen = captures.sort_values("busy_ns", ascending=False, kind="stable")["gpu"].head(most)
    return sorted(chosen.tolist())


def keep_gpus(analysis: Analysis, gpus: Collection[int]) -> Analysis:
    """Remove all other GPUs from an analysis; facts of the recording as a whole stay."""
    masks = {
        field.name: frame["gpu"].isin(gpus).to_numpy()
        for field in fields(Analysis)
        if field.name != "kernels_by_path"
        and isinstance(frame := getattr(analysis, field.name), pd.DataFrame)
        and "gpu" in frame.columns
    }
    frames: dict[str, Any] = {
        name: getattr(analysis, name)[rows].reset_index(drop=True) for name, rows in masks.items()
    }
    launched = frames["kernel_instances"]
    # New row numbers; -1, for none, stays.
    keys = {key: np.append(np.cumsum(masks[name]) - 1, -1)[launched[key].to_numpy()] for key, name in _KEYS.items()}

    def find_kernels_by_path() -> pd.DataFrame:
        by_path = analysis.kernels_by_path
        return by_path[by_path["gpu"].isin(gpus)].reset_index(drop=True)

    frames |= {"kernel_instances": launched.assign(**keys), "kernels_by_path": Deferred(find_kernels_by_path)}
    return analysis.replace(**frames)
