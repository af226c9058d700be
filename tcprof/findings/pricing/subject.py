"""What advice is about: names by which a page, or another program, finds it in the recording's frames."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from tcprof.analysis.modules.tree import PHASES
from tcprof.findings.pricing.advice import Subject
from tcprof.findings.pricing.step import Step
from tcprof.frames import IN_NO_MODULE


def about_kernels(step: Step, kernels: Iterable[int]) -> Subject:
    """Some kernels, with the ranges and modules that launched them in the steps; what takes most time first.

    Args:
        kernels: Rows of ``tcprof.frames.KERNELS``.
    """
    return _about(step, step.launches["kernel"].isin(list(kernels)))


def about_launches(step: Step, activities: Iterable[int]) -> Subject:
    """The same of some launches alone.

    Args:
        activities: Their rows in ``tcprof.frames.ACTIVITIES``.
    """
    return _about(step, step.launches["activity"].isin(list(activities)))


def about_ranges(step: Step, names: Iterable[str]) -> Subject:
    """All paths of ranges of some names."""
    paths = step.analysis.paths
    return Subject(ranges=tuple(dict.fromkeys(paths["path"][paths["name"].astype(str).isin(list(names))].astype(str))))


def about_iteration(step: Step) -> Subject:
    """The step itself; nothing where nothing iterates."""
    rows = step.analysis.iterations[step.analysis.iterations["gpu"] == step.gpu]
    return Subject(ranges=tuple(rows["path"].astype(str).unique()))


def _about(step: Step, is_meant: "pd.Series[bool]") -> Subject:
    """Which launches are meant, of the step's."""
    launches = step.launches.loc[is_meant, ["exposed_ns", "path_id", "module", "kernel"]]
    modules, paths = step.analysis.modules, step.analysis.paths
    outside = tuple(IN_NO_MODULE.format(phase=phase) for phase in PHASES)
    own = ~modules["module"].astype(str).str.startswith(outside)
    return Subject(
        ranges=_by_time(launches, "path_id", paths["path"]),
        modules=_by_time(launches, "module", modules["module"][own & (modules["module"] != "")]),
        kernels=_by_time(launches, "kernel", step.analysis.kernels["name"]),
    )


def _by_time(launches: pd.DataFrame, column: str, names: "pd.Series[str]") -> tuple[str, ...]:
    """The names that a column's rows have, without what has none, by the exposed time of their launches."""
    sums = launches.groupby(column)["exposed_ns"].sum()
    named = sums.groupby(sums.index.to_series().map(names).replace("", np.nan)).sum()
    return tuple(str(name) for name in named.sort_values(ascending=False, kind="stable").index)
