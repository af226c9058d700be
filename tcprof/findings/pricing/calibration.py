"""The speeds that changes were measured to reach, from ``calibration.toml``: what gains are priced by."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tcprof.arrays import Floats
from tcprof.chips import Chip, find_chip

MEASURED: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("calibration.toml").read_text(encoding="utf-8")
)
TRACING: tuple[float, float, float] = tuple(MEASURED["tracing"]["left"])
TRACING_SHAPES: tuple[float, float, float] = tuple(MEASURED["tracing"]["left_shapes"])
CPU_OF_BATCH: tuple[float, float, float] = tuple(MEASURED["assumed"]["cpu_of_batch"])
_PRODUCTS = MEASURED["products"]
_FP32 = "fp32"
# FP32 additions and multiplications of an SM in a cycle, by chip: CUDA C++ Programming Guide, "Arithmetic
# Instructions", results per clock cycle of a multiply-add, times 2.
_CUDA_CORES = {"GV100": 128, "TU10": 128, "GA100": 128, "GA10": 256, "AD10": 256, "GH100": 256, "GB": 256}


def speedup(chip: Chip, before: str, after: str, duration_ns: Floats) -> Floats:
    """How many times as fast a product becomes in another precision; NaN where that is not known.

    The speedup of a product of that duration on the chip that was measured, in proportion to what the peaks of both
    precisions are to each other on either chip.

    Args:
        before: Its precision, one of those in ``calibration.toml``.
    """
    flop = np.array(_PRODUCTS["flop"])
    old, new = (np.array(_PRODUCTS[precision]) * 1e3 for precision in (before, after))  # FLOP a ns
    durations, ratios = np.log(flop / old), np.log(new / old)
    slope = (ratios[1] - ratios[0]) / (durations[1] - durations[0])
    at = np.log(np.maximum(duration_ns, 1.0))
    measured = np.exp(np.minimum(ratios[0] + slope * (at - durations[0]), ratios[1]))
    peaks = [_per_cycle(each, after) / _per_cycle(each, before) for each in (chip, find_chip(_PRODUCTS["chip"]))]
    found: Floats = np.maximum(measured * peaks[0] / peaks[1], 1.0) if peaks[0] > 0 else np.full(len(at), np.nan)
    return found


def reached(chip: Chip, precision: str, flop: Floats) -> Floats:
    """FLOP/s that a product of so many FLOP reaches in a precision; NaN where that is not known."""
    rates = np.log(_PRODUCTS.get(precision, (np.nan, np.nan)))
    sizes = np.log(_PRODUCTS["flop"])
    slope = (rates[1] - rates[0]) / (sizes[1] - sizes[0])
    measured = np.exp(np.minimum(rates[0] + slope * (np.log(np.maximum(flop, 1.0)) - sizes[0]), rates[1])) * 1e12
    peak = _per_cycle(chip, precision) / _per_cycle(find_chip(_PRODUCTS["chip"]), precision)
    found: Floats = measured * peak
    return found


def _per_cycle(chip: Chip, precision: str) -> float:
    """FLOP of an SM in a cycle, at most."""
    if precision == _FP32:
        return next((value for name, value in _CUDA_CORES.items() if chip.name.startswith(name)), float("nan"))
    return 4 * chip.peak_flop_per_cycle(precision, "fp32")
