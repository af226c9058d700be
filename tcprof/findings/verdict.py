"""The verdict: whether the Tensor Cores worked, and what had the time in which they did not."""

import math
from collections.abc import Mapping

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.verdicts import COUNTER_ONLY, could_be_tensor
from tcprof.analysis.steps.detected_steps import KERNEL_ORDER
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.findings.finding import WINDOW_NAMES, class_in_sentence, has_amd_gpu
from tcprof.findings.steps import (
    CPU_BOUND,
    LAUNCH_BOUND,
    MUCH_OUTSIDE_PCT,
    WAITING_PCT,
    StepFigures,
    are_graphs,
    describe_roles,
    find_bound,
    measure_cost,
)
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL
from tcprof.untrusted import one_line

_NOTABLE_PCT = 1.0
_MOST_OF = 0.5  # of the time of other kernels, from which one class is named, or two
OTHER_KERNELS = tuple(name for name in TIME_CLASSES if name not in ("tensor_kernel", "graph", "copy", "idle"))
_WAITS = {LAUNCH_BOUND: ": the run is launch-bound", CPU_BOUND: ": the run is CPU-bound"}
_SLOWED = ", partly due to profiling overhead"
Sentences = tuple[str, ...]


def judge_steps(
    analysis: Analysis, gpu: int, figures: StepFigures, is_idle_known: bool = True
) -> tuple[Sentences, Sentences]:
    """The verdict on the steps of a GPU: two or three sentences, and further ones that say more.

    All shares are of the steps' time, from each one's first activity on the GPU to that of the next: without what
    recording adds, if that was measured.
    """
    paced, step = figures.at_own_pace(), name_step(figures)
    first = describe_active(analysis, paced.tensor_active_pct, paced.coverage_pct, step)
    unit = step if math.isnan(paced.tensor_active_pct) else "the time"
    share = measure_shares(paced.time, paced.total_ns, paced.idle_pct)
    most = _largest_share(analysis, share, unit, is_idle_known, _idle_cause(analysis, figures) if is_idle_known else "")
    details = (*_list_launches(figures), *_list_shares(analysis, figures.time, share, step, is_idle_known))
    return (first, *most, *describe_roles(analysis, gpu), *describe_work_outside(figures)), details


def name_step(figures: StepFigures) -> str:
    """Name the step that the headline figures describe."""
    return "the unprofiled step" if figures.is_slowed else "the step"


def judge_capture(analysis: Analysis, row: pd.Series, is_idle_known: bool = True) -> tuple[Sentences, Sentences]:
    """The verdict on the whole capture, where no path iterates, by its row of the range summary."""
    gpu, mean = int(row["gpu"]), row[HEADLINE.name]
    unit = f"the {describe_span(row)}"
    first = describe_active(analysis, mean, row["coverage_pct"], unit)
    timeline = analysis.timeline[(analysis.timeline["gpu"] == gpu) & (analysis.timeline["depth"] == 0)]
    share = measure_shares(timeline, float(timeline["window_ns"].sum()))
    most = _largest_share(analysis, share, unit if math.isnan(mean) else "the time", is_idle_known)
    details = _list_shares(analysis, timeline, share, "that time", is_idle_known)
    return (first, *describe_unused(row), *most, *_sparse_steps(analysis, gpu)), (
        *details,
        *_highest_range(analysis, gpu),
    )


def _sparse_steps(analysis: Analysis, gpu: int) -> Sentences:
    """A sentence on detected steps that cover too little of the capture for figures to be of them."""
    steps = analysis.steps[(analysis.steps["gpu"] == gpu) & (analysis.steps["path"] == KERNEL_ORDER)]
    window_ns = float(analysis.whole_capture(gpu)["window_ns"].iloc[0])
    if steps.empty or not window_ns > 0:
        return ()
    share = units.format_pct(100 * float(steps["gpu_window_ns"].sum()) / window_ns)
    detected = units.format_things(len(steps), "detected step covers", "detected steps cover")
    return (f"All figures cover the whole capture: {detected} only {share} of it.",)


def describe_span(row: pd.Series) -> str:
    """The whole capture's length, and what it reaches from and to, by its row of the range summary."""
    length = units.format_ns(row["window_ns"])
    return f"{length} from the GPU's first activity to its last" if row["activity_count"] else f"{length} sampled"


def describe_unused(row: pd.Series) -> tuple[str, ...]:
    """A sentence on a GPU that was sampled and has no activity: its samples count the work of other programs."""
    is_used = row["activity_count"] or math.isnan(row[HEADLINE.name])
    return () if is_used else ("No traced work ran on it.",)


def describe_active(analysis: Analysis, mean_pct: float, coverage_pct: float, unit: str) -> str:
    """How busy the Tensor Cores were, or why that is not known."""
    if has_amd_gpu(analysis.gpus):
        return (
            "tcprof measures Tensor Cores and estimates savings for NVIDIA GPUs only; for this AMD GPU, it shows times."
        )
    if not math.isnan(mean_pct):
        return f"The Tensor Cores were busy {units.format_pct(mean_pct)} of {unit}."
    why = f"only {units.format_pct(coverage_pct)} of the time is covered by samples"
    if analysis.tensor_source == "none":
        why = "the recording has no samples of Tensor Active"
        why += "" if len(analysis.activities) else ", and no GPU work"
    return f"Whether the Tensor Cores worked is unknown: {why}."


def _idle_cause(analysis: Analysis, figures: StepFigures) -> str:
    waits = _WAITS.get(find_bound(figures), "")
    if waits:  # advice says, too, that the program may not wait in an unprofiled run
        return waits + _SLOWED * (measure_cost(analysis) is None)
    if figures.is_estimated and figures.unprofiled_idle_pct < WAITING_PCT <= figures.idle_pct:
        return f"; in an unprofiled run, about {units.format_pct(figures.unprofiled_idle_pct)} (estimated)"
    return ""


def _list_launches(figures: StepFigures) -> Sentences:
    """How many kernels a step launches, where that holds the GPU up."""
    if find_bound(figures) != LAUNCH_BOUND:
        return ()
    kernels = f"{units.format_count(figures.kernel_count)} kernels of {units.format_ns(figures.kernel_ns)}"
    calls = f" by {units.format_count(figures.launch_count)} calls" * (figures.launch_count < figures.kernel_count)
    return (f"A step launches {kernels}{calls} on average, which take longer to launch than to run.",)


def describe_work_outside(figures: StepFigures) -> Sentences:
    """A sentence on what the steps do not hold: where it is much, or the only tensor kernels."""
    may_be_tensor = figures.outside_tensor_pct + figures.outside_graph_pct
    lacks_tensor = not figures.tensor_kernel_share_pct > 0 and may_be_tensor >= _NOTABLE_PCT
    if not (figures.outside_pct >= MUCH_OUTSIDE_PCT or lacks_tensor):
        return ()
    shares = {
        "tensor kernels": figures.outside_tensor_pct,
        "CUDA graphs recorded as a whole": figures.outside_graph_pct,
    }
    among = ", ".join(f"{units.format_pct(share)} in {what}" for what, share in shares.items() if share > 0)
    outside = units.format_pct(figures.outside_pct)
    return (f"{outside} of the kernel time lies outside these steps{f' ({among})' * bool(among)}.",)


def _launches_in(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """The launches in rows of the time classes: those of steps, without warm-up, or of the whole capture."""
    launched, steps = analysis.kernel_instances, analysis.steps
    chosen = launched["gpu"] == rows["gpu"].iloc[0]
    if rows["depth"].iloc[0] > 0:
        chosen &= launched["step"].isin(steps.index[steps["counted"]])
    return launched[chosen]


def measure_shares(rows: pd.DataFrame, total_ns: float, idle_pct: float = math.nan) -> dict[str, float]:
    """The share of each time class in percent, from their rows; none where the time is not known."""
    if not (total_ns > 0 and len(rows)):
        return {}
    share = {name: 100 * float(rows[f"{name}_ns"].sum(skipna=False)) / total_ns for name in TIME_CLASSES}
    return share if math.isnan(idle_pct) else {**share, "idle": idle_pct}


def _largest_share(
    analysis: Analysis, share: Mapping[str, float], unit: str, is_idle_known: bool, why: str = ""
) -> Sentences:
    """What took most of the time: nothing, tensor kernels or others. None where that is not known."""
    if not share or has_amd_gpu(analysis.gpus):
        return ()
    by_name = " (by their names)" if analysis.tensor_source == "none" else ""
    use = "not known to" if by_name or share["unresolved_kernel"] >= _NOTABLE_PCT else "that do not"
    non_tensor = sum(share[name] for name in OTHER_KERNELS)
    rest = f", non-tensor kernels {units.format_pct(non_tensor)}{_mostly(share)}" if non_tensor >= _NOTABLE_PCT else ""
    idle = "The GPU was idle {} of" if is_idle_known else "No traced work ran in {} of"
    candidates = (
        (share["idle"], f"{idle} {unit}{why}."),
        (share["tensor_kernel"], f"Tensor kernels{by_name} took {{}} of {unit}{rest}."),
        (non_tensor, f"Kernels {use} use the Tensor Cores{by_name} took {{}} of {unit}{_mostly(share)}."),
        (share["copy"], "Copies and memsets took {}" + f" of {unit}."),
        (share["graph"], "CUDA graphs took {}" + f" of {unit}; the recording does not show the kernels in them."),
    )
    largest, sentence = max((item for item in candidates if not math.isnan(item[0])), key=lambda item: item[0])
    return (sentence.format(units.format_pct(largest)),)


def _mostly(share: Mapping[str, float]) -> str:
    """What most of the other kernels' time is: one class, or two together; empty where it is neither."""
    most = _MOST_OF * sum(share[name] for name in OTHER_KERNELS)
    named = sorted((name for name in OTHER_KERNELS if name != "other_kernel"), key=lambda name: -share[name])[:2]
    for count in (1, 2):
        chosen = named[:count]
        if sum(share[name] for name in chosen) >= max(most, _NOTABLE_PCT) and min(share[name] for name in chosen) > 0:
            return f", mostly {' or '.join(class_in_sentence(name) for name in chosen)}"
    return ""


def _list_shares(
    analysis: Analysis, rows: pd.DataFrame, share: Mapping[str, float], unit: str, is_idle_known: bool
) -> Sentences:
    if not share or has_amd_gpu(analysis.gpus):
        return ()
    non_tensor = {name: share[name] for name in OTHER_KERNELS if share[name] > 0}
    notable = [name for name in non_tensor if non_tensor[name] >= _NOTABLE_PCT and name != "other_kernel"]
    parts = ", ".join(f"{class_in_sentence(name)} {units.format_pct(non_tensor[name])}" for name in notable)
    lead, listed = [], []
    if share["tensor_kernel"] > 0:
        listed.append(f"tensor kernels {units.format_pct(share['tensor_kernel'])}{_while_they_ran(analysis, rows)}")
    elif non_tensor:
        lead = [_no_tensor_kernel(analysis, rows, share, is_idle_known)]
    if non_tensor:
        listed.append(f"non-tensor kernels {units.format_pct(sum(non_tensor.values()))}{f' ({parts})' * bool(parts)}")
    if share["graph"] > 0:
        listed.append(f"CUDA graphs recorded as a whole {units.format_pct(share['graph'])}")
    if share["copy"] >= _NOTABLE_PCT:
        listed.append(f"copies and memsets {units.format_pct(share['copy'])}")
    listed.append(f"{'GPU idle' if is_idle_known else 'no traced work'} {units.format_pct(share['idle'])}")
    return (*lead, f"Shares of {unit}: {'; '.join(listed)}.")


def _no_tensor_kernel(analysis: Analysis, rows: pd.DataFrame, share: Mapping[str, float], is_all_traced: bool) -> str:
    """That no tensor kernel is known of those that were recorded: graphs may hide some, other programs may run some."""
    by_name, doubtful = analysis.tensor_source == "none", share["unresolved_kernel"] > 0
    kernels = analysis.kernels.loc[_launches_in(analysis, rows)["kernel"].unique()]
    rest = analysis.kernels[analysis.kernels["gpu"] == rows["gpu"].iloc[0]].drop(index=kernels.index)
    lacks_some = (rest["tensor_kernel"] | could_be_tensor(rest) | are_graphs(rest)).any()
    if not by_name and doubtful and (kernels["name_verdict"][could_be_tensor(kernels)] == COUNTER_ONLY).any():
        return (
            "The tensor pipe is active, but no kernel is known to multiply matrices: index arithmetic uses the pipe "
            "too, and some kernels' names do not show what they do."
        )
    which = f"{'' if is_all_traced else 'traced '}kernel{' of a step' * bool(lacks_some)}"
    uses = "is known to use" if by_name or doubtful else "uses"
    outside = " outside the CUDA graphs, whose kernels are unknown" if share["graph"] > 0 else ""
    return f"{'By their names, no' if by_name else 'No'} {which} {uses} the Tensor Cores{outside}."


def _while_they_ran(analysis: Analysis, rows: pd.DataFrame) -> str:
    """How busy the Tensor Cores were under the tensor kernels."""
    if analysis.tensor_source == "none":
        return " (by their names)"
    launched = _launches_in(analysis, rows)
    is_tensor = analysis.kernels["tensor_kernel"].to_numpy(bool)[launched["kernel"].to_numpy()]
    measured = launched[is_tensor & launched["tensor_active_ns"].notna().to_numpy()]
    total = float(measured["duration_ns"].sum())
    if not total > 0:
        return ""
    active = 100 * float(measured["tensor_active_ns"].sum()) / total
    return f" (Tensor Active {units.format_pct(active)} while they ran)"


def _highest_range(analysis: Analysis, gpu: int) -> Sentences:
    """The path with the highest mean, if any is known to more than that it is a percentage."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path"] != "")]
    measured = rows[rows[HEADLINE.name].notna()]
    if not len(measured):
        return ()
    if not (measured[HEADLINE.name] > 0).any():
        return (f"No range {'with a figure ' * (len(measured) < len(rows))}had a Tensor Active above 0.",)
    low, high = (measured[end] for end in HEADLINE_INTERVAL)
    measured = measured[~((low <= 0) & (high >= 100))]  # the others could be anything
    if not (measured[HEADLINE.name] > 0).any():
        return ()
    best = measured.loc[measured[HEADLINE.name].idxmax()]
    count = int(best["instance_count"] - best["slow_count"])
    times = "its only instance" if count == 1 else f"its {units.format_count(count)} instances"
    low, high = (best[end] for end in HEADLINE_INTERVAL)
    interval = f" (95 % interval {units.format_pct(low)} to {units.format_pct(high)})" if low <= high else ""
    return (
        f"The highest Tensor Active of a range is {HEADLINE.format(best)}{interval}, in "
        f"“{one_line(best['path'], 90)}” (mean over the {WINDOW_NAMES[analysis.window]} of {times}).",
    )
