import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tcprof.nsys import locate
from tcprof.nsys.capabilities import Capabilities, GpuSupport
from tcprof.nsys.locate import Nsys

FAKE = Path(__file__).with_name("fake_nsys.py")


def write_fake_nsys(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
    path.chmod(0o755)
    return path


@pytest.fixture
def fake_nsys(tmp_path: Path) -> Nsys:
    """An nsys that plays what the environment variable FAKE_NSYS says."""
    return Nsys(write_fake_nsys(tmp_path / "bin" / "nsys"), (2025, 3, 2, 474))


@pytest.fixture
def install_nsys():
    """Puts a fake nsys at a path."""
    return write_fake_nsys


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without nsys; returns its root folder."""
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
