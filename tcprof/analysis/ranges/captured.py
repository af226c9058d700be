"""Which ranges were open when the program made the nodes of its CUDA graphs: their kernels run when none is.

A node is made while a stream is captured, on the thread that would launch the kernel otherwise. So it belongs to ranges
as that launch would. The ranges may lie before the recording: then they are those that the annotation kept.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.projection import Attribution, Hierarchy, attribute, build_hierarchy
from tcprof.annotate.steps import DOMAIN
from tcprof.arrays import Ints
from tcprof.frames import MARKS, NVTX_RANGES
from tcprof.sources import Source

_KEY = ["process", "graph_node"]


@dataclass(frozen=True)
class CapturedNodes:
    """The nodes of which activities are runs, attributed to the ranges in which they were made."""

    hierarchy: Hierarchy  # of the recording's ranges, and of those that the annotation kept
    attribution: Attribution  # of the nodes
    count: int  # how many nodes there are
    node: Ints  # for each activity its node, -1 for none and for one that is not known


def find_captured_nodes(source: Source, hierarchy: Hierarchy, activities: pd.DataFrame) -> CapturedNodes | None:
    """Find where the nodes of graphs were made; None where no activity is a run of a known one."""
    if not activities["graph_node"].notna().any():
        return None
    nodes = source.graph_nodes()
    run = pd.MultiIndex.from_frame(nodes[_KEY]).get_indexer(pd.MultiIndex.from_frame(activities[_KEY]))
    is_run = run >= 0
    if not is_run.any():
        return None
    used, node = np.unique(run[is_run], return_inverse=True)
    run[is_run] = node
    made = nodes.iloc[used].reset_index(drop=True).assign(correlation=np.arange(len(used)))
    ranges, marks = source.captured()
    recorded = hierarchy.ranges
    first = recorded["start_ns"][(recorded["domain"] == DOMAIN).to_numpy()].min()  # NaN where there is none
    ranges, marks = (frame[~(frame["start_ns"] >= first).to_numpy()] for frame in (ranges, marks))
    if len(ranges):
        hierarchy = build_hierarchy(NVTX_RANGES.concat([ranges, recorded]))
    attribution = attribute(hierarchy, made, made, MARKS.concat([marks, source.marks()]))
    return CapturedNodes(hierarchy, attribution, len(used), run.astype(np.int64))
