"""A side of a comparison: one or more recordings of the same program."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from tcprof.analysis import Analysis
from tcprof.analysis.observed import is_same_recording


@dataclass(frozen=True)
class Side:
    """One or more recordings of the same program."""

    name: str  # what the side is called: "base", or a name that the user knows it by
    recordings: tuple[Analysis, ...]
    copies: tuple[tuple[str, ...], ...] = ()  # files that hold one recording, of which one is among the recordings

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


def count_once(side: Side) -> Side:
    """The side with one file of each recording: that with most work, and of these the one with the shortest name."""
    groups: list[list[Analysis]] = []
    for recording in side.recordings:
        same = (group for group in groups if is_same_recording(group[0].fingerprint, recording.fingerprint))
        found = next(same, None)
        if found is None:
            groups.append([recording])
        else:
            found.append(recording)
    kept = (max(group, key=lambda each: (len(each.activities), -len(each.recording.file))) for group in groups)
    copies = (tuple(each.recording.file for each in group) for group in groups if len(group) > 1)
    return replace(side, recordings=tuple(kept), copies=(*side.copies, *copies))


def shared_recordings(base: Side, new: Side) -> list[tuple[str, str]]:
    """The files of both sides that hold the same recording."""
    return [
        (one.recording.file, other.recording.file)
        for one in base.recordings
        for other in new.recordings
        if is_same_recording(one.fingerprint, other.fingerprint)
    ]


def gpu_models(base: Side, new: Side) -> tuple[str, str]:
    """The models of the GPUs that each side worked on, with their chips where the names alone do not differ."""
    sides = [[_used_models(recording) for recording in side.recordings] for side in (base, new)]
    told = [join_facts(", ".join(dict.fromkeys(name for name, _ in models)) for models in side) for side in sides]
    if told[0] == told[1] and set(sides[0]) != set(sides[1]):
        told = [
            join_facts(
                ", ".join(dict.fromkeys(f"{name} ({chip or 'chip unknown'})" for name, chip in models))
                for models in side
            )
            for side in sides
        ]
    return told[0], told[1]


def _used_models(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Name and chip of the GPUs that worked, of all where none did."""
    gpus = analysis.gpus
    used = gpus[gpus["gpu"].isin(analysis.activities["gpu"].unique())]
    models = gpus if used.empty else used
    return tuple(sorted({*zip(models["name"], models["chip"], strict=True)}))


def join_facts(texts: Iterable[str]) -> str:
    """What the recordings of a side have, each once; an empty text is unknown."""
    return ", ".join(dict.fromkeys(text or "unknown" for text in texts))
