"""What rules about matrix products share: which kernels they are, and what another precision saves of them."""

import math

import numpy as np
import pandas as pd

from tcprof.analysis.kernels.names import OPTIMIZER, PRODUCT, parse_name
from tcprof.analysis.kernels.patterns import read_traits
from tcprof.analysis.kernels.verdicts import MEMORY
from tcprof.arrays import Floats, rows_of_gpu
from tcprof.chips import Chip, find_chip, lacks
from tcprof.findings.pricing import MEASURED
from tcprof.findings.pricing.advice import NOTABLE_PCT
from tcprof.findings.pricing.builders import time_of
from tcprof.findings.pricing.step import ALL, Levels, Step

_PRODUCTS = MEASURED["products"]
_FP32 = "fp32"
# FP32 additions and multiplications of an SM in a cycle, by chip: CUDA C++ Programming Guide, "Arithmetic
# Instructions", results per clock cycle of a multiply-add, times 2.
_CUDA_CORES = {"GV100": 128, "TU10": 128, "GA100": 128, "GA10": 256, "AD10": 256, "GH100": 256, "GB": 256}
ATTENTION, _ELEMENT_WISE = "attention", "element-wise kernels"
# What the kernels of an Adam that loops stand for: of the 84 bytes a parameter they move 44.
ALL_OF_LOOPED = 84 / 44
HALVES = ("fp16", "bf16", "fp16/bf16")
_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}  # of a value in memory
SLOW_SHARE = 2 / 3  # of the rate that others reach: below it a product is slow
_MOST_BETWEEN = 8  # kernels from a softmax to the product before or after it
_LEAST_BETWEEN = 3  # kernels between the products of an attention: below that there is little to fuse


def find_products(step: Step, *precisions: str) -> pd.DataFrame:
    """The products and convolutions that read one of some precisions, without products of a vector."""
    kernels = step.kernels
    return kernels[is_product(step) & kernels["precision"].isin(precisions)]


def is_product(step: Step) -> "pd.Series[bool]":
    """Which kernels are products or convolutions, and not of a vector."""
    return (step.kernels["work"] == PRODUCT) & ~step.kernels["is_vector_product"]


def share_of_reached(step: Step, rows: pd.DataFrame) -> Floats:
    """The rate of products on Tensor Cores as a share of what others of as many FLOP reach; NaN where not known."""
    flop = (rows["tensor_flop"] / rows["launch_count"]).to_numpy(np.float64)
    precisions = rows["precision"].tolist()
    best = np.array([reached(step.chip, *row)[()] for row in zip(precisions, flop, strict=True)], dtype=np.float64)
    share: Floats = rows["tensor_tflops"].to_numpy(np.float64) * 1e12 / best
    return share


def has_halves(step: Step) -> bool:
    """Whether the step computes products, or attention, in 16 bits on Tensor Cores."""
    kernels = step.kernels[step.kernels["tensor_kernel"]]
    time = kernels["exposed_ns"][kernels["precision"].isin(HALVES)].sum()
    return step.share_pct(time) >= NOTABLE_PCT or bool(time > 0.1 * kernels["exposed_ns"].sum() > 0)


def is_of_measured_chip(step: Step) -> bool:
    """Whether prices of products were measured on a chip of this kind."""
    return bool(step.chip.name == MEASURED["products"]["chip"])


def lacks_precision(step: Step, precision: str) -> bool:
    """Whether the chip is known to have no Tensor Cores for a precision."""
    return lacks(precision, str(step.gpu_row["chip"]), str(step.gpu_row["name"]))


def half_precision(step: Step) -> str:
    """The 16 bits to compute in: bf16, or fp16 where the chip has no other; empty where it has neither."""
    return next((half for half in ("bf16", "fp16") if not lacks_precision(step, half)), "")


def saved_by(step: Step, rows: pd.DataFrame, before: str, after: str) -> Levels:
    """Exposed time of products that another precision saves, in ns; NaN where the chip's rates are not known."""
    fast = speedup(step.chip, before, after, rows["median_ns"].to_numpy(np.float64))
    is_bound = (rows["bound"] == MEMORY).to_numpy()
    of_bytes = _BYTES[before] / _BYTES[after]  # what waits for memory is faster by no more
    shares = MEASURED["convolutions"]["share"]
    spread = MEASURED["products"]["spread" if is_of_measured_chip(step) else "spread_elsewhere"]
    is_convolution = rows["is_convolution"].to_numpy(bool)
    part = np.where(is_convolution, shares[:, None], 1.0) * (1.0 if is_convolution.all() else spread[:, None])
    ratio = np.maximum(1 + (fast - 1) * part, 1.0)
    saved = rows["exposed_ns"].to_numpy() * (1 - 1 / np.where(is_bound, np.minimum(ratio, of_bytes), ratio))
    total: Levels = saved.sum(axis=1)
    return total


def saved_by_autocast(step: Step, rows: pd.DataFrame, before: str, after: str = "bf16") -> Levels:
    """The same for 16 bits by autocast: with attention, and bytes of element-wise kernels, less what casts take."""
    kernels, autocast = step.kernels, MEASURED["autocast"]
    attention = time_of(kernels[(kernels["work"] == ATTENTION) & (kernels["precision"] == "tf32")])
    is_looped = kernels["is_looped_optimizer"]
    narrowed = time_of(kernels[(kernels["work"] == _ELEMENT_WISE) & (kernels["bound"] == MEMORY) & ~is_looped])
    optimizer = time_of(kernels[kernels["work"] == OPTIMIZER]) + ALL_OF_LOOPED * time_of(kernels[is_looped])
    saved: Levels = autocast["element_wise"] * narrowed - autocast["cast_of_optimizer"] * optimizer
    saved += saved_by(step, rows, before, after) + (1 - 1 / MEASURED["attention"]["speedup"]) * attention
    return saved


def cpu_of_autocast(step: Step) -> Levels:
    """How many times as long the CPU takes with casts: as long where a compiler launches them with all else."""
    return MEASURED["autocast"]["cpu"] if step.kernels["is_pytorch_native"].any() else ALL


def find_attention(step: Step) -> pd.DataFrame:
    """Launches between two products with a softmax, or its gradient, among them; and these products.

    Of each ``kernel``, ``activity``, ``exposed_ns`` in all steps, and ``is_product``.
    """
    launched = rows_of_gpu(step.analysis.kernel_instances, step.gpu)
    activity = launched["activity"].to_numpy()
    times = step.analysis.activities[["stream", "start_ns"]].to_numpy()[activity]
    order = np.lexsort((times[:, 1], times[:, 0]))
    names = step.analysis.kernels["name"]
    traits, works = read_traits(names), np.array([parse_name(name).work for name in names], dtype=object)
    kernel = launched["kernel"].to_numpy()[order]
    is_product = (works == PRODUCT)[kernel]
    is_softmax, is_random, is_choice = (
        traits[name].to_numpy()[kernel] for name in ("is_softmax", "is_random", "is_choice")
    )
    products, rows = np.flatnonzero(is_product), np.flatnonzero(is_softmax)
    place = np.searchsorted(products, rows)
    inside = (place > 0) & (place < len(products))
    before, after = products[place[inside] - 1], products[place[inside]]
    near = (rows[inside] - before <= _MOST_BETWEEN) & (after - rows[inside] <= _MOST_BETWEEN)
    near &= after - before > _LEAST_BETWEEN
    chosen = np.zeros(len(kernel), dtype=bool)
    for first, last in set(zip(before[near].tolist(), after[near].tolist(), strict=True)):
        # No attention draws random numbers, as of a next layer's weights, nor chooses, as routers and policies do.
        chosen[first : last + 1] |= not (is_random | is_choice)[first + 1 : last].any()
    exposed_ns = step.exposure.exposed_ns[activity[order]]
    columns = {"kernel": kernel, "exposed_ns": exposed_ns, "activity": activity[order], "is_product": is_product}
    return pd.DataFrame(columns)[chosen & (exposed_ns > 0)]


def speedup(chip: Chip, before: str, after: str, duration_ns: Floats) -> Floats:
    """How many times as fast a product of that duration becomes in another precision; NaN where that is not known.

    As measured, in proportion to what the peaks of both precisions are to each other on either chip.
    """
    old, new = (_PRODUCTS[precision] * 1e3 for precision in (before, after))  # FLOP a ns
    measured = _on_line(duration_ns, _PRODUCTS["flop"] / old, new / old)
    peaks = [_per_cycle(board, after) / _per_cycle(board, before) for board in (chip, find_chip(_PRODUCTS["chip"]))]
    here = peaks[0] if peaks[0] > 0 else math.nan
    ratio: Floats = np.maximum(measured * here / peaks[1], 1.0)
    return ratio


def reached(chip: Chip, precision: str, flop: Floats) -> Floats:
    """FLOP/s that a product of so many FLOP reaches in a precision; NaN where that is not known."""
    rates = _PRODUCTS.get(precision, np.array([np.nan, np.nan]))
    peak = _per_cycle(chip, precision) / _per_cycle(find_chip(_PRODUCTS["chip"]), precision)
    return _on_line(flop, _PRODUCTS["flop"], rates) * 1e12 * peak


def _on_line(at: Floats, places: Floats, values: Floats) -> Floats:
    """Values on a line, in logarithms, through those that were measured at two places; none above the second."""
    places, values = np.log(places), np.log(values)
    slope = (values[1] - values[0]) / (places[1] - places[0])
    values_at: Floats = np.exp(np.minimum(values[0] + slope * (np.log(np.maximum(at, 1.0)) - places[0]), values[1]))
    return values_at


def _per_cycle(chip: Chip, precision: str) -> float:
    """FLOP of an SM in a cycle, at most."""
    if precision == _FP32:
        return next((value for name, value in _CUDA_CORES.items() if chip.name.startswith(name)), math.nan)
    return 4 * chip.peak_flop_per_cycle(precision, "fp32")
