"""The verdict: whether the Tensor Cores worked, and what had the time in which they did not."""

import math

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.verdicts import COUNTER_ONLY, could_be_tensor
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.findings.finding import IDLED, WINDOW_NAMES, class_in_sentence
from tcprof.findings.iterations import (
    CPU_BOUND,
    LAUNCH_BOUND,
    MUCH_OUTSIDE_PCT,
    WAITING_PCT,
    IterationFigures,
    are_graphs,
    find_bound,
)
from tcprof.findings.kinds import tell_kinds
from tcprof.frames import HEADLINE, HEADLINE_INTERVAL
from tcprof.untrusted import one_line

NOTABLE_GAP_PCT = 10.0
_NOTABLE_PCT = 1.0
OTHER_KERNELS = tuple(name for name in TIME_CLASSES if name not in ("tensor_kernel", "graph", "copy", "idle"))


def judge_iterations(analysis: Analysis, gpu: int, figures: IterationFigures, idled: str = IDLED) -> tuple[str, ...]:
    """The verdict on the iterations of a GPU, the most important sentence first; ``idled`` is said of untraced time.

    All shares are means over the iterations' windows together, as in the tables of ranges and of the timeline.
    """
    unit = f"the GPU windows of “{figures.name}”"
    mean = f"mean over {units.format_count(figures.count)} iteration{'s' * (figures.count != 1)}"
    over = f"the {WINDOW_NAMES[analysis.window]} of “{figures.name}” ({mean})"
    first = say_active(analysis, figures.tensor_active_pct, figures.coverage_pct, over)
    if not math.isnan(figures.tensor_active_pct) and analysis.window == "gpu":
        unit = "that time"
    waits = figures.idle_pct >= WAITING_PCT and idled == IDLED
    sentences = [first]
    if waits:
        sentences.append(_waiting(figures, unit))
        unit = "that time"
    sentences.append(_shares(analysis, figures.time, unit, "" if waits else idled, idled == IDLED))
    if figures.gap_pct >= NOTABLE_GAP_PCT:
        gap = f"another {units.format_pct(figures.gap_pct)} of the time from one iteration to the next"
        sentences.append(f"Between iterations {idled} {'for ' * (idled == IDLED)}{gap}.")
    return (*(sentence for sentence in sentences if sentence), *tell_kinds(analysis, gpu), *tell_outside(figures))


def judge_capture(analysis: Analysis, row: pd.Series, idled: str = IDLED) -> tuple[str, ...]:
    """The verdict on the whole capture, where no path iterates, by its row of the range summary."""
    gpu, mean = int(row["gpu"]), row[HEADLINE.name]
    unit = f"the {describe_span(row)}"
    first = say_active(analysis, mean, row["coverage_pct"], unit)
    unit = unit if math.isnan(mean) else "that time"
    timeline = analysis.timeline[(analysis.timeline["gpu"] == gpu) & (analysis.timeline["depth"] == 0)]
    # The highest mean of a range comes after the shares, whose "that time" is the capture's.
    shares = _shares(analysis, timeline, unit, idled, idled == IDLED)
    sentences = (first, *tell_unused(row), shares, _highest_range(analysis, gpu))
    return tuple(sentence for sentence in sentences if sentence)


def describe_span(row: pd.Series) -> str:
    """The whole capture's length, and what it reaches from and to, by its row of the range summary."""
    length = units.format_ns(row["window_ns"])
    return f"{length} from the GPU's first activity to its last" if row["activity_count"] else f"{length} sampled"


def tell_unused(row: pd.Series) -> tuple[str, ...]:
    """A sentence on a GPU that was sampled and has no activity: its samples count the work of other programs."""
    is_used = row["activity_count"] or math.isnan(row[HEADLINE.name])
    return () if is_used else ("Nothing that was traced ran on it.",)


def say_active(analysis: Analysis, mean_pct: float, coverage_pct: float, unit: str) -> str:
    """How busy the Tensor Cores were, or why that is not known."""
    if not math.isnan(mean_pct):
        rounded = ", as far as rounded samples tell" * (analysis.tensor_source == "rounded")
        return f"The Tensor Cores were busy {units.format_pct(mean_pct)} of {unit}{rounded}."
    why = f"only {units.format_pct(coverage_pct)} of the time is covered by samples"
    if analysis.tensor_source == "none":
        why = "the recording has no samples of Tensor Active"
    return f"Whether the Tensor Cores worked is unknown: {why}."


def _waiting(figures: IterationFigures, unit: str) -> str:
    """That the GPU had nothing to do, and why, where the times say it."""
    idle, bound = units.format_pct(figures.idle_pct), find_bound(figures)
    if bound == LAUNCH_BOUND:
        kernels = (
            f"an iteration's {units.format_count(figures.kernel_count)} kernels run "
            f"{units.format_ns(figures.kernel_ns)} each on average, and take longer to launch"
        )
        return f"The GPU waited for the CPU {idle} of {unit}, since {kernels}: the run is {bound}."
    if bound == CPU_BOUND:
        cpu = "the CPU is at work about as long as an iteration takes"
        return f"The GPU idled {idle} of {unit}, and {cpu}: the run is {bound}."
    if figures.idle_alone_pct < WAITING_PCT:
        alone = units.format_pct(figures.idle_alone_pct)
        return f"The GPU idled {idle} of {unit}, as recording slows the program; without that it idles about {alone}."
    return f"The GPU idled {idle} of {unit}."


def tell_outside(figures: IterationFigures) -> tuple[str, ...]:
    """A sentence on what the iterations do not hold: where it is much, or the only tensor kernels."""
    may_be_tensor = figures.outside_tensor_pct + figures.outside_graph_pct
    lacks_tensor = not figures.tensor_kernel_share_pct > 0 and may_be_tensor >= _NOTABLE_PCT
    if not (figures.outside_pct >= MUCH_OUTSIDE_PCT or lacks_tensor):
        return ()
    shares = {
        "tensor kernels": figures.outside_tensor_pct,
        "CUDA graphs recorded as a whole": figures.outside_graph_pct,
    }
    among = "".join(f", {what} among them {units.format_pct(share)}" for what, share in shares.items() if share > 0)
    outside = units.format_pct(figures.outside_pct)
    return (f"Kernels outside of these iterations have {outside} of the GPU's kernel time{among}.",)


def _launches_in(analysis: Analysis, rows: pd.DataFrame) -> pd.DataFrame:
    """The launches in rows of the time classes: those of iterations, without warm-up, or of the whole capture."""
    launched, iterations = analysis.kernel_instances, analysis.iterations
    chosen = launched["gpu"] == rows["gpu"].iloc[0]
    if rows["depth"].iloc[0] > 0:
        chosen &= launched["iteration"].isin(iterations.index[iterations["counted"]])
    return launched[chosen]


def _shares(analysis: Analysis, rows: pd.DataFrame, unit: str, idled: str, is_all_traced: bool) -> str:
    """What had the time, from the rows of the time classes, with idle time as it is said; empty where not known."""
    window = float(rows["window_ns"].sum())
    if not window > 0:
        return ""
    share = {name: 100 * float(rows[f"{name}_ns"].sum()) / window for name in TIME_CLASSES}
    others = {name: share[name] for name in OTHER_KERNELS if share[name] > 0}
    notable = [name for name in others if others[name] >= _NOTABLE_PCT and name != "other_kernel"]
    parts = ", ".join(f"{class_in_sentence(name)} {units.format_pct(others[name])}" for name in notable)
    lead, said = "", []
    if share["tensor_kernel"] > 0:
        said.append(f"tensor kernels had {units.format_pct(share['tensor_kernel'])}{_while_they_ran(analysis, rows)}")
    elif others:
        lead = f"{_no_tensor_kernel(analysis, rows, share, is_all_traced)} "
    if others:
        said.append(f"other kernels had {units.format_pct(sum(others.values()))}" + (f" ({parts})" if parts else ""))
    if share["graph"] > 0:
        said.append(f"CUDA graphs, whose kernels were not recorded, had {units.format_pct(share['graph'])}")
    if share["copy"] >= _NOTABLE_PCT:
        said.append(f"copies and memsets had {units.format_pct(share['copy'])}")
    if idled:
        said.append(f"{idled} {units.format_pct(share['idle'])}")
    return f"{lead}Of {unit}, {'; '.join(said)}." if said else lead.strip()


def _no_tensor_kernel(analysis: Analysis, rows: pd.DataFrame, share: dict[str, float], is_all_traced: bool) -> str:
    """That no tensor kernel is known of those that were recorded: graphs may hide some, other programs may run some."""
    by_name, doubtful = analysis.tensor_source == "none", share["unresolved_kernel"] > 0
    kernels = analysis.kernels.loc[_launches_in(analysis, rows)["kernel"].unique()]
    others = analysis.kernels[analysis.kernels["gpu"] == rows["gpu"].iloc[0]].drop(index=kernels.index)
    lacks_some = (others["tensor_kernel"] | could_be_tensor(others) | are_graphs(others)).any()
    if not by_name and doubtful and (kernels["name_verdict"][could_be_tensor(kernels)] == COUNTER_ONLY).any():
        return (
            "The tensor pipe is active, but no matrix kernel is known: index arithmetic does that too, and some "
            "kernels' names do not tell which it is."
        )
    which = f"{'' if is_all_traced else 'traced '}kernel{' of an iteration' * bool(lacks_some)}"
    uses = "is known to use" if by_name or doubtful else "uses"
    outside = " outside of CUDA graphs" if share["graph"] > 0 else ""
    return f"{'By their names, no' if by_name else 'No'} {which} {uses} the Tensor Cores{outside}."


def _while_they_ran(analysis: Analysis, rows: pd.DataFrame) -> str:
    """How busy the Tensor Cores were under the tensor kernels."""
    if analysis.tensor_source == "none":
        return " (by their names)"
    launched = _launches_in(analysis, rows)
    is_tensor = analysis.kernels["tensor_kernel"].to_numpy(bool)[launched["kernel"].to_numpy()]
    known = launched[is_tensor & launched["tensor_active_ns"].notna().to_numpy()]
    total = float(known["duration_ns"].sum())
    if not total > 0:
        return ""
    active = 100 * float(known["tensor_active_ns"].sum()) / total
    return f" (in which the Tensor Cores were busy {units.format_pct(active)})"


def _highest_range(analysis: Analysis, gpu: int) -> str:
    """The path with the highest mean, if any is known to more than that it is a percentage."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path"] != "")]
    known = rows[rows[HEADLINE.name].notna()]
    if not len(known):
        return ""
    if not (known[HEADLINE.name] > 0).any():
        return f"No range {'with a figure ' * (len(known) < len(rows))}had any Tensor Active."
    low, high = (known[end] for end in HEADLINE_INTERVAL)
    told = known[~((low <= 0) & (high >= 100))]  # the others could be anything
    if not (told[HEADLINE.name] > 0).any():
        return ""
    best = told.loc[told[HEADLINE.name].idxmax()]
    count = int(best["instance_count"])
    times = "its only instance" if count == 1 else f"its {units.format_count(count)} instances"
    low, high = (best[end] for end in HEADLINE_INTERVAL)
    interval = f" (95 % interval {units.format_pct(low)} to {units.format_pct(high)})" if low <= high else ""
    return (
        f"The highest mean of a range is {HEADLINE.format(best)}{interval}, in "
        f"“{one_line(best['path'], 90)}” over {times}."
    )
