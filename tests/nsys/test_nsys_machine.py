"""Facts of a machine, read from files as kernels write them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tcprof.errors import MachineError
from tcprof.record.machine import GpuModes, ask_driver, read_machine

pynvml = pytest.importorskip("pynvml")


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_a_machine_with_open_counters(gpu_root):
    machine = read_machine()
    assert (machine.driver, machine.device_count, machine.has_gpu) == ("580.159.04", 1, True)
    assert (machine.admin_only, machine.paranoid_level) == (False, 2)
    assert (machine.container, machine.is_wsl, machine.holders) == ("", False, ())


def test_a_machine_of_which_nothing_is_known(gpu_root, tmp_path, monkeypatch):
    monkeypatch.setattr("tcprof.record.machine.ROOT", tmp_path / "nothing")
    machine = read_machine()
    assert (machine.driver, machine.device_count, machine.has_gpu) == ("", 0, False)
    assert (machine.admin_only, machine.paranoid_level) == (None, None)


def test_a_driver_without_a_device(gpu_root):
    (gpu_root / "dev/nvidia0").unlink()
    assert not read_machine().has_gpu


@pytest.mark.parametrize(
    ("name", "text", "container"),
    [
        (".dockerenv", "", "Docker"),
        ("run/.containerenv", "", "Podman"),
        ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", "kubepods"),
    ],
)
def test_containers(gpu_root, name, text, container):
    write(gpu_root, name, text)
    assert read_machine().container == container


def test_other_profilers_are_seen_unless_they_are_dead(add_process):
    processes = (("nv-hostengine", "S"), ("nsys", "Z"), ("bash", "S"), ("dcgmproftester12", "R"))  # 15 bytes in stat
    for number, (name, state) in enumerate(processes, start=10):
        add_process(number, name, state)
    assert read_machine().holders == ("nv-hostengine (process 10)", "dcgmproftester12 (process 13)")


def test_wsl(gpu_root, tmp_path):
    (gpu_root / "dev/nvidia0").unlink()
    write(gpu_root, "dev/dxg", "")
    machine = read_machine()
    assert machine.is_wsl
    assert machine.has_gpu


NO_SUPPORT, NO_FUNCTION = pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
FORBIDDEN = pynvml.NVML_ERROR_NO_PERMISSION
NONE, PASSTHROUGH = pynvml.NVML_GPU_VIRTUALIZATION_MODE_NONE, pynvml.NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH
VGPU, HOST_VGPU = pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU, pynvml.NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU


@dataclass(frozen=True)
class Refusal:
    """An error of NVML in place of an answer."""

    number: int


@pytest.fixture
def driver(monkeypatch):
    """NVML of a driver with such GPUs; gives what was called to open and to close it."""

    def give(answer: object) -> object:
        if isinstance(answer, Refusal):
            raise pynvml.NVMLError(answer.number)
        return answer

    def install(mig: Sequence[object], virtual: Sequence[object], confidential: object) -> list[str]:
        state = pynvml.c_nvmlConfComputeSystemState_t()
        if isinstance(confidential, int):
            state.ccFeature = confidential
        answers = {
            "nvmlInit": lambda: called.append("open"),
            "nvmlShutdown": lambda: called.append("closed"),
            "nvmlDeviceGetCount": lambda: len(mig),
            "nvmlDeviceGetHandleByIndex": lambda number: number,
            "nvmlDeviceGetMigMode": lambda gpu: [give(mig[gpu]), 1],  # the current one, and that after a reset
            "nvmlDeviceGetVirtualizationMode": lambda gpu: give(virtual[gpu]),
            "nvmlSystemGetConfComputeState": lambda: give(state if isinstance(confidential, int) else confidential),
        }
        for name, answer in answers.items():
            monkeypatch.setattr(pynvml, name, answer)
        return called

    called: list[str] = []
    return install


@pytest.mark.parametrize(
    ("mig", "virtual", "confidential", "modes"),
    [
        ([0], [PASSTHROUGH], 0, GpuModes((), vgpu=False, confidential=False)),
        ([0, 1], [NONE, NONE], 0, GpuModes((1,), vgpu=False, confidential=False)),
        ([Refusal(NO_SUPPORT)], [VGPU], 1, GpuModes((), vgpu=True, confidential=True)),
        ([0], [HOST_VGPU], Refusal(NO_FUNCTION), GpuModes((), vgpu=False, confidential=False)),
        ([Refusal(FORBIDDEN)], [Refusal(FORBIDDEN)], Refusal(FORBIDDEN), GpuModes(None, vgpu=None, confidential=None)),
        ([Refusal(FORBIDDEN), 1], [Refusal(FORBIDDEN), VGPU], 0, GpuModes((1,), vgpu=True, confidential=False)),
    ],
)
def test_modes(driver, mig, virtual, confidential, modes):
    called = driver(mig, virtual, confidential)
    assert ask_driver() == modes
    assert called == ["open", "closed"]


def test_modes_that_the_driver_does_not_tell_are_named():
    assert GpuModes((), vgpu=False, confidential=False).unknown == ()
    assert GpuModes(None, vgpu=False, confidential=None).unknown == ("MIG", "Confidential Computing")


def test_modes_are_unknown_without_the_package_or_a_driver(monkeypatch):
    def refuse() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)

    monkeypatch.setattr(pynvml, "nvmlInit", refuse)
    with pytest.raises(MachineError, match=r"no answer: Driver Not Loaded"):
        ask_driver()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(MachineError, match="nvidia-ml-py is not installed") as caught:
        ask_driver()
    assert caught.value.hint == "pip install nvidia-ml-py"
