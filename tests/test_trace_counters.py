"""Counters that CUPTI sampled beside a trace: Tensor Active of the capture, steps and ranges, not of short kernels."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import FIXTURES
from slow import first_of
from test_jax_trace import JaxWriter
from test_kineto import TraceWriter

import tcprof
from tcprof.frames import OPS_DOMAIN
from tcprof.sources.nsys_sqlite import NsysExport

TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
OF_ACTIVE = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
SM_ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
US = 1000
STEP_US, STEPS = 1000, 6


def counter(at: float, device: Any = 0, name: str = "CUPTI PM Sampling", **values: Any) -> dict[str, Any]:
    """An event as Kineto writes those of its PM sampling: the beginning of a sample, and a value of each metric."""
    return {"ph": "C", "cat": "hardware_counters", "name": name, "pid": device, "tid": 0, "ts": at, "args": values}


def traced(path: Path, *counters: dict[str, Any]) -> Path:
    """Steps of a millisecond with counters; times begin where the writer's events do."""
    writer = TraceWriter()
    for number in range(STEPS):
        writer.step(number, STEP_US * number)
    writer.events += [{**each, "ts": 1e12 + each["ts"]} for each in counters]
    return writer.write(path)


def every(period: float, **values: float) -> list[dict[str, Any]]:
    return [counter(at, **values) for at in np.arange(0, STEP_US * STEPS, period).tolist()]


@pytest.mark.parametrize(
    ("values", "percent"),
    [
        ({TENSOR: 12.25}, 12.25),
        ({f"TPC.TriageCompute.{TENSOR.replace('.avg', '_realtime.avg')}": 12.25}, 12.25),
        ({OF_ACTIVE: 50.0, SM_ACTIVE: 20.0}, 10.0),
        ({"sm__pipe_tensor_cycles_active.sum": 4000.0, "sm__cycles_elapsed.sum": 10_000.0}, 10.0),
        ({"sm__pipe_tensor_cycles_active.sum": 132 * 4 * 10_000.0, "gpc__cycles_elapsed.avg.per_second": 1e9}, 10.0),
        ({OF_ACTIVE: 50.0}, None),
        ({"sm__pipe_tensor_cycles_active.sum": 4000.0}, None),
        ({"dram__bytes_read.sum": 4000.0, "sm__inst_executed.avg.per_cycle_active": 2.0}, None),
    ],
)
def test_metrics_are_known_by_the_names_that_ncu_has(values, percent, tmp_path):
    report = tcprof.read(traced(tmp_path / "a.json", *every(100, **values)))
    sampled = report.samples["tensor_active_pct"].dropna().unique().tolist()
    assert sampled == ([pytest.approx(percent)] if percent else [])
    assert report.ranges["tensor_active_mean_pct"].notna().any() == bool(percent)
    told = [each.what for each in report.analysis.observed.wrong]
    assert any("shares of active cycles" in what for what in told) == (values.keys() == {OF_ACTIVE})


def test_a_sample_holds_from_its_event_to_the_next(tmp_path):
    samples = tcprof.read(traced(tmp_path / "a.json", *every(500, **{TENSOR: 3.5}))).samples
    assert (samples["end_ns"] - samples["start_ns"]).unique().tolist() == [500 * US]
    assert samples["tensor_active_pct"].unique().tolist() == [3.5]


@first_of(1)("named", [TENSOR, "SM Instructions - Tensor Active (%)"])
def test_counters_of_xla(named, tmp_path):
    writer = JaxWriter()
    for number in range(STEPS):
        writer.step(number, STEP_US * number)
    for at in range(0, STEP_US * STEPS, 500):
        writer.events.append({"ph": "C", "pid": 1, "ts": at, "name": named, "args": {"counter_value": 20.0}})
        writer.events.append({"ph": "C", "pid": 701, "ts": at, "name": named, "args": {"counter_value": 90.0}})
    report = tcprof.read(writer.write(tmp_path / "a.json"))
    assert report.samples["tensor_active_pct"].unique().tolist() == [20.0]


BAD = {
    "below": (-1.0, "below 0"),
    "above": (250.0, "above 100 %"),
    "nan": (float("nan"), "not numbers"),
    "text": ("50", "not numbers"),
    "far": (50.0, "far from all other times"),
}


@first_of(2)("kind", BAD)
def test_a_doubtful_reading_is_a_fault(kind, tmp_path, run):
    value, told = BAD[kind]
    path = traced(
        tmp_path / "a.json", *every(100, **{TENSOR: 5.0}), counter(1e12 if kind == "far" else 50, **{TENSOR: value})
    )
    report = tcprof.read(path)
    assert any(told in each.what and each.count == 1 for each in report.analysis.observed.wrong)
    assert report.faults
    assert report.samples["tensor_active_pct"].unique().tolist() == [5.0]
    assert run("show", path).status == 0


def test_counters_of_a_number_that_two_ranks_gave_their_gpus_are_left_out(tmp_path):
    path = traced(tmp_path / "a.json", *every(100, **{TENSOR: 5.0}))
    content = json.loads(path.read_text())
    other = [{**each, "pid": 9} for each in content["traceEvents"] if each.get("cat") == "cuda_runtime"]
    other = [each for each in other if "correlation" in each["args"]]
    kernels = [each for each in content["traceEvents"] if each.get("cat") == "kernel"]
    for call in other:
        call["args"] = {"correlation": call["args"]["correlation"] + 1000}
    other += [{**each, "args": {**each["args"], "correlation": each["args"]["correlation"] + 1000}} for each in kernels]
    path.write_text(json.dumps({**content, "traceEvents": content["traceEvents"] + other}))
    report = tcprof.read(path)
    assert report.samples.empty
    assert any("several processes use" in each.what and not each.kept for each in report.analysis.observed.wrong)


def as_trace(recording: Path, path: Path, period_ns: float) -> Path:
    """A recording of nsys as Kineto would have written it, its Tensor Active averaged over longer periods."""
    export = NsysExport(recording)
    samples, ranges = export.samples().frame, export.ranges()
    host = {"ph": "X", "cat": "user_annotation"}
    events: list[dict[str, Any]] = []
    for each in ranges[ranges["domain"] != OPS_DOMAIN].itertuples():
        place = {"pid": each.process, "tid": each.thread}
        times = {"ts": each.start_ns / US, "dur": (each.end_ns - each.start_ns) / US}
        events.append({**host, "name": each.name, **place, **times})
    for each in export.api_calls().itertuples():
        call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": each.process, "tid": each.thread}
        events.append({**host, **call, "ts": each.start_ns / US, "dur": 1, "args": {"correlation": each.correlation}})
    for each in export.activities().itertuples():
        category = "kernel" if each.kind == "kernel" else f"gpu_{each.kind}"
        times = {"ts": each.start_ns / US, "dur": (each.end_ns - each.start_ns) / US}
        args = {"device": each.gpu, "stream": each.stream, "correlation": each.correlation}
        events.append({"ph": "X", "cat": category, "name": each.name, "pid": each.gpu, "tid": 7, **times, "args": args})
    borders = np.append(samples["start_ns"], samples["end_ns"].iloc[-1])
    active = np.append(0, np.cumsum(samples["tensor_active_pct"] * (samples["end_ns"] - samples["start_ns"])))
    start = np.arange(borders[0], borders[-1], period_ns)
    means = np.diff(np.interp([*start, start[-1] + period_ns], borders, active)) / period_ns
    events += [counter(at / US, **{TENSOR: mean}) for at, mean in zip(start.tolist(), means.tolist(), strict=True)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}, default=int))
    return path


@first_of(1)("name", ["transformer_eager", "mlp_fp16"])
def test_samples_of_a_millisecond_give_what_shorter_ones_give(name, tmp_path):
    recording = FIXTURES / f"{name}.sqlite"
    exact, coarse = tcprof.read(recording), tcprof.read(as_trace(recording, tmp_path / "a.json", 1e6))
    assert coarse.step_summary["tensor_active_mean_pct"].tolist() == pytest.approx(
        exact.step_summary["tensor_active_mean_pct"].tolist(), rel=0.02
    )
    both = exact.ranges.merge(coarse.ranges, on=["gpu", "path"], suffixes=("", "_coarse"))
    known = both[both["tensor_active_low_pct_coarse"].notna()]
    value = known["tensor_active_mean_pct"]
    assert len(known)
    assert (value >= known["tensor_active_low_pct_coarse"]).all()
    assert (value <= known["tensor_active_high_pct_coarse"]).all()
    assert (coarse.kernels["median_ns"] < 1e6).all()
    assert coarse.kernels["tensor_active_pct"].isna().all()
