"""What the figures of a comparison draw: a typical iteration of each side, and where kernels lie in both rooflines."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.drawing import compute_envelope, step_points
from tcprof.analysis.intervals import run_starts
from tcprof.analysis.kernels.roofline import PLACED, place_kernels
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.time.account import classes_of_activities
from tcprof.arrays import Floats, Ints
from tcprof.comparison import Comparison
from tcprof.comparison.matching.slots import NONE

_DEPTHS, _BARS, _BINS = 2, 1200, 1000
MOST_MOVED = 60  # kernels of a side: those that take most; more lines would hide each other
_KEY = ["gpu", "name", "geometry"]
_FIGURES = ["arithmetic", "tflops", "intensity", "roof_pct", "memory_pct", "roof_tflops", "peak_source", "place"]


@dataclass(frozen=True)
class TypicalStep:
    """An iteration of one side on one GPU; all times are ns from its first activity."""

    number: int
    length_ns: int  # from its first activity to its last
    # The ranges within it: ``path`` within the iteration, ``name``, ``depth`` from 1 on, ``start_ns``, ``end_ns`` and
    # ``tensor_active_mean_pct``.
    ranges: pd.DataFrame
    # Its activities: ``name``, ``time_class``, ``start_ns``, ``end_ns``, ``row``, that of the kernel changes or -1, and
    # ``nth``, which launch of that row it is.
    work: pd.DataFrame
    curve: tuple[Floats, Floats]  # seconds and percent of its samples of Tensor Active, as points of steps


def find_steps(comparison: Comparison, gpu: int) -> tuple[TypicalStep, TypicalStep] | None:
    """The iteration of each side whose GPU window is the median; nothing where a side has none with work on the GPU."""
    if not has_steps(comparison, gpu):
        return None
    base, new, matching = comparison.base.typical, comparison.new.typical, comparison.matching
    return _find_step(base, gpu, matching.base_row), _find_step(new, gpu, matching.new_row)


def has_steps(comparison: Comparison, gpu: int) -> bool:
    """Whether each side has an iteration with work on the GPU."""
    sides = comparison.base, comparison.new
    return bool(comparison.iteration_path) and all(len(_list_steady(side.typical, gpu)) for side in sides)


def _list_steady(analysis: Analysis, gpu: int) -> pd.DataFrame:
    iterations = analysis.counted_iterations(gpu)
    return iterations[iterations["gpu_window_ns"] > 0]


def _find_step(analysis: Analysis, gpu: int, row: Ints) -> TypicalStep:
    steady = _list_steady(analysis, gpu).sort_values("gpu_window_ns", kind="stable")
    chosen = steady.iloc[(len(steady) - 1) // 2]
    instances = analysis.instances[analysis.instances["gpu"] == gpu]
    own = instances[instances["range"] == chosen["range"]].iloc[0]
    start, end = int(own["gpu_start_ns"]), int(own["gpu_end_ns"])
    return TypicalStep(
        number=int(chosen["number"]),
        length_ns=end - start,
        ranges=_list_ranges(analysis, instances, own, str(chosen["path"])),
        work=_list_work(analysis, gpu, row, start, end),
        curve=_cut_curve(analysis, gpu, start, end),
    )


def _list_ranges(analysis: Analysis, instances: pd.DataFrame, own: pd.Series, path: str) -> pd.DataFrame:
    """The uppermost ranges within the iteration that have work on the GPU."""
    prefix = path + SEPARATOR
    named = instances.join(analysis.paths[["path", "name"]], on="path_id")
    named = named[named["path"].str.startswith(prefix) & named["gpu_start_ns"].notna()]
    inside = named[(named["host_start_ns"] >= own["host_start_ns"]) & (named["host_end_ns"] <= own["host_end_ns"])]
    within = inside["path"].str.slice(len(prefix))
    found = inside.assign(
        path=within,
        depth=within.str.count(SEPARATOR) + 1,
        start_ns=inside["gpu_start_ns"].astype(np.int64) - int(own["gpu_start_ns"]),
        end_ns=inside["gpu_end_ns"].astype(np.int64) - int(own["gpu_start_ns"]),
    )
    columns = ["path", "name", "depth", "start_ns", "end_ns", "tensor_active_mean_pct"]
    return found.loc[found["depth"] <= _DEPTHS, columns].sort_values("start_ns", kind="stable", ignore_index=True)


def _list_work(analysis: Analysis, gpu: int, row: Ints, start: int, end: int) -> pd.DataFrame:
    activities, launched = analysis.activities, analysis.kernel_instances
    of_activity = np.full(len(activities), NONE, dtype=np.int64)
    of_activity[launched["activity"].to_numpy()] = row
    meanwhile = (activities["gpu"] == gpu) & (activities["start_ns"] < end) & (activities["end_ns"] > start)
    found = pd.DataFrame(
        {
            "name": activities["name"].astype(object),
            "time_class": classes_of_activities(activities, launched, analysis.kernels),
            "start_ns": activities["start_ns"].clip(lower=start) - start,
            "end_ns": activities["end_ns"].clip(upper=end) - start,
            "row": of_activity,
        }
    )[meanwhile.to_numpy()].sort_values("start_ns", kind="stable", ignore_index=True)
    return found.assign(nth=found.groupby("row").cumcount())


def _cut_curve(analysis: Analysis, gpu: int, start: int, end: int) -> tuple[Floats, Floats]:
    samples = analysis.samples
    mine = samples[(samples["gpu"] == gpu) & (samples["start_ns"] < end) & (samples["end_ns"] > start)]
    if not mine["tensor_active_pct"].notna().any():
        return np.empty(0), np.empty(0)
    first, last = (mine[f"{side}_ns"].clip(start, end).to_numpy() - start for side in ("start", "end"))
    envelope = compute_envelope(first, last, mine["tensor_active_pct"].to_numpy(np.float64), _BINS)
    return step_points(envelope, envelope.mean)


def merge_work(work: pd.DataFrame) -> pd.DataFrame:
    """Few enough bars: neighbours of one class as one, if they and what lies between them are too short to be seen.

    As ``TypicalStep.work``, by the first ``name``, with ``count``, how many activities a bar stands for, and all their
    ``rows``.
    """
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    if not len(work):
        return work.assign(count=1, rows=())
    short = int(end.max()) // _BARS
    is_long = (end - start > short).astype(np.int64)
    far = np.cumsum(np.append(0, start[1:] - end[:-1] > short))
    place = np.zeros(len(work), dtype=np.int64)
    place[run_starts(work["time_class"].to_numpy(), far, np.cumsum(is_long) * 2 - is_long)] = 1
    by = work.groupby(np.cumsum(place))
    rows = by["row"].agg(lambda found: tuple(dict.fromkeys(found)))
    merged = by.first().assign(end_ns=by["end_ns"].max(), count=by.size(), rows=rows)
    return merged.reset_index(drop=True)


def join_work(steps: tuple[TypicalStep, TypicalStep], most: int) -> pd.DataFrame:
    """The longest launches of matched kernels: ``start_ns`` and ``end_ns`` of both sides, by start."""
    base, new = (step.work[step.work["row"] != NONE] for step in steps)
    both = base.merge(new, on=["row", "nth"], suffixes=("_base", "_new"))
    lengths = [both[f"end_ns_{side}"] - both[f"start_ns_{side}"] for side in ("base", "new")]
    longest = np.maximum(*lengths).nlargest(most).index
    return both.loc[sorted(longest)]


def list_moved(comparison: Comparison, gpu: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The kernels of each side with a place, longest first, by number of their pair, with ``time_ns`` of a step."""
    changes = comparison.matching.changes
    names = [f"{side}_{part}" for side in ("base", "new") for part in ("name", "geometry")]
    sums = changes[changes["gpu"] == gpu].groupby(["gpu", *names], sort=False)[["base_ns", "new_ns"]].sum()
    pairs = sums.reset_index()
    return _place(comparison.base.typical, pairs, "base"), _place(comparison.new.typical, pairs, "new")


def _place(analysis: Analysis, pairs: pd.DataFrame, role: str) -> pd.DataFrame:
    """The kernels of a side; one that is matched with several is one circle for each."""
    placed = place_kernels(analysis.kernels, analysis.gpus).rename(columns={"launch_geometry": "geometry"})
    placed = placed[placed["place"] == PLACED]
    own = pairs.rename(columns={f"{role}_name": "name", f"{role}_geometry": "geometry", f"{role}_ns": "time_ns"})
    found = own[["time_ns", *_KEY]].assign(pair=own.index).merge(placed[[*_KEY, *_FIGURES]], on=_KEY)
    return found.nlargest(MOST_MOVED, "time_ns").assign(l2_intensity=np.nan)  # the cache's roof is not drawn here
