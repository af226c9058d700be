"""Dense peaks of kernels, and where these lie under the roofs of memory and of arithmetic: FLOP/s over FLOP a byte."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import PRODUCT, read_names
from tcprof.analysis.kernels.verdicts import FLOP_PER_FMA, UNDECIDED
from tcprof.chips import PIPES_PER_SM, Chip, find_chip

GIVEN = "as given"
_UNKNOWN = (np.nan, "")


def find_peaks(kernels: pd.DataFrame, gpus: pd.DataFrame, given_tflops: float | None) -> dict[str, "pd.Series[Any]"]:
    """Find each tensor kernel's dense peak at the boost clock, in 10^12 FLOP/s, and its source, or the given one."""
    gpu_chips = {gpu["gpu"]: (gpu, find_chip(gpu["chip"], gpu["name"])) for gpu in gpus.to_dict("records")}
    columns = (kernels[name].tolist() for name in ("gpu", "tensor_kernel", "precision", "accumulator"))
    keys = list(zip(*columns, strict=True))
    peak_of_key: dict[tuple[Any, ...], tuple[float, str]] = {}
    for key in dict.fromkeys(keys):
        number, is_tensor, precision, accumulator = key
        if is_tensor and given_tflops is not None:
            peak_of_key[key] = (given_tflops, GIVEN)
        elif is_tensor and precision and number in gpu_chips:
            peak_of_key[key] = _find_peak(*gpu_chips[number], precision, accumulator)
    peaks = [peak_of_key.get(key, _UNKNOWN) for key in keys]
    return {
        "peak_tflops": pd.Series([tflops for tflops, _ in peaks], kernels.index, dtype=float),
        "peak_source": pd.Series([source for _, source in peaks], kernels.index, dtype=object),
    }


def _find_peak(gpu: Mapping[Any, Any], chip: Chip, precision: str, accumulator: str) -> tuple[float, str]:
    """Return the maker's figure for the board, if the GPU can reach it; else that of the rate at its highest clock."""
    board = chip.board
    stated = board.stated_peak(precision, accumulator)
    is_less = gpu["sm_count"] < board.sm_count or gpu["clock_hz"] < board.boost_clock_hz  # part of it, or held back
    if stated > 0 and not is_less:
        return stated, board.source
    return _peak_at_clock(gpu, PIPES_PER_SM * chip.peak_flop_per_cycle(precision, accumulator))


def _peak_at_clock(gpu: Mapping[Any, Any], rate: float) -> tuple[float, str]:
    """Compute the peak of a GPU at its highest clock, from an SM's FLOP a cycle."""
    peak, clock = rate * gpu["sm_count"] * gpu["clock_hz"] / 1e12, f"{gpu['clock_hz'] / 1e9:.4g} GHz"
    source = f"{rate:g} FLOP per cycle per SM, times {gpu['sm_count']:.0f} SMs, times {clock}, the highest SM clock"
    return (peak, source) if peak > 0 else _UNKNOWN


CUDA_CORES = "fp32 on CUDA cores"  # beside the precisions on the Tensor Cores
RESOLVED_SHARE = 0.5  # half the interval of a count, of its value: beyond, a place is chance
PLACED, NO_FLOP, NO_BYTES = "placed", "no known FLOP", "bytes unresolved"


@dataclass(frozen=True)
class Roof:
    """The most FLOP a second in a precision, on one GPU."""

    gpu: int  # number of the GPU
    precision: str  # as the kernels have it, or ``CUDA_CORES``
    tflops: float  # in 10^12 a second
    source: str  # where it is known from


def has_bytes(kernels: pd.DataFrame) -> bool:
    """Tell whether bytes of device memory were recorded."""
    return bool((kernels["dram_read_bytes"] + kernels["dram_write_bytes"]).notna().any())


def place_kernels(kernels: pd.DataFrame, gpus: pd.DataFrame) -> pd.DataFrame:
    """Place the kernels in the roofline.

    ``arithmetic``, a precision or ``CUDA_CORES``; ``flop``, on the Tensor Cores where these are known, else of products
    of float32; ``moved_bytes`` with half the interval ``moved_error``; ``intensity`` in FLOP for each of these,
    ``l2_intensity`` for each byte of the L2 cache; ``roof_pct`` and ``memory_pct``, the shares of both roofs; and
    ``place``: ``PLACED``, or why it has none.
    """
    tensor = kernels["tensor_flop"].where((kernels["tensor_flop"] > 0) & ~kernels["fit"].isin(UNDECIDED))
    products = read_names(kernels["name"])["work"].to_numpy() == PRODUCT
    count, error = kernels["fma_instruction_count"], kernels["fma_instruction_count_error"]
    is_fp32 = products & (kernels["precision"] == "fp32") & (count > 0) & (error <= RESOLVED_SHARE * count)
    flop = tensor.where(tensor.notna(), FLOP_PER_FMA * count.where(is_fp32))
    moved = kernels["dram_read_bytes"] + kernels["dram_write_bytes"]
    moved_error = kernels["dram_read_bytes_error"] + kernels["dram_write_bytes_error"]
    tflops = flop / kernels["total_ns"].where(kernels["total_ns"] > 0) * 1e-3
    is_resolved = (moved > 0) & (moved_error <= RESOLVED_SHARE * moved)
    of_cache = kernels["l2_bytes"].where(kernels["l2_bytes_error"] <= RESOLVED_SHARE * kernels["l2_bytes"])
    roofs = kernels["gpu"].map({roof.gpu: roof.tflops for roof in cuda_roofs(gpus)}).astype(float)
    roof = kernels["peak_tflops"].where(tensor.notna(), roofs)
    bandwidth = kernels["gpu"].map(dict(zip(gpus["gpu"], gpus["dram_bandwidth"], strict=True))).astype(float)
    return kernels.assign(
        arithmetic=kernels["precision"].where(tensor.notna(), CUDA_CORES).where(flop.notna(), ""),
        flop=flop,
        tflops=tflops,
        moved_bytes=moved,
        moved_error=moved_error,
        intensity=flop / moved.where(is_resolved),
        l2_intensity=flop / of_cache.where(of_cache > 0),
        roof_tflops=roof.where(flop.notna()),
        roof_pct=100 * tflops / roof,
        memory_pct=100 * kernels["dram_bandwidth"] / bandwidth,
        place=np.select([tflops.isna(), ~is_resolved], [NO_FLOP, NO_BYTES], PLACED),
    )


def cuda_roofs(gpus: pd.DataFrame) -> list[Roof]:
    """Compute the most FLOP of float32 on the CUDA cores of each GPU where it is known, at its highest SM clock."""
    roofs = []
    for gpu in gpus.to_dict("records"):
        peak, source = _peak_at_clock(gpu, FLOP_PER_FMA * find_chip(gpu["chip"], gpu["name"]).fma_per_cycle)
        if peak > 0:
            roofs.append(Roof(int(gpu["gpu"]), CUDA_CORES, peak, source))
    return roofs


def find_roofs(placed: pd.DataFrame, gpus: pd.DataFrame) -> list[Roof]:
    """One roof for each GPU and precision that kernels have which are ``placed``, the highest first."""
    drawn = placed[(placed["place"] == PLACED) & placed["roof_tflops"].notna()]
    sources = {roof.gpu: roof.source for roof in cuda_roofs(gpus)}
    roofs = {
        Roof(
            int(row["gpu"]),
            row["arithmetic"],
            float(row["roof_tflops"]),
            sources[row["gpu"]] if row["arithmetic"] == CUDA_CORES else row["peak_source"],
        )
        for row in drawn.to_dict("records")
    }
    return sorted(roofs, key=lambda roof: (-roof.tflops, roof.gpu, roof.precision))
