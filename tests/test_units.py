import math
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcprof import units

OF_MORE = (
    "format_things",
    "format_value",
    "format_interval",
    "format_pct_interval",
    "format_change",
    "format_change_interval",
)
FUNCTIONS = [getattr(units, name) for name in dir(units) if name.startswith("format_") and name not in OF_MORE]
WITH_UNITS = [
    *(partial(units.format_value, unit=unit) for unit in ("", "W", *sorted(units.SUFFIXES))),
    partial(units.format_change, in_points=True),
    partial(units.format_change, in_points=False),
]


@pytest.mark.parametrize("function", [*FUNCTIONS, *WITH_UNITS])
@pytest.mark.parametrize(
    "unknown", [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT, math.inf, -math.inf], ids=repr
)
def test_unknown_is_a_dash_and_never_0(function, unknown):
    assert function(unknown) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ns"),
        (-0.0, "0 ns"),
        (0.25, "0.250 ns"),
        (1, "1.00 ns"),
        (999, "999 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (1_000, "1.00 µs"),
        (9_996, "10.0 µs"),
        (99_960, "100 µs"),
        (999_499, "999 µs"),
        (999_600, "1.00 ms"),
        (1_720_000, "1.72 ms"),
        (999_600_000, "1.00 s"),
        (59_990_000_000, "60.0 s"),
        (3_600_000_000_000, "3600 s"),
        (-1_500, "-1.50 µs"),
        (-999_600, "-1.00 ms"),
        (np.int64(5_000), "5.00 µs"),
    ],
)
def test_durations(value, text):
    assert units.format_ns(value) == text
    assert units.format_seconds(value / 1e9) == text


@given(st.floats(1e-2, 1e18))
def test_a_duration_below_seconds_is_between_1_and_999_and_close_to_the_value(value):
    number, unit = units.format_ns(value).split()
    scale = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}[unit]
    assert float(number) * scale == pytest.approx(value, rel=0.005, abs=0.0005)
    if unit != "s":
        assert float(number) < 1000
    if unit != "ns":
        assert float(number) >= 1
    if float(number) < 1000 and value >= 0.1:
        assert len(re.sub(r"^0\.|\.", "", number)) == 3  # always three digits


WRITTEN = {
    units.format_pct: [
        (0, "0.0 %"),
        (100, "100.0 %"),
        (87.34, "87.3 %"),
        (1, "1.0 %"),
        (0.96, "0.96 %"),
        (0.1, "0.10 %"),
        (0.031, "0.031 %"),
        (-3.25, "-3.2 %"),
        (0.0004, "<0.001 %"),
        (-0.0, "0.0 %"),
    ],
    units.format_points: [
        (0, "0.0 points"),
        (-0.0, "0.0 points"),
        (0.0004, "<0.001 points"),
        (37.5, "+37.5 points"),
        (-2, "-2.0 points"),
        (0.25, "+0.25 points"),
    ],
    units.format_count: [
        (0, "0"),
        (0.3, "0.3"),
        (0.04, "0.04"),
        (0.97, "1"),
        (1440, "1,440"),
        (-1440, "-1,440"),
        (9_999_999, "9,999,999"),
        (10_000_000, "10.0 M"),
        (999_600_000, "1.00 G"),
        (4_031_249_280, "4.03 G"),
        (999_600_000_000, "1.00 T"),
        (2e15, "2.00 P"),
    ],
    units.format_hz: [
        (0, "0 Hz"),
        (10, "10 Hz"),
        (20_000, "20 kHz"),
        (200_000, "200 kHz"),
        (999_600, "1 MHz"),
        (999_600_000, "1.00 GHz"),
        (1_800_000_000, "1.80 GHz"),
        (1_980_000_000, "1.98 GHz"),
        (1_500, "1.5 kHz"),
    ],
    units.format_bytes: [
        (0, "0 B"),
        (1023, "1023 B"),
        (1023.7, "1.0 KiB"),
        (1024, "1.0 KiB"),
        (1024 * 1023.97, "1.0 MiB"),
        (150_109_880_320, "139.8 GiB"),
        (1024**4 - 1, "1.0 TiB"),
        (5 * 1024**4, "5.0 TiB"),
    ],
    units.format_ratio: [
        (0, "<0.001x"),
        (0.0004, "<0.001x"),
        (1, "1.00x"),
        (1.416, "1.42x"),
        (24.054, "24.1x"),
        (0.0961, "0.096x"),
    ],
    units.format_flops: [
        (0.00409, "4.09 GFLOP/s"),
        (762, "762 TFLOP/s"),
        (9000, "9000 TFLOP/s"),
        (1_273_459, "1273 PFLOP/s"),
    ],
}


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [(function, *written) for function, of_it in WRITTEN.items() for written in of_it],
)
def test_a_number_is_written_in_its_unit(function, value, text):
    assert function(value) == text


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("value", ["fast", "0x10"])
def test_a_text_is_a_defect_of_the_caller(function, value):
    with pytest.raises(ValueError, match="could not convert"):
        function(value)


def test_no_zero_has_a_sign():
    """What rounding leaves below a picosecond is 0, and a small negative number never reads -0."""
    assert [units.format_ns(value) for value in (-1e-10, 1e-10, -0.0004)] == ["0 ns"] * 3
    shown = [
        units.format_count(-0.3),
        units.format_bytes(-0.3),
        units.format_ratio(-0.0001),
        units.format_hz(-0.0001),
        units.format_pct(-0.0),
        units.format_seconds(-1e-15),
    ]
    assert not [text for text in shown if text.startswith("-")]


def test_things_are_one_or_many():
    assert units.format_things(1, "kernel") == "1 kernel"
    assert units.format_things(1_440, "launch", "launches") == "1,440 launches"
    assert units.format_things(0, "kernel") == "0 kernels"
    assert units.format_things(None, "kernel") == "– kernels"
