"""Facts of this machine that decide whether GPU counters can be read, by the kernel's files and NVIDIA's library NVML.

Nothing is changed. A driver that hangs would hang whoever asks it, beyond the reach of signals: NVML is asked in a
process of its own, which is this module run as a program.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tcprof.errors import MachineError, NsysError
from tcprof.nsys.run import run_quietly

ROOT = Path("/")
_HOLDERS = re.compile(r"nv-hostengine|dcgm-exporter|dcgmi|dcgmproftester\d*|nsys|nsys-launcher|ncu|ncu-ui")
_GPU_DEVICE = re.compile(r"nvidia\d+|nvhost-gpu")


@dataclass(frozen=True)
class Machine:
    """The kernel's facts about this machine."""

    driver: str  # version of NVIDIA's driver; empty without one
    device_count: int  # device files of GPUs that this process can see; on Jetson there is another one
    is_wsl: bool  # whether this is the Windows Subsystem for Linux
    container: str  # what kind of container this is; empty if none
    admin_only: bool | None  # whether counters are for administrators (RmProfilingAdminOnly); None where not known
    is_root: bool  # whether the user is root, in its container or outside
    paranoid_level: int | None  # kernel.perf_event_paranoid; None where not known
    holders: tuple[str, ...]  # other programs that may hold the counters, each with its process number

    @property
    def has_gpu(self) -> bool:
        """Tell whether a GPU is visible; a sandbox may hide the driver's files."""
        return self.is_wsl or self.device_count > 0


def read_machine() -> Machine:
    """Read the facts; what cannot be read is not known."""
    driver = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", _read("proc/driver/nvidia/version"))
    admin_only = re.search(r"RmProfilingAdminOnly:\s*(\d)", _read("proc/driver/nvidia/params"))
    paranoid = _read("proc/sys/kernel/perf_event_paranoid").strip()
    return Machine(
        driver=driver[1] if driver else "",
        device_count=len([path for path in (ROOT / "dev").glob("nv*") if _GPU_DEVICE.fullmatch(path.name)]),
        is_wsl=(ROOT / "dev" / "dxg").exists(),
        container=_read_container(),
        admin_only=None if admin_only is None else admin_only[1] == "1",
        is_root=os.geteuid() == 0,
        paranoid_level=int(paranoid) if re.fullmatch(r"-?\d+", paranoid) else None,
        holders=tuple(_find_holders()),
    )


def _read(name: str) -> str:
    try:
        return (ROOT / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_container() -> str:
    if (ROOT / ".dockerenv").exists():
        return "Docker"
    if (ROOT / "run" / ".containerenv").exists():
        return "Podman"
    match = re.search(r"kubepods|docker|containerd|lxc|libpod", _read("proc/1/cgroup"))
    return match[0] if match else ""


def _find_holders() -> Iterator[str]:
    for process in psutil.process_iter(["name", "status"]):
        name = process.info["name"] or ""
        if _HOLDERS.fullmatch(name) and process.info["status"] != psutil.STATUS_ZOMBIE:
            yield f"{name} (process {process.pid})"


ANSWER_S = 30.0  # a driver that has to wake several GPUs takes some seconds


class SilentDriverError(MachineError):
    """The driver gives no answer."""


@dataclass(frozen=True)
class GpuModes:
    """Modes of the GPUs that close counters or divide them; None where the driver does not report one."""

    mig: tuple[int, ...] | None  # numbers of the GPUs that are divided into MIG instances
    vgpu: bool | None  # whether a GPU is a virtual one
    confidential: bool | None  # whether Confidential Computing is on

    @property
    def unknown(self) -> tuple[str, ...]:
        """List the modes that the driver does not report."""
        modes = {"MIG": self.mig, "virtual GPU": self.vgpu, "Confidential Computing": self.confidential}
        return tuple(name for name, mode in modes.items() if mode is None)


def read_gpu_modes() -> GpuModes:
    """Read the modes of all GPUs; SilentDriverError where the driver does not answer in time, else MachineError."""
    try:
        done = run_quietly([sys.executable, "-m", __name__], timeout_s=ANSWER_S)
    except NsysError as error:
        raise SilentDriverError(
            f"NVIDIA's driver does not answer: it was asked for the modes of the GPUs {ANSWER_S:g} seconds ago",
            "If 'nvidia-smi' hangs too, 'dmesg' may say why (NVRM, Xid); restart the machine.",
        ) from error
    if done.status != 0:
        raise MachineError(f"Cannot query NVIDIA's driver: {done.last_lines(1)}", "See what 'nvidia-smi' says.")
    answer = json.loads(done.stdout)
    if "refusal" in answer:
        raise MachineError(answer["refusal"], answer["hint"])
    mig = answer.pop("mig")
    return GpuModes(mig=None if mig is None else tuple(mig), **answer)


def ask_driver() -> GpuModes:
    """Ask the driver, in this process, for the modes of all GPUs; MachineError where that cannot be done."""
    try:
        import pynvml  # an optional dependency
    except ImportError as error:
        raise MachineError("the Python package nvidia-ml-py is not installed", "pip install nvidia-ml-py") from error
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise MachineError(
            f"NVIDIA's driver gives no answer: {error}", "Check that 'nvidia-smi' works here."
        ) from error
    try:
        gpus = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
        divided = [_ask(lambda gpu: pynvml.nvmlDeviceGetMigMode(gpu)[0], gpu) for gpu in gpus]
        virtual = [_ask(pynvml.nvmlDeviceGetVirtualizationMode, gpu) for gpu in gpus]
        confidential = _ask(lambda: pynvml.nvmlSystemGetConfComputeState().ccFeature)
    except pynvml.NVMLError as error:
        raise MachineError(f"NVIDIA's driver does not list the GPUs: {error}", "See what 'nvidia-smi' says.") from error
    finally:
        pynvml.nvmlShutdown()
    mig = tuple(number for number, mode in enumerate(divided) if mode == pynvml.NVML_DEVICE_MIG_ENABLE)
    is_virtual = pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU in virtual
    return GpuModes(
        mig=None if not mig and None in divided else mig,
        vgpu=None if not is_virtual and None in virtual else is_virtual,
        confidential=None if confidential is None else confidential == pynvml.NVML_CC_SYSTEM_FEATURE_ENABLED,
    )


def _ask(question: Callable[..., int], *arguments: object) -> int | None:
    """Ask NVML; return 0 (off) where the GPU or its driver lacks the mode, None where there is no answer."""
    import pynvml

    try:
        return question(*arguments)
    except pynvml.NVMLError as error:
        absent = (pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return 0 if error.value in absent else None


def _answer() -> dict[str, object]:
    try:
        return asdict(ask_driver())
    except MachineError as error:
        return {"refusal": error.message, "hint": error.hint}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer()))
