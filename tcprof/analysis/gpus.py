"""Which GPUs there are in a recording, and which of them were sampled or used."""

import pandas as pd

from tcprof.frames import GPUS


def list_gpus(named: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """All GPUs, and the numbers of those that were recorded.

    Args:
        named: Those that the recording names, see ``tcprof.frames.GPUS``.
    """
    gpus = _all_gpus(named, samples, activities)
    return gpus, _recorded_gpus(gpus, samples, activities)


def _all_gpus(named: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """The GPUs that the export names, and those that only samples or activities speak of."""
    others = sorted({*samples["gpu"].unique(), *activities["gpu"].unique()} - set(named["gpu"]))
    unnamed = pd.DataFrame({"gpu": others, "name": [f"GPU {gpu}" for gpu in others], "chip": ""})
    return GPUS.concat([named, GPUS.conform(unnamed)])


def _recorded_gpus(gpus: pd.DataFrame, samples: pd.DataFrame, activities: pd.DataFrame) -> list[int]:
    """The GPUs that were sampled or used; where there are none, the first one, so that something can be shown."""
    recorded = {*samples["gpu"].unique(), *activities["gpu"].unique()}
    return [gpu for gpu in gpus["gpu"] if gpu in recorded] or gpus["gpu"].tolist()[:1] or [0]
