"""What stops a recording is named, with the way out; and what does not is not made much of."""

import json
import os
from pathlib import Path

import pytest

from tcprof.record import doctor
from tcprof.record.diagnosis import MachineCheck, diagnose
from tcprof.record.doctor import check_up
from tcprof.record.machine import GpuModes, read_gpu_modes
from tcprof.views.commands import is_ready

REASONS = {  # nsys's reason: (the check that fails, part of its evidence, part of its remedy)
    "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM": (
        "counters",
        "closed to this user",
        "NVreg_RestrictProfilingToAdminUsers=0",
    ),
    "Already under profiling": ("sampler", "Already under profiling", "dcgmi profile --pause"),
    "MIG instances found. Please, specify GPUs explicitly": ("GPU", "MIG instances", "--gpus NUMBER"),
    "Profiling permission on a vGPU was not granted": ("GPU", "vGPU", "enable_profiling=1"),
    "GPU metrics collection disabled due to Confidential Compute mode": ("GPU", "Confidential", "turn it off"),
    "Unsupported architecture": ("GPU", "Unsupported architecture", "a newer nsys may support more"),
    "the moon is in the wrong quarter": ("GPU", "the moon", "newer nsys"),
}
STATUSES = ("pass", "warn", "fail")


@pytest.fixture
def ready(fake_nsys, gpu_root, general_set, install_importer, tmp_path, monkeypatch):
    """A machine on which everything is right; returns its kernel's files."""
    install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    monkeypatch.setenv("PATH", f"{fake_nsys.path.parent}:/usr/bin:/bin")
    monkeypatch.delenv("TCPROF_NSYS", raising=False)
    fixture = Path(__file__).parents[2] / "fixtures" / "mlp_fp16.sqlite"  # a small one
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(fixture))
    monkeypatch.setattr(doctor, "read_gpu_modes", lambda: GpuModes((), vgpu=False, confidential=False))
    versions = {"torch": "2.13.0", "nvtx": "0.2.17"}
    monkeypatch.setattr(doctor, "_installed", lambda name: versions[name])
    return gpu_root


def by_name(checks: tuple[MachineCheck, ...]) -> dict[str, MachineCheck]:
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def test_a_machine_that_is_ready(ready, tmp_path):
    checks = by_name(check_up(tmp_path))
    assert {name: check.status for name, check in checks.items() if check.status != "pass"} == {}
    assert list(checks)[:5] == ["nsys", "importer", "GPU", "counters", "sampler"]
    assert "exact tensor cycles" in checks["sampling"].evidence
    assert "580.159.04" in checks["GPU"].evidence
    assert is_ready(tuple(checks.values()))


@pytest.mark.parametrize("reason", REASONS)
def test_what_nsys_says_of_the_gpu_is_explained(ready, tmp_path, monkeypatch, reason):
    name, evidence, remedy = REASONS[reason]
    monkeypatch.setenv("FAKE_NSYS_REASON", reason)
    checks = by_name(check_up(tmp_path))
    assert checks[name].status == "fail"
    assert evidence in checks[name].evidence
    assert remedy in checks[name].remedy
    assert "sampling" not in checks  # there is nothing to try


def test_a_container_has_another_way_out(ready, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS_REASON", "Insufficient privilege, see ERR_NVGPUCTRPERM")
    (ready / ".dockerenv").touch()
    check = by_name(diagnose().checks)["counters"]
    assert "--cap-add=SYS_ADMIN" in check.remedy
    assert "Docker" in check.evidence


def test_nsys_off_path_is_used_and_said(ready, fake_nsys, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    check = by_name(diagnose(fake_nsys.path).checks)["nsys"]
    assert check.status == "warn"
    assert f"export PATH={fake_nsys.path.parent}:$PATH" in check.remedy


def test_neither_nsys_nor_gpu_names_both(empty_machine, gpu_root):
    for name in ("proc/driver/nvidia/version", "dev/nvidia0"):
        (gpu_root / name).unlink()
    found = by_name(diagnose().checks)
    assert {name: check.status for name, check in found.items()} == {"nsys": "fail", "GPU": "fail"}
    assert "--gpus none" in found["GPU"].remedy
    assert "kernels" not in found["GPU"].remedy  # none run without a GPU
    assert "reports" not in found["GPU"].remedy  # they need nsys, too


def test_a_gpu_that_is_not_passed_to_the_container(ready):
    (ready / "dev/nvidia0").unlink()
    assert "--gpus all" in by_name(diagnose().checks)["GPU"].remedy


def test_an_importer_that_lacks_a_library(ready, monkeypatch):
    monkeypatch.setenv("FAKE_IMPORTER_LACKS", "libdw.so.1")
    check = by_name(diagnose().checks)["importer"]
    assert (check.status, "libdw.so.1 is missing" in check.evidence) == ("fail", True)
    assert "apt-get install libdw1" in check.remedy


def test_dcgm_is_seen_before_it_hurts(ready, add_process):
    add_process(77, "nv-hostengine")
    check = by_name(diagnose().checks)["sampler"]
    assert (check.status, "nv-hostengine (process 77)" in check.evidence) == ("warn", True)


def test_percentages_where_cycles_are_refused(ready, general_set, tmp_path):
    general_set.unlink()
    check = by_name(check_up(tmp_path))["sampling"]
    assert check.status == "warn"
    assert "whole percentages only" in check.evidence
    assert "no metric set for GH100" in check.evidence


def test_a_graphics_set_has_no_tensor_metric(ready, general_set, tmp_path, monkeypatch):
    general_set.unlink()
    monkeypatch.setattr(doctor, "try_metric_set", lambda *_: ("GR Active [Throughput %]", "SMs Active [Throughput %]"))
    check = by_name(check_up(tmp_path))["sampling"]
    assert (check.status, "Tensor Active is not among them" in check.evidence) == ("fail", True)
    assert "ga10x-gfxt" in check.remedy


def test_a_sampling_that_fails(ready, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_NSYS", "busy")
    check = by_name(check_up(tmp_path))["sampling"]
    assert (check.status, "dcgmi" in check.remedy) == ("fail", True)


@pytest.fixture
def install_nvml(ready, tmp_path, monkeypatch):
    """Has the driver asked, through a package with this text in place of NVML's."""

    def install(text: str) -> None:
        folder = tmp_path / "packages"
        folder.mkdir()
        (folder / "pynvml.py").write_text(text)
        path = os.environ.get("PYTHONPATH", "")
        monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{path}")
        monkeypatch.setattr(doctor, "read_gpu_modes", read_gpu_modes)

    return install


NVML = """
NVMLError = type("NVMLError", (Exception,), {})
NVML_DEVICE_MIG_ENABLE = NVML_GPU_VIRTUALIZATION_MODE_VGPU = NVML_CC_SYSTEM_FEATURE_ENABLED = 1
nvmlInit = nvmlShutdown = lambda: None
nvmlDeviceGetCount = lambda: 2
nvmlDeviceGetHandleByIndex = lambda number: number
nvmlDeviceGetMigMode = lambda gpu: [gpu, gpu]
nvmlDeviceGetVirtualizationMode = lambda gpu: 0
nvmlSystemGetConfComputeState = lambda: type("State", (), {"ccFeature": 0})
"""


def test_the_driver_is_asked_by_a_process_of_its_own(install_nvml):
    install_nvml(NVML)
    assert read_gpu_modes() == GpuModes((1,), vgpu=False, confidential=False)


@pytest.mark.parametrize(
    ("modes", "status", "evidence"),
    [
        (GpuModes(None, vgpu=False, confidential=None), "pass", "does not report MIG, Confidential Computing"),
        (GpuModes(None, vgpu=False, confidential=True), "fail", "does not report MIG; Confidential Computing is on"),
        (GpuModes((0, 2), vgpu=False, confidential=False), "warn", "GPU 0, 2 is divided"),
    ],
)
def test_modes_of_the_gpus(ready, tmp_path, monkeypatch, modes, status, evidence):
    monkeypatch.setattr(doctor, "read_gpu_modes", lambda: modes)
    check = by_name(check_up(tmp_path))["GPU modes"]
    assert (check.status, evidence in check.evidence, bool(check.remedy)) == (status, True, status != "pass")


def test_modes_that_cannot_be_asked_for(ready, tmp_path, install_nvml):
    install_nvml("raise ImportError")
    checks = by_name(check_up(tmp_path))
    check = checks["GPU modes"]
    assert (check.status, check.remedy) == ("warn", "pip install nvidia-ml-py")
    assert "MIG and similar modes are unknown: the Python package nvidia-ml-py is not installed" in check.evidence
    assert is_ready(tuple(checks.values()))  # only the doctor would know more


def test_disk_space(ready, tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 5e9})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    assert by_name(check_up(tmp_path))["disk"].status == "pass"


def test_the_command_is_ready_or_not(run, ready, monkeypatch, capsys):
    assert run("doctor") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Ready to record: tcprof profile SCRIPT"
    monkeypatch.setenv("FAKE_NSYS_REASON", "Already under profiling")
    assert run("doctor", "--format", "json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["ready"] is False
    assert {check["status"] for check in document["checks"]} <= set(STATUSES)
    assert all(check["remedy"] for check in document["checks"] if check["status"] == "fail")
