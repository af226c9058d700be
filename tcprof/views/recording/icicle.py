"""The mean step as an icicle: ranges or modules, then time classes, then kernels."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.mean_step import MeanStep, measure_mean_step
from tcprof.analysis.range_folding import shorten
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.findings.finding import class_title
from tcprof.findings.steps import measure_step_figures
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line
from tcprof.views.document import Icicle
from tcprof.views.figures.traces import paint_scale
from tcprof.views.icicle import COLORS, LONGEST, MODULES, RANGES, Place, Tree, chain_places, list_around
from tcprof.views.paths import kernel_names, link, module_names, range_names
from tcprof.views.recording import gpu_title, gpu_title_of_several

EXPLAINED = (
    "The width of a bar is its share of the GPU's time, idle time included; the bars below it are its parts: "
    "ranges, then classes of time, then kernels. The stronger the colour, the more of the time is lost: what Tensor "
    "Active leaves of 100 %. Hatched is idle; many gaps are one bar, the last. Where several kernels run at once, one "
    "of them gets the time, as in the table of ranges. A click on a bar zooms in and selects it; a click on a bar "
    "above zooms out. For a kernel, it shows all places that launch it."
)


def list_icicles(analysis: Analysis) -> tuple[Icicle, ...]:
    """The mean step of each GPU, or all its work where nothing iterates; none where no work was recorded."""
    found = []
    for gpu in analysis.gpus["gpu"].tolist():
        mean = measure_mean_step(analysis, int(gpu))
        if mean is not None and not mean.parts.empty:
            found.append(_icicle(analysis, int(gpu), mean))
    return tuple(found)


def _icicle(analysis: Analysis, gpu: int, mean: MeanStep) -> Icicle:
    modules = {MODULES: _module_chains(analysis, gpu, mean)} if (mean.parts["module"] >= 0).any() else {}
    named = {**modules, RANGES: _range_chains(analysis, gpu, mean)}
    return Icicle(
        name=f"icicle-{gpu}",
        title=gpu_title_of_several(analysis, gpu),
        caption=f"{'The mean step' if mean.count else 'All work'} on {gpu_title(analysis, gpu)}",
        gpu=gpu,
        trees=tuple(named),
        data={
            "unit": "of the step" if mean.count else "of the GPU's time",
            "trees": [_grow(analysis, gpu, mean, chains).pack() for chains in named.values()],
            "colors": paint_scale(COLORS),
        },
    )


def _grow(analysis: Analysis, gpu: int, mean: MeanStep, chains: Sequence[tuple[Place, ...]]) -> Tree:
    kernels, links = analysis.kernels, kernel_names(analysis.kernels)
    names = [one_line(short_name(name), LONGEST) for name in kernels["name"]]
    active = kernels["tensor_active_pct"].to_numpy(np.float64)
    tree, root = Tree(), _root(analysis, gpu, mean)
    for part, chain in zip(mean.parts.itertuples(), chains, strict=True):
        name = TIME_CLASSES[part.time_class]
        places = [root, *chain, Place("idle" if part.time_class == IDLE else "class", class_title(name))]
        own = active[part.kernel] if part.kernel >= 0 else 0.0
        if part.kernel >= 0:
            selects = link("kernel", links[part.kernel], gpu)
            places.append(Place("kernel", names[part.kernel], active[part.kernel], selects))
        tree.add(places, part, part.time_ns * own / 100)
    steps = analysis.step_summary[analysis.step_summary["gpu"] == gpu]
    if mean.count and len(steps):
        between = float((steps["total_ns"] / steps["step_count"]).iloc[0]) - mean.length_ns
        tree.add_between(root, between, mean.length_ns)
    return tree


def _root(analysis: Analysis, gpu: int, mean: MeanStep) -> Place:
    figures = measure_step_figures(analysis, gpu)
    if figures is not None and mean.count:
        count = f"mean of {units.format_count(mean.count)}"
        selects = link("range", range_names(analysis.paths)[mean.paths[0]], gpu) if mean.paths[0] >= 0 else ""
        return Place("range", f"{figures.name} ({count})", figures.tensor_active_pct, selects)
    return Place("range", "All work on the GPU", float(analysis.whole_capture(gpu)[HEADLINE.name].iloc[0]))


def _range_chains(analysis: Analysis, gpu: int, mean: MeanStep) -> list[tuple[Place, ...]]:
    of_gpu = analysis.ranges[analysis.ranges["gpu"] == gpu]
    active = dict(zip(of_gpu["path_id"], of_gpu[HEADLINE.name], strict=True))
    names, parents = analysis.paths["name"].tolist(), analysis.paths["parent_id"].tolist()
    links, ends = range_names(analysis.paths), {-1, *mean.paths}

    def place_of(path: int) -> Place:
        around = str(names[parents[path]]) if parents[path] >= 0 else ""
        name = one_line(shorten(str(names[path]), around), LONGEST)
        return Place("range", name, float(active.get(path, math.nan)), link("range", links[path], gpu))

    inner = [None if path in ends else path for path in mean.parts["path_id"].tolist()]
    outer = {path: parent for path, parent in enumerate(parents) if parent not in ends}
    return chain_places(inner, outer, {path: place_of(path) for path in list_around(inner, outer)})


def _module_chains(analysis: Analysis, gpu: int, mean: MeanStep) -> list[tuple[Place, ...]]:
    """For each part its phase, and the modules that it lies in."""
    modules: pd.DataFrame = analysis.modules[analysis.modules["gpu"] == gpu]
    keys = zip(modules["module_id"], modules["phase"], strict=True)
    row_of = {key: row for row, key in zip(modules.index, keys, strict=True)}
    links = dict(zip(modules.index, np.asarray(module_names(analysis.modules))[modules.index], strict=True))
    rows = modules.to_dict("index")

    def place_of(row: int) -> Place:
        module = rows[row]
        if module["module_id"] < 0:
            return Place("range", str(module["phase"]), module["tensor_active_pct"])
        selects = link("module", links[row], gpu)
        return Place("module", one_line(module["name"], LONGEST), module["tensor_active_pct"], selects)

    inner = [row if row in rows else None for row in mean.parts["module"].tolist()]
    outer = {
        row: row_of.get((module["parent_id"], module["phase"]))
        for row, module in rows.items()
        if module["module_id"] >= 0
    }
    return chain_places(inner, outer, {row: place_of(row) for row in list_around(inner, outer)})
