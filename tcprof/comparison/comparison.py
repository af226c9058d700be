"""Compare two sides, range by range."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.comparison.matching.iterations import share_iterations
from tcprof.comparison.matching.kernels import Matching, match_kernels
from tcprof.comparison.matching.places import (
    Renaming,
    check_mapping,
    find_renamings,
    find_unmapped,
    list_places,
    rename_paths,
)
from tcprof.comparison.modules import compare_modules
from tcprof.comparison.refusal import refuse
from tcprof.comparison.side import Side, count_once
from tcprof.comparison.statistics.repeats import is_measured
from tcprof.comparison.statistics.rows import list_rows
from tcprof.comparison.waterfall import explain_changes
from tcprof.frames import HEADLINE, NOISE_FLOOR, plain_texts

MEASURED, ASSUMED = "measured", "assumed"
_NOTHING: Mapping[str, str] = MappingProxyType({})
_REPEATED = ("host_ns", "gpu_window_ns", "kernel_ns", HEADLINE.name)


@dataclass(frozen=True)
class Comparison:
    """A baseline and another side.

    Attributes:
        base: The baseline.
        new: What is compared with it.
        rows: One row for each GPU, path and quantity, see ``tcprof.frames.COMPARISON``.
        iteration_path: The path of the iterations in ``rows``; empty where the sides have none in common, for the whole
            capture.
        matching: The kernels of a typical recording of each side, matched.
        modules: The modules of both sides, see ``tcprof.frames.MODULE_CHANGES``.
        waterfall: What the changes of time and Tensor Active consist of, see ``tcprof.frames.WATERFALL``; of typical
            recordings.
        spread: How it is known how much runs of one program differ: measured, from several recordings a side, or
            assumed, see ``docs/statistics.md``.
        noise_floor: How much the recordings of one side differ, see ``tcprof.frames.NOISE_FLOOR``; empty without
            repeats.
        unmapped: Old and new names of ranges that were mapped, but which the new side does not have.
    """

    base: Side
    new: Side
    rows: pd.DataFrame
    iteration_path: str
    matching: Matching
    modules: pd.DataFrame
    waterfall: pd.DataFrame
    spread: str
    noise_floor: pd.DataFrame
    unmapped: tuple[tuple[str, str], ...]


@plain_texts()
def compare(
    base: Side | Analysis, new: Side | Analysis, mapping: Mapping[str, str] = _NOTHING, allow_mismatch: bool = False
) -> Comparison:
    """Match the ranges of two sides by GPU, domain and path, and compare their figures per instance.

    Files of a side that hold the same recording count once, see ``Side.copies``.

    Args:
        mapping: New names of the baseline's ranges by old ones: of a single name, or of names that follow each other in
            a path.
        allow_mismatch: Whether to compare even where the figures mean nothing.

    Raises:
        UsageError: The sides were analyzed with different windows, or the baseline has no range that is to be renamed.
        InputError: One side has no work on any GPU.
    """
    base = base if isinstance(base, Side) else Side("base", (base,))
    new = new if isinstance(new, Side) else Side("new", (new,))
    refuse(base, new, allow_mismatch)
    base, new = count_once(base), count_once(new)
    check_mapping(base.recordings, mapping)
    base, new = share_iterations(base, new, mapping)
    renamings = find_renamings(base.recordings, new.recordings, mapping)
    places = list_places(
        [
            rename_paths(recording.ranges, renaming)
            for side, renaming in zip((base, new), renamings, strict=True)
            for recording in side.recordings
        ]
    )
    typical = base.typical, new.typical
    matching = match_kernels(*typical, mapping)
    measured = bool(is_measured(len(base.recordings), len(new.recordings)))
    path = _iteration_path(typical, renamings)
    return Comparison(
        base=base,
        new=new,
        rows=list_rows(base.recordings, new.recordings, places, renamings),
        iteration_path=path,
        matching=matching,
        modules=compare_modules(base.recordings, new.recordings, iterate=bool(path)),
        waterfall=explain_changes(*typical, matching),
        spread=MEASURED if measured else ASSUMED,
        noise_floor=NOISE_FLOOR.concat([_noise_floor(side) for side in (base, new)]),
        unmapped=find_unmapped(new.recordings, mapping),
    )


def _iteration_path(typical: tuple[Analysis, Analysis], renamings: tuple[Renaming, Renaming]) -> str:
    """The path that iterates on both sides."""
    found = []
    for recording, renaming in zip(typical, renamings, strict=True):
        paths = recording.iterations.drop_duplicates("path").assign(depth=0)
        found.append(dict.fromkeys(rename_paths(paths, renaming)["path"]))
    return next((path for path in found[0] if path in found[1]), "")


def _noise_floor(side: Side) -> pd.DataFrame:
    """The largest ratio between the iterations' medians of two recordings, for each GPU and quantity."""
    medians = _iteration_medians(side.recordings)
    found = [
        {
            "gpu": gpu,
            "side": side.name,
            "quantity": quantity,
            "ratio": values.max() / values.min() if values.min() > 0 else float("nan"),
            "recording_count": len(values),
        }
        for gpu, of_gpu in medians.groupby("gpu")
        for quantity, values in of_gpu[list(_REPEATED)].items()
        if len(values) > 1
    ]
    return NOISE_FLOOR.conform(pd.DataFrame(found)) if found else NOISE_FLOOR.empty()


def _iteration_medians(recordings: Sequence[Analysis]) -> pd.DataFrame:
    parts = []
    for recording in recordings:
        steady = recording.iterations[~recording.iterations["warm_up"]]
        parts.append(steady.groupby("gpu", as_index=False)[list(_REPEATED)].median())
    return pd.concat(parts, ignore_index=True)
