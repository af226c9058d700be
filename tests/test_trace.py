"""An export read back into frames: what is in it, and what other versions leave out or write otherwise."""

import math

import pytest
from builders import PROCESS, TraceBuilder, assert_rows, global_id

from tcprof.frames import ACTIVITIES, API_CALLS, DIAGNOSTICS, GPUS, NVTX_RANGES
from tcprof.nsys import schema
from tcprof.redaction.copy_check import without_private
from tcprof.redaction.redact import redact
from tcprof.sources import Recording
from tcprof.sources.nsys_sqlite import NsysExport


def assert_dtypes(frame, kind):
    assert [(name, str(dtype)) for name, dtype in frame.dtypes.items()] == [(c.name, c.dtype) for c in kind.columns]


def test_recording(tmp_path):
    builder = TraceBuilder().recorded(duration=20_000, started=1_700_000_000_123_456_789)
    builder.exported(nsys="2025.3.2.0", tables="3.20.3").system("NvDriverVersion", "580.95.05")
    builder.captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "20000").captured("GPU_METRICS_OPTIONS:GPU_0:ID", "0")
    trace = builder.trace(tmp_path)
    assert trace.recording() == Recording(
        file="trace.sqlite",
        nsys_version="2025.3.2.0",
        schema_version="3.20.3",
        driver_version="580.95.05",
        started_utc="2023-11-14T22:13:20Z",
        duration_ns=20_000.0,
        frequency_hz=20_000.0,
        metrics_requested=True,
    )


def test_recording_of_which_nothing_is_known(tmp_path):
    recording = TraceBuilder().row(schema.STRINGS, id=1, value="x").trace(tmp_path).recording()
    assert (recording.nsys_version, recording.driver_version, recording.started_utc) == ("", "", "")
    assert math.isnan(recording.duration_ns)
    assert math.isnan(recording.frequency_hz)
    assert not recording.metrics_requested


def test_the_driver_of_2022_has_no_dots_and_the_version_stood_in_another_table(tmp_path):
    builder = TraceBuilder().system("NvDriverVersion", "5358605")
    trace = builder.row(schema.OLD_EXPORT_METADATA, name="EXPORT_SCHEMA_VERSION", value="2.9.1").trace(tmp_path)
    assert trace.recording().driver_version == "535.86.05"
    assert trace.recording().schema_version == "2.9.1"


def test_gpus(tmp_path):
    builder = TraceBuilder().gpu(1, "NVIDIA T4", chip=None, sm_count=0, clock_hz=None, memory_bytes=0)
    builder.gpu(0, "NVIDIA H200", sm_count=132, clock_hz=1_980_000_000, memory_bytes=150_000_000_000)
    trace = builder.trace(tmp_path)
    expected = """
        gpu  name         chip   sm_count  clock_hz       memory_bytes
        0    NVIDIA H200  GH100  132       1_980_000_000  150_000_000_000
        1    NVIDIA T4    -      –         –              –
        """
    assert_rows(trace.gpus(), expected)
    assert_dtypes(trace.gpus(), GPUS)


def test_gpus_of_an_old_export_with_the_clock_in_kilohertz(tmp_path):
    builder = TraceBuilder()
    builder.row(schema.CUDA_GPUS, deviceId=0, numMultiprocessors=108, coreClockRate=1_410_000, name="A100")
    trace = builder.trace(tmp_path)
    expected = """
        gpu  name  chip  sm_count  clock_hz       memory_bytes
        0    A100  -     108       1_410_000_000  –
        """
    assert_rows(trace.gpus(), expected)


def test_without_rows_frames_have_their_columns(tmp_path):
    trace = TraceBuilder().recorded(duration=1).trace(tmp_path)
    assert_dtypes(trace.gpus(), GPUS)
    assert_dtypes(trace.ranges(), NVTX_RANGES)
    assert_dtypes(trace.activities(), ACTIVITIES)
    assert_dtypes(trace.api_calls(), API_CALLS)
    only_a_mark = TraceBuilder().row(schema.NVTX, start=1, eventType=34, globalTid=global_id(1), text="m")
    assert_dtypes(only_a_mark.trace(tmp_path).ranges(), NVTX_RANGES)


def test_ranges(tmp_path):
    builder = TraceBuilder().range("step", 10, 90).range("loader", 20, 30, thread=2).range("other", 5, 8, process=2000)
    trace = builder.range("negative", -50, -10).trace(tmp_path)
    expected = """
        process  thread  domain  name      start_ns  end_ns
        1000     1       -       step      10        90
        1000     2       -       loader    20        30
        2000     1       -       other     5         8
        1000     1       -       negative  -50       -10
        """
    assert_rows(trace.ranges(), expected)
    assert_dtypes(trace.ranges(), NVTX_RANGES)


def test_the_largest_ids_of_process_and_thread(tmp_path):
    frame = TraceBuilder().range("step", 0, 1, process=0xFFFFFF, thread=0xFFFFFE).trace(tmp_path).ranges()
    assert (frame["process"][0], frame["thread"][0]) == (0xFFFFFF, 0xFFFFFE)


def test_names_that_are_registered_inline_missing_hostile_or_the_same(tmp_path):
    builder = TraceBuilder().range("step", 0, 1).range("step", 2, 3, registered=True)
    builder.range("registered", 4, 5, registered=True).range(None, 6, 7).range("", 8, 9)
    trace = builder.range("", 10, 11, registered=True).range("<b>è 'x'; --", 12, 13).trace(tmp_path)
    names = ["step", "step", "registered", "(unnamed)", "(unnamed)", "(unnamed)", "<b>è 'x'; --"]
    assert trace.ranges()["name"].tolist() == names


def test_names_that_are_not_utf_8(tmp_path):
    builder = TraceBuilder().range(b"caf\xe9", 0, 10).range(b"\xff\xfe", 2, 3, registered=True).range("fine", 4, 5)
    trace = builder.kernel(b"k\xe9rnel", 2, 3, launched=1).diagnostic("error", b"caf\xe9").trace(tmp_path)
    assert trace.ranges()["name"].tolist() == ["\ufffd\ufffd", "fine", "caf\ufffd"]
    assert trace.activities()["name"].tolist() == ["k\ufffdrnel"]
    assert trace.diagnostics(without_private)["text"].tolist() == ["caf\ufffd"]


def test_only_push_pop_and_start_end_are_ranges(tmp_path):
    builder = TraceBuilder().range("a", 0, 10).range("b", 5, 15, start_end=True)
    for event_type in (33, 34, 39, 75, 76):  # category, mark, thread name, domains
        builder.row(schema.NVTX, start=1, end=2, eventType=event_type, globalTid=global_id(1, 1), text="no range")
    assert builder.trace(tmp_path).ranges()["name"].tolist() == ["a", "b"]


@pytest.mark.parametrize("start_end", [False, True])
def test_a_range_that_never_closed_ends_with_the_recording(tmp_path, start_end):
    trace = TraceBuilder().range("open", 10, None, start_end=start_end).recorded(duration=1_000).trace(tmp_path)
    assert trace.ranges()["end_ns"].tolist() == [1_000]


def test_a_range_that_never_closed_in_a_recording_of_unknown_length_lasts_as_long_as_any(tmp_path):
    trace = TraceBuilder().range("open", 10, None).range("step", 20, 80).range("late", 90, None).trace(tmp_path)
    assert trace.ranges()["end_ns"].tolist() == [90, 80, 90]
    trace = TraceBuilder().range("open", 10, None).range("step", 20, 80).trace(tmp_path)
    assert trace.ranges()["end_ns"].tolist() == [80, 80]


def test_domains(tmp_path):
    """Domains are numbered by each process for itself; one whose creation was not recorded has a number only."""
    builder = TraceBuilder().range("a", 0, 1).range("b", 0, 1, domain="NCCL").range("c", 0, 1, domain="cuDNN")
    builder.range("d", 0, 1, domain="cuDNN", process=2000)
    builder.row(schema.NVTX, start=5, end=6, eventType=59, globalTid=global_id(3000, 1), domainId=9, text="e")
    builder.row(schema.NVTX, start=0, eventType=75, globalTid=global_id(4000, 1), domainId=1, text="")
    builder.row(schema.NVTX, start=5, end=6, eventType=59, globalTid=global_id(4000, 1), domainId=1, text="f")
    trace = builder.trace(tmp_path)
    expected = """
        process  domain    name
        1000     -         a
        1000     NCCL      b
        1000     cuDNN     c
        2000     cuDNN     d
        3000     domain 9  e
        4000     domain 1  f
        """
    assert_rows(trace.ranges(), expected)


def test_ranges_of_an_export_without_domains_and_registered_strings(tmp_path):
    builder = TraceBuilder().range("a", 0, 1).without("NVTX_EVENTS.domainId", "NVTX_EVENTS.textId", "StringIds")
    trace = builder.trace(tmp_path)
    assert_rows(trace.ranges(), "domain  name\n-  a")


def test_activities(tmp_path):
    builder = TraceBuilder().kernel("gemm", 10, 20, launched=5, correlation=1)
    builder.kernel("gemm", 20, 30, launched=6, stream=13, correlation=2).copy("host to device", 0, 4, correlation=3)
    builder.copy("device to device", 4, 8, correlation=4).memset(30, 31, correlation=5)
    trace = builder.graph(40, 90, correlation=6, process=2000).trace(tmp_path)
    expected = """
        gpu  kind    name              stream  process  correlation  start_ns  end_ns
        0    memcpy  host to device    7       1000     3            0         4
        0    memcpy  device to device  7       1000     4            4         8
        0    kernel  gemm              7       1000     1            10        20
        0    kernel  gemm              13      1000     2            20        30
        0    memset  memset            7       1000     5            30        31
        0    graph   graph             7       2000     6            40        90
        """
    assert_rows(trace.activities(), expected)
    assert_dtypes(trace.activities(), ACTIVITIES)


def test_activities_without_process_belong_to_the_only_one_there_is(tmp_path):
    builder = TraceBuilder().kernel("gemm", 10, 20, launched=5).without("CUPTI_ACTIVITY_KIND_KERNEL.globalPid")
    assert builder.trace(tmp_path).activities()["process"].tolist() == [PROCESS]
    of_two = builder.launch(50, 900, process=2000)
    without_launch = TraceBuilder().kernel("gemm", 10, 20).without("CUPTI_ACTIVITY_KIND_KERNEL.globalPid")
    for unclear in (of_two, without_launch):
        assert unclear.trace(tmp_path).activities()["process"].tolist() == [-1]


def test_cuda_devices_are_the_gpus_of_the_same_number_unless_the_export_says_otherwise(tmp_path):
    two = [("a", 0, 1000), ("b", 1, 1000), ("a", 0, 2000), ("b", 1, 2000)]

    def gpus_of(builder):
        for name, device, process in two:
            builder.kernel(name, 0, 1, device=device, process=process)
        return builder.trace(tmp_path).activities()["gpu"].tolist()

    assert gpus_of(TraceBuilder()) == [0, 1, 0, 1]
    assert gpus_of(TraceBuilder().gpu(0).gpu(1).without("TARGET_INFO_GPU.cuDevice")) == [0, 1, 0, 1]
    assert gpus_of(TraceBuilder().gpu(0, cuda_device=1).gpu(1, cuda_device=0)) == [1, 0, 1, 0]
    # Process 2000 was started with CUDA_VISIBLE_DEVICES=1,0; of process 1000 nothing is said.
    renumbered = TraceBuilder().gpu(0).gpu(1).visible_device(0, 1, process=2000).visible_device(1, 0, process=2000)
    assert gpus_of(renumbered) == [0, 1, 1, 0]


def test_launches(tmp_path):
    trace = (
        TraceBuilder()
        .kernel("later", 40, 50, launched=30, thread=2, correlation=1)
        .kernel("first", 10, 20, launched=5, correlation=2)
        .kernel("same number elsewhere", 10, 20, launched=6, process=2000, correlation=2)
        .launch(7, 999)  # started nothing that was recorded
        .trace(tmp_path)
    )
    expected = """
        process  thread  correlation  start_ns
        1000     1       2            5
        2000     1       2            6
        1000     2       1            30
        """
    assert_rows(trace.api_calls(), expected)
    assert_dtypes(trace.api_calls(), API_CALLS)


def test_of_a_runtime_call_and_the_driver_call_in_it_the_outer_one_is_the_launch(tmp_path):
    trace = TraceBuilder().launch(12, 1).launch(10, 1).kernel("k", 20, 30, correlation=1).trace(tmp_path)
    assert_rows(trace.api_calls(), "correlation  start_ns\n1  10")


def test_every_table_of_activities_has_launches(tmp_path):
    builder = TraceBuilder().kernel("k", 1, 2, launched=0, correlation=1)
    builder.copy("host to device", 1, 2, launched=0, correlation=2).memset(1, 2, launched=0, correlation=3)
    trace = builder.graph(1, 2, launched=0, correlation=4).trace(tmp_path)
    assert trace.api_calls()["correlation"].tolist() == [1, 2, 3, 4]


def test_replays_of_graphs_with_one_number_are_paired_with_their_launches(tmp_path):
    """Each of a graph's launches runs all its nodes once; of the first replay the recording has the end alone."""
    builder, small, large = TraceBuilder().gpu(), 1 << 32, 2 << 32
    for start in (100, 200, 300):
        builder.launch(start, 7, returned=start + 5, name="cudaGraphLaunch_v10000")
    replays = {20: (small,), 120: (small, small + 1, small + 2), 220: (large, large + 1), 320: (small, small + 1)}
    for first, nodes in replays.items():
        for number, node in enumerate(nodes if first > 100 else [small + 2]):
            start = first + 10 * number
            builder.kernel("k", start, start + 5, correlation=7, graphNodeId=node)
    trace = builder.trace(tmp_path)
    paired = trace.activities().merge(trace.api_calls(), how="left", on=["process", "correlation"])
    launched = paired["start_ns_y"].fillna(0).tolist()
    assert launched == [0, 100, 100, 100, 200, 200, 300, 300]


@pytest.mark.parametrize("recorded", [0, 4, 10])
def test_launches_with_one_number_are_lost_one_by_one(tmp_path, recorded):
    builder = TraceBuilder().gpu()
    for number in range(10):
        builder.launch(100 * number, 7, name="cudaLaunchKernelExC_v11060", returned=100 * number + 50)
        builder.launch(100 * number + 10, 7, name="cuLaunchKernelEx")  # within the call
        if number < recorded:
            builder.kernel("k", 100 * number + 60, 100 * number + 90, correlation=7)
    for number in range(10, 20):
        builder.launch(100 * number, number, name="cudaLaunchKernel_v7000")
        builder.kernel("k", 100 * number + 60, 100 * number + 90, correlation=number)
    assert builder.trace(tmp_path).lost_launches() == 10 - recorded


@pytest.mark.parametrize("second_work", [350, 190])
def test_launches_with_one_number_are_paired_with_their_work_in_order(tmp_path, second_work):
    builder = TraceBuilder().gpu()
    for start in (100, 200, 300):
        name = "cudaMemcpyAsync_v3020" if start == 300 else "cudaLaunchKernel_v7000"
        builder.launch(start, 7, returned=start + 20, name=name)
        builder.launch(start + 5, 7, returned=start + 10, name=name.replace("cuda", "cu"))  # within the call
    builder.launch(400, 8, name="cudaLaunchKernel_v7000")
    builder.kernel("a", 102, 120, correlation=7).kernel("b", second_work, 360, correlation=7)
    builder.copy("host to device", 340, 345, correlation=7).kernel("c", 410, 420, correlation=8)
    builder.copy("device to host", 50, 60, correlation=7)  # was launched before the recording
    trace = builder.trace(tmp_path)
    paired = trace.activities().merge(calls := trace.api_calls(), on=["process", "correlation"])
    of_one_stream = {"a": 100, "b": 200} if second_work > 200 else {}  # else kernels run in another order
    assert dict(zip(paired["name"], paired["start_ns_y"], strict=True)) == of_one_stream | {
        "host to device": 300,
        "c": 400,
    }
    assert len(calls) == 4


def test_diagnostics(tmp_path):
    builder = TraceBuilder()
    for severity in ("information", "warning", "error", "verbose"):
        builder.diagnostic(severity, f"said {severity}")
    builder.row(schema.DIAGNOSTICS, severity=77, text="odd").row(schema.DIAGNOSTICS, severity=2, text=None)
    frame = builder.trace(tmp_path).diagnostics(without_private)
    assert frame["severity"].tolist() == ["information", "warning", "error", "verbose", "information"]
    assert frame["text"].tolist()[-2:] == ["said verbose", "odd"]
    assert_dtypes(frame, DIAGNOSTICS)
    assert_dtypes(TraceBuilder().recorded(duration=1).trace(tmp_path).diagnostics(without_private), DIAGNOSTICS)


def test_copies_know_the_hosts_memory(tmp_path):
    """Of a copy to the GPU that of its source, of one from it that of its target; not that of the GPU."""
    builder = TraceBuilder().copy("host to device", 0, 1, srcKind=0, dstKind=2)
    builder.copy("host to device", 1, 2, srcKind=1, dstKind=2).copy("device to host", 2, 3, srcKind=2, dstKind=1)
    builder.copy("host to device", 3, 4, srcKind=4, dstKind=2).copy("device to device", 4, 5, srcKind=2, dstKind=2)
    builder.copy("host to device", 5, 6, srcKind=7, dstKind=2).copy("host to device", 6, 7, srcKind=None).memset(7, 8)
    builder.kernel("gemm", 8, 9)
    memory = builder.trace(tmp_path).activities()["host_memory"].tolist()
    assert memory == ["pageable", "pinned", "pinned", "managed", "", "", "", "", ""]
    redact(builder.write(tmp_path), tmp_path / "copy.sqlite")
    assert NsysExport(tmp_path / "copy.sqlite").activities()["host_memory"].tolist() == memory
    without = builder.without("CUPTI_ACTIVITY_KIND_MEMCPY.srcKind")
    assert without.trace(tmp_path).activities()["host_memory"].tolist() == ["", "", "pinned", *[""] * 6]
