"""The backward pass, brought home: which op of the forward pass made the autograd node that an op belongs to.

PyTorch numbers autograd nodes as they are made, on each thread. An op of the forward pass carries the number of the
next node that will be made, so that the last op to begin with a number made that node. The backward pass carries the
numbers of the nodes that it runs. See ``torch.autograd.profiler.emit_nvtx``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.arrays import Bools, Ints
from tcprof.frames import OPS_DOMAIN

NONE = -1
ENGINE = "autograd::engine::evaluate_function: "  # the engine's range around each node that it runs
_CHECKPOINT = "CheckpointFunctionBackward"  # the node of reentrant checkpoints: it runs the forward pass again
_OPTIMIZER = "Optimizer.step#"
_NODE = re.compile(r"(?P<op>\w+?)Backward\d*")


@dataclass(frozen=True)
class Backward:
    """What the ranges of ops belong to; one value for each range."""

    engine: Ints  # the innermost range of the autograd engine that it lies in or is, ``NONE`` for none
    # the range of the op of the forward pass that made its node, ``NONE`` where there is none or it is not known
    forward: Ints
    # whether it lies in the node of a checkpoint, but in none of the nodes that this one has run in turn
    recompute: Bools
    optimizer: Bools  # whether it lies in a step of an optimizer


def trace_back(hierarchy: Hierarchy) -> Backward:
    """Find the op of the forward pass for all ops of the backward pass."""
    ranges, parent = hierarchy.ranges, hierarchy.parent
    is_op = (ranges["domain"] == OPS_DOMAIN).to_numpy()
    is_engine = _are_named(ranges["name"], is_op, lambda name: name.startswith(ENGINE))
    optimizer = _are_named(ranges["name"], is_op, lambda name: name.startswith(_OPTIMIZER))
    is_checkpoint = _are_named(ranges["name"], is_op, lambda name: name == _CHECKPOINT)
    sequence = ranges["sequence"].fillna(NONE).to_numpy()
    is_node = is_op & (parent >= 0) & is_engine[parent] & (sequence >= 0)
    made = np.flatnonzero(is_op & ~is_node & ~is_engine & (sequence >= 0))
    engine = np.where(is_engine, np.arange(len(ranges)), NONE)
    recompute = is_op & (parent >= 0) & is_engine[parent] & is_checkpoint
    for rows in hierarchy.levels[1:]:
        rows = rows[~is_engine[rows]]
        engine[rows] = engine[parent[rows]]
        recompute[rows] |= recompute[parent[rows]]
        optimizer[rows] |= optimizer[parent[rows]]
    nodes = np.flatnonzero(is_node)
    forward_of_engine = np.full(len(ranges) + 1, NONE)  # the last one is for ops of no engine
    forward_of_engine[parent[nodes]] = _find_makers(ranges, nodes, made)
    is_numbered = np.zeros(len(ranges), dtype=bool)
    is_numbered[parent[nodes]] = True
    _give_to_accumulation(forward_of_engine, np.flatnonzero(is_engine), is_numbered, hierarchy.lane)
    return Backward(engine, forward_of_engine[engine], recompute, optimizer)


def _are_named(names: pd.Series, is_op: Bools, so: Callable[[str], bool]) -> Bools:
    """Which ops have such names; there may be millions of other names."""
    ops = names[is_op].cat.remove_unused_categories().cat
    found = np.zeros(len(names), dtype=bool)
    found[is_op] = np.array([so(name) for name in ops.categories], dtype=bool)[ops.codes]
    return found


def _find_makers(ranges: pd.DataFrame, nodes: Ints, made: Ints) -> Ints:
    """For each node the last op before it that carries its number: one of its name, where there is one."""
    if not len(nodes):
        return np.empty(0, dtype=np.int64)
    involved = ranges.iloc[np.append(nodes, made)]
    names = involved["name"].cat.remove_unused_categories().cat
    kinds = pd.factorize(np.array([_kind(name) for name in names.categories], dtype=object))[0]
    keys = involved[["process", "sequence"]].assign(kind=kinds[names.codes.to_numpy()])
    start = ranges["start_ns"].to_numpy()
    found = np.full(len(nodes), NONE)
    for by in (["process", "sequence"], ["process", "sequence", "kind"]):
        group = keys[by].groupby(by, sort=False).ngroup().to_numpy()
        last = _last_before(group[: len(nodes)], start[nodes], group[len(nodes) :], start[made])
        found = np.where(last >= 0, np.append(made, NONE)[last], found)
    return found


def _last_before(group: Ints, time: Ints, of_group: Ints, start: Ints) -> Ints:
    """For each query the row that starts last before its time, of those of its group; -1 for none."""
    order = np.lexsort((start, of_group))
    if not len(order) or not len(time):
        return np.full(len(time), NONE)
    low = min(int(start.min()), int(time.min()))
    span = max(int(start.max()), int(time.max())) - low + 1  # groups are moved apart on one time line
    key = of_group[order] * span + (start[order] - low)
    place = np.searchsorted(key, group * span + (time - low)) - 1
    held = (place >= 0) & (of_group[order][place] == group)
    return np.where(held, order[place], NONE)


def _give_to_accumulation(forward: Ints, engines: Ints, is_numbered: Bools, lane: Ints) -> None:
    """Nodes without a number accumulate a parameter's gradient, just after the node that computed it."""
    before = np.maximum.accumulate(np.where(is_numbered[engines], np.arange(len(engines)), -1))
    held = (before >= 0) & (lane[engines[before]] == lane[engines])
    forward[engines] = np.where(held, forward[engines[before]], NONE)


def _kind(name: str) -> str:
    """What an op and its node have in common: ``aten::_to_copy`` and ``ToCopyBackward0`` are both ``tocopy``."""
    node = _NODE.fullmatch(name)
    stem = node.group("op") if node else name.rpartition("::")[2]
    return stem.replace("_", "").lower()
