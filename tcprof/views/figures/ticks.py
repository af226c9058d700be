"""Places and labels of an axis whose values have a unit: plotly writes "50ms" and has no way to ask for a space."""

import math

import numpy as np

_STEPS = (1, 2, 5, 10)
_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}


def unit_ticks(low: float, high: float, unit: str, most: int = 5) -> dict[str, object]:
    """Round values from one to another, with the unit and its prefix: "50 ms", "500 TFLOP/s".

    Args:
        low: The first value that may have a label.
        most: How many labels there are at most.
    """
    if not high > low:
        return {"tickvals": [low], "ticktext": [_label(low, unit)]}
    least = (high - low) / most
    size = 10 ** math.floor(math.log10(least))
    step = next(each * size for each in _STEPS if each * size >= least * (1 - 1e-9))
    values = step * np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {"tickvals": values.tolist(), "ticktext": [_label(value, unit) for value in values.tolist()]}


def log_ticks(low: float, high: float, unit: str) -> dict[str, object]:
    """The same for a logarithmic axis: 1, 2 and 5 of each power of ten, which a zoom needs.

    Args:
        low: The first value that may have a label, above 0.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [value for power in powers for value in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)]
    shown = [value for value in values if low <= value <= high]
    return {"tickvals": shown, "ticktext": [_label(value, unit) for value in shown]}


def _label(value: float, unit: str) -> str:
    exponent = 3 * math.floor(math.log10(abs(value)) / 3 + 1e-9) if value else 0
    exponent = min(max(exponent, min(_PREFIXES)), max(_PREFIXES))
    return f"{value / 10.0**exponent:.9g} {_PREFIXES[exponent] if value else ''}{unit}".rstrip()
