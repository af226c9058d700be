"""Raw recordings become reports where any importer of the machine can be loaded."""

from pathlib import Path

import pytest

from tcprof.errors import InputError
from tcprof.nsys import locate
from tcprof.nsys.locate import Nsys, explain_library, find_importer, import_stream


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.2.474")
    return path


def test_an_importer_that_runs(fake_nsys: Nsys, install_importer, tmp_path: Path):
    path = install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    found = find_importer(fake_nsys)
    assert (found.path, found.problem) == (path, "")


def test_debian_keeps_the_importer_apart(install_nsys, install_importer, tmp_path, monkeypatch):
    monkeypatch.setattr(locate, "VENDOR_ROOT", tmp_path)
    program = install_nsys(tmp_path / "usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys")
    path = install_importer(tmp_path / "usr/lib/nsight-systems/host-linux-x64/QdstrmImporter")
    assert find_importer(Nsys(program, (2023, 4, 4))).path == path


def test_no_importer(fake_nsys: Nsys):
    assert find_importer(fake_nsys) is None


@pytest.mark.parametrize(
    ("library", "remedy"), [("libdw.so.1", "apt-get install libdw1"), ("libodd.so.7", "apt-file search libodd.so.7")]
)
def test_a_missing_library_is_named_with_its_package(
    fake_nsys: Nsys, install_importer, tmp_path, monkeypatch, library: str, remedy: str
):
    install_importer(tmp_path / "host" / "QdstrmImporter")
    monkeypatch.setenv("FAKE_IMPORTER_LACKS", library)
    found = find_importer(fake_nsys)
    assert found.problem == f"the shared library {library} is missing"
    assert remedy in found.remedy == explain_library(library)


def test_an_importer_that_crashes(fake_nsys: Nsys, tmp_path: Path):
    path = tmp_path / "host" / "QdstrmImporter"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho 'cannot open display' >&2; exit 3\n")
    path.chmod(0o755)
    assert find_importer(fake_nsys).problem == "cannot open display"


def test_a_raw_recording_becomes_a_report_and_is_kept(fake_nsys: Nsys, install_importer, stream: Path):
    install_importer(stream.parent / "host" / "QdstrmImporter")
    report = import_stream(stream, [fake_nsys])
    assert report == stream.with_suffix(".nsys-rep")
    assert report.read_bytes().startswith(b"NVIDIA Tegra Profiler Report")
    assert stream.exists()


def test_no_importer_says_where_it_can_be_done(fake_nsys: Nsys, stream: Path):
    with pytest.raises(InputError, match=r"run\.qdstrm is a raw recording, and no importer here") as caught:
        import_stream(stream, [fake_nsys])
    assert "QdstrmImporter -i 'run.qdstrm'" in caught.value.hint
