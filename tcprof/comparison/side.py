"""A side of a comparison: one or more recordings of the same program."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tcprof.analysis import Analysis


@dataclass(frozen=True)
class Side:
    """One or more recordings of the same program.

    Attributes:
        name: What the side is called: "base", or a name that the user knows it by.
        recordings: The recordings, at least one.
    """

    name: str
    recordings: tuple[Analysis, ...]

    @property
    def first(self) -> Analysis:
        """The recording that stands for the side where only one can be shown."""
        return self.recordings[0]

    @property
    def typical(self) -> Analysis:
        """The recording whose iterations last the median of all, which stands for the side in what cannot be pooled."""
        medians = [
            each.iterations.loc[~each.iterations["warm_up"], "gpu_window_ns"].median() for each in self.recordings
        ]
        order = np.argsort(np.nan_to_num(medians, nan=np.inf), kind="stable")
        return self.recordings[int(order[(len(order) - 1) // 2])]

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of its recordings; one that several have stands once."""
        return _distinct(fault for recording in self.recordings for fault in recording.faults)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of its recordings, likewise."""
        return _distinct(warning for recording in self.recordings for warning in recording.warnings)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
