"""Steps of several kinds as those of one: a change of any kind moves the mean step, which is what a program pays."""

from dataclasses import replace

from tcprof.analysis import Analysis
from tcprof.analysis.steps.iterations import counted_paths, find_left_out
from tcprof.comparison.matching.places import Side, with_iterations


def join_kinds(side: Side) -> Side:
    """A side whose figures are over all steps of the paths that iterate, whatever their kind."""
    return replace(side, recordings=tuple(_join(each) for each in side.recordings))


def _join(analysis: Analysis) -> Analysis:
    iterations = analysis.iterations
    is_step = iterations["path"].isin(counted_paths(iterations))
    counted = is_step & ~iterations["warm_up"]
    if (counted == iterations["counted"]).all():
        return analysis
    iterations = iterations.assign(counted=counted, kind=iterations["kind"].where(~is_step, 0))
    left_out = find_left_out(analysis.instances, iterations)
    return with_iterations(analysis, iterations, instances=analysis.instances.assign(left_out=left_out))
