"""Planning a recording, and the whole of ``tcprof profile``, with the fake nsys."""

import sys
from pathlib import Path

import pytest

import tcprof
from tcprof import cli
from tcprof.nsys.command import RecordOptions
from tcprof.nsys.plan import plan_recording

FIXTURE = Path(__file__).parents[2] / "fixtures" / "mnist_amp.sqlite"
GENERAL_SET = """version: 5
metricSets:
- alias: gh100
  name: General Metrics
  chips: [GH100]
  displayRows:
  - name: SM
    type: overlay
    metrics: [Tensor Active]
  metrics:
  - name: Tensor Active
    id: sm__pipe_tensor_cycles_active_realtime
    description: Cycles the tensor pipe is active
    color: '#B3FF70'
    subMetrics:
    - name: Throughput %
      suffix: .avg.pct_of_peak_sustained_elapsed
"""


@pytest.fixture
def machine(fake_nsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on a machine whose nsys is the fake one, with a script in it."""
    monkeypatch.setenv("TCPROF_NSYS", str(fake_nsys.path))
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(FIXTURE))
    monkeypatch.setattr(sys, "argv", ["tcprof"])  # put back after the test, whatever a command was run with
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('trained')\n")
    return tmp_path


def add_general_set(nsys: Path) -> None:
    folder = nsys.parent / "GpuMetrics"
    folder.mkdir()
    (folder / "index.config").write_text("gh100\n")
    (folder / "gh100.config").write_text(GENERAL_SET)


def run(*args: str) -> int:
    sys.argv = ["tcprof", *args]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def test_cycles_are_planned_where_they_can_be_had(machine: Path, fake_nsys) -> None:
    add_general_set(fake_nsys.path)
    with plan_recording(["train.py", "--fast"], RecordOptions(output=machine / "run")) as plan:
        (chosen,) = [arg for arg in plan.argv if arg.startswith("--gpu-metrics-set=file:")]
        written = Path(chosen.partition(":")[2])
        assert "sm__cycles_elapsed" in written.read_text()
    assert plan.notes == ()
    assert plan.argv[-3:] == [sys.executable, "train.py", "--fast"]
    assert not written.exists()


def test_without_a_set_for_the_chip_percentages_are_planned(machine: Path) -> None:
    with plan_recording(["train.py"], RecordOptions(output=machine / "run")) as plan:
        assert not any(arg.startswith("--gpu-metrics-set") for arg in plan.argv)
        assert "--gpu-metrics-devices=all" in plan.argv
    assert [note.partition(":")[0] for note in plan.notes] == ["Rounded percentages are recorded, not tensor cycles"]


def test_without_a_gpu_no_metrics_are_planned(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NSYS", "old")
    with plan_recording(["train.py"], RecordOptions(output=machine / "run")) as plan:
        assert not any(arg.startswith("--gpu-metrics") for arg in plan.argv)
    assert plan.notes[0].startswith("No GPU metrics are recorded")


def test_profile_prints_the_ranges_and_leaves_report_export_and_page(
    machine: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run("profile", "train.py") == 0
    printed = capfd.readouterr().out.splitlines()
    assert printed[-2:] == ["train.nsys-rep", "train.html"]
    assert any(line.split()[:1] == ["backward"] for line in printed)
    assert {"train.nsys-rep", "train.sqlite", "train.html"} <= {path.name for path in machine.iterdir()}
    assert run("profile", "train.py") == 3
    assert "exists already" in capfd.readouterr().err
    assert run("profile", "--force", "train.py") == 0


def test_dry_run_leaves_nothing(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("profile", "--dry-run", "--frequency", "10000", "--nsys-args", "--trace=cuda", "train.py", "-x") == 0
    printed = capfd.readouterr().out
    assert "--gpu-metrics-frequency=10000" in printed
    assert printed.count("--trace=") == 1
    assert printed.rstrip().endswith("train.py -x")
    assert {path.name for path in machine.iterdir()} <= {"train.py", "bin"}


def test_a_refusal_is_explained(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_NSYS", "privilege")
    assert run("profile", "train.py") == 4
    assert "RestrictProfilingToAdminUsers" in capfd.readouterr().err
    assert not (machine / "train.nsys-rep").exists()


def test_profile_from_python(machine: Path) -> None:
    analysis = tcprof.profile(["train.py"], machine / "run")
    assert analysis.recording.file == "run.sqlite"
    assert analysis.tensor_source == "cycles"
