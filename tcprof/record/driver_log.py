"""Log what NVIDIA's driver says of each GPU while a program is recorded: power, temperature, clock, and what limits it.

A process of its own asks, since a driver that hangs would hang whoever asks it. It does so ten times a second: NVML
renews power only about every 100 ms.
"""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_PERIOD_S = 0.1
_DEATH_S = 2.0  # a driver that hangs holds its process
_COLUMNS = ("utc_ns", "uuid", "power_mw", "limit_mw", "temperature_c", "clock_mhz", "reasons")
_UNKNOWN = -1


@contextmanager
def driver_logged(path: Path, gpus: Collection[int] = ()) -> Iterator[None]:
    """Log to a file while the block runs; nothing is logged where the driver or its Python package is absent.

    Args:
        gpus: The numbers of those to ask about; all where there are none, or the driver numbers them otherwise.
    """
    null, logger = subprocess.DEVNULL, None
    with suppress(OSError):  # no further process can be started: nsys may say so
        argv = [sys.executable, "-m", __name__, str(path), *map(str, gpus)]
        logger = subprocess.Popen(argv, stdin=null, stdout=null, stderr=null, start_new_session=True)
    try:
        yield
    finally:
        if logger is not None:
            logger.kill()
            with suppress(subprocess.TimeoutExpired):
                logger.wait(_DEATH_S)


def read_driver_log(path: Path) -> "pd.DataFrame":
    """Read a log: for each time and GPU what ``_COLUMNS`` names, -1 where unknown; empty where there is none."""
    import pandas as pd  # here, since the process that logs does without

    lines = path.read_text(encoding="ascii").split("\n")[:-1] if path.is_file() else []  # the last one may be cut
    frame = pd.DataFrame([line.split(",") for line in lines], columns=_COLUMNS)
    return frame.astype({name: "int64" for name in _COLUMNS if name != "uuid"})


def _log(path: Path, numbers: Collection[int], parent: int) -> None:
    """Write a line for each of the GPUs again and again, until the parent process has ended."""
    import pynvml

    pynvml.nvmlInit()
    every = range(pynvml.nvmlDeviceGetCount())
    asked = [number for number in every if number in numbers]
    gpus = [
        pynvml.nvmlDeviceGetHandleByIndex(number) for number in (asked if len(asked) == len(numbers) > 0 else every)
    ]
    uuids = [str(pynvml.nvmlDeviceGetUUID(gpu)).removeprefix("GPU-") for gpu in gpus]  # as an export has them

    def read_power(gpu: Any) -> int:
        with suppress(pynvml.NVMLError):
            (answer,) = pynvml.nvmlDeviceGetFieldValues(gpu, [pynvml.NVML_FI_DEV_POWER_INSTANT])
            if answer.nvmlReturn == pynvml.NVML_SUCCESS:
                return int(answer.value.uiVal)
        return int(pynvml.nvmlDeviceGetPowerUsage(gpu))  # on many boards the mean of the last second

    questions = (
        read_power,
        pynvml.nvmlDeviceGetEnforcedPowerLimit,
        lambda gpu: pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU),
        lambda gpu: pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM),
        pynvml.nvmlDeviceGetCurrentClocksThrottleReasons,
    )

    def ask(question: Any, gpu: Any) -> int:
        try:
            return int(question(gpu))
        except pynvml.NVMLError:  # many boards do not say all
            return _UNKNOWN

    with path.open("w", encoding="ascii", buffering=1) as file:
        while os.getppid() == parent:
            for gpu, uuid in zip(gpus, uuids, strict=True):
                answers = [ask(question, gpu) for question in questions]
                file.write(",".join(map(str, (time.time_ns(), uuid, *answers))) + "\n")
            time.sleep(_PERIOD_S)


if __name__ == "__main__":
    _log(Path(sys.argv[1]), {*map(int, sys.argv[2:])}, os.getppid())
