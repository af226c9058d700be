"""Steps of several kinds as those of one: a change of any kind moves the mean step, which is what a program pays."""

from dataclasses import replace

from tcprof.analysis import Analysis
from tcprof.analysis.steps.marked_steps import counted_paths, find_left_out
from tcprof.comparison.matching.places import Side, with_steps


def join_kinds(side: Side) -> Side:
    """A side whose figures are over all steps of the paths that iterate, whatever their kind."""
    return replace(side, recordings=tuple(_join(each) for each in side.recordings))


def _join(analysis: Analysis) -> Analysis:
    steps = analysis.steps
    is_step = steps["path"].isin(counted_paths(steps))
    counted = is_step & ~steps["warm_up"]
    if (counted == steps["counted"]).all():
        return analysis
    steps = steps.assign(counted=counted, kind=steps["kind"].where(~is_step, 0))
    left_out = find_left_out(analysis.instances, steps)
    return with_steps(analysis, steps, instances=analysis.instances.assign(left_out=left_out))
