import dataclasses
from pathlib import Path

import pytest

from tcprof.errors import UsageError
from tcprof.nsys.capabilities import Capabilities, GpuSupport
from tcprof.nsys.locate import Nsys
from tcprof.nsys.report import ReportFiles
from tcprof.nsys.run import Completed
from tcprof.record import command
from tcprof.record.command import RecordOptions, build_profile_command, build_session_commands
from tcprof.record.program import imports_jax

NSYS = Nsys(Path("/opt/nsys"), (2025, 3, 2))
OPTIONS = RecordOptions()
REPORT = ReportFiles(Path("out/run"))
PROGRAM = ["python", "train.py", "--epochs=2"]


def build(
    capabilities: Capabilities, metric_set: Path | None = None, report: ReportFiles = REPORT, **changes: object
) -> list[str]:
    options = dataclasses.replace(OPTIONS, **changes)
    return build_profile_command(NSYS, capabilities, options, PROGRAM, report, metric_set)


def test_default_command(h200):
    assert build(h200) == [
        "/opt/nsys",
        "profile",
        "--trace=cuda,nvtx",
        "--gpu-metrics-devices=all",
        "--gpu-metrics-frequency=20000",
        "--cuda-graph-trace=node",
        "--sample=none",
        "--cpuctxsw=none",
        "--force-overwrite=true",
        "--output=out/run",
        "python",
        "train.py",
        "--epochs=2",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["node"]),
        ({"cuda_graph_trace": "graph"}, ["graph"]),
        ({"annotate": "off"}, []),
        ({"trace": "nvtx"}, []),
        ({"extra_args": ("--cuda-graph-trace=graph:host-only",)}, ["graph:host-only"]),
    ],
)
def test_graphs_are_traced_by_node_where_modules_have_ranges(h200, options, expected):
    option = "--cuda-graph-trace="
    assert [arg.removeprefix(option) for arg in build(h200, **options) if arg.startswith(option)] == expected


@pytest.mark.parametrize(
    ("script", "is_jax"),
    [("import torch", False), ("import numpy\nfrom flax import linen", True), ("# import jax", False), (None, False)],
)
def test_scripts_that_import_jax_are_told(tmp_path, script, is_jax):
    path = tmp_path / "train.py"
    if script is not None:
        path.write_text(script, encoding="utf-8")
    assert imports_jax(["env", "torchrun", str(path), "--lr=1"]) == is_jax


def test_everything_set(h200):
    command = build(
        h200,
        frequency_hz=100_000,
        trace="cuda,nvtx,cudnn",
        gpus="0,2",
        capture_range="cudaProfilerApi",
        delay_s=1.5,
        duration_s=20.0,
        cuda_graph_trace="node",
        metric_set=Path("/tmp/x/tcprof.config"),
        extra_args=("--cuda-memory-usage=true",),
    )
    assert command == [
        "/opt/nsys",
        "profile",
        "--trace=cuda,nvtx,cudnn",
        "--gpu-metrics-devices=0,2",
        "--gpu-metrics-frequency=100000",
        "--gpu-metrics-set=file:/tmp/x/tcprof.config",
        "--capture-range=cudaProfilerApi",
        "--capture-range-end=stop",
        "--delay=1.5",
        "--duration=20",
        "--cuda-graph-trace=node",
        "--sample=none",
        "--cpuctxsw=none",
        "--force-overwrite=true",
        "--output=out/run",
        "--cuda-memory-usage=true",
        "python",
        "train.py",
        "--epochs=2",
    ]


def test_without_a_gpu_to_sample_the_rest_is_recorded():
    gpu = GpuSupport(0, "GV100", "Quadro GV100", supported=False, reason="Unsupported architecture")
    command = build(Capabilities("--gpu-metrics-device", metric_set_files=False, gpus=(gpu,)), metric_set=Path("x"))
    assert command == [
        "/opt/nsys",
        "profile",
        "--trace=cuda,nvtx",
        "--cuda-graph-trace=node",
        "--sample=none",
        "--cpuctxsw=none",
        "--force-overwrite=true",
        "--output=out/run",
        *PROGRAM,
    ]


def test_old_spelling(h200):
    old = dataclasses.replace(h200, gpu_metrics_option="--gpu-metrics-device", metric_set_files=False)
    assert "--gpu-metrics-device=all" in build(old)
    with pytest.raises(UsageError, match="accepts no metric-set files"):
        build(old, metric_set=Path("x.config"))


def test_nvtx_range(h200):
    command = build(h200, capture_range="nvtx:train step")
    assert command[5:9] == [
        "--capture-range=nvtx",
        "--nvtx-capture=train step",
        "--capture-range-end=stop",
        "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
    ]


@pytest.mark.parametrize("capture_range", ["auto", "nvtx", "nvtx:", "hotkey", ""])
def test_no_such_capture_range(h200, capture_range):
    with pytest.raises(UsageError, match="not a capture range"):
        build(h200, capture_range=capture_range)


@pytest.mark.parametrize("frequency", [9, 200_001, -1])
def test_frequency_that_nsys_cannot_do(h200, frequency):
    with pytest.raises(UsageError, match=f"cannot sample at {frequency} Hz"):
        build(h200, frequency_hz=frequency)
    assert build(h200, frequency_hz=frequency, gpus="none")


@pytest.mark.parametrize(
    ("extra", "dropped"),
    [
        (("--trace=cuda",), "--trace=cuda,nvtx"),
        (("-t", "cuda"), "--trace=cuda,nvtx"),
        (("-scpu",), "--sample=none"),
        (("--gpu-metrics-device=0",), "--gpu-metrics-devices=all"),
        (("-o", "other"), "--output=out/run"),
        (("-d", "5"), "--duration=3"),
        (("--delay=9",), "--delay=2"),
        (("-y9",), "--delay=2"),
    ],
)
def test_the_users_own_options_win(h200, extra, dropped):
    command = build(h200, delay_s=2.0, duration_s=3.0, extra_args=extra)
    assert dropped in build(h200, delay_s=2.0, duration_s=3.0)
    assert dropped not in command  # nsys refuses an option that is given twice
    assert command[-len(extra) - len(PROGRAM) :] == [*extra, *PROGRAM]


@pytest.mark.parametrize("change", [{"delay_s": 0.0}, {"duration_s": -1.0}, {"duration_s": float("nan")}])
def test_a_delay_and_a_duration_take_time(h200, change):
    with pytest.raises(UsageError, match="more than 0 seconds"):
        build(h200, **change)


@pytest.mark.parametrize(
    ("output", "base"),
    [("x.nsys-rep", "x"), ("a/x", "a/x"), ("run.v1", "run.v1"), ("x.qdrep", "x"), ("x.sqlite", "x"), ("50%", "50%")],
)
def test_base_of_a_report(output, base):
    assert ReportFiles.named(Path(output)).base == Path(base)


def test_percent_is_not_a_pattern(h200):
    assert "--output=50%%" in build(h200, report=ReportFiles.named(Path("50%.nsys-rep")))


@pytest.mark.parametrize(
    ("given", "known"),
    [
        (("-t", "cuda,nvtx"), "--trace=cuda,nvtx"),
        (("-tcuda,nvtx",), "--trace=cuda,nvtx"),
        (("-s", "cpu"), "--sample=cpu"),
        (("-b", "fp", "--gpuctxsw", "true"), "--gpuctxsw=true"),
        (("--gpuctxsw=true", "-b", "fp"), "--backtrace=fp"),
    ],
)
def test_the_users_own_options_hold_for_the_second_capture(h200, monkeypatch, given, known):
    said = "--trace=\n--sample=\n--backtrace=\n--gpuctxsw=\n"
    monkeypatch.setattr(command, "run_quietly", lambda _: Completed(0, said, ""))
    options = dataclasses.replace(OPTIONS, extra_args=given)
    start = build_session_commands(NSYS, h200, options, REPORT, None).start
    assert known in start
    assert sum(each.startswith(f"{known.partition('=')[0]}=") for each in start) == 1
    assert all(each.startswith("--") for each in start[2:])


def test_nsys_alone_decides_where_its_own_option_ends_the_recording():
    assert not dataclasses.replace(OPTIONS, extra_args=("-x", "false")).follows_steps
