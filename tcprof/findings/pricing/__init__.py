"""Prices: what a change saves of a step, by the speeds in ``calibration.toml`` that were measured; and its code."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


# By table and name: what low, likely and high are is an array, and so are other lists of numbers.
MEASURED: Mapping[str, Mapping[str, Any]] = {
    table: {name: np.array(value) if isinstance(value, list) else value for name, value in entries.items()}
    for table, entries in _read("calibration.toml").items()
}
CODE: Mapping[str, tuple[str, ...]] = {name: tuple(text.splitlines()) for name, text in _read("code.toml").items()}
