"""What a page says first, in words: whether the Tensor Cores worked, and what had the time in which they did not."""

import math

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.report.figures.lanes import one_line
from tcprof.report.pages.iterations import IterationFigures
from tcprof.report.text.timeline import NAMES

WAITING_PCT = 50.0  # idle share of the window from which the GPU does little but wait
NOTABLE_GAP_PCT = 10.0
_NOTABLE_PCT = 1.0
_KEEPS_UP = 0.8  # of the gpu window: an iteration that takes the CPU so long holds the GPU up
_LAUNCH_NS = 50_000  # with its share of Python, the launch of a kernel takes the CPU 5 to 40 µs
_OTHER_KERNELS = ("memory_bound", "issue_bound", "other_kernel", "unresolved_kernel", "communication")


def describe_iterations_in_words(analysis: Analysis, gpu: int, figures: IterationFigures) -> tuple[str, ...]:
    """The verdict on the iterations of a GPU, the most important sentence first."""
    unit = f"the time of a “{figures.name}”"
    active = figures.tensor_active_pct.value
    if math.isnan(active):
        first = f"Whether the Tensor Cores worked is unknown: {_why_unknown(analysis, figures.coverage_pct)}."
    else:
        first = f"The Tensor Cores were busy {units.format_pct(active)} of {unit}{_rounding(analysis)}."
        unit = "that time"
    rows = analysis.timeline[(analysis.timeline["gpu"] == gpu) & analysis.timeline["path"].isin(figures.paths)]
    waits = figures.idle_pct.value >= WAITING_PCT
    sentences = [first]
    if waits:
        sentences.append(_waiting(figures, unit))
        unit = "that time"
    sentences.append(_shares(analysis, gpu, rows, unit, with_idle=not waits))
    if figures.gap_pct.value >= NOTABLE_GAP_PCT:
        gap = units.format_pct(figures.gap_pct.value)
        sentences.append(f"Between the iterations the GPU idled another {gap} of the time from one to the next.")
    return tuple(sentence for sentence in sentences if sentence)


def describe_capture_in_words(analysis: Analysis, row: pd.Series, span: str) -> tuple[str, ...]:
    """The verdict on the whole capture, where no path iterates.

    Args:
        analysis: The recording.
        row: The capture's row of the range summary.
        span: How long was sampled.
    """
    gpu, mean = int(row["gpu"]), row["tensor_active_mean_pct"]
    if math.isnan(mean):
        first = f"Whether the Tensor Cores worked is unknown: {_why_unknown(analysis, row['coverage_pct'])}."
    else:
        first = f"The Tensor Cores were busy {units.format_pct(mean)} of the {span} sampled{_rounding(analysis)}."
    timeline = analysis.timeline[(analysis.timeline["gpu"] == gpu) & (analysis.timeline["path"] == "")]
    traced = units.format_ns(timeline["window_ns"].sum())
    unit = f"the {traced} from the GPU's first activity to its last"
    sentences = (first, _highest_range(analysis, gpu), _shares(analysis, gpu, timeline, unit, with_idle=True))
    return tuple(sentence for sentence in sentences if sentence)


def _why_unknown(analysis: Analysis, coverage: float) -> str:
    if analysis.tensor_source == "none":
        return "the recording has no samples of Tensor Active"
    return f"only {units.format_pct(coverage)} of the time is covered by samples"


def _rounding(analysis: Analysis) -> str:
    return ", as far as rounded samples tell" if analysis.tensor_source == "rounded" else ""


def _waiting(figures: IterationFigures, unit: str) -> str:
    """That the GPU had nothing to do, and why, where the times say it."""
    idle = units.format_pct(figures.idle_pct.value)
    held_up = figures.host_ns.value >= _KEEPS_UP * figures.window_ns.value
    count = figures.kernel_count.value
    if held_up and count and figures.window_ns.value / count < _LAUNCH_NS:
        mean = units.format_ns(figures.kernel_ns.value / count)
        kernels = (
            f"an iteration's {units.format_count(count)} kernels run {mean} each on average, and take longer to launch"
        )
        return f"The GPU waited for the CPU {idle} of {unit}, since {kernels}: the run is launch-bound."
    if held_up:
        return f"The GPU idled {idle} of {unit}, and an iteration takes the CPU as long: the run is bound by the CPU."
    return f"The GPU idled {idle} of {unit}."


def _shares(analysis: Analysis, gpu: int, rows: pd.DataFrame, unit: str, with_idle: bool) -> str:
    """What had the time, from the rows of the time classes; empty where they are not known."""
    window = float(rows["window_ns"].sum())
    if not window > 0:
        return ""
    share = {name: 100 * float(rows[f"{name}_ns"].sum()) / window for name in NAMES}
    others = {name: share[name] for name in _OTHER_KERNELS if share[name] > 0}
    notable = [name for name in others if others[name] >= _NOTABLE_PCT and name != "other_kernel"]
    parts = ", ".join(f"{NAMES[name]} {units.format_pct(others[name])}" for name in notable)
    lead, said = "", []
    if share["tensor_kernel"] > 0:
        said.append(f"tensor kernels had {units.format_pct(share['tensor_kernel'])}{_while_they_ran(analysis, gpu)}")
    elif others:
        lead = f"{_no_tensor_kernel(analysis, share['unresolved_kernel'] > 0)} "
    if others:
        said.append(f"other kernels had {units.format_pct(sum(others.values()))}" + (f" ({parts})" if parts else ""))
    if share["graph"] > 0:
        said.append(f"CUDA graphs, whose kernels were not recorded, had {units.format_pct(share['graph'])}")
    if share["copy"] >= _NOTABLE_PCT:
        said.append(f"copies and sets had {units.format_pct(share['copy'])}")
    if with_idle:
        said.append(f"the GPU idled {units.format_pct(share['idle'])}")
    return f"{lead}Of {unit}, {'; '.join(said)}." if said else lead.strip()


def _no_tensor_kernel(analysis: Analysis, doubtful: bool) -> str:
    if analysis.tensor_source == "none":
        return "By their names, no kernels use the Tensor Cores."
    return f"No kernel {'is known to use' if doubtful else 'uses'} the Tensor Cores."


def _while_they_ran(analysis: Analysis, gpu: int) -> str:
    """How busy the Tensor Cores were under the tensor kernels of the capture."""
    kernels = analysis.kernels[(analysis.kernels["gpu"] == gpu) & analysis.kernels["tensor_kernel"]]
    known = kernels[kernels["tensor_active_pct"].notna()]
    total = float(known["total_ns"].sum())
    if analysis.tensor_source == "none":
        return " (by their names)"
    if not total > 0:
        return ""
    active = float((known["tensor_active_pct"] * known["total_ns"]).sum()) / total
    return f" (in which the Tensor Cores were busy {units.format_pct(active)})"


def _highest_range(analysis: Analysis, gpu: int) -> str:
    """The path with the highest mean, if there is any."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path"] != "")]
    known = rows[rows["tensor_active_mean_pct"].notna()]
    if not len(known):
        return ""
    best = known.loc[known["tensor_active_mean_pct"].idxmax()]
    if not best["tensor_active_mean_pct"] > 0:
        return "No range had any Tensor Active."
    count = int(best["instance_count"])
    times = "its only instance" if count == 1 else f"its {units.format_count(count)} instances"
    low, high = best["tensor_active_low_pct"], best["tensor_active_high_pct"]
    interval = f" (95 % interval {units.format_pct(low)} to {units.format_pct(high)})" if low <= high else ""
    return (
        f"The highest mean of a range is {units.format_pct(best['tensor_active_mean_pct'])}{interval}, in "
        f"“{one_line(best['path'], 90)}” over {times}."
    )
