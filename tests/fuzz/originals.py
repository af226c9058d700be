"""What is mutated: recordings of fixtures/, made smaller, and synthetic ones of what those do not have."""

import shutil
import sqlite3
from pathlib import Path

from builders import TraceBuilder, global_id

import tcprof
from fuzz import traces
from fuzz.database import columns_of, run, tables_of
from tcprof.nsys import schema

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
SHORTENED = {"mlp_tf32": 0.6, "resnet": 1.0, "jax_mlp": 0.5, "wmma": 0.3, "polynomial": 0.5, "mnist_fp32": 0.05}
SAVED = ("mlp_tf32", "resnet", "jax_mlp", "steps", "two_gpus", "empty")
MS = 1_000_000


def make_originals(folder: Path) -> list[Path]:
    """The files that mutations begin with, in a fixed order."""
    made = [_shorten(FIXTURES / f"{name}.sqlite", folder, share) for name, share in SHORTENED.items()]
    synthetic = {"steps": _steps(), "two_gpus": _two_gpus(), "json": _json(), "empty": TraceBuilder()}
    made.append(traces.write_trace(folder / "trace.json"))
    return made + [builder.write(folder, f"{name}.sqlite") for name, builder in synthetic.items()]


def _shorten(source: Path, folder: Path, share: float) -> Path:
    """A recording's first part: what begins later is left out, and so are nsys's own constants but a few."""
    path = folder / source.name
    shutil.copyfile(source, path)
    connection = sqlite3.connect(path, isolation_level=None)
    first, last = connection.execute("SELECT min(timestamp), max(timestamp) FROM GPU_METRICS").fetchone()
    until = first + int(share * (last - first))
    for table in tables_of(connection):
        names = {name for name, _ in columns_of(connection, table)}
        if table.startswith("ENUM_") and "MEM" not in table:
            run(connection, "DROP TABLE {}", table)
        elif table == "PROCESSES":
            run(connection, "DELETE FROM {} WHERE rowid > 5", table)
        elif time := next(
            (name for name in ("start", "timestamp") if name in names and table != "DIAGNOSTIC_EVENT"), ""
        ):
            run(connection, "DELETE FROM {} WHERE {} > ?", table, time, values=(until,))
    connection.execute("VACUUM")
    connection.close()
    return path


def _steps() -> TraceBuilder:
    """Ten steps of every kind of work: kernels with and without tensor activity, copies, sets, a graph, two threads."""
    builder = TraceBuilder().gpu().recorded(20 * MS, 1_700_000_000 * 10**9).exported()
    builder.captured("GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY", "100000").captured("GPU_METRICS_OPTIONS:GPU_0", "1")
    builder.system("NvDriverVersion", "580.1.2").diagnostic("warning", "Not all events might have been collected.")
    tensor, cycles = [], []
    for at in builder.steps(10, 2 * MS, 1_800_000):
        builder.range("forward", at + 1000, at + 700_000, registered=True)
        builder.range("backward", at + 700_000, at + 1_700_000, domain="torch")
        builder.range("loader", at, at + 300_000, thread=2, start_end=True)
        builder.kernel("sm90_xmma_gemm_f16f16_f16f32_f32", at + 100_000, at + 700_000, launched=at + 5000)
        builder.kernel("elementwise_kernel", at + 710_000, at + 1_000_000, launched=at + 6000, graphNodeId=3)
        builder.copy("host to device", at + 20_000, at + 90_000, launched=at + 2000)
        builder.memset(at + 1_000_000, at + 1_020_000, launched=at + 800_000)
        builder.graph(at + 1_100_000, at + 1_500_000, launched=at + 900_000)
        tensor += [400_000 if 10 <= i % 200 < 70 else 0 for i in range(200)]
        cycles += [19_800 * 132] * 200
    return builder.cycles(tensor, sm=cycles, start=0, period=10_000).lost(5 * MS, 5 * MS + 40_000)


def _two_gpus() -> TraceBuilder:
    """Two processes on two GPUs, whole percentages, an older export's names of GPUs."""
    builder = TraceBuilder().recorded(4 * MS)
    for gpu in range(2):
        process = 1000 + gpu
        builder.gpu(gpu, "NVIDIA A100-SXM4-80GB", chip="GA100", sm_count=108).visible_device(0, gpu, process=process)
        builder.row(schema.CUDA_GPUS, deviceId=gpu, numMultiprocessors=108, coreClockRate=1_410_000, name="A100")
        for step in range(8):
            at = step * 400_000
            builder.range(f"step {step % 2}", at, at + 390_000, process=process)
            builder.kernel("ampere_fp16_s16816gemm", at + 9000, at + 300_000, launched=at + 100, process=process)
        builder.samples([step % 101 for step in range(400)], gpu=gpu).samples([100] * 400, gpu=gpu, metric="GR Active")
    return builder.row("OSRT_API", start=5, end=7, globalTid=global_id(1000, 1), nameId=1)


def _json() -> TraceBuilder:
    """Samples as exports of 2022 have them."""
    builder = TraceBuilder().gpu(0, "Tesla T4", chip="TU104", sm_count=40).range("step", 0, 900_000)
    builder.kernel("turing_fp16_s1688gemm", 2_000, 700_000, launched=1_000)
    return builder.json_samples(
        {"Tensor Active [Throughput %]": list(range(100)), "GR Active [Throughput %]": [9] * 100}
    )


def save_originals(originals: list[Path], folder: Path) -> list[Path]:
    chosen = [path for path in originals if path.stem in SAVED]
    for path in chosen:
        tcprof.read(path).save(folder / f"{path.stem}.tcprof")
    return [folder / f"{path.stem}.tcprof" for path in chosen]
