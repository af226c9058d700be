"""Iterations that both sides have: a path that iterates on one side does so on the other, however few it has there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tcprof.analysis import Analysis
from tcprof.analysis.ranges.paths import SEPARATOR
from tcprof.analysis.steps.iterations import find_iterations
from tcprof.comparison.matching.places import rename_path
from tcprof.comparison.side import Side
from tcprof.frames import ITERATIONS

Kin = tuple[int, str]  # depth and name: the steps of all epochs are kin


def share_iterations(base: Side, new: Side, mapping: Mapping[str, str]) -> tuple[Side, Side]:
    """The sides with the iterations of the same path, where there is one that both have.

    A recording of few steps has no path that repeats often enough to be found, or finds the layers within its steps.
    """
    mappings: tuple[Mapping[str, str], Mapping[str, str]] = (mapping, {})
    sides = base, new
    found = [
        dict.fromkeys(kin for each in side.recordings for kin in _kin(each.iterations["path"].unique(), own))
        for side, own in zip(sides, mappings, strict=True)
    ]
    known = [
        {kin for each in side.recordings for kin in _kin(each.paths["path"], own)}
        for side, own in zip(sides, mappings, strict=True)
    ]
    # The outermost, as in one recording: of steps and their layers it is the steps.
    common = sorted(kin for kin in {**found[0], **found[1]} if kin in known[0] and kin in known[1])
    if not common or any(set(found[0]) & set(found[1])):
        chosen = next((kin for kin in found[0] if kin in found[1]), None)
    else:
        chosen = common[0]
    if chosen is None:
        return base, new
    return _with_iterations(base, chosen, mapping), _with_iterations(new, chosen, {})


def _kin(paths: Sequence[str], mapping: Mapping[str, str]) -> list[Kin]:
    renamed = [rename_path(path, mapping) for path in paths]
    return [(path.count(SEPARATOR), path.rpartition(SEPARATOR)[2]) for path in renamed]


def _with_iterations(side: Side, chosen: Kin, mapping: Mapping[str, str]) -> Side:
    return replace(side, recordings=tuple(_iterate(each, chosen, mapping) for each in side.recordings))


def _iterate(analysis: Analysis, chosen: Kin, mapping: Mapping[str, str]) -> Analysis:
    """The recording with the instances of the paths that are so called as its iterations, if it has any."""
    if chosen in _kin(analysis.iterations["path"].unique(), mapping):
        return analysis
    paths = analysis.paths
    # A library's ranges of that name are no iterations.
    wanted = [
        path
        for path, kin, domain in zip(paths["path"], _kin(paths["path"], mapping), paths["domain"], strict=True)
        if kin == chosen and not domain
    ]
    parts = [find_iterations(analysis.instances, paths, analysis.activities, path) for path in dict.fromkeys(wanted)]
    iterations = ITERATIONS.concat(parts)
    iterations = iterations[iterations["path"].isin(wanted)].drop_duplicates(["gpu", "range"])
    if iterations.empty:
        return analysis
    iterations = iterations.sort_values(["gpu", "range"], kind="stable", ignore_index=True)
    number = iterations.groupby("gpu").cumcount()
    launched = analysis.kernel_instances.assign(iteration=-1)  # which of these they are in is not known
    return replace(analysis, iterations=ITERATIONS.conform(iterations.assign(number=number)), kernel_instances=launched)
