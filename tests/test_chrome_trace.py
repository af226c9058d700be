"""``tcprof export --chrome-trace``: the file keeps to the Trace Event Format, and says what the frames say."""

import gzip
import json
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from builders import TraceBuilder
from hypothesis import given
from hypothesis import strategies as st
from report_inputs import HOSTILE, read_hostile

import tcprof
from tcprof.analysis.intervals import OpenIntervals
from tcprof.findings import judge
from tcprof.render import chrome_trace
from tcprof.render.chrome_trace import COUNTERS, OUTSIDE, write_chrome_trace

pytestmark = pytest.mark.usefixtures("shared_reads")

Event = dict[str, Any]


def write(export: Path, target: Path, **changes: Any) -> tuple[dict[str, Any], list[Event]]:
    """The trace of an export, checked against the format; of the analysis some attributes may be changed."""
    analysis = replace(tcprof.read(export).analysis, **changes)
    write_chrome_trace(analysis, judge(analysis), target)
    return read(target)


def draw(builder: TraceBuilder, folder: Path, **changes: Any) -> list[Event]:
    return write(builder.write(folder), folder / "trace.json", **changes)[1]


def read(target: Path) -> tuple[dict[str, Any], list[Event]]:
    data = target.read_bytes()
    document = json.loads(gzip.decompress(data) if target.suffix == ".gz" else data, parse_float=Decimal)
    assert list(document) == ["displayTimeUnit", "otherData", "traceEvents"]
    assert document["displayTimeUnit"] == "ns"
    check_format(document["traceEvents"])
    return document["otherData"], document["traceEvents"]


def ns(time: Decimal | int) -> int:
    """A time in microseconds in ns; it must be one to the nanosecond."""
    exact = Decimal(time) * 1000
    assert exact == exact.to_integral_value()
    return int(exact)


def check_format(events: list[Event]) -> None:
    """What the Trace Event Format asks for, and what its readers silently drop."""
    assert {event["ph"] for event in events} <= set("MXCbe")
    for event in events:
        assert type(event["pid"]) is int
        assert 0 <= event["pid"] < 1 << 32
        assert event["ph"] == "C" or type(event["tid"]) is int
        assert isinstance(event["name"], str)
        assert event["name"]
        assert event["ph"] == "M" or ns(event["ts"]) >= 0
        if event["ph"] == "C":
            assert len(event["args"]) == 1
            assert all(isinstance(value, int | Decimal) for value in event["args"].values())
    check_names(events)
    check_nesting(events)
    check_pairs(events)


def check_names(events: list[Event]) -> None:
    """Every process and every row has one name and one place."""
    named = [(e["name"], e["pid"], e["tid"] if e["name"].startswith("thread") else 0) for e in of(events, "M")]
    assert len(set(named)) == len(named)
    for event in events:
        if event["ph"] != "M":
            assert {("process_name", event["pid"], 0), ("process_sort_index", event["pid"], 0)} <= set(named)
        if event["ph"] in "Xbe":
            assert ("thread_name", event["pid"], event["tid"]) in named
    tids = [(e["pid"], e["tid"]) for e in of(events, "M") if e["name"] == "thread_name"]
    assert len({tid for _, tid in tids if tid >= OUTSIDE}) == sum(tid >= OUTSIDE for _, tid in tids)


def check_nesting(events: list[Event]) -> None:
    """The complete events of a row lie in each other, or apart."""
    rows = defaultdict(list)
    for event in of(events, "X"):
        assert ns(event["dur"]) >= 0
        rows[event["pid"], event["tid"]].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
    for times in rows.values():
        open_ends: list[int] = []
        for start, end in sorted(times, key=lambda time: (time[0], -time[1])):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def check_pairs(events: list[Event]) -> None:
    """Every asynchronous event that begins ends, later and once."""
    begun: dict[tuple[Any, ...], Event] = {}
    ended = set()
    for event in of(events, "be"):
        key = (event["pid"], event["cat"], event["id"], event["name"])
        if event["ph"] == "b":
            assert key not in begun
            begun[key] = event
        else:
            assert key not in ended
            assert event["ts"] >= begun[key]["ts"]
            ended.add(key)
    assert set(begun) == ended


def of(events: list[Event], phases: str, pid: int | None = None) -> list[Event]:
    return [event for event in events if event["ph"] in phases and pid in (None, event["pid"])]


def rows_of(events: list[Event]) -> dict[tuple[int, int], str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in of(events, "M") if e["name"] == "thread_name"}


def processes_of(events: list[Event]) -> dict[int, str]:
    return {e["pid"]: e["args"]["name"] for e in of(events, "M") if e["name"] == "process_name"}


def drawn(events: list[Event], phases: str = "X") -> list[tuple[str, str, int, int]]:
    """Row, name, start and end of the events with a duration."""
    names = rows_of(events)
    return [
        (names[e["pid"], e["tid"]], e["name"], ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0)))
        for e in of(events, phases)
    ]


def track(events: list[Event], name: str, gpu: int = 0) -> list[tuple[int, float]]:
    found = [e for e in of(events, "C", OUTSIDE + gpu) if e["name"] == name]
    return [(ns(e["ts"]), float(next(iter(e["args"].values())))) for e in found]


def small() -> TraceBuilder:
    builder = TraceBuilder().gpu().range("step", 1_000, 60_000).range("forward", 2_000, 30_001)
    builder.kernel("gemm", 10_000, 19_999, launched=2_500, gridX=8, blockX=256)
    builder.copy("host to device", 30_000, 31_000, launched=31_500)
    return builder.samples([0, 50, 50, 100, 0, 0], start=0, period=10_000)


def test_ranges_work_and_counters(tmp_path):
    events = draw(small(), tmp_path)
    assert processes_of(events) == {OUTSIDE: "GPU 0: NVIDIA H200", 1000: "process 1000"}
    assert sorted(drawn(events)) == [
        ("ranges of thread 1", "forward", 10_000, 19_999),
        ("ranges of thread 1", "step", 10_000, 31_000),
        ("stream 7", "gemm", 10_000, 19_999),
        ("stream 7", "host to device", 30_000, 31_000),
        ("thread 1", "forward", 2_000, 30_001),
        ("thread 1", "step", 1_000, 60_000),
    ]
    gemm = next(event for event in events if event["name"] == "gemm")
    assert gemm["cat"].split(",")[0] == "kernel"
    assert {key: gemm["args"][key] for key in ("activity", "process", "stream", "grid", "block")} == {
        "activity": 0,
        "process": 1000,
        "stream": 7,
        "grid": "8x1x1",
        "block": "256x1x1",
    }
    copy = next(event for event in events if event["name"] == "host to device")
    assert (copy["cat"], copy["args"]) == ("memcpy", {"activity": 1, "process": 1000, "stream": 7})
    forward = next(e for e in of(events, "X", 1000) if e["name"] == "forward")
    assert (forward["cat"], forward["args"]["path"]) == ("range", "step / forward")
    assert forward["args"]["kernel_count"] == 1
    assert forward["tid"] == 1  # the thread's own number


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=40))
def test_rows_hold_what_nests(intervals):
    lane, start, length = np.array(intervals, dtype=np.int64).reshape(-1, 3).T
    order = OpenIntervals.order(lane, start, start + length)
    lane, start, end = lane[order], start[order], (start + length)[order]
    row = chrome_trace.assign_rows(lane, start, end)
    assert ((row >= -1) & (row < chrome_trace.MOST_ROWS)).all()

    def cross(one: int, two: int) -> bool:
        return bool(lane[one] == lane[two] and start[one] < start[two] < end[one] < end[two])

    pairs = [(i, j) for i in range(len(row)) for j in range(len(row)) if cross(i, j)]
    assert not [pair for pair in pairs if row[pair[0]] == row[pair[1]] >= 0]
    assert pairs or not row.any()  # where all nests, one row is enough


def test_threads_domains_processes_and_gpus(tmp_path):
    builder = TraceBuilder().gpu().gpu(1, "NVIDIA A100").gpu(2)
    builder.range("mine", 0, 50_000).range("theirs", 10, 40_000, domain="NCCL").range("other", 0, 90, thread=2)
    builder.kernel("k", 1_000, 2_000, launched=20).kernel("k", 1_500, 3_000, launched=30, device=1)
    builder.range("second", 0, 99, process=2000, thread=5).kernel(
        "k", 4_000, 5_000, launched=50, thread=5, process=2000
    )
    events = draw(builder, tmp_path)
    assert list(processes_of(events).values()) == [
        *("GPU 0: NVIDIA H200", "GPU 1: NVIDIA A100"),  # nothing was recorded of the third
        *("process 1000", "process 2000"),
    ]
    assert {row: tid for (pid, tid), row in rows_of(events).items() if pid < OUTSIDE and tid < OUTSIDE} == {
        "thread 1": 1,
        "thread 2": 2,
        "thread 5": 5,
    }
    rows = defaultdict(set)
    for row, name, _, _ in drawn(events):
        rows[row].add(name)
    assert rows == {
        "ranges of thread 1 of process 1000": {"mine"},
        "ranges of thread 1 [NCCL] of process 1000": {"theirs"},
        "ranges of thread 5 of process 2000": {"second"},
        "stream 7 of process 1000": {"k"},
        "stream 7 of process 2000": {"k"},
        "ranges of thread 1": {"mine"},
        "ranges of thread 1 [NCCL]": {"theirs"},
        "stream 7": {"k"},
        "thread 1": {"mine"},
        "thread 1 [NCCL]": {"theirs"},
        "thread 2": {"other"},
        "thread 5": {"second"},
    }
    mine = next(e for e in of(events, "X", 1000) if e["name"] == "mine")
    assert (mine["args"]["GPU 0 kernel_count"], mine["args"]["GPU 1 kernel_count"]) == (1, 1)
    assert next(e for e in of(events, "X", 2000))["args"]["kernel_count"] == 1


def test_hostile_names_are_only_text(tmp_path):
    analysis = read_hostile(tmp_path)
    gpus = analysis.gpus.assign(name=pd.Series(['lone \ud800 surrogate \udfff"\x00'], dtype=object))
    target = tmp_path / "trace.json.gz"
    named = replace(analysis, gpus=gpus)
    write_chrome_trace(named, judge(named), target)
    events = read(target)[1]
    gzip.decompress(target.read_bytes()).decode("utf-8")
    assert processes_of(events)[OUTSIDE] == 'GPU 0: lone \ufffd surrogate \ufffd"\x00'
    assert {event["name"] for event in of(events, "X", OUTSIDE)} == {"step", *HOSTILE}


def test_a_trace_says_what_the_frames_say(fixture_file, tmp_path):
    """Every launch and every range of each fixture, and every counter as a function of time."""
    report = tcprof.read(fixture_file)
    target = tmp_path / "trace.json.gz"
    write_chrome_trace(report.analysis, judge(report.analysis), target)
    events = read(target)[1]
    work = {e["args"]["activity"]: e for e in of(events, "Xb") if "activity" in e["args"]}
    assert sorted(work) == list(range(len(report.activities)))
    for number, row in enumerate(report.activities.itertuples()):
        event = work[number]
        assert (event["name"], event["cat"].split(",")[0]) == (row.name, row.kind)
        assert (ns(event["ts"]), ns(event["dur"])) == (row.start_ns, row.end_ns - row.start_ns)
    for launch in report.kernel_instances.itertuples():
        args, kernel = work[launch.activity]["args"], report.kernels.iloc[launch.kernel]
        assert float(args["tensor_cycles"]) == pytest.approx(launch.tensor_cycles, abs=1e-6)
        active = 100 * launch.tensor_active_ns / launch.duration_ns
        assert float(args["tensor_active_pct"]) == pytest.approx(active, abs=1e-6)
        for name in ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct"):
            assert float(args["kernel"][name]) == pytest.approx(kernel[name], abs=1e-6)
        assert args["kernel"].get("precision", "") == kernel["precision"]
        assert ("tensor" in work[launch.activity]["cat"].split(",")) == kernel["tensor_kernel"]
    ranges = {e["args"]["range"]: e for e in of(events, "Xb") if e["pid"] < OUTSIDE and "range" in e["args"]}
    paths = report.paths["path"].to_numpy()
    assert sorted(ranges) == sorted(set(report.instances["range"]))
    for row in report.instances.itertuples():
        event = ranges[row.range]
        assert event["args"]["path"] == paths[row.path_id]
        assert (ns(event["ts"]), ns(event["dur"])) == (row.host_start_ns, row.host_end_ns - row.host_start_ns)
        assert float(event["args"].get("tensor_active_mean_pct", "nan")) == pytest.approx(
            row.tensor_active_mean_pct, abs=1e-6, nan_ok=True
        )
    for column, name, _, scale in COUNTERS:
        hold_track(track(events, name), report.samples, column, scale)


def hold_track(points: list[tuple[int, float]], samples: Any, column: str, scale: float) -> None:
    """Hold a counter against the samples, in the middle of each."""
    middle = (samples["start_ns"] + samples["end_ns"]).to_numpy() // 2
    recorded = samples[column].to_numpy() * scale
    times, values = np.array(points).T if points else (np.zeros(1), np.zeros(1))
    place = np.searchsorted(times, middle, side="right") - 1
    after = middle >= 0
    assert values[place[after]] == pytest.approx(np.nan_to_num(recorded[after]), abs=1e-6)


def test_the_command(run, tmp_path):
    export, target = small().write(tmp_path), tmp_path / "out.json.gz"
    done = run("export", export, "--chrome-trace", target)
    assert (done.status, done.out) == (0, f"{target}\n")
    assert read(target)[0]["recording"]["file"] == export.name
    both = run("export", export, "-o", tmp_path / "frames", "--chrome-trace", target)
    assert both.out.splitlines()[-1] == str(target)
    assert (tmp_path / "frames" / "ranges.csv").exists()
