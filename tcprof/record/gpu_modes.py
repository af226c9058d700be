"""Modes of the GPUs, which NVIDIA's management library (NVML) tells where its Python package is installed.

A driver that hangs would hang whoever asks it, beyond the reach of signals: it is asked in a process of its own, which
is this module run as a program.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

from tcprof.errors import MachineError, NsysError
from tcprof.nsys.run import run_quietly

ANSWER_S = 30.0  # a driver that has to wake several GPUs takes some seconds


class SilentDriverError(MachineError):
    """The driver gives no answer."""


@dataclass(frozen=True)
class GpuModes:
    """Modes of the GPUs that close counters or divide them, as the driver reports them; None where it does not.

    Attributes:
        mig: Numbers of the GPUs that are divided into MIG instances.
        vgpu: Whether a GPU is a virtual one.
        confidential: Whether Confidential Computing is on.
    """

    mig: tuple[int, ...] | None
    vgpu: bool | None
    confidential: bool | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The modes that the driver does not report."""
        modes = {"MIG": self.mig, "virtual GPU": self.vgpu, "Confidential Computing": self.confidential}
        return tuple(name for name, mode in modes.items() if mode is None)


def read_gpu_modes() -> GpuModes:
    """The modes of all GPUs.

    Raises:
        SilentDriverError: If the driver gives no answer in time.
        MachineError: If NVML's Python package is not installed, or the driver refuses.
    """
    try:
        done = run_quietly([sys.executable, "-m", __name__], timeout_s=ANSWER_S)
    except NsysError as error:
        raise SilentDriverError(
            f"NVIDIA's driver does not answer: it was asked for the modes of the GPUs {ANSWER_S:g} seconds ago",
            "If 'nvidia-smi' hangs too, 'dmesg' may say why (NVRM, Xid); restart the machine.",
        ) from error
    if done.status != 0:
        raise MachineError(f"NVIDIA's driver could not be asked: {done.last_lines(1)}", "See what 'nvidia-smi' says.")
    answer = json.loads(done.stdout)
    if "refusal" in answer:
        raise MachineError(answer["refusal"], answer["hint"])
    mig = answer.pop("mig")
    return GpuModes(mig=None if mig is None else tuple(mig), **answer)


def ask_driver() -> GpuModes:
    """Asks the driver, in this process, for the modes of all GPUs.

    Raises:
        MachineError: If NVML's Python package is not installed, or the driver gives no answer.
    """
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
    """What NVML answers; 0 (off) where the GPU or its driver lacks the mode, None where there is no answer."""
    import pynvml

    try:
        return question(*arguments)
    except pynvml.NVMLError as error:
        absent = (pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return 0 if error.value in absent else None


def _answer() -> dict[str, object]:
    """The modes, or why there are none, for the process that asks."""
    try:
        return asdict(ask_driver())
    except MachineError as error:
        return {"refusal": str(error), "hint": error.hint}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer()))
