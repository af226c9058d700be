import pytest

from tcprof.errors import InputError, NsysError
from tcprof.nsys import locate
from tcprof.nsys.capabilities import Capabilities, GpuSupport, parse_gpus, read_capabilities, read_general_metric_set
from tcprof.nsys.locate import Nsys, explain_library, find_importer, find_nsys, import_stream

VENDOR_PLACES = [
    "opt/nvidia/nsight-systems/2025.3.2/target-linux-x64/nsys",
    "opt/nvidia/nsight-systems-cli/2025.3.2/target-linux-x64/nsys",
    "usr/local/cuda-13.0/NsightSystems-cli-2025.3.2/target-linux-x64/nsys",
    "usr/local/cuda/nsight-systems-2025.3.2/target-linux-x64/nsys",
    "usr/lib/nsight-systems/target-linux-x64/nsys",
    "usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys",
    "opt/nvidia/nsight-compute/2025.3.1/host/target-linux-x64/nsys",
    "usr/local/cuda/nsight-compute-2025.3.1/host/target-linux-sbsa-armv8/nsys",
]


@pytest.mark.parametrize("place", VENDOR_PLACES)
def test_finds_nsys_off_path(empty_machine, install_nsys, place):
    path = install_nsys(empty_machine / place)
    assert find_nsys() == Nsys(path, (2025, 3, 2, 474))


def test_explicit_before_environment_before_path_before_vendor(empty_machine, install_nsys, monkeypatch, tmp_path):
    vendor = install_nsys(empty_machine / VENDOR_PLACES[0])
    assert find_nsys().path == vendor
    on_path = install_nsys(empty_machine / "bin" / "nsys")
    assert find_nsys().path == on_path
    named = install_nsys(tmp_path / "named" / "nsys")
    monkeypatch.setenv("TCPROF_NSYS", str(named))
    assert find_nsys().path == named
    explicit = install_nsys(tmp_path / "explicit" / "nsys")
    assert find_nsys(explicit).path == explicit


def test_newest_vendor_version_wins(empty_machine):
    for version in ("2025.10.1", "2025.9.1"):
        path = empty_machine / f"opt/nvidia/nsight-systems/{version}/target-linux-x64/nsys"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho 'NVIDIA Nsight Systems version {version}.5-1v0'\n")
        path.chmod(0o755)
    assert find_nsys().version == (2025, 10, 1, 5)
    assert find_nsys().version_text == "2025.10.1"


def test_no_nsys_says_where_it_looked(empty_machine):
    with pytest.raises(NsysError, match=r"not found on PATH nor in .*nsight-compute") as caught:
        find_nsys()
    assert caught.value.exit_status == 4
    assert "TCPROF_NSYS" in caught.value.hint


def test_wrapper_without_nsys_behind_it(empty_machine, install_nsys, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "wrapper")
    path = install_nsys(empty_machine / "bin" / "nsys")
    with pytest.raises(NsysError, match=r"exit status 1, output: Error: Nsight Systems 2025\.3\.2 hasn't"):
        find_nsys()
    with pytest.raises(NsysError, match="fails to run as nsys"):
        find_nsys(path)


def test_wrapper_on_path_does_not_hide_a_real_one(empty_machine, install_nsys):
    wrapper = empty_machine / "bin" / "nsys"
    wrapper.parent.mkdir()
    wrapper.write_text("#!/bin/sh\nexit 1\n")
    wrapper.chmod(0o755)
    real = install_nsys(empty_machine / VENDOR_PLACES[0])
    assert find_nsys().path == real


@pytest.mark.parametrize("content", [None, "not a program"])
def test_explicit_that_cannot_start(tmp_path, content):
    path = tmp_path / "nsys"
    if content:
        path.write_text(content)
        path.chmod(0o755)
    with pytest.raises(NsysError, match="could not be started"):
        find_nsys(path)


def test_capabilities(fake_nsys, h200):
    assert read_capabilities(fake_nsys) == h200


def test_capabilities_of_an_old_nsys_without_gpu(fake_nsys, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "old")
    assert read_capabilities(fake_nsys) == Capabilities("--gpu-metrics-device", metric_set_files=False, gpus=())


def test_capabilities_need_an_answer(fake_nsys):
    fake_nsys.path.write_text("#!/bin/sh\necho nothing of use\n")
    with pytest.raises(NsysError, match="does not say which GPUs it can sample: nothing of use"):
        read_capabilities(fake_nsys)


GPU_LISTS = {
    "documented": (
        """Possible --gpu-metrics-devices values are:
    1: Turing TU104 | GeForce RTX 2070 SUPER PCI[0000:65:00.0]
    all: Select all supported GPUs
    none: Disable GPU Metrics [Default]
Some GPUs are not supported:
    0: Volta GV100 | Quadro GV100 PCI[0000:17:00.0]
See the user guide: https://docs.nvidia.com/nsight-systems/UserGuide/index.html#gpu-metrics
""",
        [GpuSupport(1, "TU104", "GeForce RTX 2070 SUPER", True, ""), GpuSupport(0, "GV100", "Quadro GV100", False, "")],
    ),
    "reason on the line": (
        "None of the installed GPUs are supported:\n\tAda AD102 | NVIDIA GeForce RTX 4090 PCI[0000:01:00.0] "
        "- "
        "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n",
        [
            GpuSupport(
                None,
                "AD102",
                "NVIDIA GeForce RTX 4090",
                False,
                "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
            )
        ],
    ),
    "held without numbers": (  # nsys 2025.3.2 counts the free ones only; a recording takes 1 for 0000:00:07.0
        "Possible --gpu-metrics-devices values are:\n\t0: Hopper GH100 | NVIDIA H200 PCI[0000:00:07.0]\n"
        "\t1: Hopper GH100 | NVIDIA H200 PCI[0000:00:08.0]\n\tall: Select all supported GPUs\n"
        "Some GPUs are not supported:\n\tHopper GH100 | NVIDIA H200 PCI[0000:00:06.0] - Already under profiling\n"
        "\tHopper GH100 | NVIDIA H200 PCI[0000:00:09.0] - Already under profiling\n",
        [
            GpuSupport(1, "GH100", "NVIDIA H200", True, ""),
            GpuSupport(2, "GH100", "NVIDIA H200", True, ""),
            GpuSupport(0, "GH100", "NVIDIA H200", False, "Already under profiling"),
            GpuSupport(3, "GH100", "NVIDIA H200", False, "Already under profiling"),
        ],
    ),
    "none": ("Possible --gpu-metrics-device values are:\n\tNVIDIA GPUs not found, feature is not available\n", []),
}


@pytest.mark.parametrize("case", GPU_LISTS)
def test_parse_gpus(case):
    text, expected = GPU_LISTS[case]
    assert list(parse_gpus(text)) == expected


def metric_sets(nsys: Nsys, index: str | None, **sets: str) -> None:
    folder = nsys.path.parent / "GpuMetrics"
    folder.mkdir()
    for name, chips in sets.items():
        (folder / f"{name}.config").write_text(f"version: 5\nmetricSets:\n- alias: {name}\n  chips: [{chips}]\n")
    if index is not None:
        (folder / "index.config").write_text(index)


def test_general_metric_set_is_the_first_of_the_index(fake_nsys):
    metric_sets(fake_nsys, "z\nb\na\n", a="GH100", b="GA102, GH100", z="TU102")
    assert "alias: b" in read_general_metric_set(fake_nsys, "GH100")


def test_metric_sets_are_beside_the_resolved_nsys(fake_nsys, tmp_path):
    metric_sets(fake_nsys, None, gh100="GH100")
    link = tmp_path / "link"
    link.symlink_to(fake_nsys.path)
    assert "alias: gh100" in read_general_metric_set(Nsys(link, fake_nsys.version), "GH100")


def test_no_metric_set_for_the_chip(fake_nsys):
    metric_sets(fake_nsys, "missing\na\n", a="GH1000")
    with pytest.raises(NsysError, match="no metric set for GH100"):
        read_general_metric_set(fake_nsys, "GH100")


# Raw recordings become reports where any importer of the machine can be loaded.


@pytest.fixture
def stream(tmp_path):
    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"U3w[END]NVIDIA Nsight Systems Stream 2025.3.2.474")
    return path


def test_an_importer_that_runs(fake_nsys, install_importer, tmp_path):
    path = install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    found = find_importer(fake_nsys)
    assert (found.path, found.problem) == (path, "")


def test_debian_keeps_the_importer_apart(install_nsys, install_importer, tmp_path, monkeypatch):
    monkeypatch.setattr(locate, "VENDOR_ROOT", tmp_path)
    program = install_nsys(tmp_path / "usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nsys")
    path = install_importer(tmp_path / "usr/lib/nsight-systems/host-linux-x64/QdstrmImporter")
    assert find_importer(Nsys(program, (2023, 4, 4))).path == path


def test_no_importer(fake_nsys):
    assert find_importer(fake_nsys) is None


@pytest.mark.parametrize(
    ("library", "remedy"), [("libdw.so.1", "apt-get install libdw1"), ("libodd.so.7", "apt-file search libodd.so.7")]
)
def test_a_missing_library_is_named_with_its_package(
    fake_nsys, install_importer, tmp_path, monkeypatch, library, remedy
):
    install_importer(tmp_path / "host" / "QdstrmImporter")
    monkeypatch.setenv("FAKE_IMPORTER_LACKS", library)
    found = find_importer(fake_nsys)
    assert found.problem == f"the shared library {library} is missing"
    assert remedy in found.remedy == explain_library(library)


def test_an_importer_that_crashes(fake_nsys, tmp_path):
    path = tmp_path / "host" / "QdstrmImporter"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho 'cannot open display' >&2; exit 3\n")
    path.chmod(0o755)
    assert find_importer(fake_nsys).problem == "cannot open display"


def test_a_raw_recording_becomes_a_report_and_is_kept(fake_nsys, install_importer, stream):
    install_importer(stream.parent / "host" / "QdstrmImporter")
    report = import_stream(stream, [fake_nsys])
    assert report == stream.with_suffix(".nsys-rep")
    assert report.read_bytes().startswith(b"NVIDIA Tegra Profiler Report")
    assert stream.exists()


def test_no_importer_says_where_it_can_be_done(fake_nsys, stream):
    with pytest.raises(InputError, match=r"run\.qdstrm is a raw recording, and no importer here") as caught:
        import_stream(stream, [fake_nsys])
    assert "QdstrmImporter -i 'run.qdstrm'" in caught.value.hint
