"""The dense peak that each kernel's FLOP are held against: that of its precision, at the boost clock."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tcprof.chips import PIPES_PER_SM, Chip, find_chip

GIVEN = "as given"
_UNKNOWN = (np.nan, "")


def find_peaks(kernels: pd.DataFrame, gpus: pd.DataFrame, given_tflops: float | None) -> dict[str, "pd.Series[Any]"]:
    """The peak of each tensor kernel, in 10^12 FLOP/s, and where it is known from.

    Args:
        kernels: Has gpu, tensor_kernel, precision and accumulator.
        gpus: See ``tcprof.frames.GPUS``.
        given_tflops: The peak for all of them, if it was given.
    """
    known = {gpu["gpu"]: (gpu, find_chip(gpu["chip"], gpu["name"])) for gpu in gpus.to_dict("records")}
    columns = (kernels[name].tolist() for name in ("gpu", "tensor_kernel", "precision", "accumulator"))
    keys = list(zip(*columns, strict=True))
    found: dict[tuple[Any, ...], tuple[float, str]] = {}
    for key in dict.fromkeys(keys):
        number, is_tensor, precision, accumulator = key
        if is_tensor and given_tflops is not None:
            found[key] = (given_tflops, GIVEN)
        elif is_tensor and precision and number in known:
            found[key] = _find_peak(*known[number], precision, accumulator)
    peaks = [found.get(key, _UNKNOWN) for key in keys]
    return {
        "peak_tflops": pd.Series([tflops for tflops, _ in peaks], kernels.index, dtype=float),
        "peak_source": pd.Series([source for _, source in peaks], kernels.index, dtype=object),
    }


def _find_peak(gpu: Mapping[Any, Any], chip: Chip, precision: str, accumulator: str) -> tuple[float, str]:
    """What the board's maker states; else what follows from the rate at the GPU's highest SM clock."""
    stated = chip.board.stated_peak(precision, accumulator)
    if stated > 0:
        return stated, chip.board.source
    rate = chip.peak_flop_per_cycle(precision, accumulator)
    peak = rate * PIPES_PER_SM * gpu["sm_count"] * gpu["clock_hz"] / 1e12
    if not peak > 0:
        return _UNKNOWN
    clock = f"{gpu['clock_hz'] / 1e9:.4g} GHz, the highest SM clock"
    return peak, f"{rate * PIPES_PER_SM:g} FLOP a cycle and SM, times {gpu['sm_count']:.0f} SMs, times {clock}"
