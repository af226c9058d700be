import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tcprof import cli
from tcprof.nsys import locate
from tcprof.nsys.capabilities import Capabilities, GpuSupport
from tcprof.nsys.locate import Nsys

FIXTURE = Path(__file__).parents[2] / "fixtures" / "mlp_fp16.sqlite"  # a small one
FAKE = Path(__file__).with_name("fake_nsys.py")
IMPORTER = """#!/bin/sh
if [ -n "$FAKE_IMPORTER_LACKS" ]; then
  echo "$0: error while loading shared libraries: $FAKE_IMPORTER_LACKS: cannot open shared object file" >&2
  exit 127
fi
if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems 36398880"; exit 0; fi
if [ -n "$FAKE_IMPORTER_FAILS" ]; then echo "Importer error: $FAKE_IMPORTER_FAILS" >&2; exit 1; fi
printf 'NVIDIA Tegra Profiler Report' > "$4"
"""
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


def write_fake_nsys(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def signals_arrive() -> None:
    """Programs started by ``nohup`` or in the background ignore signals, and so would all that a test starts."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture
def fake_nsys(tmp_path: Path) -> Nsys:
    """An nsys that plays what the environment variable FAKE_NSYS says."""
    return Nsys(write_fake_nsys(tmp_path / "bin" / "nsys"), (2025, 3, 2, 474))


@pytest.fixture
def install_importer():
    def install(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(IMPORTER)
        path.chmod(0o755)
        return path

    return install


@pytest.fixture
def general_set(fake_nsys: Nsys) -> Path:
    folder = fake_nsys.path.parent / "GpuMetrics"
    folder.mkdir()
    (folder / "index.config").write_text("gh100\n")
    path = folder / "gh100.config"
    path.write_text(GENERAL_SET)
    return path


@pytest.fixture
def gpu_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's files of a machine with an NVIDIA GPU whose counters are open."""
    root = tmp_path / "kernel"
    files = {
        "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release\n",
        "proc/driver/nvidia/params": "EnableMSI: 1\nRmProfilingAdminOnly: 0\n",
        "proc/sys/kernel/perf_event_paranoid": "2\n",
        "proc/self/status": "Name:\tpython\nCapEff:\t0000000000000000\n",
        "proc/stat": "btime 0\n",
        "proc/1/cgroup": "0::/init.scope\n",
        "dev/nvidia0": "",
        "dev/nvidiactl": "",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr("tcprof.record.machine.ROOT", root)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(root / "proc"))
    return root


@pytest.fixture
def add_process(gpu_root: Path):
    """Adds a process to the kernel's files, as Linux describes one."""

    def add(pid: int, name: str, state: str = "S") -> None:
        folder = gpu_root / "proc" / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} ({name[:15]}) {state} 1 1 1 {' '.join(['0'] * 46)}\n")
        (folder / "cmdline").write_text(f"/usr/bin/{name}\0--flag\0")

    return add


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):
    """Runs the command line in this process; gives its exit status."""

    def run(*args: str) -> int:
        monkeypatch.setattr(sys, "argv", ["tcprof", *args])
        try:
            cli.main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0
        return 0

    return run


@pytest.fixture
def install_nsys():
    return write_fake_nsys


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.setattr(locate, "VENDOR_ROOT", root)
    monkeypatch.setenv("PATH", str(root / "bin"))
    monkeypatch.delenv("TCPROF_NSYS", raising=False)
    return root


@pytest.fixture
def h200() -> Capabilities:
    gpu = GpuSupport(0, "GH100", "NVIDIA H200", supported=True, reason="")
    return Capabilities("--gpu-metrics-devices", metric_set_files=True, gpus=(gpu,))


@pytest.fixture
def write_sqlite():
    """Writes a small SQLite file with the given tables."""

    def write(path: Path, *tables: str) -> Path:
        with closing(sqlite3.connect(path)) as connection:
            for table in tables:
                connection.execute(f"CREATE TABLE {table} (id INTEGER, value TEXT)")
            rows = [(number, "x" * 500) for number in range(40)]  # several pages
            connection.executemany(f"INSERT INTO {tables[0]} VALUES (?, ?)", rows)  # noqa: S608
            connection.commit()
        return path

    return write


@pytest.fixture
def export_file(tmp_path: Path, write_sqlite, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole export; it is also what the fake nsys exports."""
    path = write_sqlite(tmp_path / "whole.sqlite", "StringIds", "META_DATA_EXPORT")
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(path))
    return path


@pytest.fixture
def machine(fake_nsys, gpu_root, install_importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on a machine whose nsys is the fake one, with a script in it."""
    install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    monkeypatch.setenv("TCPROF_NSYS", str(fake_nsys.path))
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(FIXTURE))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("print('trained')\n")
    return folder
