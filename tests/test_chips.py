"""Rates and peaks of chips: FLOP for each active cycle of a tensor pipe."""

import math
from pathlib import Path

import pytest

import tcprof
from tcprof.chips import find_chip


@pytest.mark.parametrize(
    ("chip", "family", "precision", "rate"),
    [
        ("GH100", "wgmma", "bf16", 1024),
        ("GH100", "wgmma", "fp16", 1024),
        ("GH100", "wgmma", "fp8", 2048),
        ("GH100", "wgmma", "tf32", 512),
        ("GH100", "mma.sync", "fp16", 512),
        ("GH100", "mma.sync", "tf32", 1024 / 3),
        ("GH100", "mma.sync", "int8", 4096 / 3),
        ("GH100", "mma.sync", "fp64", 64),
        ("GA100", "mma.sync", "bf16", 512),
        ("GA100", "mma.sync", "fp64", 32),
        ("GA100", "none", "", 0),
        ("unheard of", "none", "", 0),
    ],
)
def test_rates(chip: str, family: str, precision: str, rate: float) -> None:
    assert find_chip(chip).flop_per_cycle(family, precision) == rate


@pytest.mark.parametrize(
    ("chip", "family", "precision"),
    [
        ("unheard of", "wgmma", "fp16"),
        ("GA100", "wgmma", "fp16"),
        ("GA100", "mma.sync", "fp8"),
        ("GH100", "tcgen05", "fp16"),
        ("GH100", "wgmma", ""),
        ("GH100", "", "fp16"),
        ("", "", ""),
    ],
)
def test_what_is_not_known_has_no_rate(chip: str, family: str, precision: str) -> None:
    assert math.isnan(find_chip(chip).flop_per_cycle(family, precision))


@pytest.mark.parametrize(
    ("chip", "sms", "boost_ghz", "precision", "tflops"),
    [
        ("GH100", 132, 1.83, "fp16", 989.4),
        ("GH100", 132, 1.83, "fp8", 1978.9),
        ("GH100", 132, 1.83, "tf32", 494.7),
        ("GA100", 108, 1.41, "fp16", 312),
        ("GA100", 108, 1.41, "tf32", 156),
        ("GA100", 108, 1.41, "int8", 624),
        ("GA100", 108, 1.41, "fp64", 19.5),
    ],
)
def test_peaks_are_those_of_the_white_papers(
    chip: str, sms: int, boost_ghz: float, precision: str, tflops: float
) -> None:
    assert find_chip(chip).peak_flop_per_cycle(precision) * sms * 4 * boost_ghz / 1000 == pytest.approx(
        tflops, rel=0.01
    )


@pytest.mark.parametrize(("chip", "precision"), [("unheard of", "fp16"), ("GH100", ""), ("GA100", "fp8")])
def test_a_peak_that_is_not_known(chip: str, precision: str) -> None:
    assert math.isnan(find_chip(chip).peak_flop_per_cycle(precision))


@pytest.fixture(scope="module")
def product_flop() -> dict[str, float]:
    """FLOP of a product, from its tensor cycles, for each format and size of the recording."""
    ranges = tcprof.read(Path(__file__).parent.parent / "fixtures" / "matmul.sqlite").ranges
    return dict(zip(ranges["path"], ranges["tensor_flop"] / 3, strict=True))  # three of each


@pytest.mark.parametrize("name", ["fp64", "tf32", "fp16", "bf16", "int8", "fp8"])
def test_cycles_of_aligned_products_are_their_arithmetic(product_flop: dict[str, float], name: str) -> None:
    assert product_flop[f"{name} 4096"] == pytest.approx(2 * 4096**3, rel=0.002)


@pytest.mark.parametrize(
    ("name", "tile", "error"),
    [
        ("tf32", (256, 128, 32), 0.001),  # by mma.sync, at two thirds of wgmma's rate
        ("fp16", (128, 128, 32), 0.001),  # by mma.sync, at half of it
        ("bf16", (128, 128, 32), 0.02),
    ],
)
def test_cycles_of_others_are_that_of_whole_tiles(
    product_flop: dict[str, float], name: str, tile: tuple[int, int, int], error: float
) -> None:
    padded = math.prod(math.ceil(4097 / side) * side for side in tile)
    assert product_flop[f"{name} 4097"] == pytest.approx(2 * padded, rel=error)
