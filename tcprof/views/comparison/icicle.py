"""The mean step of two sides as icicles on one scale of time, in blocks that the comparison matched."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.mean_step import MeanStep, measure_mean_step
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.range_folding import shorten
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.comparison import Comparison
from tcprof.comparison.matching.sides import Renaming, gpu_models, rename_paths
from tcprof.comparison.modules import fold_name
from tcprof.comparison.statistics.verdicts import EQUAL, INCONCLUSIVE
from tcprof.comparison.waterfall import BETWEEN, TIME
from tcprof.findings.compared.sides import measure_side
from tcprof.findings.compared.verdict import decisive, is_shown, side_names, step_name, time_row
from tcprof.findings.finding import class_title
from tcprof.findings.notes import are_resolved
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line
from tcprof.views.comparison.sides import side_color, title_of
from tcprof.views.document import Icicle
from tcprof.views.figures.traces import paint_scale
from tcprof.views.icicle import COLORS, KINDS, LEAST, LONGEST, MODULES, RANGES, Place, Tree, chain_places, list_around
from tcprof.views.paths import LONGEST_NAME

_SIDES = ("base", "new")
EXPLAINED = (
    "One scale of time for both sides: the mean {unit} of each, without warm-up. Colour is lost time: what Tensor "
    "Active leaves of 100 %. Hatched is idle. A click zooms both sides and selects the block's row in the table."
)
_SEVERAL = "A side with several recordings is shown by its typical one."
_LAYERS = "Layers of a list are one block (*)."
_WHOLE = "The sides have no steps in common, so each icicle is a whole capture."
_ONE_SIDED = "Only one side names modules, so the blocks are ranges."
_NAMELESS = "Neither side names modules or ranges in a {unit}, so the blocks are kinds of time."
_UNMATCHED = "– No {what} is on both sides, so none has a difference. --map OLD=NEW matches ranges."
_GPUS = "– The GPUs differ ({}): compare times, not Tensor Active."
_INCONCLUSIVE = "The change of the {unit} is inconclusive, so what its blocks differ by may be noise."
ABSENT = "– A side has no recorded work on this GPU, or hardly any, so there is no {unit} to draw."


@dataclass(frozen=True)
class ComparedIcicle(Icicle):
    """Two icicles; ``trees`` are the names of the sides, and ``data`` has their blocks once, see ``icicles.ts``."""

    colors: tuple[str, ...] = ()  # of the sides
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Block:
    """What the comparison has of a module or a range: Tensor Active of each side, and whether it is inconclusive."""

    active: tuple[float, float] = (math.nan, math.nan)
    mark: str = ""


_NOTHING = _Block()


def compare_icicles(comparison: Comparison, gpu: int, name: str, table: str) -> ComparedIcicle | None:
    """Both sides' mean step on a GPU, by modules, or by ranges where a side names none; None without any work.

    Args:
        table: What a page calls the table of modules and ranges.
    """
    sides = (comparison.base.typical, comparison.new.typical)
    means = _measure(sides, gpu)
    if means is None:
        return None
    named = [bool((mean.parts["module"] >= 0).any()) for mean in means]
    by = MODULES if all(named) else RANGES
    blocks = _find_modules(comparison, gpu) if by == MODULES else _find_ranges(comparison, gpu)
    trees = [_grow(comparison, gpu, side, mean, blocks, by) for side, mean in zip((0, 1), means, strict=True)]
    data = _pack(comparison, gpu, trees, blocks)
    unit, count = step_name(comparison), [mean.count for mean in means]
    data |= {
        "unit": f"of the {unit}",
        "colors": paint_scale(COLORS),
        "table": table,
        "by": by[:-1].lower(),
        "names": side_names(comparison),
        "means": [f"mean of {units.format_things(each, 'step')}" if each else "whole capture" for each in count],
    }
    return ComparedIcicle(
        name=name,
        title="",
        caption=f"The mean {unit} of both sides on {title_of(comparison, gpu)}",
        gpu=gpu,
        trees=side_names(comparison),
        data=data,
        colors=(side_color(comparison.base, 0), side_color(comparison.new, 1)),
        notes=tuple(_describe(comparison, gpu, data, by, any(named), all(count))),
    )


def _measure(sides: tuple[Analysis, Analysis], gpu: int) -> list[MeanStep] | None:
    """The mean steps where both sides have some on a GPU, else all that each did, as the parts of time have it."""
    found = [measure_mean_step(each, gpu) for each in sides]
    if any(mean is not None and not mean.count for mean in found):
        whole = (each.replace(steps=each.steps.iloc[:0]) for each in sides)
        found = [measure_mean_step(each, gpu) for each in whole]
    known = [mean for mean in found if mean is not None and len(mean.parts)]
    return known if len(known) == len(sides) else None


def _find_modules(comparison: Comparison, gpu: int) -> dict[str, _Block]:
    """By paths of ``fold_name``. Tensor Active is unknown where the samples do not resolve it."""
    rows = comparison.modules[(comparison.modules["gpu"] == gpu) & (comparison.modules["phase"] == ALL)]
    active = [rows[f"{side}_tensor_active_pct"].where(are_resolved(rows, f"{side}_")) for side in _SIDES]
    marks = np.where(rows["verdict"] == INCONCLUSIVE, INCONCLUSIVE, "")
    return {
        path: _Block((base, new), mark) for path, base, new, mark in zip(rows["module"], *active, marks, strict=True)
    }


def _find_ranges(comparison: Comparison, gpu: int) -> dict[str, _Block]:
    """By paths as the comparison calls them."""
    rows = comparison.rows
    rows = rows[(rows["gpu"] == gpu) & (rows["quantity"] == HEADLINE.name)].drop_duplicates("path")
    return {path: _Block((base, new)) for path, base, new in zip(rows["path"], rows["base"], rows["new"], strict=True)}


def _grow(comparison: Comparison, gpu: int, side: int, mean: MeanStep, blocks: Mapping[str, _Block], by: str) -> Tree:
    """The blocks of one side: modules or ranges in each other, then classes of time."""
    own = (comparison.base, comparison.new)[side]
    active = own.typical.kernels["tensor_active_pct"].to_numpy(np.float64)
    whole = measure_side(own, gpu, bool(mean.count)).tensor_active_pct
    tree, root = Tree(), Place("range", step_name(comparison), whole, comparison.step_path)
    chains = (
        _module_chains(own.typical, gpu, mean)
        if by == MODULES
        else _range_chains(own.typical, mean, comparison.renamings[side])
    )
    for part, chain in zip(mean.parts.itertuples(), chains, strict=True):
        name = TIME_CLASSES[part.time_class]
        around = (replace(place, active=blocks.get(place.link, _NOTHING).active[side]) for place in chain)
        place = Place("idle" if part.time_class == IDLE else "class", class_title(name))
        own_active = active[part.kernel] if part.kernel >= 0 else 0.0
        tree.add((root, *around, place), part, part.time_ns * own_active / 100)
    parts = comparison.waterfall
    parts = parts[(parts["gpu"] == gpu) & (parts["quantity"] == TIME) & (parts["part"] == BETWEEN)]
    if len(parts):
        tree.add_between(root, float(parts[_SIDES[side]].iloc[0]), mean.length_ns)
    return tree


def _module_chains(analysis: Analysis, gpu: int, mean: MeanStep) -> list[tuple[Place, ...]]:
    """For each part the modules that it lies in, or the phase where it lies in none."""
    rows = analysis.modules[analysis.modules["gpu"] == gpu].to_dict("index")
    modules = {row["module_id"]: row for row in rows.values() if row["module_id"] >= 0}
    keys = {number: row["module_id"] if row["module_id"] >= 0 else row["phase"] for number, row in rows.items()}

    def place_of(key: int | str) -> Place:
        if key not in modules:
            return Place("range", one_line(str(key), LONGEST))
        path = fold_name(modules[key]["module"])
        around = outer.get(key)
        name = path.removeprefix(f"{fold_name(modules[around]['module'])}.") if around in modules else path
        return Place("module", one_line(name, LONGEST), link=path)

    inner = [keys.get(number) for number in mean.parts["module"].tolist()]
    outer = {key: module["parent_id"] for key, module in modules.items() if module["parent_id"] in modules}
    return chain_places(inner, outer, {key: place_of(key) for key in list_around(inner, outer)})


def _range_chains(analysis: Analysis, mean: MeanStep, renaming: Renaming) -> list[tuple[Place, ...]]:
    """For each part the ranges that it lies in, within those that iterate, as the comparison calls them."""
    paths = rename_paths(analysis.paths, renaming)["path"].tolist()
    ends = {"", *(str(paths[path]) for path in mean.paths)}

    def place_of(path: str) -> Place:
        around, _, name = path.rpartition(SEPARATOR)
        within = "" if around in ends else around.rpartition(SEPARATOR)[2]
        return Place("range", one_line(shorten(name, within), LONGEST), link=path)

    is_end = {-1, *mean.paths}
    inner = [None if number in is_end else str(paths[number]) for number in mean.parts["path_id"].tolist()]
    around = ((str(path), str(path).rpartition(SEPARATOR)[0]) for path in paths)
    outer = {path: within for path, within in around if within not in ends}
    return chain_places(inner, outer, {path: place_of(path) for path in list_around(inner, outer)})


def _pack(comparison: Comparison, gpu: int, trees: Sequence[Tree], blocks: Mapping[str, _Block]) -> dict[str, Any]:
    """The blocks of both sides in columns for the script, each once; one that a side lacks has no time there."""
    known: dict[tuple[int, str, str], int] = {}
    places: list[Place] = []
    parent: list[int] = []
    nodes: list[dict[int, int]] = []  # of each side its own node of a block
    for tree in trees:
        number: list[int] = []
        for place, outer in zip(tree.places, tree.parent, strict=True):
            around = number[outer] if outer >= 0 else -1
            key = (around, place.kind, place.link or place.name)
            if key not in known:
                known[key] = len(places)
                places.append(place)
                parent.append(around)
            number.append(known[key])
        nodes.append({block: node for node, block in enumerate(number)})
    length = [
        [tree.time[own[block]] if block in own else 0.0 for block in range(len(places))]
        for tree, own in zip(trees, nodes, strict=True)
    ]
    least = LEAST * max(map(max, length))
    kept = [block for block, times in enumerate(zip(*length, strict=True)) if max(times) >= least]
    texts: dict[str, int] = {"": 0}
    number_of = {block: place for place, block in enumerate(kept)}
    marks = [blocks.get(places[block].link, _NOTHING).mark for block in kept]
    return {
        "kind": [KINDS.index(places[block].kind) for block in kept],
        "parent": [number_of.get(parent[block], -1) for block in kept],
        "link": [texts.setdefault(one_line(places[block].link, LONGEST_NAME), len(texts)) for block in kept],
        "mark": ["" if _is_known(comparison, gpu) else INCONCLUSIVE, *marks[1:]],
        "start": _order(trees, nodes, kept),
        "sides": [_pack_side(tree, own, places, kept, texts) for tree, own in zip(trees, nodes, strict=True)],
        "texts": list(texts),
    }


def _is_known(comparison: Comparison, gpu: int) -> bool:
    """Whether the verdict says how the time changed, or that it did not."""
    row = decisive(time_row(comparison, gpu))
    return is_shown(row) or row["verdict"] == EQUAL


def _order(trees: Sequence[Tree], nodes: Sequence[Mapping[int, int]], kept: Sequence[int]) -> list[int]:
    """When blocks begin: on the baseline, or where it lacks one on the other side. Many gaps come last."""
    last = max(max(start for start in tree.start) for tree in trees) + 1
    found = []
    for block in kept:
        tree, own = next((tree, own) for tree, own in zip(trees, nodes, strict=True) if block in own)
        node = own[block]
        scattered = tree.places[node].kind == "idle" and tree.gaps[node] > 1
        found.append(round(last if scattered else tree.start[node]))
    return found


def _pack_side(
    tree: Tree, own: Mapping[int, int], places: Sequence[Place], kept: Sequence[int], texts: dict[str, int]
) -> dict[str, list[Any]]:
    node = [own.get(block, -1) for block in kept]
    active = [100 * tree.active[each] / tree.time[each] if each >= 0 else math.nan for each in node]
    names = [tree.name_of(each) if each >= 0 else places[block].name for each, block in zip(node, kept, strict=True)]
    return {
        "time": [round(tree.time[each]) if each >= 0 else 0 for each in node],
        "launches": [round(tree.launches[each], 1) if each >= 0 else 0 for each in node],
        "active": [None if math.isnan(each) else round(float(min(each, 100.0)), 3) for each in active],
        "name": [texts.setdefault(name, len(texts)) for name in names],
    }


def _describe(
    comparison: Comparison, gpu: int, data: Mapping[str, Any], by: str, is_named: bool, iterates: bool
) -> list[str]:
    """What cannot be shown, and why."""
    unit = step_name(comparison)
    what = [KINDS.index(kind) for kind in ("module", "range")]
    matched = [
        min(side["time"][block] for side in data["sides"]) > 0
        for block, kind in enumerate(data["kind"])
        if kind in what and data["parent"][block] >= 0 and data["link"][block]
    ]
    models = gpu_models(comparison.base, comparison.new)
    told = {
        _WHOLE: not iterates,
        _ONE_SIDED: by == RANGES and is_named,
        _NAMELESS.format(unit=unit): not matched,
        _UNMATCHED.format(what=by[:-1].lower()): bool(matched) and not any(matched),
        _GPUS.format(" and ".join(models)): models[0] != models[1],
        _INCONCLUSIVE.format(unit=unit): not _is_known(comparison, gpu),
        _LAYERS: by == MODULES and any("*" in text for text in data["texts"]),
        _SEVERAL: max(len(side.recordings) for side in (comparison.base, comparison.new)) > 1,
    }
    return [text for text, holds in told.items() if holds]
