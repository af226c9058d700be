"""The findings on a recording: for each GPU the verdict and the checks, and what is to be said before any figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.analysis import MOST_GPUS, busiest_gpus, keep_gpus
from tcprof.analysis.kernels.untraced import find_hardly_traced, find_untraced_by_gpu
from tcprof.arrays import rows_of_gpu
from tcprof.findings.advise import advise
from tcprof.findings.cautions import find_cautions
from tcprof.findings.checks import Check, list_checks
from tcprof.findings.faults import find_excess, find_faults
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.pricing.step import Step, measure_step
from tcprof.findings.steps import WAITING_PCT, StepFigures, from_kernel_order, measure_step_figures, pool_tensor_active
from tcprof.findings.verdict import judge_capture, judge_steps
from tcprof.frames import HEADLINE, OPS_DOMAIN, python_string_storage
from tcprof.units import plain
from tcprof.untrusted import one_line

_FRAMES = {"rows": "ranges", "time": "timeline"}  # fields that are rows of a frame of the analysis


@dataclass(frozen=True)
class GpuFindings:
    """What the figures of one GPU say."""

    gpu: int
    headline: tuple[str, ...]  # the verdict in two or three sentences
    details: tuple[str, ...]  # sentences that say more
    checks: tuple[Check, ...]
    # Of the steps that the verdict rests on; None where it rests on the whole capture
    figures: StepFigures | None
    idle_is_known: bool = True  # whether the GPU did nothing where nothing was traced

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of the verdict, the most important sentence first."""
        return self.headline + self.details


@dataclass(frozen=True)
class Findings:
    """What the figures of a recording say: of each GPU, and faults, then cautions, each gravest first."""

    gpus: tuple[GpuFindings, ...]
    entries: tuple[Finding, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU, which begins with its number if there are several."""
        return self._of_gpus([gpu.sentences for gpu in self.gpus])

    @property
    def headline(self) -> tuple[str, ...]:
        """The verdict in two or three sentences for each GPU, likewise."""
        return self._of_gpus([gpu.headline for gpu in self.gpus])

    def select_gpu(self, gpu: int | None) -> "Findings":
        """Keep the verdict and the checks of one GPU; None keeps those of all."""
        return self if gpu is None else replace(self, gpus=tuple(entry for entry in self.gpus if entry.gpu == gpu))

    def _of_gpus(self, sentences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        several = len(self.gpus) > 1
        pairs = zip(self.gpus, sentences, strict=True)
        return tuple(f"{f'GPU {gpu.gpu}: ' * several}{' '.join(texts)}" for gpu, texts in pairs)

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all GPUs."""
        return tuple(check for gpu in self.gpus for check in gpu.checks)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the figures cannot be trusted, as paragraphs, gravest first. Show them before any figure."""
        return texts_of(self.entries, Severity.FAULT)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else a reader must know, likewise; what is so in most recordings comes last."""
        return (*texts_of(self.entries, Severity.CAUTION), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of the warnings that are so in most recordings, and no reason for doubt."""
        return texts_of(self.entries, Severity.REMARK)


def describe(findings: Findings, advice: Sequence[Advice]) -> dict[str, Any]:
    """What was judged, as JSON has it."""
    described: dict[str, Any] = plain({"findings": findings, "advice": list(advice)}, lambda rows: rows.index.tolist())
    return described


def restore(kind: Any, value: Any, analysis: Analysis, name: str = "") -> Any:
    """Make again what ``describe`` gave, of this kind, or as the field of that name is; this very tcprof wrote it."""
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is pd.DataFrame:
        return getattr(analysis, _FRAMES[name]).loc[value]
    if get_origin(kind) is UnionType:  # or None
        return None if value is None else restore(get_args(kind)[0], value, analysis)
    if get_origin(kind) is tuple:
        return tuple(restore(get_args(kind)[0], item, analysis) for item in value)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{key: restore(hints[key], item, analysis, key) for key, item in value.items()})  # type: ignore[operator]
    return kind(value)


_LEAST_SHARE = 0.01  # of the time, to be named
_MOST_RANGES = 4


@python_string_storage()
def judge(analysis: Analysis, measured: dict[int, Step] | None = None) -> Findings:
    """Judge a recording; ``measured`` takes the steps that are priced for it, by GPU."""
    captures = analysis.ranges[analysis.ranges["depth"] == 0].drop_duplicates("gpu")
    busiest = busiest_gpus(analysis, MOST_GPUS)
    estimate = partial(_estimate, measured={} if measured is None else measured)
    measure = {gpu: estimate if gpu in busiest else measure_step_figures for gpu in captures["gpu"]}
    figures_of = {int(gpu): measure_gpu(analysis, int(gpu)) for gpu, measure_gpu in measure.items()}
    untraced = find_untraced_by_gpu(analysis.samples, analysis.activities)
    excess = find_excess(analysis, [figures for figures in figures_of.values() if figures], untraced)
    faults, gpus = (*find_faults(analysis, untraced), *excess), []
    for _, row in captures.iterrows():
        number = int(row["gpu"])
        figures = figures_of[number]
        is_idle_known = number not in untraced or untraced[number].is_all or not untraced[number].is_notable
        if figures is None:
            headline, details = judge_capture(analysis, row, is_idle_known)
        else:
            headline, details = judge_steps(analysis, number, figures, is_idle_known)
        checks = list_checks(analysis, row, figures, bool(faults))
        gpus.append(GpuFindings(number, headline, details, checks, figures, is_idle_known))
    return Findings(tuple(gpus), (*faults, *find_cautions(analysis), *_find_others(analysis, busiest)))


def _find_others(analysis: Analysis, busiest: Sequence[int]) -> list[Finding]:
    """Remark on the GPUs that are left out where each costs much time and room."""
    number = len(analysis.gpus)
    sentence = f"Advice, estimates and pages cover the {len(busiest)} busiest of {number} GPUs; tables show all"
    return [Finding("most-gpus", Severity.REMARK, sentence=sentence)] if number > len(busiest) else []


def _estimate(analysis: Analysis, gpu: int, measured: dict[int, Step]) -> StepFigures | None:
    """The steps of a GPU; with an estimate of the unprofiled step if it would not wait, and none was measured."""
    figures = measure_step_figures(analysis, gpu)
    if figures is None or analysis.kernel_instances.empty or not figures.idle_pct >= WAITING_PCT:
        return figures
    step = None if figures.unprofiled_ns > 0 else measure_step(analysis, gpu, measured)
    if step is None or not step.remedies.unprofiled:
        return figures
    unprofiled_ns = min(step.unprofiled_ns[step.tracing[1]], step.length_ns)
    idle_pct = 100 * max(0.0, 1 - step.busy_ns / unprofiled_ns)
    if idle_pct >= WAITING_PCT:  # the GPU waits either way
        return figures
    return replace(figures, unprofiled_idle_pct=idle_pct, unprofiled_ns=unprofiled_ns, is_estimated=True)


def keep_busiest(
    analysis: Analysis, findings: Findings, advice: Sequence[Advice]
) -> tuple[Analysis, Findings, Sequence[Advice]]:
    """Leave out the GPUs that a page has no room for; a remark tells."""
    if len(analysis.gpus) <= MOST_GPUS:
        return analysis, findings, advice
    gpus = busiest_gpus(analysis, MOST_GPUS)
    kept = keep_gpus(analysis, gpus)
    return kept, replace(findings, gpus=tuple(entry for entry in findings.gpus if entry.gpu in gpus)), advise(kept)


def describe_measured(analysis: Analysis, gpu: int, figures: StepFigures | None) -> str:
    """What all figures of a GPU at a glance are over: its steps, or else the whole capture."""
    if figures is None:
        return "No steps were found: all figures here cover the whole capture."
    detected = from_kernel_order(analysis)
    covered = f"{units.format_count(figures.count)} {'detected ' * detected}step{'s' * (figures.count != 1)}"
    of = "" if detected else f" of “{figures.name}”"
    steps = analysis.steps[analysis.steps["gpu"] == gpu]
    warm_up, slow = int(steps["warm_up"].sum()), int((steps["slow"] != "").sum())
    rest = len(steps) - warm_up - slow - int(steps["counted"].sum())
    parts = ((warm_up, "warm-up step"), (slow, "slow step"), (rest, "step of another role"))
    listed = [units.format_things(number, noun, noun.replace("step", "steps", 1)) for number, noun in parts if number]
    excluded = f"; {' and '.join(listed)} excluded" if listed else ""
    return f"All figures here cover {covered}{of}, each from its first GPU activity to the next step's first{excluded}."


def first_line(analysis: Analysis, judged: GpuFindings) -> str:
    """The line that everything said of a GPU begins with: step time, Tensor Active, GPU idle, and how many steps."""
    figures = judged.figures
    idle = "GPU idle" if judged.idle_is_known else "no traced work"
    if figures is None:
        row = analysis.whole_capture(judged.gpu).iloc[0]
        active, idle_pct = float(row[HEADLINE.name]), measure_idle(analysis, row)
        first, last = f"Whole capture {units.format_ns(row['window_ns'])}", "no steps"
    else:
        last = units.format_things(figures.count, f"{'detected ' * from_kernel_order(analysis)}step")
        return " · ".join((*_describe_step(figures, idle), last))
    parts = (first, f"Tensor Active {units.format_pct(active)}", f"{idle} {units.format_pct(idle_pct)}", last)
    return " · ".join(parts)


def _describe_step(figures: StepFigures, idle: str) -> tuple[str, ...]:
    """Step time, Tensor Active and idle share: without recording first where that was measured, else as recorded."""
    recorded = (figures.step_ns, figures.tensor_active_pct, figures.idle_pct)
    unprofiled = (figures.unprofiled_ns, figures.tensor_active_pct * figures.slowdown, figures.unprofiled_idle_pct)
    formats = {"Step time": units.format_ns, "Tensor Active": units.format_pct, idle: units.format_pct}
    is_changed = figures.unprofiled_idle_pct < figures.idle_pct
    about, words = "", (" unprofiled", " recorded")
    if not figures.is_slowed:
        about, words = "about " * figures.is_estimated, ("", " unprofiled")
        recorded, unprofiled = unprofiled, recorded
    parts: list[str] = []
    for (name, as_text), one, other in zip(formats.items(), unprofiled, recorded, strict=True):
        word, other_word = words if not parts else ("", "")
        word = " of the step" if name == "Tensor Active" and not math.isnan(one) else word
        has_both = (is_changed or not parts) and figures.unprofiled_ns > 0 and not math.isnan(one + other)
        parts.append(f"{name} {as_text(one)}{word}" + f" ({about}{as_text(other)}{other_word})" * bool(has_both))
    return tuple(parts)


def measure_idle(analysis: Analysis, row: pd.Series) -> float:
    """The share of the whole capture in which a GPU is idle, in percent, by its row of the range summary."""
    gpu, is_traced = int(row["gpu"]), bool((analysis.ranges["activity_count"] > 0).any())
    if gpu in find_hardly_traced(rows_of_gpu(analysis.samples, gpu), analysis.activities):
        return math.nan
    busy_ns = row["busy_ns"] if row["activity_count"] or not is_traced else 0.0  # without a trace it is not known
    return 100 - 100 * float(busy_ns) / row["window_ns"] if row["window_ns"] > 0 else math.nan


def describe_ranges(analysis: Analysis, gpu: int, figures: StepFigures | None) -> str:
    """Tensor Active of the ranges that a step, or the capture, consists of; empty where these tell nothing."""
    rows = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["domain"] != OPS_DOMAIN)]
    whole = rows[rows["depth"] == 0] if figures is None else figures.rows
    inner = rows[rows["depth"] == 1] if figures is None else rows[rows["parent_id"].isin(whole["path_id"])]
    length = float(whole["gpu_window_ns"].sum()) if figures is None else figures.total_ns
    inner = inner[inner["gpu_window_ns"] > 0]
    time = inner.groupby("name", observed=True)["gpu_window_ns"].sum()
    named = time[time >= _LEAST_SHARE * length].nlargest(_MOST_RANGES).index
    parts = [(name, inner[inner["name"] == name]) for name in pd.unique(inner["name"]) if name in named]
    texts = [
        f"“{one_line(name, 40)}” {units.format_pct(active)} ({units.format_pct(100 * time[name] / length)}"
        for name, of_name in parts
        if not math.isnan(active := pool_tensor_active(of_name)[0])
    ]
    if len(texts) < 2:
        return ""
    whole_time = "time" if figures is None else f"{'recorded ' * figures.is_slowed}step"
    return f"Tensor Active by range: {texts[0]} of the {whole_time}), {'), '.join(texts[1:])})."
