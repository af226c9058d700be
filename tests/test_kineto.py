"""Traces of torch.profiler as a second source: what they hold is analyzed as if nsys had recorded it."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from builders import open_source
from slow import first_of

import tcprof
from tcprof.errors import InputError
from tcprof.frames import DEVICE_TO_HOST, HOST_TO_DEVICE, OPS_DOMAIN, PINNED
from tcprof.identity import Identity
from tcprof.sources.kineto import stream
from tcprof.sources.kineto.trace import KinetoTrace
from tcprof.sources.registry import find_recordings

PROCESS, THREAD, ENGINE = 4242, 4242, 4300
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x"
RELU = "void at::native::vectorized_elementwise_kernel<4, at::native::relu_kernel>"


class TraceWriter:
    """Events of a small training program; times in microseconds."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.about: dict[str, Any] = {
            "schemaVersion": 1,
            "deviceProperties": [
                {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504, "numSms": 132},
                {"id": 1, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504, "numSms": 132},
            ],
            "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        }
        self.correlation = 0

    def event(self, category: str, name: str, start: float, length: float, thread: Any = THREAD, **args: Any) -> None:
        where = {"pid": PROCESS, "tid": thread}
        self.events.append(
            {"ph": "X", "cat": category, "name": name, **where, "ts": 1e12 + start, "dur": length, "args": args}
        )

    def op(self, name: str, start: float, length: float, thread: Any = THREAD, **args: Any) -> None:
        self.event("cpu_op", name, start, length, thread, **args)

    def launch(self, name: str, called: float, start: float, length: float, thread: Any = THREAD) -> None:
        self.correlation += 1
        self.event("cuda_runtime", "cudaLaunchKernel", called, 1, thread, correlation=self.correlation)
        place = {"device": 0, "context": 1, "stream": 7, "correlation": self.correlation}
        self.event("kernel", name, start, length, 7, **place, grid=[8, 4, 1], block=[128, 1, 1])
        self.events[-1]["pid"] = 0

    def copy(self, name: str, start: float, length: float, moved: int) -> None:
        self.event("gpu_memcpy", name, start, length, 7, device=0, stream=7, correlation=0, bytes=moved)

    def step(self, number: int, at: float) -> None:
        """Two linear layers in a model, backward, and an optimizer."""
        self.event("user_annotation", f"ProfilerStep#{number}", at, 1000)
        self.event("python_function", "train.py(7): forward", at + 5, 300)
        self.event("python_function", "nn.Module: Net_0", at + 10, 200)
        for layer in (0, 1):
            called = at + 20 + 80 * layer
            self.event("python_function", f"nn.Module: Linear_{layer}", called, 60)
            sizes: list[Any] = [[512], [32, 1024], [1024, 512], [], []]
            numbered = {"Sequence number": 10 * number + layer, "Input Dims": sizes}
            self.op("aten::addmm", called + 5, 40, **numbered)
            self.launch(GEMM, called + 10, at + 400 + 20 * layer, 15)
        for layer in (1, 0):
            called = at + 500 + 60 * (1 - layer)
            name, node = "AddmmBackward0", {"Sequence number": 10 * number + layer, "Fwd thread id": 1}
            self.op(f"autograd::engine::evaluate_function: {name}", called, 50, ENGINE)
            self.op(name, called + 1, 45, ENGINE, **node)
            self.op("aten::mm", called + 5, 30, ENGINE, **{"Input Dims": [[512, 32], [32, 1024]]})
            self.launch(GEMM, called + 10, at + 640 + 20 * (1 - layer), 18, ENGINE)
        self.event("user_annotation", "Optimizer.step#SGD.step", at + 700, 100)
        self.launch(RELU, at + 710, at + 760, 10)
        self.event("cuda_runtime", "cudaDeviceSynchronize", at + 810, 100)

    def write(self, path: Path) -> Path:
        text = json.dumps({**self.about, "traceEvents": self.events, "traceName": path.name})
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        return path


@pytest.fixture(params=["run.json", "run.pt.trace.json.gz"])
def trace(request, tmp_path):
    writer = TraceWriter()
    for number in range(8):
        writer.step(number, 1000.0 * number)
    writer.copy("Memcpy HtoD (Pinned -> Device)", 990, 5, 4096)
    writer.copy("Memcpy DtoH (Device -> Pageable)", 996, 2, 4)
    return writer.write(tmp_path / request.param)


def test_it_is_analyzed_like_a_recording_of_nsys(trace):
    analysis = tcprof.read(trace)
    (gpu,) = analysis.gpus.to_dict("records")
    assert (gpu["name"], gpu["sm_count"]) == ("NVIDIA H100 80GB HBM3", 132)
    assert [(rank.rank, rank.world_size) for rank in analysis.recording.identity.ranks] == [(3, 8)]
    step = analysis.ranges.set_index("path").loc["ProfilerStep"]
    assert (step["instance_count"], step["kernel_count"]) == (8, 5 * 8)
    assert math.isnan(step["tensor_active_mean_pct"])
    kernels = analysis.kernels.set_index("name")
    assert (kernels.loc[GEMM, "launch_count"], kernels.loc[GEMM, "launch_geometry"]) == (32, "8x4x1 128x1x1")
    assert (kernels.loc[GEMM, "precision"], kernels.loc[GEMM, "total_ns"]) == ("bf16", 8 * 2 * (15_000 + 18_000))
    assert kernels.loc[GEMM, "peak_tflops"] == 989.4  # by the GPU's name: a trace names no chip
    copies = analysis.activities[analysis.activities["kind"] == "memcpy"]
    assert copies["name"].tolist() == [HOST_TO_DEVICE, DEVICE_TO_HOST]
    assert copies["host_memory"].tolist() == [PINNED, "pageable"]
    assert copies["moved_bytes"].tolist() == [4096, 4]


def test_kernels_are_in_modules_forward_and_backward(trace):
    modules = tcprof.read(trace).modules.set_index(["module", "phase"])
    for layer in ("Net.Linear.0", "Net.Linear.1"):
        per_phase = [modules.loc[(layer, phase)] for phase in ("forward", "backward")]
        assert [rows["kernel_ns"] / rows["kernel_count"] for rows in per_phase] == [15_000, 18_000]
        assert per_phase[0]["useful_flop"] / per_phase[0]["kernel_count"] == 2 * 32 * 1024 * 512
    assert modules["tensor_active_pct"].isna().all()
    assert ("optimizer" in modules.index.get_level_values("phase")) is True


def test_a_shown_trace_says_what_is_missing_and_how_to_record_it(trace, run):
    done = run("show", trace, "--notes")
    assert done.status == 0, done.err
    assert "Whether the Tensor Cores worked is unknown" in " ".join(done.out.split())
    assert "tcprof profile SCRIPT" in " ".join((done.out + done.err).split())
    assert run("modules", trace).status == run("advise", trace).status == 0


@pytest.mark.slow
def test_traces_are_compared(tmp_path, run):
    for side, longer in (("base", 0), ("new", 200)):
        (tmp_path / side).mkdir()
        writer = TraceWriter()
        for number in range(8):
            writer.step(number, (1000.0 + longer) * number)
        writer.write(tmp_path / side / "rank0.json")
        (tmp_path / side / "empty.json").touch()
        (tmp_path / side / "notes.json").write_text('{"a": 1}')
        assert [path.name for path in find_recordings(tmp_path / side)] == ["rank0.json"]
    done = run("compare", tmp_path / "base", tmp_path / "new", "--format", "json")
    assert done.status == 0, done.err


def test_frames(tmp_path):
    writer = TraceWriter()
    writer.step(7, 0)
    writer.event("gpu_user_annotation", "ProfilerStep#7", 400, 300)
    source = KinetoTrace(writer.write(tmp_path / "a.json"))
    ranges = source.ranges()
    assert ranges["start_ns"].min() == 0
    ops = ranges[ranges["domain"] == OPS_DOMAIN]
    assert ops.loc[ops["name"] == "aten::addmm", "sizes"].tolist() == ["[[512], [32, 1024], [1024, 512], [], []]"] * 2
    assert ops.loc[ops["name"] == "AddmmBackward0", "sequence"].tolist() == [71, 70]
    assert "Optimizer.step#SGD.step" in set(ops["name"])
    assert ranges.loc[ranges["domain"] == "", "name"].tolist() == [
        "ProfilerStep",
        "Net",
        "Net.Linear.0",
        "Net.Linear.1",
    ]
    assert source.waits()["name"].tolist() == ["cudaDeviceSynchronize"]
    assert len(source.api_calls()) == len(source.activities()) == 5
    assert set(source.activities()["process"]) == {PROCESS}
    assert source.wrong() == ()


def test_a_cpu_program_of_torch_is_read(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    with torch.profiler.profile(record_shapes=True, with_stack=True, with_modules=True) as profiler:
        for _ in range(3):
            with torch.profiler.record_function("my step"):
                model(torch.randn(4, 8)).sum().backward()
    path = tmp_path / "cpu.json"
    profiler.export_chrome_trace(str(path))
    ranges = open_source(path).ranges()
    names = ranges["name"].value_counts()
    assert (names["my step"], names["Sequential"], names["Sequential.Linear"]) == (3, 3, 3)
    assert names["autograd::engine::evaluate_function: AddmmBackward0"] == 3
    analysis = tcprof.read(path)
    assert analysis.activities.empty
    assert analysis.ranges["path"].tolist()[1] == "my step"


def hostile(writer: TraceWriter) -> None:
    """What no profiler writes."""
    writer.events += [None, 7, "x", [], {}, {"ph": "X"}, {"ph": "X", "cat": ["kernel"], "ts": 1}]
    for start, length in ((math.nan, 1), (1, math.inf), (1, -1), ("1", 1), (True, 1), (10**30, 1), (None, None)):
        writer.events.append({"ph": "X", "cat": "kernel", "name": "k", "ts": start, "dur": length})
    for args in ({"device": -1}, {"device": 10**9}, {"device": "0"}, [], None):
        writer.events.append({"ph": "X", "cat": "kernel", "name": "k", "ts": 1e12, "dur": 1, "args": args})
    odd = {"grid": [1, 2], "block": "x", "stream": -3, "correlation": 2**70, "bytes": 1}
    writer.event("kernel", "\ud800\x1b[31m", 1, 1, device=0, **odd)
    writer.event("cpu_op", "aten::mm", 1, 1, "thread", **{"Input Dims": [[-1, 2], [True], "x", [[1]]]})
    writer.event("cpu_op", "aten::mm", 1, 1, 2**40, **{"Input Dims": {}, "Sequence number": "x"})
    writer.event("python_function", "nn.Module: ", 1, 1)
    writer.event("python_function", "nn.Module: a.b", 1, 1)
    writer.event("user_annotation", "", 1, 1)
    writer.about |= {"deviceProperties": {"id": 0}, "distributedInfo": [1]}


def test_hostile_events_are_left_out_and_counted(tmp_path, run, shared_reads):
    writer = TraceWriter()
    hostile(writer)
    writer.step(1, 0)
    path = writer.write(tmp_path / "a.json")
    source = KinetoTrace(path)
    odd = {"impossible correlation": 1}
    assert {each.what: each.count for each in source.wrong()} == {
        "no GPU": 5,
        "no event": 4,
        "without a time": 7,
        **odd,
    }
    assert len(source.activities()) == 6
    assert len(set(source.ranges()["thread"])) == 4
    for command in ("show", "modules", "kernels", "ranges", "advise", "timeline"):
        done = run(command, path)
        assert (done.status, "\x1b" in done.out + done.err) == (0, False), done.err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda content: content[:-40], "cut off"),
        (lambda content: content[: len(content) // 2], "cut off"),
        (lambda content: content.replace(b'"dur"', b"dur", 1), "cut off or damaged"),
        (lambda content: content[:20] + b"[" * 200_000, "too deeply"),
        (lambda content: b'{"traceEvents": [', "cut off"),
        (lambda content: b'{"traceEvents": []}', "no torch.profiler events"),
        (lambda content: b'{"traceEvents": {"a": 1}}', "no torch.profiler events"),
        (lambda content: b'{"schemaVersion": 1' + b" " * 5000, "cut off"),
        (lambda content: content.replace(b'"ts": 10000000000', b'"ts": 00000000000', 1), "cut off or damaged"),
    ],
)
@first_of(1)("is_packed", [False, True])
def test_a_damaged_trace_is_refused(damage, said, is_packed, tmp_path, run):
    writer = TraceWriter()
    writer.step(1, 0)
    content = damage(writer.write(tmp_path / "whole.json").read_bytes())
    path = tmp_path / "damaged.json"
    path.write_bytes(gzip.compress(content) if is_packed else content)
    with pytest.raises(InputError, match=said) as caught:
        open_source(path)
    assert caught.value.hint
    assert run("show", path).status == 3


def test_a_packed_file_that_is_cut_off(trace):
    packed = gzip.compress(trace.read_bytes() if trace.suffix == ".json" else gzip.decompress(trace.read_bytes()))
    trace.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="cut off"):
        open_source(trace)


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_events_across_the_ends_of_chunks(chunk, tmp_path, monkeypatch):
    writer = TraceWriter()
    writer.step(1, 0)
    writer.event("user_annotation", "größer 模型 🙂", 1, 1)
    text = json.dumps({**writer.about, "number": 12345, "traceEvents": writer.events, "last": 6.5}, ensure_ascii=False)
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(stream, "_CHUNK", chunk)
    found = stream.JsonStream(path)
    assert list(found.events()) == writer.events
    assert found.about == {**writer.about, "number": 12345, "last": 6.5}


def test_other_json_is_no_trace(tmp_path):
    for name, content in (
        ("a.json", '{"tcprof": "0.1.0", "rows": []}'),
        ("b.json", '{"displayTimeUnit":"ns","otherData":{},"traceEvents":[\n{"ph":"X","cat":"kernel"}]}'),
        ("c.json", "[1]"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match="is not a recording that tcprof can read"):
            open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("about", "ranks"),
    [({"rank": 1}, [(1, 0)]), ({"rank": 1, "world_size": 1}, []), ({"world_size": 2}, []), ({"rank": -1}, [])],
)
def test_a_trace_may_know_its_rank_alone(about, ranks, tmp_path):
    writer = TraceWriter()
    writer.about["distributedInfo"] = about
    writer.op("aten::mm", 0, 10)
    identity = KinetoTrace(writer.write(tmp_path / "a.json")).recording().identity
    assert [(rank.rank, rank.world_size) for rank in identity.ranks] == ranks
    assert Identity.from_facts(identity.facts()) == identity
    assert identity.data()["world_size"] is None
