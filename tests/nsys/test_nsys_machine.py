"""Facts of a machine, read from files as kernels write them."""

from pathlib import Path

import pytest

from tcprof.record.machine import GpuModes, read_gpu_modes, read_machine

SMI = """#!/bin/sh
case "$1" in
  --query-gpu*) printf '%b' "{mig}" ;;
  -q) echo '    Virtualization Mode : {mode}' ;;
  conf-compute) echo 'CC status: {confidential}' ;;
esac
exit {status}
"""


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_a_machine_with_open_counters(gpu_root: Path):
    machine = read_machine()
    assert (machine.driver, machine.device_count, machine.has_gpu) == ("580.159.04", 1, True)
    assert (machine.admin_only, machine.is_privileged, machine.paranoid_level) == (False, False, 2)
    assert (machine.container, machine.is_wsl, machine.holders) == ("", False, ())


def test_a_machine_of_which_nothing_is_known(gpu_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tcprof.record.machine.ROOT", tmp_path / "nothing")
    machine = read_machine()
    assert (machine.driver, machine.device_count, machine.has_gpu) == ("", 0, False)
    assert (machine.admin_only, machine.paranoid_level) == (None, None)


def test_a_driver_without_a_device(gpu_root: Path):
    (gpu_root / "dev/nvidia0").unlink()
    assert not read_machine().has_gpu


@pytest.mark.parametrize(
    ("bits", "driver", "is_privileged"),
    [
        (1 << 21, "580.1", True),
        (1 << 38, "580.1", True),
        (1 << 38, "550.54.15", False),
        (1 << 21, "550.54.15", True),
        (0xFF, "580.1", False),
    ],
)
def test_capabilities_that_open_counters(gpu_root: Path, bits: int, driver: str, is_privileged: bool):
    write(gpu_root, "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX Kernel Module  {driver}  Mon\n")
    write(gpu_root, "proc/self/status", f"CapEff:\t{bits:016x}\n")
    assert read_machine().is_privileged is is_privileged


@pytest.mark.parametrize(
    ("name", "text", "container"),
    [
        (".dockerenv", "", "Docker"),
        ("run/.containerenv", "", "Podman"),
        ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", "kubepods"),
    ],
)
def test_containers(gpu_root: Path, name: str, text: str, container: str):
    write(gpu_root, name, text)
    assert read_machine().container == container


def test_other_profilers_are_seen_unless_they_are_dead(gpu_root: Path):
    for number, (name, state) in enumerate((("nv-hostengine", "S"), ("nsys", "Z"), ("bash", "S")), start=10):
        write(gpu_root, f"proc/{number}/comm", f"{name}\n")
        write(gpu_root, f"proc/{number}/stat", f"{number} ({name}) {state} 1 1\n")
    assert read_machine().holders == ("nv-hostengine (process 10)",)


def test_wsl(gpu_root: Path, tmp_path: Path):
    (gpu_root / "dev/nvidia0").unlink()
    write(gpu_root, "dev/dxg", "")
    machine = read_machine()
    assert machine.is_wsl
    assert machine.has_gpu


@pytest.mark.parametrize(
    ("mig", "mode", "confidential", "modes"),
    [
        ("0, Disabled\\n", "Pass-Through", "OFF", GpuModes((), vgpu=False, confidential=False)),
        ("0, Disabled\\n1, Enabled\\n", "None", "OFF", GpuModes((1,), vgpu=False, confidential=False)),
        ("0, [N/A]\\n", "VGPU", "ON", GpuModes((), vgpu=True, confidential=True)),
    ],
)
def test_modes(tmp_path, monkeypatch, mig: str, mode: str, confidential: str, modes: GpuModes):
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI.format(mig=mig, mode=mode, confidential=confidential, status=0))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert read_gpu_modes() == modes


def test_modes_are_unknown_without_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_gpu_modes() is None
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert read_gpu_modes() is None
