"""Prices: what a change saves of a step, by the speeds in ``calibration.toml`` that were measured."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_Tables = Mapping[str, Mapping[str, Any]]


def _read_calibration() -> _Tables:
    """Its tables; what low, likely and high are is an array, and so are other lists of numbers."""
    tables = tomllib.loads(Path(__file__).with_name("calibration.toml").read_text(encoding="utf-8"))
    return {
        table: {name: np.array(value) if isinstance(value, list) else value for name, value in entries.items()}
        for table, entries in tables.items()
    }


MEASURED = _read_calibration()
