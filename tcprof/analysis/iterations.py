"""Iterations: which path repeats, and which of its first instances are warm-up."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.projection import SEPARATOR
from tcprof.errors import UsageError
from tcprof.frames import ITERATIONS

Floats = npt.NDArray[np.float64]

FEWEST = 5  # instances of a path that iterates; and instances that tell what is usual
MOST_WARM_UP = 100
NORMAL_95, MAD_TO_DEVIATION = 1.96, 1.4826
NARROWEST_BAND = 0.05  # of the median: iterations are never more alike than this


def find_iterations(instances: pd.DataFrame, paths: pd.DataFrame, name: str | None = None) -> pd.DataFrame:
    """The instances of the path that iterates.

    It is the one named; else, of the outermost paths with at least 5 instances, that with most time on the GPU.

    Args:
        instances: See ``tcprof.frames.INSTANCES``.
        paths: See ``tcprof.frames.PATHS``.
        name: The path, or its last names: step, or epoch / step.

    Returns:
        See ``tcprof.frames.ITERATIONS``; empty where no path iterates.

    Raises:
        UsageError: No path has that name.
    """
    chosen = _find_paths(instances, paths) if name is None else _named_paths(paths, name)
    of_path = instances[instances["path_id"].isin(chosen)]
    if of_path.empty:
        return ITERATIONS.empty()
    ordered = of_path.sort_values(["gpu", "host_start_ns"], kind="stable")
    window = ordered["gpu_end_ns"] - ordered["gpu_start_ns"]
    host = ordered["host_end_ns"] - ordered["host_start_ns"]
    frame = ordered.assign(
        number=ordered.groupby("gpu").cumcount(),
        path=paths["path"].to_numpy()[ordered["path_id"].to_numpy()],
        host_ns=host,
        gpu_window_ns=window,
    )
    warm_up = [
        np.maximum(*(_is_warm_up(frame.loc[rows, column].to_numpy(float)) for column in ("host_ns", "gpu_window_ns")))
        for rows in frame.groupby("gpu").groups.values()
    ]
    return ITERATIONS.conform(frame.assign(warm_up=np.concatenate(warm_up)))


def _named_paths(paths: pd.DataFrame, name: str) -> list[int]:
    """The paths that are so called, or end so."""
    found = paths.index[(paths["path"] == name) | paths["path"].str.endswith(SEPARATOR + name)]
    if not len(found):
        raise UsageError(f"No range is called {name!r}.", "'tcprof ranges RECORDING' lists the ranges.")
    return [int(path) for path in found]


def _find_paths(instances: pd.DataFrame, paths: pd.DataFrame) -> list[int]:
    """The outermost path with enough instances and most time on the GPU, with its namesakes.

    Namesakes have the same name at the same depth: the steps of epochs that have names of their own.
    """
    if instances.empty:
        return []
    kin = paths.groupby(["domain", "name", "depth"], sort=False).ngroup().to_numpy()
    window = (instances["gpu_end_ns"] - instances["gpu_start_ns"]).fillna(0)
    of_kin = pd.Series(kin[instances["path_id"].to_numpy()], index=instances.index)
    count = instances.groupby([of_kin, "gpu"]).size().groupby(level=0).max()
    spent = window.groupby(of_kin).sum()
    repeated = set(count.index[(count >= FEWEST) & (spent > 0)].tolist())
    inside = _kin_inside(kin, paths["depth"].to_numpy(), repeated)
    outermost = spent[[number for number in sorted(repeated) if number not in inside]]
    return np.flatnonzero(kin == outermost.idxmax()).tolist() if len(outermost) else []


def _kin_inside(kin: npt.NDArray[np.int64], depth: npt.NDArray[np.int64], around: set[int]) -> set[int]:
    """The groups of paths that lie in one of others; the paths are in the order in which a tree is read."""
    inside: set[int] = set()
    above: list[bool] = []  # whether the path open at each depth, or one around it, is of those groups
    for number, level in zip(kin.tolist(), depth.tolist(), strict=True):
        covered = level > 1 and above[level - 2]
        if covered:
            inside.add(number)
        above[level - 1 :] = [covered or number in around]
    return inside


def _is_warm_up(duration: Floats) -> npt.NDArray[np.bool_]:
    """The first ones that are longer than the 95 % band of those after them: median and median absolute deviation."""
    warm_up = np.zeros(len(duration), dtype=bool)
    for number in range(min(len(duration) - FEWEST, MOST_WARM_UP)):
        rest = duration[number + 1 :]
        rest = rest[~np.isnan(rest)]
        if not len(rest):
            break
        middle = np.median(rest)
        deviation = MAD_TO_DEVIATION * np.median(np.abs(rest - middle))
        if not duration[number] > middle + max(NORMAL_95 * deviation, NARROWEST_BAND * middle):
            break
        warm_up[number] = True
    return warm_up
