"""Which module and phase each activity belongs to, and what the kernels of each did on the Tensor Cores.

In the backward pass that is the module of the op that made the autograd node. PyTorch numbers nodes as they are made,
on each thread. An op of the forward pass carries the number of the next node that will be made, so that the last op to
begin with a number made that node. The backward pass carries the numbers of the nodes that it runs. See
``torch.autograd.profiler.emit_nvtx``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.intervals import last_before
from tcprof.analysis.kernels.launches import KernelFit
from tcprof.analysis.kernels.summary import GroupSums
from tcprof.analysis.modules.tree import (
    ALL,
    BACKWARD_CODE,
    FORWARD_CODE,
    NO_MODULE,
    OPTIMIZER_CODE,
    OTHER_CODE,
    PHASES,
    RECOMPUTE_CODE,
    ModuleTree,
    find_modules,
    make_tree,
)
from tcprof.analysis.ranges.captured import CapturedNodes
from tcprof.analysis.ranges.projection import Attribution, Hierarchy, innermost_of_domain
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.analysis.time.range_metrics import (
    are_seen,
    range_rates,
    rate_useful,
    useful_of_launches,
    values_of_launches,
)
from tcprof.arrays import Bools, Ints, find_named
from tcprof.frames import IN_NO_MODULE, LARGEST_UNCOVERED_PCT, MODULE_TREE, MODULES, OPS_DOMAIN

NONE = -1
ENGINE = "autograd::engine::evaluate_function: "  # the engine's range around each node that it runs
_CHECKPOINT = "CheckpointFunctionBackward"  # the node of reentrant checkpoints: it runs the forward pass again
_OPTIMIZER = "Optimizer.step#"
_NODE = re.compile(r"(?P<op>\w+?)Backward\d*")
_ROWS = (*PHASES, ALL)  # the phases of a module's rows
_CYCLES = ("cycles", "unknown_cycles", "all_cycles")


@dataclass(frozen=True)
class OpOrigin:
    """Where the ranges of ops come from; one value for each range."""

    engine: Ints  # the innermost range of the autograd engine that it lies in or is, ``NONE`` for none
    # the range of the op of the forward pass that made its node, ``NONE`` where there is none or it is not known
    forward: Ints
    # whether it lies in the node of a checkpoint, but in none of the nodes that this one has run in turn
    recompute: Bools
    optimizer: Bools  # whether it lies in a step of an optimizer


@dataclass(frozen=True)
class ModuleAssignment:
    """The modules and phases of activities."""

    modules: pd.DataFrame  # see ``ModuleTree.modules``; at the end what belongs to no module, see ``_place_outside``
    module: Ints  # for each activity the innermost module that it belongs to
    phase: Ints  # its phase, as a number in ``PHASES``


@dataclass(frozen=True)
class _Placed:
    """The modules and phases of activities, or of the nodes of CUDA graphs."""

    modules: pd.DataFrame  # see ``ModuleTree.modules``
    module: Ints  # for each the innermost module, ``NO_MODULE`` for none
    phase: Ints  # its phase
    op: Ints  # row of its outermost op in ``ops``
    ops: npt.NDArray[np.object_]  # names of ops; the last is empty, for none


def assign_modules(
    hierarchy: Hierarchy, attribution: Attribution, activities: int, captured: CapturedNodes | None = None
) -> ModuleAssignment:
    """Assign each activity to its module and phase.

    What was launched inside a range of its own thread belongs to that range's module and phase. A node of the autograd
    engine belongs to the module of the op that made it; of two around a launch, the one that began last counts: the
    engine may call modules to recompute activations. What another thread launched has the phase, not the module.
    Without ops, the last mark of the launching thread names the module that the backward pass has reached. tcprof
    recognizes recomputation by its own ranges, by modules that the engine calls, and by PyTorch's node of checkpoints.
    The run of a node of a CUDA graph belongs where the node was made, if that is in a module, else where it was
    launched, if that is in one.
    """
    placed = _place(hierarchy, attribution, activities)
    if captured is not None:
        of_nodes = _place(captured.hierarchy, captured.attribution, captured.count)
        placed = _place_runs(placed, of_nodes, captured.node)
    module, phase = placed.module, placed.phase
    outside = np.flatnonzero(module == NO_MODULE)
    outside_rows, row = _place_outside(placed.ops[placed.op[outside]], phase[outside], len(placed.modules))
    module[outside] = row
    return ModuleAssignment(MODULE_TREE.concat([placed.modules, outside_rows]), module, phase)


def _place_runs(placed: _Placed, of_nodes: _Placed, node: Ints) -> _Placed:
    """Place runs of nodes where their nodes were made."""
    names = [frame.modules["module"].tolist() for frame in (placed, of_nodes)]
    modules, number = make_tree([*names[0], *names[1]])
    launched, made = (
        np.append([number[name] for name in named], NO_MODULE).astype(np.int64)[frame.module]
        for named, frame in zip(names, (placed, of_nodes), strict=True)
    )
    made, phase = np.append(made, NO_MODULE)[node], np.append(of_nodes.phase, OTHER_CODE)[node]
    moves = (made != NO_MODULE) | ((phase != OTHER_CODE) & (launched == NO_MODULE))
    op = len(placed.ops) + np.append(of_nodes.op, len(of_nodes.ops) - 1)[node]
    return _Placed(
        modules=modules,
        module=np.where(moves, made, launched),
        phase=np.where(moves, phase, placed.phase),
        op=np.where(moves, op, placed.op),
        ops=np.append(placed.ops, of_nodes.ops),
    )


def _place(hierarchy: Hierarchy, attribution: Attribution, activities: int) -> _Placed:
    tree, back = find_modules(hierarchy), trace_back(hierarchy)
    innermost, inherited = innermost_of_domain(hierarchy, attribution, tree.domain, activities)
    op, _ = innermost_of_domain(hierarchy, attribution, OPS_DOMAIN, activities)  # ops are never inherited
    start = np.append(hierarchy.ranges["start_ns"].to_numpy(), np.iinfo(np.int64).min)
    direct = np.where(inherited, -1, innermost)
    module = np.append(tree.module_of_range, NO_MODULE)[direct]
    phase = np.append(tree.phase_of_range, OTHER_CODE)[innermost]
    engine = np.append(back.engine, -1)[op]
    in_engine = (engine >= 0) & (start[engine] >= start[direct])
    module = np.where(in_engine, np.append(_modules_of_ops(hierarchy, tree, back), NO_MODULE)[op], module)
    again = np.append(back.recompute, False)[op] | ((engine >= 0) & ~in_engine & (phase == FORWARD_CODE))
    phase = np.where(again, RECOMPUTE_CODE, np.where(in_engine, BACKWARD_CODE, phase))
    in_optimizer = np.append(back.optimizer, False)[op] & (phase == OTHER_CODE)
    phase = np.where(in_optimizer, OPTIMIZER_CODE, phase)
    mark, marks = attribution.mark, attribution.marks
    is_marked = (mark >= 0) & (np.append(marks["start_ns"], 0)[mark] >= start[innermost]) & (op < 0)
    is_marked &= (module == NO_MODULE) & (phase == BACKWARD_CODE)
    module_of_mark = pd.Index(tree.modules["module"]).get_indexer(marks["name"])  # -1 where it names the phase alone
    module = np.where(is_marked, np.append(module_of_mark, NO_MODULE)[mark], module)
    ops = np.append(_name_ops(hierarchy, back), "")
    return _Placed(tree.modules, module, phase, np.where(op < 0, len(ops) - 1, op), ops)


def _modules_of_ops(hierarchy: Hierarchy, tree: ModuleTree, back: OpOrigin) -> Ints:
    """Find for each range the module of the forward op that made its node."""
    ranges = hierarchy.ranges
    modules = np.full(len(ranges), NO_MODULE)
    rows = np.flatnonzero(back.forward >= 0)
    if not len(rows):
        return modules
    module_ranges = ranges[ranges["domain"] == tree.domain]
    lanes = pd.Series(hierarchy.lane[module_ranges.index], index=_thread(module_ranges))
    lanes = lanes[~lanes.index.duplicated()]
    made, which = np.unique(back.forward[rows], return_inverse=True)
    lane = lanes.reindex(_thread(ranges.iloc[made])).fillna(-1).to_numpy(np.int64)
    around = hierarchy.open.at(lane, ranges["start_ns"].to_numpy()[made])
    modules[rows] = np.append(tree.module_of_range, NO_MODULE)[around][which]
    return modules


def _thread(ranges: pd.DataFrame) -> Ints:
    return np.asarray(ranges["process"].to_numpy() << 32 | ranges["thread"].to_numpy(), dtype=np.int64)


def _place_outside(ops: npt.NDArray[np.object_], phase: Ints, first: int) -> tuple[pd.DataFrame, Ints]:
    """Make rows for what is in no module: one for each phase, and in it one for each outermost op.

    ``ops`` and ``phase`` are of the activities in no module; returns the row of each as well.
    """
    code, names = pd.factorize(ops)
    # A key for each phase, and one for each op in it, in order of appearance.
    width = len(names) + 1
    phase_and_op = phase * width + np.where(ops != "", code + 1, 0)
    number, keys = pd.factorize(np.append(np.arange(len(PHASES)) * width, phase_and_op))
    order = np.argsort(keys // width, kind="stable")
    row_phase, code = keys[order] // width, keys[order] % width - 1
    is_op = code >= 0
    whole = np.array([IN_NO_MODULE.format(phase=PHASES[code]) for code in row_phase], dtype=object)
    above = first + np.flatnonzero(~is_op)[row_phase]
    name = np.where(is_op, np.append(names, "")[code], whole)
    path = np.where(is_op, whole + "." + name, whole)
    modules = pd.DataFrame(
        {"module": path, "name": name, "depth": 1 + is_op, "parent_id": np.where(is_op, above, NO_MODULE)}
    )
    return MODULE_TREE.conform(modules), first + np.argsort(order)[number[len(PHASES) :]]


def _name_ops(hierarchy: Hierarchy, back: OpOrigin) -> npt.NDArray[np.object_]:
    """Shorten the name of each range of an op; empty for others."""
    is_op, parent = (hierarchy.ranges["domain"] == OPS_DOMAIN).to_numpy(), hierarchy.parent
    outermost = np.arange(len(parent))
    for rows in hierarchy.levels[1:]:
        inside = rows[is_op[rows] & is_op[parent[rows]]]
        outermost[inside] = outermost[parent[inside]]
    row = np.where(back.engine >= 0, back.engine, outermost)
    row = np.where(back.forward >= 0, outermost[back.forward], row)
    names = hierarchy.ranges["name"].cat
    codes = names.codes.to_numpy()
    short = np.full(len(names.categories), "", dtype=object)
    for code in np.unique(codes[is_op]):  # there may be millions of other names
        name = names.categories[code]  # aten::mm, Optimizer.step#AdamW.step, or the engine's own
        short[code] = name.removeprefix(ENGINE).rpartition("#")[2].rpartition("::")[2] or name
    shortened: npt.NDArray[np.object_] = short[codes[row]]
    return shortened


def trace_back(hierarchy: Hierarchy) -> OpOrigin:
    """Find the forward op of each op of the backward pass."""
    ranges, parent = hierarchy.ranges, hierarchy.parent
    is_op = (ranges["domain"] == OPS_DOMAIN).to_numpy()
    is_engine = is_op & find_named(ranges["name"], lambda name: name.startswith(ENGINE))
    optimizer = is_op & find_named(ranges["name"], lambda name: name.startswith(_OPTIMIZER))
    sequence = ranges["sequence"].fillna(NONE).to_numpy()
    is_node = is_op & (parent >= 0) & is_engine[parent] & (sequence >= 0)
    made = np.flatnonzero(is_op & ~is_node & ~is_engine & (sequence >= 0))
    engine = np.where(is_engine, np.arange(len(ranges)), NONE)
    recompute = is_op & (parent >= 0) & is_engine[parent] & (ranges["name"] == _CHECKPOINT).to_numpy()
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
    # Nodes without a number accumulate a parameter's gradient, just after the node that computed it.
    engines, lane = np.flatnonzero(is_engine), hierarchy.lane
    before = np.maximum.accumulate(np.where(is_numbered[engines], np.arange(len(engines)), -1))
    follows = (before >= 0) & (lane[engines[before]] == lane[engines])
    forward_of_engine[engines] = np.where(follows, forward_of_engine[engines[before]], NONE)
    return OpOrigin(engine, forward_of_engine[engine], recompute, optimizer)


def _find_makers(ranges: pd.DataFrame, nodes: Ints, made: Ints) -> Ints:
    """Find for each node the last op before it that carries its number: one of its name, where there is one."""
    if not len(nodes):
        return np.empty(0, dtype=np.int64)
    involved = ranges.iloc[np.append(nodes, made)]
    names = involved["name"].cat.remove_unused_categories().cat
    kinds = pd.factorize(np.array([_op_key(name) for name in names.categories], dtype=object))[0]
    keys = involved[["process", "sequence"]].assign(kind=kinds[names.codes.to_numpy()])
    start = ranges["start_ns"].to_numpy()
    makers = np.full(len(nodes), NONE)
    for by in (["process", "sequence"], ["process", "sequence", "kind"]):
        group = keys[by].groupby(by, sort=False).ngroup().to_numpy()
        last = last_before(group[: len(nodes)], start[nodes], group[len(nodes) :], start[made])
        makers = np.where(last >= 0, np.append(made, NONE)[last], makers)
    return makers


def _op_key(name: str) -> str:
    """Reduce an op and its node to what they share: ``aten::_to_copy`` and ``ToCopyBackward0`` to ``tocopy``."""
    node = _NODE.fullmatch(name)
    stem = node.group("op") if node else name.rpartition("::")[2]
    return stem.replace("_", "").lower()


def find_rows(launches: pd.DataFrame, steps: pd.DataFrame, assignment: ModuleAssignment) -> Ints:
    """Find for each launch its row in ``tcprof.frames.MODULES``, by module, phase and GPU; -1 for none."""
    gpu, module, phase = _locate(launches, assignment)
    if (phase == OTHER_CODE).all():
        return np.full(len(launches), -1, dtype=np.int64)
    is_row = np.zeros((int(gpu.max()) + 1) * (len(assignment.modules) + 1) * len(_ROWS), dtype=bool)
    for key, inside in _keys_by_depth(launches, steps, assignment):
        is_row[key[inside]] = True
    return np.where(is_row, np.cumsum(is_row) - 1, -1)[_keys(gpu, module, phase, assignment)]


def summarize_modules(
    fit: KernelFit,
    launches: pd.DataFrame,
    kernels: pd.DataFrame,
    kinds: pd.Series,
    steps: pd.DataFrame,
    assignment: ModuleAssignment,
) -> pd.DataFrame:
    """Sum the kernels of each module and those in it; empty where no range names a module or a phase."""
    gpu, module, phase = _locate(launches, assignment)
    if (phase == OTHER_CODE).all():
        return MODULES.empty()
    values = pd.DataFrame(dict(values_of_launches(launches, kernels, kinds)))
    values = values.assign(kernel_count=1, **useful_of_launches(launches, kernels))
    keys = _keys_by_depth(launches, steps, assignment)
    sums = pd.concat([_sum_keys(fit, values, key, inside) for key, inside in keys]).sort_index()
    counted = are_counted(launches, steps)

    self_ns = np.zeros((int(gpu.max(initial=0)) + 1) * (len(assignment.modules) + 1) * len(_ROWS), dtype=np.int64)
    for rows in (phase, np.full(len(phase), len(PHASES))):
        np.add.at(self_ns, _keys(gpu, module, rows, assignment)[counted], values["kernel_ns"].to_numpy()[counted])
    key, row = np.divmod(sums.index.to_numpy(), len(_ROWS))
    on_gpu, number = np.divmod(key, len(assignment.modules) + 1)
    gpus = np.unique(launches["gpu"].to_numpy())[on_gpu]
    steady = steps[steps["counted"].astype(bool)].groupby("gpu").size()
    frame = sums.assign(
        gpu=gpus,
        module_id=number - 1,
        phase=np.array(_ROWS, dtype=object)[row],
        step_count=steady.reindex(gpus).fillna(0).to_numpy(),
        own_kernel_ns=self_ns[sums.index],
    )
    return _measure(frame, assignment.modules)


def _locate(launches: pd.DataFrame, assignment: ModuleAssignment) -> tuple[Ints, Ints, Ints]:
    """Return for each launch the number of its GPU, from 0, its module and its phase."""
    activity = launches["activity"].to_numpy()
    gpu = np.unique(launches["gpu"].to_numpy(), return_inverse=True)[1]
    return gpu, assignment.module[activity], assignment.phase[activity]


def _keys_by_depth(
    launches: pd.DataFrame, steps: pd.DataFrame, assignment: ModuleAssignment
) -> Iterator[tuple[Ints, Bools]]:
    """Yield, at each depth from 0, for a phase and for all, the key of each launch and whether it counts."""
    gpu, innermost, phase = _locate(launches, assignment)
    counted = are_counted(launches, steps)
    for depth, module in enumerate(_levels(assignment, innermost)):
        for rows in (phase, np.full(len(phase), len(PHASES))):
            yield _keys(gpu, module, rows, assignment), counted & ((module >= 0) | (depth == 0))


def _keys(gpu: Ints, module: Ints, phase: Ints, assignment: ModuleAssignment) -> Ints:
    """Encode GPU, module (-1 for all kernels) and row of ``_ROWS`` in one number, in the order of the frame."""
    return (gpu * (len(assignment.modules) + 1) + module + 1) * len(_ROWS) + phase


def _levels(assignment: ModuleAssignment, module: Ints) -> list[Ints]:
    """List for each depth from 0 the module of each launch at that depth, -1 for none."""
    parent, depth = (assignment.modules[name].to_numpy() for name in ("parent_id", "depth"))
    levels = [np.full(len(module), -1)]
    current = module.copy()
    for level in range(int(depth.max(initial=0)), 0, -1):
        here = (current >= 0) & (np.append(depth, 0)[current] == level)
        levels.insert(1, np.where(here, current, -1))
        current = np.where(here, np.append(parent, -1)[current], current)
    return levels


def _sum_keys(fit: KernelFit, values: pd.DataFrame, key: Ints, inside: Bools) -> pd.DataFrame:
    """Sum the launches of each key; with half the interval of their tensor-active time."""
    keys, group = np.unique(key[inside], return_inverse=True)
    groups = np.full(len(key), -1)
    groups[inside] = group
    by = values[inside].groupby(group)
    sums = by.sum(min_count=1)
    for name in _CYCLES:  # as of ranges: a sum over some that are unknown is unknown
        sums[name] = sums[name].where(by[name].count() == by.size())
    # What is in no group has one of its own on each GPU, since the fit's sums are over all launches.
    _, gpu = np.unique(fit.kernel_instances["gpu"].to_numpy(), return_inverse=True)
    half = GroupSums(fit, np.where(groups >= 0, groups, len(keys) + gpu)).active("tensor")[1][: len(keys)]
    return sums.assign(half_ns=half).set_index(keys)


def _measure(sums: pd.DataFrame, modules: pd.DataFrame) -> pd.DataFrame:
    whole = sums[(sums["module_id"] < 0) & (sums["phase"] == ALL)].set_index("gpu")["kernel_ns"]
    time = sums["kernel_ns"].astype(float)
    percent = (100 * sums["active_ns"] / time).where(are_seen(sums))
    points = 100 * sums["half_ns"] / time
    rates = range_rates(sums.reset_index(drop=True), time.to_numpy())
    is_whole = (rates["uncovered_cycles_pct"] <= LARGEST_UNCOVERED_PCT).to_numpy()
    useful = rate_useful(sums, time.to_numpy())
    executed = sums["flop"].where(is_whole & (sums["flop"] > 0))
    root = pd.DataFrame({"module": [""], "name": [""], "depth": [0], "parent_id": [-1]}, index=[-1])
    frame = sums.join(pd.concat([modules, root]), on="module_id").assign(
        share_pct=100 * time / sums["gpu"].map(whole),
        tensor_active_pct=percent,
        tensor_active_low_pct=(percent - points).clip(0, 100),
        tensor_active_high_pct=(percent + points).clip(0, 100),
        tensor_cycles=rates["fitted_cycles"].to_numpy(),
        **useful,
        useful_pct=(100 * sums["useful_tensor_flop"] / executed).where(useful["useful_flop"].notna()),
        lost_ns=(time - sums["ideal_ns"]).clip(lower=0).where(is_whole),
        **{name: column.to_numpy() for name, column in rates.items() if not name.startswith("fitted")},
    )
    return MODULES.conform(frame)
