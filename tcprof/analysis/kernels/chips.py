"""What a chip's Tensor Cores can do: floating-point operations for each active cycle of a tensor pipe.

An SM has four tensor pipes, one for each sub-partition. Measured on GH100, as cycles of the counter against the
arithmetic of matrix products, padded to the kernel's tile: FP64, and by wgmma TF32, FP16, BF16 and FP8; by mma.sync
FP16 and BF16, at half of wgmma's rate, and TF32 and INT8, at two thirds. ``tests/test_chips.py`` and
``tests/test_accuracy.py`` hold products against arithmetic. All others are the white papers' peak / (SMs x 4 x boost
clock), dense, FP32 accumulation:

* NVIDIA A100 Tensor Core GPU Architecture (V1.0, 2020), table 2: GA100.
* NVIDIA H100 Tensor Core GPU Architecture (V1.04, 2023), table 3: GH100.
"""

from tcprof.analysis.kernels.names import NO_MATRIX

# (chip, instruction family) -> precision -> FLOP per tensor cycle; Hopper's FP64 kernels are named for warp groups
_RATES: dict[tuple[str, str], dict[str, float]] = {
    ("GH100", "wgmma"): {"fp64": 64, "tf32": 512, "fp16": 1024, "bf16": 1024, "fp8": 2048, "int8": 2048},
    ("GH100", "mma.sync"): {"fp64": 64, "tf32": 1024 / 3, "fp16": 512, "bf16": 512, "int8": 4096 / 3},
    ("GA100", "mma.sync"): {"fp64": 32, "tf32": 256, "fp16": 512, "bf16": 512, "int8": 1024},
}


def flop_per_cycle(chip: str, family: str, precision: str) -> float:
    """Floating-point (or integer) operations for each active cycle of one tensor pipe; NaN where not known."""
    if family == NO_MATRIX:
        return 0.0
    return float(_RATES.get((chip, family), {}).get(precision, float("nan")))


def peak_flop_per_cycle(chip: str, precision: str) -> float:
    """The highest rate of any instruction family of the chip in that precision; NaN where not known."""
    rates = [rates[precision] for (name, _), rates in _RATES.items() if name == chip and precision in rates]
    return float(max(rates, default=float("nan")))
