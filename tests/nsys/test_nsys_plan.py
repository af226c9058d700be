"""Planning a recording, and the whole of ``tcprof profile``, with the fake nsys."""

import os
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from builders import FIXTURES

import tcprof
from tcprof.errors import InputError, NsysError, UsageError
from tcprof.nsys.capabilities import Capabilities, GpuSupport
from tcprof.nsys.report import ReportFiles, fill_in
from tcprof.record.command import RecordOptions
from tcprof.record.plan import Plan, plan_recording, try_metric_set, write_metric_set
from tcprof.record.recording import Session
from tcprof.views.commands import describe_plan

pytestmark = pytest.mark.usefixtures("shared_reads")

FIXTURE = Path(__file__).parents[2] / "fixtures" / "mlp_fp16.sqlite"  # a small one


def plan(folder: Path, *program: str, **options: object) -> Plan:
    with plan_recording(Session(program or ["train.py"]).program, RecordOptions(**options)) as planned:
        return planned


def test_cycles_are_planned_where_they_can_be_had(machine, general_set):
    with plan_recording(Session(["train.py", "--fast"]).program, RecordOptions()) as planned:
        command = planned.build_command(ReportFiles(machine / "run"))
        (chosen,) = [arg for arg in command if arg.startswith("--gpu-metrics-set=file:")]
        written = Path(chosen.partition(":")[2])
        assert "sm__cycles_elapsed" in written.read_text()
    assert planned.notes == ()
    assert command[-3:] == [sys.executable, "train.py", "--fast"]
    assert not written.exists()
    assert "GPU 0 NVIDIA H200: exact tensor cycles at 20 kHz" in describe_plan(planned)


def test_without_a_set_for_the_chip_percentages_are_planned(machine):
    planned = plan(machine)
    command = planned.build_command(ReportFiles(machine / "run"))
    assert not any(arg.startswith("--gpu-metrics-set") for arg in command)
    assert "--gpu-metrics-devices=all" in command
    assert [note.partition(":")[0] for note in planned.notes] == [
        "Rounded percentages are recorded, not exact tensor cycles"
    ]
    assert "whole percentages" in describe_plan(planned)


def test_a_set_that_nsys_refuses_falls_back_with_a_word(machine, general_set, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "busy")
    planned = plan(machine)
    assert planned.metric_set is None
    assert "another tool holds the GPU's performance counters" in planned.notes[0]


def test_a_counter_that_nsys_leaves_out_in_silence_is_missed(machine, general_set, monkeypatch):
    without = machine.parent / "without.sqlite"
    shutil.copy(FIXTURE, without)
    with closing(sqlite3.connect(without)) as connection:
        connection.execute("DELETE FROM TARGET_INFO_GPU_METRICS WHERE metricName = 'Tensor Active [Sum]'")
        connection.commit()
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(without))
    planned = plan(machine)
    assert planned.metric_set is None
    assert "accepted the metric set, but sampled no tensor cycles" in planned.notes[0]


def test_the_set_may_be_chosen(machine, general_set):
    assert plan(machine, metrics="default").metric_set is None
    own = machine / "own.config"
    own.write_text(general_set.read_text())
    assert plan(machine, metrics="own.config").metric_set == own
    assert "metrics of own.config" in describe_plan(plan(machine, metrics="own.config"))
    assert plan(machine, extra_args=("--gpu-metrics-set=gh100-ct",)).metric_set is None
    with pytest.raises(InputError, match=r"metric set none\.config does not exist"):
        plan(machine, metrics="none.config")


def test_gpus_are_chosen_by_number(machine):
    assert [gpu.number for gpu in plan(machine, gpus="0").gpus] == [0]
    with pytest.raises(UsageError, match="cannot sample GPU 3 here") as caught:
        plan(machine, gpus="0,3")
    assert "It can sample: 0." in caught.value.hint


def test_options_are_refused_before_anything_is_run(machine, monkeypatch):
    monkeypatch.setattr("tcprof.record.plan.try_metric_set", lambda *_: pytest.fail("sampled"))
    for change in ({"frequency_hz": 5}, {"capture_range": "auto"}, {"duration_s": 0.0}):
        with pytest.raises(UsageError):
            plan(machine, **change)


def test_size_and_overflow_are_foretold(machine, general_set):
    planned = plan(machine)
    metrics = yaml.safe_load(general_set.read_text())["metricSets"][0]["metrics"]
    assert len(metrics) == 1
    assert planned.bytes_per_s == 20_000 * 3 * 20  # its percentage, its cycles, and the cycles of the SMs
    assert plan(machine, metrics="default").bytes_per_s == 20_000 * 22 * 20
    assert plan(machine, metrics="default", frequency_hz=200_000).notes == ()


def test_links_are_kept_where_gpus_work_together(fake_nsys, h200, general_set, tmp_path):
    document = yaml.safe_load(general_set.read_text())
    link = {
        "name": "NVLink RX",
        "id": "NVLRX.TriageCompute.nvlrx__bytes",
        "subMetrics": [{"name": "x", "suffix": ".y"}],
    }
    document["metricSets"][0]["metrics"].append(link)
    general_set.write_text(yaml.safe_dump(document))
    other = GpuSupport(1, "GH100", "NVIDIA H200", supported=True, reason="")
    names = []
    for gpus in (h200.gpus, (*h200.gpus, other)):
        path = write_metric_set(fake_nsys, h200, gpus, tmp_path)
        assert path == tmp_path / "tcprof.config"
        chosen = yaml.safe_load(path.read_text())["metricSets"][0]
        assert chosen["alias"] == "tcprof"
        names.append({metric["name"] for metric in chosen["metrics"]})
    assert names[1] - names[0] == {"NVLink RX"}


def test_no_metric_set_for_mixed_gpus_or_old_nsys(fake_nsys, h200, tmp_path):
    ada = GpuSupport(1, "AD102", "RTX", supported=True, reason="")
    with pytest.raises(NsysError, match="AD102, GH100"):
        write_metric_set(fake_nsys, h200, (*h200.gpus, ada), tmp_path)
    old = Capabilities("-", metric_set_files=False, gpus=h200.gpus)
    with pytest.raises(NsysError, match="accepts no metric-set files"):
        write_metric_set(fake_nsys, old, h200.gpus, tmp_path)


def test_profile_prints_the_ranges_and_leaves_report_export_and_page(run, machine, capfd):
    assert run("profile", "train.py") == 0
    printed = capfd.readouterr().out.splitlines()
    assert printed[-3:] == ["train.nsys-rep", "train.html", "train.tcprof"]
    assert any(line.split()[:1] == ["backward"] for line in printed)
    assert {path.name for path in machine.iterdir()} == {
        "train.py",
        "train.nsys-rep",
        "train.run.json",
        "train.sqlite",
        "train.html",
        "train.tcprof",
    }
    assert run("profile", "train.py") == 3
    assert "already exists" in capfd.readouterr().err


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "forced"])
def test_another_programs_file_in_place_of_the_export_is_refused_before_the_program_runs(run, machine, force, capfd):
    there = machine / "runs-2.sqlite"
    there.write_text("mine")
    assert run("profile", *force, "-o", "runs", "--repeat", "2", "train.py") == 3
    shown = capfd.readouterr()
    assert "runs-2.sqlite already exists and is not an nsys export." in shown.err
    assert "trained" not in shown.out
    assert {path.name for path in machine.iterdir()} == {"train.py", there.name}
    there.unlink()
    there.mkdir()
    assert run("profile", *force, "-o", "runs", "--repeat", "2", "train.py") == 3
    assert "runs-2.sqlite is a folder, but the export needs that path" in capfd.readouterr().err
    assert {path.name for path in machine.iterdir()} == {"train.py", there.name}


def test_options_that_are_not_ours_go_to_nsys_unchanged(run, machine, capfd):
    ours = ("--frequency", "10000", "--delay", "2", "--cuda-graph-trace", "node")
    theirs = ("--trace=cuda", "-x", "true", "--cuda-memory-usage=true")
    assert run("profile", "--dry-run", *ours, *theirs, "train.py", "-x") == 0
    printed = capfd.readouterr().out
    assert "--gpu-metrics-frequency=10000 --delay=2 --cuda-graph-trace=node" in printed
    assert printed.count("--trace=") == 1
    assert " ".join(theirs) in printed
    assert printed.rstrip().endswith("train.py -x")
    assert {path.name for path in machine.iterdir()} == {"train.py"}


def test_the_programs_exit_status_is_kept_with_the_page(run, machine, capfd):
    (machine / "train.py").write_text("raise SystemExit(7)\n")
    assert run("profile", "train.py") == 7
    shown = capfd.readouterr()
    assert "exit status 7" in shown.err
    assert shown.out.splitlines()[-2] == "train.html"


def test_a_refusal_is_explained(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "privilege")
    assert run("profile", "train.py") == 4
    assert "RestrictProfilingToAdminUsers" in capfd.readouterr().err
    assert not (machine / "train.nsys-rep").exists()


def test_a_machine_that_cannot_record_says_so_at_once_and_leaves_nothing(run, machine, gpu_root, capfd):
    for name in ("proc/driver/nvidia/version", "dev/nvidia0"):
        (gpu_root / name).unlink()
    before = {path.name for path in machine.iterdir()}
    began = time.monotonic()
    assert run("profile", "train.py") == 3
    assert time.monotonic() - began < 20  # two seconds are measured by the benchmarks, not asserted here
    shown = capfd.readouterr()
    assert "no NVIDIA driver is loaded" in shown.err
    assert "tcprof doctor" in shown.err
    assert shown.out == ""
    assert {path.name for path in machine.iterdir()} == before


def test_a_report_that_cannot_be_had_keeps_the_raw_recording(run, machine, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_NSYS", "qdstrm")
    monkeypatch.setenv("FAKE_IMPORTER_FAILS", "version mismatch")
    assert run("profile", "train.py") == 4
    assert "version mismatch" in capfd.readouterr().err
    assert (machine / "train.qdstrm").exists()


def test_profile_from_python(machine):
    analysis = tcprof.profile(["train.py"], machine / "run", gpus="0", metrics="default")
    assert analysis.recording.file == "run.sqlite"
    assert analysis.analysis.tensor_source == "cycles"


def add_metrics(general_set: Path, **counters: str) -> None:
    """Give nsys's set metrics beside which ours adds sums, by their names with _ for a space."""
    document = yaml.safe_load(general_set.read_text())
    for name, counter in counters.items():
        percent = [{"name": "Throughput %", "suffix": ".avg.pct_of_peak_sustained_elapsed"}]
        metric = {"name": name.replace("_", " "), "id": counter, "subMetrics": percent}
        document["metricSets"][0]["metrics"].append(metric)
    general_set.write_text(yaml.safe_dump(document))


def test_what_of_the_set_is_not_sampled_is_told(machine, general_set):
    add_metrics(general_set, DRAM_Read_Bandwidth="dram__read_throughput", SM_Issue="sm__inst_executed_realtime")
    planned = plan(machine)
    assert planned.metric_set is not None
    assert planned.notes == (
        "Not sampled here: SM Issue, DRAM Read, L2, FMA Pipe, L1 Data Pipe, L2 Requests, L2 Cycles.",
    )


@pytest.mark.parametrize(
    ("refused", "lacks", "tried"),
    [("FMA Pipe", "no bytes and no instructions", 3), ("L1 Data Pipe", "no cache counters", 2)],
)
def test_sums_that_are_refused_leave_the_others(machine, general_set, monkeypatch, refused, lacks, tried):
    add_metrics(general_set, SM_Issue="sm__inst_executed_realtime")
    asked = []

    def refuse(nsys: object, capabilities: object, options: object, path: Path) -> tuple[str, ...]:
        asked.append(path.read_text())
        if refused in asked[-1]:
            raise NsysError("it needs two passes.")
        return try_metric_set(nsys, capabilities, options, path)  # type: ignore[arg-type]

    monkeypatch.setattr("tcprof.record.plan.try_metric_set", refuse)
    assert plan(machine).notes == (f"Tensor cycles are recorded, but {lacks}: it needs two passes.",)
    assert len(asked) == tried
    assert ("FMA Pipe" in asked[-1]) == (refused != "FMA Pipe")


# ``tcprof profile --dry-run`` and the patterns in ``-o``: for jobs that run on other machines.


@pytest.fixture
def login_node(empty_machine, tmp_path, monkeypatch):
    """A folder with a script, on a machine without a GPU and without nsys."""
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "train.py").write_text("print('trained')\n")
    monkeypatch.chdir(folder)
    return folder


def test_a_command_is_printed_without_gpu_and_nsys(run, login_node, capfd):
    assert run("profile", "--dry-run", "-o", "run_%q{SLURM_PROCID}_%h", "train.py", "--name", "a b; rm -rf /") == 0
    shown = capfd.readouterr()
    command = shlex.split(shown.out)
    assert command[:2] == ["nsys", "profile"]
    assert {"--gpu-metrics-devices=all", "--output=run_%q{SLURM_PROCID}_%h"} < set(command)
    assert command[-3:] == ["train.py", "--name", "a b; rm -rf /"]
    assert "there is no nsys here" in shown.err
    assert "For exact tensor cycles, have the job run 'tcprof profile' itself" in " ".join(shown.err.split())
    assert sorted(path.name for path in login_node.iterdir()) == ["train.py"]


@pytest.mark.parametrize(("visible", "sampled"), [("1,3", "1,3"), ("", "all"), ("GPU-2f1c", "all")])
def test_the_gpus_that_cuda_sees_are_sampled(run, login_node, monkeypatch, capfd, visible, sampled):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert run("profile", "--dry-run", "train.py") == 0
    assert f"--gpu-metrics-devices={sampled}" in shlex.split(capfd.readouterr().out)


def test_what_is_printed_runs_there_as_it_stands(run, login_node, fake_nsys, monkeypatch, capfd):
    assert run("profile", "--dry-run", "--nsys", str(fake_nsys.path), "--gpus", "none", "train.py") == 0
    printed = capfd.readouterr().out
    monkeypatch.setenv("PATH", os.defpath)
    done = subprocess.run(["sh", "-c", printed], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("trained\n")
    assert (login_node / "train.nsys-rep").exists()


def test_an_nsys_and_a_program_that_are_only_there_are_taken_as_named(run, login_node, capfd):
    there = ("--nsys", "/opt/there/nsys", "--metrics", "default", "--python", "python")
    assert run("profile", "--dry-run", *there[:4], "torchrun-there", "/there/train.py") == 0
    command = shlex.split(capfd.readouterr().out)
    assert (command[0], command[-2:]) == ("/opt/there/nsys", ["torchrun-there", "/there/train.py"])
    assert run("profile", "--dry-run", *there, "train.py") == 3  # a Python is looked for where it is named
    assert run("profile", "--dry-run", "--frequency", "1", "train.py") == 2
    assert run("profile", "--dry-run", "--metrics", "none.config", "train.py") == 3


@pytest.mark.parametrize(
    ("pattern", "filled"),
    [
        ("run_%q{RANK}_%h", "run_3_HOST"),
        ("%p", "PROCESS"),
        ("50%", "50%"),
        ("a 50% run", "a 50% run"),
        ("50%%q{RANK}", "50%q{RANK}"),
        ("%q{RANK", "%q{RANK"),
        ("%q{DIR}/x", "sub/x"),
        ("%d", "%d"),
    ],
)
def test_patterns_are_those_of_nsys(monkeypatch, pattern, filled):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("DIR", "sub")
    here = filled.replace("HOST", socket.gethostname()).replace("PROCESS", str(os.getpid()))
    assert str(fill_in(Path(pattern))) == here


def test_a_number_is_the_next_free_one(tmp_path):
    assert fill_in(tmp_path / "run%n") == tmp_path / "run1"
    for taken in ("run1.nsys-rep", "run2.qdstrm"):
        (tmp_path / taken).touch()
    assert fill_in(tmp_path / "run%n.nsys-rep") == tmp_path / "run3.nsys-rep"
    (tmp_path / "50%n.nsys-rep").touch()
    assert fill_in(tmp_path / "50%%n") == tmp_path / "50%n"


@pytest.mark.parametrize("content", [None, b"mine"], ids=["of another recording", "of another program"])
def test_what_is_there_is_replaced_only_if_forced(run, machine, content, capfd):
    there = machine / "train.tcprof"
    if content is None:
        tcprof.read(FIXTURES / "matmul.sqlite").save(there)
    else:
        there.write_bytes(content)
    before = there.read_bytes()
    assert run("profile", "--gpus", "none", "train.py") == 3
    shown = capfd.readouterr()
    assert "train.tcprof already exists" in shown.err
    assert "trained" not in shown.out
    assert there.read_bytes() == before
    assert run("profile", "--gpus", "none", "--force", "train.py") == 0
    assert tcprof.read(there).recording.file == "train.sqlite"
