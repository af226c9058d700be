"""The findings on a recording: for each GPU the verdict and the checks, and what is to be said before any figure."""

import math
from dataclasses import replace

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.some_gpus import busiest_gpus, keep_gpus
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.findings.cautions import find_cautions
from tcprof.findings.checks import list_checks
from tcprof.findings.faults import UNTRACED_WORK, find_faults
from tcprof.findings.finding import IDLED, NOTHING_TRACED, WINDOW_NAMES, Finding, Severity, class_in_sentence
from tcprof.findings.iterations import (
    CPU_BOUND,
    LAUNCH_BOUND,
    IterationFigures,
    find_bound,
    from_kernel_order,
    measure_iterations,
    pool_tensor_active,
)
from tcprof.findings.judged import Findings, GpuFindings, saved_findings
from tcprof.findings.kinds import tell_kinds
from tcprof.findings.recording_cost import measure_cost
from tcprof.findings.verdict import (
    OTHER_KERNELS,
    describe_span,
    judge_capture,
    judge_iterations,
    say_active,
    tell_outside,
    tell_unused,
)
from tcprof.frames import HEADLINE, OPS_DOMAIN, plain_texts
from tcprof.untrusted import one_line

MOST_GPUS = 16  # more than a machine has today; a page has figures, a timeline and tables of each
_MOST_OF = 0.5  # of the time of other kernels, from which one class is named, or two
_NOTABLE_PCT = 1.0
_WAITS = {LAUNCH_BOUND: ", waiting for the CPU to launch kernels", CPU_BOUND: ", waiting for the CPU"}
_LEAST_SHARE = 0.01  # of the time, to be named
_MOST_RANGES = 4


@plain_texts()
def judge(analysis: Analysis, gpu: int | None = None) -> Findings:
    """Judge a recording; with a GPU, only the verdict and the checks of this one."""
    findings = saved_findings(analysis) or _judge(analysis)
    return findings if gpu is None else replace(findings, gpus=tuple(one for one in findings.gpus if one.gpu == gpu))


def _judge(analysis: Analysis) -> Findings:
    captures = analysis.ranges[analysis.ranges["depth"] == 0].drop_duplicates("gpu")
    faults = find_faults(analysis)
    idled = NOTHING_TRACED if any(each.rule == UNTRACED_WORK for each in faults) else IDLED
    found = []
    for _, row in captures.iterrows():
        number = int(row["gpu"])
        figures = measure_iterations(analysis, number)
        if figures is None:
            sentences = judge_capture(analysis, row, idled)
        else:
            sentences = judge_iterations(analysis, number, figures, idled)
        checks = list_checks(analysis, row, figures, bool(faults))
        found.append(GpuFindings(number, sentences, checks, figures, idled == IDLED))
    return Findings(tuple(found), (*faults, *find_cautions(analysis)))


def keep_busiest(analysis: Analysis, findings: Findings) -> tuple[Analysis, Findings]:
    """A recording and its findings without the GPUs that a page leaves out, and with a remark on how many these are."""
    if len(analysis.gpus) <= MOST_GPUS:
        return analysis, findings
    gpus = busiest_gpus(analysis, MOST_GPUS)
    sentence = (
        f"This page shows {len(gpus)} of {len(analysis.gpus)} GPUs, those that worked longest; 'tcprof ranges' and the "
        "other commands show all"
    )
    remark = Finding("most-gpus", Severity.REMARK, sentence=sentence)
    of_gpus = tuple(each for each in findings.gpus if each.gpu in gpus)
    return keep_gpus(analysis, gpus), replace(findings, gpus=of_gpus, found=(*findings.found, remark))


def say_headline(analysis: Analysis, found: GpuFindings) -> tuple[str, ...]:
    """The verdict on a GPU in two short sentences, or three."""
    idled, figures = IDLED if found.idle_is_known else NOTHING_TRACED, found.figures
    if figures is None:
        return _say_capture(analysis, found.gpu, idled)
    of_windows = "an iteration" if analysis.window == "gpu" else f"the {WINDOW_NAMES[analysis.window]} of an iteration"
    first = say_active(analysis, figures.tensor_active_pct, figures.coverage_pct, of_windows)
    is_one = analysis.window == "gpu" and not math.isnan(figures.tensor_active_pct)
    waits = _WAITS.get(find_bound(figures), "") if idled == IDLED else ""
    if waits and measure_cost(analysis) is None:  # advice says, too, that the program may not wait when it runs alone
        waits += ", which recording slows"
    most = _say_most(analysis, figures.time, "it" if is_one else "an iteration", idled, waits)
    return first, *most, *tell_kinds(analysis, found.gpu), *tell_outside(figures)


def _say_capture(analysis: Analysis, gpu: int, idled: str) -> tuple[str, ...]:
    ranges, timeline = (
        rows[(rows["gpu"] == gpu) & (rows["depth"] == 0)] for rows in (analysis.ranges, analysis.timeline)
    )
    row = ranges.iloc[0]
    mean, unit = float(row[HEADLINE.name]), f"the {describe_span(row)}"
    first = say_active(analysis, mean, row["coverage_pct"], unit)
    return first, *tell_unused(row), *_say_most(analysis, timeline, unit if math.isnan(mean) else "it", idled)


def describe_measured(analysis: Analysis, gpu: int, figures: IterationFigures | None) -> str:
    """What all figures of a GPU at a glance are over: its iterations, or else the whole capture."""
    if figures is None:
        return "All figures here are of the whole capture: nothing in it iterates."
    count = f"{units.format_count(figures.count)} iteration{'s' * (figures.count != 1)}"
    of = "in the order of the kernels" if from_kernel_order(analysis) else f"of “{figures.name}”"
    span = "from first activity on the GPU to last"
    iterations = analysis.iterations[analysis.iterations["gpu"] == gpu]
    warm_up = int(iterations["warm_up"].sum())
    others = len(iterations) - warm_up - int(iterations["counted"].sum())
    parts = ((warm_up, "warm-up"), (others, "other kinds"))
    told = [f"{units.format_count(number)} of {what}" for number, what in parts if number]
    left_out = f"; {' and '.join(told)} left out" if told else ""
    return f"All figures here are of {count} {of}, {span}{left_out}."


def _say_most(analysis: Analysis, time: pd.DataFrame, unit: str, idled: str, waits: str = "") -> tuple[str, ...]:
    """What had most of the time: nothing, tensor kernels or others. None where that is not known."""
    window = float(time["window_ns"].sum())
    if not window > 0:
        return ()
    share = {name: 100 * float(time[f"{name}_ns"].sum()) / window for name in TIME_CLASSES}
    by_name = " (by their names)" if analysis.tensor_source == "none" else ""
    told = "not known to" if by_name or share["unresolved_kernel"] >= _NOTABLE_PCT else "that do not"
    others = sum(share[name] for name in OTHER_KERNELS)
    rest = f", others {units.format_pct(others)}{_of(share)}" if others >= _NOTABLE_PCT else ""
    candidates = (
        (share["idle"], f"{idled[0].upper()}{idled[1:]} {{}} of {unit}{waits}."),
        (share["tensor_kernel"], f"Kernels that use the Tensor Cores{by_name} had {{}} of {unit}{rest}."),
        (others, f"Kernels {told} use them{by_name} had {{}} of {unit}{_of(share)}."),
        (share["copy"], "Copies and memsets had {}" + f" of {unit}."),
        (share["graph"], "CUDA graphs, whose kernels were not recorded, had {}" + f" of {unit}."),
    )
    largest, sentence = max(candidates, key=lambda each: each[0])
    return (sentence.format(units.format_pct(largest)),)


def _of(share: dict[str, float]) -> str:
    """What most of the other kernels' time is: one class, or two together; empty where it is neither."""
    most = _MOST_OF * sum(share[name] for name in OTHER_KERNELS)
    named = sorted((name for name in OTHER_KERNELS if name != "other_kernel"), key=lambda name: -share[name])[:2]
    for count in (1, 2):
        told = named[:count]
        if sum(share[name] for name in told) >= max(most, _NOTABLE_PCT) and min(share[name] for name in told) > 0:
            return f", most of it {' or '.join(class_in_sentence(name) for name in told)}"
    return ""


def say_where(analysis: Analysis, gpu: int, figures: IterationFigures | None) -> str:
    """Tensor Active of the ranges that an iteration, or the capture, consists of; empty where these tell nothing."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["domain"] != OPS_DOMAIN)]
    whole = rows[rows["depth"] == 0] if figures is None else figures.rows
    inner = rows[rows["depth"] == 1] if figures is None else rows[rows["parent_id"].isin(whole["path_id"])]
    length = float(whole["gpu_window_ns"].sum())
    inner = inner[inner["gpu_window_ns"] > 0]
    time = inner.groupby("name", observed=True)["gpu_window_ns"].sum()
    named = time[time >= _LEAST_SHARE * length].nlargest(_MOST_RANGES).index
    parts = [(name, inner[inner["name"] == name]) for name in pd.unique(inner["name"]) if name in named]
    told = [
        f"“{one_line(name, 40)}” {units.format_pct(active)} in {units.format_pct(100 * time[name] / length)}"
        for name, of_name in parts
        if not math.isnan(active := pool_tensor_active(of_name)[0])
    ]
    if len(told) < 2:
        return ""
    return f"Tensor Active by range: {told[0]} of the time, {', '.join(told[1:])}."
