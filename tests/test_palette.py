"""The colours of the pages: whoever sees red, green or blue less tells classes apart."""

from itertools import combinations

import numpy as np
import pytest

from tcprof.views.figures.traces import CLASS_COLORS

# Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency (2009), at
# full severity, for linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
WHITE = [0.95047, 1.0, 1.08883]
APART = 15.0  # in CIELAB; side by side, 2.3 is just seen


def seen(color, sight="usual"):
    """A colour in CIELAB, as someone sees it."""
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    x, y, z = np.array(TO_XYZ) @ np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1) / WHITE
    x, y, z = (np.cbrt(each) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_classes_of_time_are_told_apart(sight):
    colors = {name: color for name, color in CLASS_COLORS.items() if color.startswith("#")}
    assert set(CLASS_COLORS) - set(colors) == {"idle"}, "which is hatched"
    near = {
        pair: round(distance, 1)
        for pair in combinations(colors, 2)
        if (distance := np.linalg.norm(seen(colors[pair[0]], sight) - seen(colors[pair[1]], sight))) < APART
    }
    assert near == {}
