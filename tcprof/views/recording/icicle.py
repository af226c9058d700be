"""The mean step as an icicle: modules or ranges, then classes of time, then kernels. A comparison draws two of them."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.folding import shorten
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.mean_step import BETWEEN, MeanStep, measure_mean_step
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.arrays import rows_of_gpu
from tcprof.findings.finding import class_title
from tcprof.findings.steps import measure_step_figures
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line
from tcprof.views.document import Icicle
from tcprof.views.figures.traces import CLASS_COLORS, painted
from tcprof.views.paths import LONGEST_NAME, kernel_names, link, module_names, range_names
from tcprof.views.recording import gpu_title, gpu_title_of_several

LEAST = 1 / 5000  # of the time: what is less is in its parent's block alone
LONGEST = 80
RANGES, MODULES = "Ranges", "Modules"
KINDS = ("range", "module", "class", "kernel", "idle")
EXPLAINED = (
    "The width of a bar is its share of the GPU's time, idle time included; the bars below it are its parts: ranges, "
    "then classes of time, then kernels, in the colours of their class. The line at the bottom of a range shows the "
    "share of its time in which the Tensor Cores were idle: 100 % minus Tensor Active. Hatched bars are idle time; "
    "many gaps share one last bar. If several kernels run at once, one of them gets the time, as in the table of "
    "ranges. Click a bar to zoom in and select it, or a bar above to zoom out."
)
Key = TypeVar("Key", bound=Hashable)
Chains = list[tuple["Block", ...]]  # for each part of a mean step the blocks that it lies in, the outermost first


@dataclass(frozen=True)
class Block:
    """A part of the time: what it is, its name, its Tensor Active if known otherwise, and what selects it."""

    kind: str
    name: str
    active: float = math.nan
    link: str = ""


@dataclass
class Tree:
    """The blocks of a side in columns; each comes after the one that it lies in."""

    blocks: list[Block] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    launches: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    active: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    longest: list[float] = field(default_factory=list)
    longest_at: list[float] = field(default_factory=list)
    index: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def add(self, chain: Sequence[Block], part: Any, active_ns: float) -> None:
        """Add a part to the blocks that it lies in, the outermost first."""
        node = -1
        for block in chain:
            key = (node, block.kind, block.link if block.kind == "kernel" else block.name)
            if key not in self.index:
                self.index[key] = len(self.blocks)
                self.blocks.append(block)
                self.parent.append(node)
                for column in (self.time, self.launches, self.active, self.gaps, self.longest):
                    column.append(0.0)
                self.start.append(math.inf)
                self.longest_at.append(math.nan)
            node = self.index[key]
            self.time[node] += part.time_ns
            self.launches[node] += part.launch_count
            self.active[node] += active_ns if block.kind == "class" else part.time_ns * block.active / 100
            self.start[node] = min(self.start[node], part.start_ns)
            self.gaps[node] += part.gap_count
            if part.longest_ns > self.longest[node]:
                self.longest[node], self.longest_at[node] = part.longest_ns, part.longest_at_ns

    def add_between(self, root: Block, length_ns: float, start_ns: float) -> None:
        """Add the time from one step to the next, if there is any, which begins after the rest."""
        if not length_ns > 0:
            return
        around = {"launch_count": 0.0, "start_ns": start_ns, "gap_count": 0.0, "longest_ns": length_ns}
        part = SimpleNamespace(time_ns=length_ns, longest_at_ns=math.nan, **around)
        self.add((root, Block("idle", BETWEEN)), part, 0.0)

    def link_gaps(self, gaps: pd.DataFrame, gpu: int) -> None:
        """Let idle time select its longest gap, one without a number as its time; between steps that which costs most.

        Args:
            gaps: The rows of the GPU.
        """
        between = gaps[gaps["between_steps"] & (gaps["saving_ns"] > 0)].nlargest(1, "saving_ns")
        start, end = (gaps[name].to_numpy() for name in ("start_ns", "end_ns"))
        for node, block in enumerate(self.blocks):
            if block.kind != "idle":
                continue
            at = self.longest_at[node]
            row = int(np.searchsorted(start, at, side="right")) - 1
            if block.name == BETWEEN:
                selects = "".join(link("gap", str(number), gpu) for number in between["number"])
            elif row >= 0 and at < end[row]:
                selects = link("gap", str(gaps["number"].iloc[row]), gpu)
            else:
                selects = link("window", f"{at * 1e-9:.9f},{(at + self.longest[node]) * 1e-9:.9f}", gpu)
            self.blocks[node] = replace(block, link=selects)

    def is_scattered(self, node: int) -> bool:
        """Tell whether a block is idle time in several gaps, which are nowhere between the rest."""
        return self.blocks[node].kind == "idle" and self.gaps[node] > 1

    def name_of(self, node: int) -> str:
        """Name a block: idle time with how many gaps it is, since none of them is as long as the block."""
        name, gaps = self.blocks[node].name, self.gaps[node]
        if not self.is_scattered(node):
            return name
        return f"{name}: {units.format_things(gaps, 'gap')}, longest {units.format_ns(self.longest[node])}"


def pack_trees(trees: Sequence[Tree]) -> tuple[list[Block], dict[str, Any]]:
    """Pack the blocks of all sides that are wide enough to be seen, each once, in columns for the page's script.

    A block that a side lacks has no time there. Blocks begin as on the first side that has them; many gaps come last.
    """
    index: dict[tuple[int, str, str], int] = {}
    blocks: list[Block] = []
    parents: list[int] = []
    nodes: list[dict[int, int]] = []  # of each side its own node of a block
    for tree in trees:
        numbers: list[int] = []
        for block, outer in zip(tree.blocks, tree.parent, strict=True):
            around = numbers[outer] if outer >= 0 else -1
            number = index.setdefault((around, block.kind, block.link or block.name), len(blocks))
            if number == len(blocks):
                blocks.append(block)
                parents.append(around)
            numbers.append(number)
        nodes.append({number: node for node, number in enumerate(numbers)})
    sides = list(zip(trees, nodes, strict=True))
    longest = [
        max(tree.time[nodes_of[block]] for tree, nodes_of in sides if block in nodes_of) for block in range(len(blocks))
    ]
    kept = [block for block, time in enumerate(longest) if time >= LEAST * max(longest)]
    number_of = {block: number for number, block in enumerate(kept)}
    texts: dict[str, int] = {"": 0}
    firsts = [next((tree, nodes_of[block]) for tree, nodes_of in sides if block in nodes_of) for block in kept]
    last = max(start for tree in trees for start in tree.start) + 1
    return [blocks[block] for block in kept], {
        "kind": [KINDS.index(blocks[block].kind) for block in kept],
        "parent": [number_of.get(parents[block], -1) for block in kept],
        "start": [round(last if tree.is_scattered(node) else tree.start[node]) for tree, node in firsts],
        "link": [texts.setdefault(one_line(blocks[block].link, LONGEST_NAME), len(texts)) for block in kept],
        "sides": [
            _pack_side(tree, [(nodes_of.get(block, -1), blocks[block].name) for block in kept], texts)
            for tree, nodes_of in sides
        ],
        "texts": list(texts),
    }


def _pack_side(tree: Tree, named: Sequence[tuple[int, str]], texts: dict[str, int]) -> dict[str, list[Any]]:
    """Pack the figures of a side: of its nodes, which are -1 with the name of a block that it lacks."""
    active = [100 * tree.active[node] / tree.time[node] if node >= 0 else math.nan for node, _ in named]
    names = [tree.name_of(node) if node >= 0 else name for node, name in named]
    return {
        "time": [round(tree.time[node]) if node >= 0 else 0 for node, _ in named],
        "launches": [round(tree.launches[node], 1) if node >= 0 else 0 for node, _ in named],
        "active": [None if math.isnan(pct) else round(float(min(pct, 100.0)), 3) for pct in active],
        "name": [texts.setdefault(name, len(texts)) for name in names],
    }


def chain_blocks(
    inner: Sequence[Key | None], outer: Mapping[Key, Key | None], block_of: Callable[[Key], Block]
) -> Chains:
    """Chain the blocks that things lie in by ``outer``, the outermost first and its own last; none for None."""
    chains: dict[Key | None, tuple[Block, ...]] = {None: ()}
    for innermost in inner:
        around: list[Key] = []
        key = innermost
        while key is not None and key not in chains:
            around.append(key)
            key = outer.get(key)
        for outer_key in reversed(around):
            chains[outer_key] = (*chains[outer.get(outer_key)], block_of(outer_key))
    return [chains[key] for key in inner]


def chain_modules(
    analysis: Analysis, gpu: int, mean: MeanStep, by_phase: bool, block_of: Callable[[Mapping[Any, Any]], Block]
) -> Chains:
    """Chain the modules that parts lie in, each phase's within it or all of a module as one; else the phase alone."""
    rows = analysis.modules[analysis.modules["gpu"] == gpu].to_dict("index")

    def key_of(module: int, phase: str) -> tuple[int, str]:
        return (module, phase if by_phase or module < 0 else ALL)

    keys = {number: key_of(row["module_id"], row["phase"]) for number, row in rows.items()}
    row_of = {keys[number]: {"row": number, **row} for number, row in rows.items()}
    outer = {
        key: around
        for key, row in row_of.items()
        if row["module_id"] >= 0
        and (around := key_of(row["parent_id"], row["phase"])) in row_of
        and (by_phase or row["parent_id"] >= 0)
    }
    inner = [keys.get(number) for number in mean.parts["module"].tolist()]
    return chain_blocks(inner, outer, lambda key: block_of(row_of[key]))


def grow_tree(
    root: Block, mean: MeanStep, chains: Chains, kernels: Sequence[Block], between_ns: float, leaves: bool
) -> Tree:
    """Grow the tree of a side: what parts lie in, then classes of time, and with leaves the kernels."""
    tree = Tree()
    for part, chain in zip(mean.parts.itertuples(), chains, strict=True):
        title = class_title(TIME_CLASSES[part.time_class])
        blocks = [root, *chain, Block("idle" if part.time_class == IDLE else "class", title)]
        kernel = kernels[part.kernel] if part.kernel >= 0 else None
        if kernel and leaves:
            blocks.append(kernel)
        tree.add(blocks, part, part.time_ns * (kernel.active if kernel else 0.0) / 100)
    tree.add_between(root, between_ns, mean.length_ns)
    return tree


def make_kernel_blocks(analysis: Analysis) -> list[Block]:
    """Make the block of each kernel."""
    rows = analysis.kernels
    named = zip(rows["name"], rows["tensor_active_pct"].astype(float), kernel_names(rows), rows["gpu"], strict=True)
    return [
        Block("kernel", one_line(short_name(name), LONGEST), active, link("kernel", selected, int(gpu)))
        for name, active, selected, gpu in named
    ]


def list_icicles(analysis: Analysis, gaps: pd.DataFrame) -> tuple[Icicle, ...]:
    """List the mean step of each GPU, or all its work where nothing repeats; none where no work was recorded.

    Args:
        gaps: The GPUs' gaps, which idle time selects: see ``tcprof.frames.GAPS``.
    """
    means = ((int(gpu), measure_mean_step(analysis, int(gpu))) for gpu in analysis.gpus["gpu"].tolist())
    return tuple(
        _draw_icicle(analysis, gpu, mean, rows_of_gpu(gaps, gpu))
        for gpu, mean in means
        if mean is not None and len(mean.parts)
    )


def _draw_icicle(analysis: Analysis, gpu: int, mean: MeanStep, gaps: pd.DataFrame) -> Icicle:
    links = module_names(analysis.modules)

    def block_of(row: Mapping[Any, Any]) -> Block:
        if row["module_id"] < 0:
            return Block("range", str(row["phase"]), row["tensor_active_pct"])
        name, selects = one_line(row["name"], LONGEST), link("module", links[row["row"]], gpu)
        return Block("module", name, row["tensor_active_pct"], selects)

    has_modules = bool((mean.parts["module"] >= 0).any())
    modules = {MODULES: chain_modules(analysis, gpu, mean, True, block_of)} if has_modules else {}
    chains = {**modules, RANGES: _chain_ranges(analysis, gpu, mean)}
    root, kernels, between_ns = _root(analysis, gpu, mean), make_kernel_blocks(analysis), 0.0
    steps = analysis.step_summary[analysis.step_summary["gpu"] == gpu]
    if mean.count and len(steps):
        between_ns = float((steps["total_ns"] / steps["step_count"]).iloc[0]) - mean.length_ns
    trees = [grow_tree(root, mean, chain, kernels, between_ns, leaves=True) for chain in chains.values()]
    for tree in trees:
        tree.link_gaps(gaps, gpu)
    return Icicle(
        name=f"icicle-{gpu}",
        title=gpu_title_of_several(gpu, analysis),
        caption=f"{'The mean step' if mean.count else 'All work'} on {gpu_title(analysis, gpu)}",
        gpu=gpu,
        trees=tuple(chains),
        data={
            "unit": "of the step" if mean.count else "of the GPU's time",
            "trees": [pack_trees([tree])[1] for tree in trees],
            "classes": paint_classes(),
        },
    )


def paint_classes() -> dict[str, dict[str, str]]:
    """Pair the title of each class of time with its colours."""
    return {class_title(name): painted(color) for name, color in CLASS_COLORS.items()}


def _root(analysis: Analysis, gpu: int, mean: MeanStep) -> Block:
    figures = measure_step_figures(analysis, gpu)
    if figures is not None and mean.count:
        count = f"mean of {units.format_count(mean.count)}"
        selects = link("range", range_names(analysis.paths)[mean.paths[0]], gpu) if mean.paths[0] >= 0 else ""
        return Block("range", f"{figures.name} ({count})", figures.tensor_active_pct, selects)
    return Block("range", "All work on the GPU", float(analysis.whole_capture(gpu)[HEADLINE.name].iloc[0]))


def _chain_ranges(analysis: Analysis, gpu: int, mean: MeanStep) -> Chains:
    gpu_rows = analysis.ranges[analysis.ranges["gpu"] == gpu]
    active = dict(zip(gpu_rows["path_id"], gpu_rows[HEADLINE.name], strict=True))
    names, parents = analysis.paths["name"].tolist(), analysis.paths["parent_id"].tolist()
    links, ends = range_names(analysis.paths), {-1, *mean.paths}

    def block_of(path: int) -> Block:
        around = str(names[parents[path]]) if parents[path] >= 0 else ""
        name = one_line(shorten(str(names[path]), around), LONGEST)
        return Block("range", name, float(active.get(path, math.nan)), link("range", links[path], gpu))

    inner = [None if path in ends else path for path in mean.parts["path_id"].tolist()]
    outer = {path: parent for path, parent in enumerate(parents) if parent not in ends}
    return chain_blocks(inner, outer, block_of)
