"""Traces of JAX's profiler, shaped as XLA writes them: programs, their parts, steps, and kernels by streams."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from builders import open_source

import tcprof
from tcprof.errors import InputError
from tcprof.frames import DEVICE_TO_HOST, PINNED

GPU, HOST, STREAM, DERIVED, LAUNCHER, PYTHON = 1, 701, 1, 4, 77, 3428269931
GEMM = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"
LAYER = "jit(step)/jvp(Net)/Dense_0/dot_general"


class JaxWriter:
    """Events of steps of one compiled program; times in microseconds."""

    def __init__(self, device: str = "/device:GPU:0") -> None:
        self.events: list[Any] = []
        self.correlation = 0
        self.name("process_name", device, GPU)
        self.name("thread_name", "Stream #14(Compute,MemcpyD2H)", GPU, STREAM)
        self.name("thread_name", "XLA Modules - from #14", GPU, DERIVED)
        self.name("process_name", "/host:CPU", HOST)
        self.name("thread_name", "python", HOST, PYTHON)

    def name(self, what: str, name: str, process: int, thread: int = 0) -> None:
        self.events.append({"ph": "M", "pid": process, "tid": thread, "name": what, "args": {"name": name}})

    def event(self, process: int, thread: int, called: str, start: float, length: float, **args: str) -> None:
        where = {"pid": process, "tid": thread, "ts": start, "dur": length}
        self.events.append({"ph": "X", **where, "name": called} | ({"args": args} if args else {}))

    def launch(self, call: str, kernel: str, start: float, length: float, **args: str) -> None:
        self.correlation += 1
        same = {"correlation_id": str(self.correlation)}
        self.event(HOST, LAUNCHER, call, start, 1, **same, **{name: args[name] for name in args if "hlo" in name})
        self.event(GPU, STREAM, kernel, start + 20, length, **same, **args)

    def step(self, number: int, at: float) -> None:
        """A layer whose product takes two kernels, its backward pass, and a copy of the loss."""
        self.event(HOST, PYTHON, "train", at, 200, step_num=str(number))
        self.event(HOST, PYTHON, "$train.py:7 step", at, 190)
        self.event(GPU, DERIVED, "jit_step(7)", at + 30, 90)
        kernel = "regs:168 static_shared:0 dynamic_shared:0 grid:8,4,1 block:384,1,1 occ_pct:12.5"
        parts = ((LAYER, "gemm.1"), (LAYER, "gemm.1"), ("jit(step)/transpose(jvp(Net))/Dense_0/dot_general", "gemm.2"))
        for place, (scope, part) in enumerate(parts):
            of = {"hlo_module": "jit_step", "hlo_op": part, "name": scope, "tf_op": "XlaModule:"}
            self.launch("cuLaunchKernelEx", GEMM, at + 10 + 15 * place, 10, **of, kernel_details=kernel)
        details = "kind_src:device kind_dst:pinned size:4 dest:0 async:1"
        self.launch("cuMemcpyDtoHAsync_v2", "MemcpyD2H", at + 60, 2, memcpy_details=details)
        self.event(HOST, PYTHON, "PjitFunction(step)", at, 100)

    def write(self, path: Path) -> Path:
        about = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}
        content = json.dumps({**about, "traceEvents": [*self.events, {}]}).encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path


@pytest.fixture
def trace(tmp_path):
    writer = JaxWriter()
    for number in range(8):
        writer.step(number, 500.0 * number)
    return writer.write(tmp_path / "host.trace.json.gz")


def test_steps_programs_and_kernels(trace):
    analysis = tcprof.read(trace)
    ranges = analysis.ranges.set_index("path")
    assert (ranges.loc["train", "instance_count"], ranges.loc["train", "kernel_count"]) == (8, 24)
    program = ranges.loc["XLA module jit_step"]
    assert (program["domain"], program["instance_count"], program["kernel_count"]) == ("TSL", 8, 24)
    part = ranges[ranges.index.str.endswith(f"{LAYER}, gemm.1")]
    assert part[["instance_count", "kernel_count", "depth"]].to_numpy().tolist() == [[8, 16, program["depth"] + 1]]
    (kernel,) = analysis.kernels.to_dict("records")
    assert (kernel["name"], kernel["launch_geometry"], kernel["total_ns"]) == (GEMM, "8x4x1 384x1x1", 24 * 10_000)
    copies = analysis.activities[analysis.activities["kind"] == "memcpy"]
    assert copies[["name", "host_memory", "moved_bytes"]].drop_duplicates().to_numpy().tolist() == [
        [DEVICE_TO_HOST, PINNED, 4]
    ]


def test_scopes_name_modules(trace):
    modules = tcprof.read(trace).modules.set_index(["module", "phase"])["kernel_count"]
    assert (modules["Net.Dense_0", "forward"], modules["Net.Dense_0", "backward"]) == (16, 8)


def test_what_is_not_known_is_said(trace, run):
    done = run("show", trace, "--notes")
    assert (done.status, "unknown GPU" in done.out, "nsys" in done.out.splitlines()[0]) == (0, True, False), done.err
    assert "Whether the Tensor Cores worked is unknown" in " ".join(done.out.split())
    assert "tcprof profile SCRIPT" in " ".join((done.out + done.err).split())


def test_a_trace_of_no_gpu_is_refused(tmp_path):
    writer = JaxWriter("/device:TPU:0")
    writer.event(GPU, STREAM, "fusion", 1, 1, hlo_op="fusion")
    with pytest.raises(InputError, match="JAX trace without GPU work"):
        open_source(writer.write(tmp_path / "tpu.trace.json"))


@pytest.mark.parametrize("listed", ["AMD Instinct MI300X", "", None])
def test_gpus_of_amd_are_told(listed, tmp_path, run):
    writer = JaxWriter()
    for number in range(6):
        writer.step(number, 500.0 * number)
    text = writer.write(tmp_path / "amd.json").read_text().replace("cuLaunchKernelEx", "hipLaunchKernel")
    if listed is not None:
        text = f'{{"deviceProperties": [{{"id": 0, "name": "{listed}"}}],' + text[1:]
    (tmp_path / "amd.json").write_text(text)
    for _ in range(2):  # from the cache, too
        out = " ".join(run("show", tmp_path / "amd.json").out.split())
        assert f"{listed or 'AMD GPU'}," in out
        assert "for this AMD GPU, it shows times" in out
        assert "use the Tensor Cores" not in out
    advice = json.loads(run("advise", tmp_path / "amd.json", "--format", "json").out)["advice"]
    assert advice == []  # prices were measured on NVIDIA's
