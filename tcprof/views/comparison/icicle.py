"""The mean step of two sides as icicles on one scale of time, in blocks that the comparison matched."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.folding import shorten
from tcprof.analysis.mean_step import BETWEEN, MeanStep, measure_mean_step
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.comparison import Comparison
from tcprof.comparison.matching.sides import Renaming, gpu_models, rename_paths
from tcprof.comparison.modules import fold_name
from tcprof.comparison.statistics.verdicts import EQUAL, INCONCLUSIVE
from tcprof.comparison.waterfall import TIME
from tcprof.findings.compared.verdict import decisive, is_shown, measure_side, side_names, step_name, time_row
from tcprof.findings.notes import are_resolved
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line
from tcprof.views.comparison.sides import side_color, title_of
from tcprof.views.document import Icicle
from tcprof.views.recording import icicle

_SIDES = ("base", "new")
COMPARED = (
    "Both sides share one time scale: the mean {unit} of each, without warm-up. Time classes have the same colours "
    "on all pages; the line below a block shows whether it got better or worse. Hatched blocks are idle time. Click "
    "to zoom both sides and select the block's row in the table."
)
_SEVERAL = "A side with several recordings is shown by its typical one."
_LAYERS = "Layers of a list are one block (*)."
_WHOLE = "The sides have no steps in common, so each icicle shows a whole capture."
_ONE_SIDED = "Only one side names modules, so the blocks are ranges."
_NAMELESS = "Neither side names modules or ranges in a {unit}, so the blocks are classes of time."
_UNMATCHED = "– No {what} occurs on both sides, so there are no differences to show. --map OLD=NEW matches ranges."
_GPUS = "– The GPUs differ ({}): compare times, not Tensor Active."
_INCONCLUSIVE = "The change of the {unit} is inconclusive, so differences between its blocks may be noise."
ABSENT = "– A side has no recorded work on this GPU, or hardly any, so there is no {unit} to draw."
Compared = dict[str, tuple[float, float]]  # by path: Tensor Active of each side
_UNKNOWN = (math.nan, math.nan)


def compare_icicles(comparison: Comparison, gpu: int, name: str, table: str) -> Icicle | None:
    """Draw both sides' mean step on a GPU, by modules, or by ranges where a side names none; None without any work."""
    sides = (comparison.base.typical, comparison.new.typical)
    means = _measure(sides, gpu)
    if means is None:
        return None
    has_modules = [bool((mean.parts["module"] >= 0).any()) for mean in means]
    by = icicle.MODULES if all(has_modules) else icicle.RANGES
    compared, inconclusive = (
        _compare_modules(comparison, gpu) if by == icicle.MODULES else _compare_ranges(comparison, gpu)
    )
    trees = [_grow_side(comparison, gpu, side, mean, compared, by) for side, mean in enumerate(means)]
    blocks, tree = icicle.pack_trees(trees)
    row = decisive(time_row(comparison, gpu))
    is_known = is_shown(row) or row["verdict"] == EQUAL  # whether the verdict says how the time changed, if it did
    marks = [INCONCLUSIVE if block.link in inconclusive else "" for block in blocks]
    tree["mark"] = ["" if is_known else INCONCLUSIVE, *marks[1:]]
    unit, count = step_name(comparison), [mean.count for mean in means]
    return Icicle(
        name=name,
        title="",
        caption=f"The mean {unit} of both sides on {title_of(comparison, gpu)}",
        gpu=gpu,
        trees=(by,),
        data={
            "unit": f"of the {unit}",
            "trees": [tree],
            "classes": icicle.paint_classes(),
            "table": table,
            "by": by[:-1].lower(),
            "names": side_names(comparison),
            "means": [f"mean of {units.format_things(steps, 'step')}" if steps else "whole capture" for steps in count],
        },
        sides=side_names(comparison),
        colors=(side_color(comparison.base, 0), side_color(comparison.new, 1)),
        notes=tuple(_list_notes(comparison, tree, by, any(has_modules), all(count), is_known)),
    )


def _measure(sides: tuple[Analysis, Analysis], gpu: int) -> list[MeanStep] | None:
    """Measure the mean steps where both sides have some on a GPU, else all that each did, as the parts of time."""
    means = [measure_mean_step(side, gpu) for side in sides]
    if any(mean is not None and not mean.count for mean in means):
        means = [measure_mean_step(side.replace(steps=side.steps.iloc[:0]), gpu) for side in sides]
    measured = [mean for mean in means if mean is not None and len(mean.parts)]
    return measured if len(measured) == len(sides) else None


def _compare_modules(comparison: Comparison, gpu: int) -> tuple[Compared, set[str]]:
    """Look up Tensor Active of modules, where the samples resolve it, and those whose change is inconclusive."""
    rows = comparison.modules[(comparison.modules["gpu"] == gpu) & (comparison.modules["phase"] == ALL)]
    active = [rows[f"{side}_tensor_active_pct"].where(are_resolved(rows, f"{side}_")) for side in _SIDES]
    inconclusive = set(rows["module"][rows["verdict"] == INCONCLUSIVE])
    return dict(zip(rows["module"], zip(*active, strict=True), strict=True)), inconclusive


def _compare_ranges(comparison: Comparison, gpu: int) -> tuple[Compared, set[str]]:
    """Look up Tensor Active of ranges by their paths as the comparison calls them."""
    rows = comparison.rows
    rows = rows[(rows["gpu"] == gpu) & (rows["quantity"] == HEADLINE.name)].drop_duplicates("path")
    return dict(zip(rows["path"], zip(rows["base"], rows["new"], strict=True), strict=True)), set()


def _grow_side(comparison: Comparison, gpu: int, side: int, mean: MeanStep, compared: Compared, by: str) -> icicle.Tree:
    """Grow the tree of one side, whose blocks link to the paths that the comparison has."""
    of_side = (comparison.base, comparison.new)[side]
    analysis = of_side.typical
    modules = analysis.modules.drop_duplicates("module_id").set_index("module_id")["module"]

    def block_of(row: Mapping[Any, Any]) -> icicle.Block:
        if row["module_id"] < 0:
            return icicle.Block("range", one_line(str(row["phase"]), icicle.LONGEST))
        path = fold_name(row["module"])
        around = fold_name(modules[row["parent_id"]]) if row["parent_id"] >= 0 else ""
        return icicle.Block("module", one_line(path.removeprefix(f"{around}."), icicle.LONGEST), link=path)

    if by == icicle.MODULES:
        chains = icicle.chain_modules(analysis, gpu, mean, False, block_of)
    else:
        chains = _chain_renamed_ranges(analysis, mean, comparison.renamings[side])
    chains = [
        tuple(replace(block, active=compared.get(block.link, _UNKNOWN)[side]) for block in chain) for chain in chains
    ]
    whole = measure_side(of_side, gpu, bool(mean.count)).tensor_active_pct
    root = icicle.Block("range", step_name(comparison), whole, comparison.step_path)
    parts = comparison.waterfall
    parts = parts[(parts["gpu"] == gpu) & (parts["quantity"] == TIME) & (parts["part"] == BETWEEN)]
    between_ns = float(parts[_SIDES[side]].iloc[0]) if len(parts) else 0.0
    return icicle.grow_tree(root, mean, chains, icicle.make_kernel_blocks(analysis), between_ns, leaves=False)


def _chain_renamed_ranges(analysis: Analysis, mean: MeanStep, renaming: Renaming) -> icicle.Chains:
    """Chain the ranges that parts lie in, within those that repeat, as the comparison calls them."""
    paths = list(map(str, rename_paths(analysis.paths, renaming)["path"]))
    ends = {"", *(paths[path] for path in mean.paths)}

    def block_of(path: str) -> icicle.Block:
        around, _, name = path.rpartition(SEPARATOR)
        within = "" if around in ends else around.rpartition(SEPARATOR)[2]
        return icicle.Block("range", one_line(shorten(name, within), icicle.LONGEST), link=path)

    are_ends = {-1, *mean.paths}
    inner = [None if number in are_ends else paths[number] for number in mean.parts["path_id"].tolist()]
    pairs = ((path, path.rpartition(SEPARATOR)[0]) for path in paths)
    return icicle.chain_blocks(inner, {path: around for path, around in pairs if around not in ends}, block_of)


def _list_notes(
    comparison: Comparison, tree: Mapping[str, Any], by: str, has_names: bool, repeats: bool, is_known: bool
) -> list[str]:
    unit = step_name(comparison)
    kinds = [icicle.KINDS.index(kind) for kind in ("module", "range")]
    matched = [
        min(side["time"][block] for side in tree["sides"]) > 0
        for block, kind in enumerate(tree["kind"])
        if kind in kinds and tree["parent"][block] >= 0 and tree["link"][block]
    ]
    models = gpu_models(comparison.base, comparison.new)
    applies = {
        _WHOLE: not repeats,
        _ONE_SIDED: by == icicle.RANGES and has_names,
        _NAMELESS.format(unit=unit): not matched,
        _UNMATCHED.format(what=by[:-1].lower()): bool(matched) and not any(matched),
        _GPUS.format(" and ".join(models)): models[0] != models[1],
        _INCONCLUSIVE.format(unit=unit): not is_known,
        _LAYERS: by == icicle.MODULES and any("*" in text for text in tree["texts"]),
        _SEVERAL: max(len(side.recordings) for side in (comparison.base, comparison.new)) > 1,
    }
    return [note for note, holds in applies.items() if holds]
