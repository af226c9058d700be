"""Traces whose times, numbers or texts cannot be, and those of several ranks in one file: right, or told."""

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import open_source
from slow import first, one_of_each

import tcprof
from tcprof.analysis.ranges.projection import DEEPEST
from tcprof.errors import InputError
from tcprof.nsys.schema import MOST_GPUS
from tcprof.sources.checks import AFTER_END, FAR, LATER_WORK, NO_TIME, cut_overruns, find_stretch

STEPS, STEP_US = 8, 1000
Event = dict[str, Any]


def rank(process: Any = 100, gpu: Any = 0, device: int = 0, at: float = 1e6, kernel_us: float = 300) -> list[Event]:
    """Steps of two kernels; numbers of launches begin with 1."""
    events: list[Event] = []

    def add(category: str, name: str, start: float, length: float, where: Any, **args: Any) -> None:
        events.append({"ph": "X", "cat": category, "name": name, "pid": where, "tid": 7, "ts": start, "dur": length})
        events[-1]["args"] = args

    for step in range(STEPS):
        start = at + STEP_US * step
        add("user_annotation", f"ProfilerStep#{step}", start, STEP_US - 10, process)
        for place, length in enumerate((kernel_us, 100)):
            number = 1 + 2 * step + place
            add("cuda_runtime", "cudaLaunchKernel", start + 10 * place, 5, process, correlation=number)
            of = {"device": device, "stream": 7, "correlation": number}
            add("kernel", "sgemm", start + 50 + 400 * place, length, gpu, **of)
    return events


def kernels(events: list[Event]) -> list[Event]:
    return [each for each in events if each["cat"] == "kernel"]


def run_on(events: list[Event]) -> None:
    """Let the last kernel outlast the profiler's own end."""
    kernels(events)[-1]["dur"] = 2e6
    events.append({"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 1e6 + STEP_US * STEPS})


def wait_for_stray(events: list[Event]) -> None:
    """Let a kernel of a stream of its own run past a wait for all that was launched, and the capture past both."""
    stray = kernels(events)[5]
    stray.update(dur=1.5e6, args=stray["args"] | {"stream": 99})
    wait = {**events[1], "name": "cudaDeviceSynchronize", "ts": 1e6 + 3 * STEP_US - 400, "dur": 300, "args": {}}
    events += [wait, {**events[1], "name": "cudaFree", "ts": 3e6, "args": {}}]


def outlast_own_rank(events: list[Event]) -> None:
    """Let the last kernel outlast its own rank, and not the next one."""
    kernels(events)[-1]["dur"] = 1e6
    events += rank(101, 1, 1, at=3e6)


def write(path: Path, events: list[Event]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def change(**values: Any) -> Callable[[list[Event]], None]:
    return lambda events: kernels(events)[5].update(values)


@one_of_each(1)(
    ("damage", "told"),
    [
        (change(dur=2e6), LATER_WORK),
        (lambda events: kernels(events)[-1].update(dur=2e6), AFTER_END),
        (wait_for_stray, LATER_WORK),
        (outlast_own_rank, AFTER_END),
        (run_on, AFTER_END),
        (change(ts=0, dur=0), NO_TIME),
        (change(dur=-1), NO_TIME),
        (change(ts=-3e15), FAR),
        (change(ts=1e6), "that begin before their launch"),
        (lambda events: kernels(events)[-1].update(dur=3e15), FAR),
        (lambda events: kernels(events)[5]["args"].update(bytes=1, correlation=-7), "impossible correlation"),
        (lambda events: events.extend(rank(at=2e6)), "launch numbers that start over"),
        (lambda events: events.extend(rank(101, at=1e6 + 30)), "GPU numbers that several processes use"),
    ],
)
def test_what_cannot_be_is_told_and_counts_nowhere(damage, told, tmp_path):
    events = rank()
    damage(events)
    report = tcprof.read(write(tmp_path / "a.json", events))
    assert told in [each.what for each in report.analysis.observed.wrong]
    assert "Write the trace again" in report.faults[0]
    steps = report.ranges[report.ranges["path"] == "ProfilerStep"]
    whole = report.ranges[report.ranges["depth"] == 0]
    assert (whole["gpu_window_ns"] <= 2e9).all()
    assert (steps["gpu_window_ns"] <= 2 * STEPS * STEP_US * 1000).all()
    assert report.step_summary["step_ns"].tolist() == [1e6] * len(steps)


@pytest.mark.parametrize(
    "ranks",
    [
        [rank(), rank(101, 1, 1, kernel_us=250)],
        [rank("[TP00] 100", "[TP00] 0"), rank("[TP01] 100", "[TP01] 1", 1, kernel_us=250)],
        [rank("[TP00] 100", "[TP00] 0"), rank("[TP01] 100", "[TP01] 0", kernel_us=250)],
    ],
    ids=["numbers", "texts", "two hosts"],
)
def test_kernels_of_merged_ranks_are_in_their_own_steps(ranks, tmp_path):
    analysis = tcprof.read(write(tmp_path / "a.json", [event for each in ranks for event in each]))
    assert not analysis.faults
    steps = analysis.ranges[analysis.ranges["path"] == "ProfilerStep"]
    assert steps[["gpu", "instance_count", "kernel_count"]].to_numpy().tolist() == [[0, 8, 16], [1, 8, 16]]
    assert steps["kernel_ns"].tolist() == [STEPS * 400_000, STEPS * 350_000]


@pytest.mark.parametrize("name", first(1, ["{}", "[TP{}] 1"]))
def test_traces_of_more_gpus_than_can_be_distinguished_are_refused(name, tmp_path):
    ranks = [rank(name.format(number), name.format(number)) for number in range(100, 101 + MOST_GPUS)]
    with pytest.raises(InputError, match=f"more than {MOST_GPUS} GPUs"):
        open_source(write(tmp_path / "a.json", [*chain(*ranks)])).activities()
    assert len(open_source(write(tmp_path / "b.json", [*chain(*ranks[:-1])])).gpus()) == MOST_GPUS


def test_launches_without_kernels_are_told(tmp_path):
    events = rank()
    lost = kernels(events)[4:7]
    analysis = tcprof.read(write(tmp_path / "a.json", [each for each in events if each not in lost]))
    assert "launches without a kernel: 3" in analysis.faults[0]


def test_steps_of_pytorch_1_8(tmp_path):
    old = {"user_annotation": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel"}
    events = [{**each, "cat": old[each["cat"]], "tid": str(each["tid"])} for each in rank()]
    ranges = tcprof.read(write(tmp_path / "a.json", events)).ranges.set_index("path")
    assert ranges.loc["ProfilerStep", ["instance_count", "kernel_count"]].tolist() == [STEPS, 2 * STEPS]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (b"config.py(0): \x01\x02", "control characters"),
        (b"torch\\cuda\\utils\\__init__.py(219)", "single backslashes"),
        (b"config.py(0): \xb0\xff", "bytes that are not UTF-8"),
    ],
)
def test_texts_as_pytorch_writes_them_are_read_and_told(name, told, tmp_path):
    path = write(tmp_path / "a.json", [*rank(), {**rank()[0], "cat": "cpu_op", "name": "NAME"}])
    path.write_bytes(path.read_bytes().replace(b"NAME", name))
    source = open_source(path)
    assert [each.what for each in source.wrong()] == [told]
    assert len(source.activities()) == 2 * STEPS


def test_microseconds_since_1970_are_exact(tmp_path):
    path = write(tmp_path / "a.json", rank(at=1_763_999_999_000_000))
    text = path.read_text().replace('"ts": 1763999999000050,', '"ts": 1763999999000050.789,')
    path.write_text(text)
    assert open_source(path).activities()["start_ns"].iloc[0] == 50_789


def test_no_hint_of_a_trace_is_one_of_nsys(tmp_path, run, shared_reads):
    """With its ranges and without, with launches and without, damaged and whole, of torch and of JAX."""
    variants = {
        "whole": rank(),
        "no_ranges": [each for each in rank() if each["cat"] != "user_annotation"],
        "no_launches": [each for each in rank() if each["cat"] != "cuda_runtime"],
        "no_kernels": [each for each in rank() if each["cat"] != "kernel"],
        "few": rank()[:15],
        "damaged": [*rank(), {**rank()[-1], "dur": -1}],
    }
    for name, events in variants.items():
        path = write(tmp_path / f"{name}.json", events)
        for command in ("show", "ranges", "kernels", "modules", "timeline", "advise"):
            done = run(command, path, *(["--notes"] if command == "show" else []))
            said = f"{done.out} {done.err}"
            for foreign in ("nsys", "--trace=", "--cuda-graph", "unprofiled:", "--annotate", "NVTX"):
                assert foreign not in said.replace("[not NVTX]", ""), (name, command, said)


def test_overruns_are_cut_and_what_may_overlap_is_not():
    stream = np.array([1, 1, 1, 2, 1, -1, -1])
    launch = np.array([1, 2, 3, 4, 5, 6, 7])
    start, end = np.array([0, 10, 20, 25, 30, 40, 41]), np.array([12, 99, 30, 90, 50, 90, 50])
    ends, count = cut_overruns(stream, launch, start, end)
    assert (ends.tolist(), count) == ([12, 20, 30, 90, 50, 90, 50], 1)
    assert cut_overruns(stream, np.ones(7, dtype=np.int64), start, end)[1] == 0, "nodes of one graph"


def test_times_far_from_the_densest_half():
    times = np.array([0, 0, *range(10**17, 10**17 + 10**9, 10**8)])
    assert find_stretch(times).holds(times).tolist() == [False] * 2 + [True] * 10


def test_ranges_inside_hundreds_of_others_are_left_out_and_told(tmp_path):
    deep = [{**rank()[0], "name": f"r{place}", "ts": 1e6 + place, "dur": 900 - 2 * place} for place in range(300)]
    report = tcprof.read(write(tmp_path / "a.json", [*rank(), *deep]))
    assert report.paths["depth"].max() == DEEPEST
    assert ("ranges", 301 - DEEPEST) in [(each.place, each.count) for each in report.analysis.observed.wrong]
