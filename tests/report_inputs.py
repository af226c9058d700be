"""Small synthetic analyses for the tests of the reports: frames, and one that is read."""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from builders import MS, TraceBuilder

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed
from tcprof.comparison import Comparison, compare
from tcprof.findings import Finding, Findings, Severity, judge
from tcprof.findings.advise import advise
from tcprof.frames import (
    ACTIVITIES,
    DIAGNOSTICS,
    GPUS,
    INSTANCES,
    KERNELS,
    PATHS,
    RANGES,
    SAMPLES,
    SCHEMAS,
    WHOLE_CAPTURE,
)
from tcprof.render.html import USUAL, PageOptions, page
from tcprof.sources import Recording
from tcprof.views.document import Summary
from tcprof.views.recording.show import view_recording
from tcprof.views.recording.summary import summarize as view_summaries

HOSTILE = (
    "</script><img src=x onerror=window.hacked=1>",
    "<b>bold</b><a href='https://example.com'>link</a>",
    '$x^2$ %{y} {{ 7 * 7 }} <!-- & "quotes"',
    "right\u202eto left\u2028and\na line",
    "long " + "n" * 10_000,
)
H200 = {"name": "NVIDIA H200", "chip": "GH100", "sm_count": 132}


def make_samples(values: Sequence[float], period_ns: int = 50_000, gpu: int = 0, gap_after: int | None = None) -> Any:
    """Samples one after the other; ``gap_after`` leaves ten periods out behind that many."""
    start = np.arange(len(values)) * period_ns
    if gap_after is not None:
        start[gap_after:] += 10 * period_ns
    active = np.asarray(values, dtype=float)
    frame = {"gpu": gpu, "start_ns": start, "end_ns": start + period_ns, "tensor_active_pct": active}
    return SAMPLES.conform(pd.DataFrame({**frame, "sm_active_pct": np.minimum(2 * active, 100)}))


def make_analysis(
    names: Sequence[str] = ("forward", "backward"),
    samples: pd.DataFrame | None = None,
    gpus: Sequence[int] = (0,),
    instances: int = 6,
    file: str = "run.sqlite",
    **changes: Any,
) -> Analysis:
    """A recording whose range ``step`` holds the names, so many times, on each GPU; ``changes`` are set at last."""
    if samples is None:
        samples = SAMPLES.concat([make_samples(10.0 * (np.arange(400) % 10), gpu=gpu) for gpu in gpus])
    paths = _paths(names)
    schemas = {schema.name: schema for schema in SCHEMAS}
    values: dict[str, Any] = {
        **{field.name: schemas[field.name].empty() for field in fields(Analysis) if field.name in schemas},
        "recording": Recording(file, "2025.3.2", "3.20.3", "580.1", "2026-11-20T16:28:30Z", 20e6, 20_000.0, True),
        "window": "gpu",
        "kernels_by_path": KERNELS.empty(),
        "tensor_source": "cycles",
        "gpus": GPUS.conform(
            pd.DataFrame({"gpu": list(gpus), "name": "NVIDIA H200", "chip": "GH100", "sm_count": 132})
        ),
        "samples": samples,
        "paths": paths,
        "ranges": RANGES.conform(pd.concat([_summary(gpu, paths, instances) for gpu in gpus])),
        "instances": INSTANCES.concat([_instances(gpu, paths, instances) for gpu in gpus]),
        "activities": ACTIVITIES.concat([_activities(gpu) for gpu in gpus]),
        "options": {},
        "observed": Observed(DIAGNOSTICS.empty(), 0, False, None, len(paths), len(paths), (), 0),
    }
    return Analysis(**{**values, **changes})


def tell(analysis: Analysis, faults: Sequence[str] = (), warnings: Sequence[str] = ()) -> Findings:
    """The findings on an analysis, with other faults and cautions in place of its own."""
    told = [(Severity.FAULT, faults), (Severity.CAUTION, warnings)]
    found = [Finding("test", severity, text.removesuffix(".")) for severity, texts in told for text in texts]
    return replace(judge(analysis), entries=tuple(found))


def render_page(
    analysis: Analysis, options: PageOptions = USUAL, faults: Sequence[str] = (), warnings: Sequence[str] = ()
) -> str:
    """The page of an analysis, with these faults and cautions."""
    return page.render_page(view_recording(analysis, tell(analysis, faults, warnings), advise(analysis)), options)


def write_page(analysis: Analysis, path: Path, faults: Sequence[str] = (), warnings: Sequence[str] = ()) -> None:
    """Write the page of an analysis, with these faults and cautions, or with its own where none are given."""
    findings = tell(analysis, faults, warnings) if faults or warnings else judge(analysis)
    page.write_page(view_recording(analysis, findings, advise(analysis)), path)


def summarize(analysis: Analysis) -> list[Summary]:
    """Each GPU of an analysis at a glance, with its own findings."""
    return view_summaries(analysis, judge(analysis))


def make_empty() -> Analysis:
    return make_analysis(
        names=(),
        samples=SAMPLES.empty(),
        tensor_source="none",
        ranges=_summary(0, PATHS.empty(), 1, sampled=False),
        activities=ACTIVITIES.empty(),
    )


def make_comparison(**changes: Any) -> Comparison:
    """A baseline and a recording with one more range, which is called by ``names``."""
    new = make_analysis(**{"names": ("forward", "backward", "extra"), "file": "new.sqlite", "instances": 5, **changes})
    return compare(make_analysis(file="base.sqlite"), new)


def _paths(names: Sequence[str]) -> pd.DataFrame:
    rows = [("", "step", "step", 1, -1), *(("", f"step / {name}", name, 2, 0) for name in names)] if names else []
    return PATHS.conform(pd.DataFrame(rows, columns=PATHS.names))


def _instances(gpu: int, paths: pd.DataFrame, count: int) -> pd.DataFrame:
    rows = []
    for path_id, depth in enumerate(paths["depth"]):
        for number in range(count):
            start = 3 * MS * number + path_id * MS // 4
            end = 3 * MS * (number + 1) if depth == 1 else start + MS // 2
            mean = math.nan if path_id == 2 else 5.0 * path_id + number
            rows.append((gpu, len(rows), path_id, start, end, 2, 0, 2, MS, start + 1000.0, end + 1000.0, mean))
    return INSTANCES.conform(pd.DataFrame(rows, columns=INSTANCES.names[:12]).assign(left_out=False))


def _activities(gpu: int) -> pd.DataFrame:
    start = np.arange(20) * MS
    frame = {
        "gpu": gpu,
        "launch_geometry": "",
        "host_memory": "",
        "kind": "kernel",
        "name": "gemm",
        "stream": 7,
        "process": 1,
        "correlation": range(20),
    }
    return ACTIVITIES.conform(pd.DataFrame({**frame, "start_ns": start, "end_ns": start + MS // 2}))


def _summary(gpu: int, paths: pd.DataFrame, count: int, sampled: bool = True) -> pd.DataFrame:
    rows = pd.concat([pd.DataFrame([WHOLE_CAPTURE]), paths.assign(path_id=paths.index)], ignore_index=True)
    number = np.arange(len(rows))
    mean = np.where(sampled & (number != 3), 12.5 * number + 2.0, np.nan)
    return RANGES.conform(
        rows.assign(
            gpu=gpu,
            instance_count=np.where(number == 0, 1, count),
            slow_count=0,
            activity_count=20,
            inherited_count=0,
            kernel_count=20 + number,
            host_ns=20 * MS - number * MS,
            gpu_window_ns=np.where(sampled, 18.0 * MS - number * MS, np.nan),
            kernel_ns=10 * MS,
            busy_ns=np.where(sampled, 10.0 * MS, np.nan),
            window_ns=18.0 * MS,
            tensor_active_mean_pct=mean,
            tensor_active_low_pct=np.where(number > 0, mean - 1, np.nan),
            tensor_active_high_pct=np.where(number > 0, mean + 1, np.nan),
            tensor_active_peak_pct=np.where(np.isnan(mean), np.nan, 90.0),
            tensor_active_s=mean * 1e-4,
            coverage_pct=100.0 if sampled else np.nan,
        )
    )


def read_hostile(folder: Path) -> Analysis:
    """A recording, read as any other, whose ranges and kernels have hostile names."""
    trace = TraceBuilder().gpu()
    for begin in trace.steps(8, 200_000, 100_000):
        for place, name in enumerate(HOSTILE):
            start = begin + 10_000 * (place + 1)
            trace.range(name, begin + 10 * place + 10, begin + 10 * place + 18)
            trace.kernel(name, start, start + 8_000, launched=begin + 10 * place + 12)
    trace.samples([40, 0, 60, 20, 0, 80, 0, 0] * 20, period=10_000)
    return tcprof.read(trace.write(folder)).analysis


class Pages:
    """Pages in a folder, each written by its function, or else by ``others``, when a test asks for it."""

    def __init__(self, folder, others=None, **writers):
        self._folder, self._others, self._writers = folder, others, writers

    def __truediv__(self, name):
        path = self._folder / name
        if path.stem not in self._writers and self._others:
            return self._others / name
        if not path.exists():
            self._writers[path.stem](path)
        return path
