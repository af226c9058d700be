"""Compare two sides, range by range."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import is_same_recording
from tcprof.analysis.steps.marked_steps import counted_paths
from tcprof.comparison.matching.kernels import Matching, match_kernels
from tcprof.comparison.matching.sides import (
    Renaming,
    Side,
    check_mapping,
    count_once,
    find_renamings,
    find_unmapped,
    gpu_models,
    join_facts,
    join_kinds,
    list_path_keys,
    rename_paths,
    share_steps,
)
from tcprof.comparison.modules import compare_modules
from tcprof.comparison.statistics.rows import list_rows
from tcprof.comparison.statistics.verdicts import is_measured
from tcprof.comparison.waterfall import explain_changes
from tcprof.errors import InputError, UsageError
from tcprof.frames import python_string_storage
from tcprof.untrusted import one_line

MEASURED, ASSUMED = "measured", "assumed"
_ANYWAY = "--allow-mismatch compares them anyway."
_ANYWAY_IN_PYTHON = "allow_mismatch=True compares them anyway."
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Comparison:
    """A baseline, another side, and what changed."""

    base: Side  # the baseline
    new: Side  # what is compared with it
    rows: pd.DataFrame  # one row for each GPU, path and quantity, see ``tcprof.frames.COMPARISON``
    # The path of the steps in ``rows``; empty where the sides have none in common, for the whole capture.
    step_path: str
    matching: Matching  # the kernels of a typical recording of each side, matched
    modules: pd.DataFrame  # the modules of both sides, see ``tcprof.frames.MODULE_CHANGES``
    # What the changes of time and Tensor Active consist of, see ``tcprof.frames.WATERFALL``; of typical recordings.
    waterfall: pd.DataFrame
    # How it is known how much runs of one program differ: measured, from several recordings a side, or assumed, see
    # ``docs/statistics.md``.
    spread: str
    # Old and new names of ranges that were mapped, but which the new side does not have.
    unmapped: tuple[tuple[str, str], ...]
    renamings: tuple[Renaming, Renaming]  # what the ranges of each side are called in ``rows``


@python_string_storage()
def compare(
    base: Side | Analysis, new: Side | Analysis, mapping: Mapping[str, str] = _NOTHING, allow_mismatch: bool = False
) -> Comparison:
    """Match the ranges of two sides by GPU, domain and path, and compare their figures per instance.

    Files of a side that hold the same recording count once, see ``Side.copies``. ``mapping`` renames the baseline's
    ranges: single names, or names that follow each other in a path. UsageError where windows differ or nothing is
    renamed, InputError where a side has no work.
    """
    base = base if isinstance(base, Side) else Side("base", (base,))
    new = new if isinstance(new, Side) else Side("new", (new,))
    _refuse(base, new, allow_mismatch)
    base, new = count_once(base), count_once(new)
    check_mapping(base.recordings, mapping)
    base, new = share_steps(join_kinds(base), join_kinds(new), mapping)
    sides = base.recordings, new.recordings
    renamings = find_renamings(*sides, mapping)
    renamed = [rename_paths(run.ranges, names) for side, names in zip(sides, renamings, strict=True) for run in side]
    typical = base.typical, new.typical
    matching, path = match_kernels(*typical, mapping), _step_path(typical, renamings)
    return Comparison(
        base=base,
        new=new,
        rows=list_rows(*sides, list_path_keys(renamed), renamings),
        step_path=path,
        matching=matching,
        modules=compare_modules(*sides, iterate=bool(path)),
        waterfall=explain_changes(*typical, matching),
        spread=MEASURED if is_measured(*map(len, sides)) else ASSUMED,
        unmapped=find_unmapped(new.recordings, mapping),
        renamings=renamings,
    )


def _step_path(typical: tuple[Analysis, Analysis], renamings: tuple[Renaming, Renaming]) -> str:
    step_paths = []
    for recording, renaming in zip(typical, renamings, strict=True):
        paths = pd.DataFrame({"path": counted_paths(recording.steps), "depth": 0})
        step_paths.append(dict.fromkeys(rename_paths(paths, renaming)["path"]))
    return next((path for path in step_paths[0] if path in step_paths[1]), "")


def shared_recordings(base: Side, new: Side) -> list[tuple[str, str]]:
    """List the files of both sides that hold the same whole recording: one may be a copy, saved or redacted."""
    return [
        (one.recording.file, other.recording.file)
        for one in base.recordings
        for other in new.recordings
        if is_same_recording(one.fingerprint, other.fingerprint) and _measure_content(one) == _measure_content(other)
    ]


def _measure_content(analysis: Analysis) -> tuple[object, ...]:
    side = Side("", (analysis,))
    return len(analysis.activities), len(analysis.samples), gpu_models(side, side)


def refuse_shared(sides: Sequence[Side]) -> None:
    """Refuse sides of which two have the same recording: it shows no change against itself."""
    for one, other in combinations(sides, 2):
        if shared := shared_recordings(one, other):
            files = " and ".join(dict.fromkeys(one_line(file) for file in shared[0]))
            raise UsageError(f"two sides have the same recording: {files}", "Give each side its own recordings.")


def _refuse(base: Side, new: Side, allow_mismatch: bool) -> None:
    """Refuse a comparison whose figures would mean nothing."""
    windows = [join_facts(recording.window for recording in side.recordings) for side in (base, new)]
    if not all(windows):
        raise UsageError("a side of a comparison has no recording", "Give at least one for each side.")
    if (windows[0] != windows[1] or "," in windows[0]) and not allow_mismatch:
        raise UsageError(
            f"the baseline was analyzed over {windows[0]} windows, the other over {windows[1]} windows",
            f"Analyze both over the same windows. {_ANYWAY}",
            f"Analyze both over the same windows. {_ANYWAY_IN_PYTHON}",
        )
    idle = [side for side in (base, new) if not any(len(recording.activities) for recording in side.recordings)]
    if len(idle) == 1 and not allow_mismatch:
        files = join_facts(recording.recording.file for recording in idle[0].recordings)
        how = idle[0].recordings[0].recording.remedies.kernels
        raise InputError(
            f"{files} has no GPU work, but the other side has.",
            f"Record it with {how}. {_ANYWAY}",
            f"Record it with {how}. {_ANYWAY_IN_PYTHON}",
        )
