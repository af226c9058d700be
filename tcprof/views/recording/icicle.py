"""The mean iteration as an icicle: ranges or modules, then time classes, then kernels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.mean_iteration import MeanIteration, measure_mean_iteration
from tcprof.analysis.range_folding import shorten
from tcprof.analysis.time.account import IDLE, TIME_CLASSES
from tcprof.findings.finding import class_title
from tcprof.findings.iterations import measure_iterations, pool_tensor_active
from tcprof.frames import HEADLINE
from tcprof.untrusted import one_line
from tcprof.views.document import Icicle
from tcprof.views.figures.traces import paint_scale
from tcprof.views.paths import kernel_names, link, module_names, range_names
from tcprof.views.recording import gpu_title, gpu_title_of_several

LEAST = 1 / 5000  # of the time: what is less is in its parent's bar alone
COLORS = 20  # steps of the scale, from 0 to 100 %
LONGEST = 80
RANGES, MODULES = "Ranges", "Modules"
KINDS = ("range", "module", "class", "kernel", "idle")
EXPLAINED = (
    "The width of a bar is its share of the GPU's time, idle time included; the bars below it are its parts: "
    "ranges, then classes of time, then kernels. The stronger the colour, the more of the time is lost: what Tensor "
    "Active leaves of 100 %. Hatched is idle; many gaps are one bar, the last. Where several kernels run at once, one "
    "of them gets the time, as in the table of ranges. A click on a bar zooms in and selects it; a click on a bar "
    "above zooms out. For a kernel, it shows all places that launch it."
)


@dataclass(frozen=True)
class Place:
    """A bar: what it is, its name, the figure of its Tensor Active if that is known otherwise, and what selects it."""

    kind: str
    name: str
    active: float = math.nan
    link: str = ""


@dataclass
class Tree:
    """Bars in columns; each comes after the one that it lies in."""

    places: list[Place] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    launches: list[float] = field(default_factory=list)
    start: list[float] = field(default_factory=list)
    active: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    longest: list[float] = field(default_factory=list)
    known: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def add(self, chain: Sequence[Place], part: Any, active_ns: float) -> None:
        """Add a part to the bars that it lies in, the outermost first."""
        node = -1
        for place in chain:
            key = (node, place.kind, place.link if place.kind == "kernel" else place.name)
            if key not in self.known:
                self.known[key] = len(self.places)
                self.places.append(place)
                self.parent.append(node)
                for column in (self.time, self.launches, self.active, self.gaps, self.longest):
                    column.append(0.0)
                self.start.append(math.inf)
            node = self.known[key]
            self.time[node] += part.time_ns
            self.launches[node] += part.launch_count
            self.active[node] += active_ns if place.kind == "class" else part.time_ns * place.active / 100
            self.start[node] = min(self.start[node], part.start_ns)
            self.gaps[node] += part.gap_count
            self.longest[node] = max(self.longest[node], part.longest_ns)

    def name_of(self, node: int) -> str:
        """What a bar is called: idle time with how many gaps it is, of which none is as long as the bar."""
        name, gaps = self.places[node].name, self.gaps[node]
        if self.places[node].kind != "idle" or not gaps > 1:
            return name
        return f"{name}: {units.format_count(gaps)} gaps, longest {units.format_ns(self.longest[node])}"

    def pack(self) -> dict[str, list[Any]]:
        """What is wide enough to be seen, in columns for the script."""
        least = LEAST * max(self.time, default=0.0)
        kept = [node for node, time in enumerate(self.time) if time >= least]
        number = {node: place for place, node in enumerate(kept)}
        active = [100 * self.active[node] / self.time[node] for node in kept]
        texts: dict[str, int] = {"": 0}
        names = [texts.setdefault(self.name_of(node), len(texts)) for node in kept]
        last = max(self.start, default=0.0) + 1  # many gaps are nowhere between the rest
        scattered = {node for node in kept if self.places[node].kind == "idle" and self.gaps[node] > 1}
        links = [texts.setdefault(self.places[node].link, len(texts)) for node in kept]
        return {
            "kind": [KINDS.index(self.places[node].kind) for node in kept],
            "parent": [number.get(self.parent[node], -1) for node in kept],
            "time": [round(self.time[node]) for node in kept],
            "launches": [round(self.launches[node], 1) for node in kept],
            "start": [round(last if node in scattered else self.start[node]) for node in kept],
            "active": [None if math.isnan(each) else round(float(min(each, 100.0)), 3) for each in active],
            "name": names,
            "link": links,
            "texts": list(texts),
        }


def list_icicles(analysis: Analysis) -> tuple[Icicle, ...]:
    """The mean iteration of each GPU, or all its work where nothing iterates; none where no work was recorded."""
    found = []
    for gpu in analysis.gpus["gpu"].tolist():
        mean = measure_mean_iteration(analysis, int(gpu))
        if mean is not None and not mean.parts.empty:
            found.append(_icicle(analysis, int(gpu), mean))
    return tuple(found)


def _icicle(analysis: Analysis, gpu: int, mean: MeanIteration) -> Icicle:
    modules = {MODULES: _module_chains(analysis, gpu, mean)} if (mean.parts["module"] >= 0).any() else {}
    named = {**modules, RANGES: _range_chains(analysis, gpu, mean)}
    return Icicle(
        name=f"icicle-{gpu}",
        title=gpu_title_of_several(analysis, gpu),
        caption=f"{'The mean iteration' if mean.count else 'All work'} on {gpu_title(analysis, gpu)}",
        gpu=gpu,
        trees=tuple(named),
        data={
            "unit": "of an iteration" if mean.count else "of the GPU's time",
            "trees": [_grow(analysis, gpu, mean, chains).pack() for chains in named.values()],
            "colors": paint_scale(COLORS),
        },
    )


def _grow(analysis: Analysis, gpu: int, mean: MeanIteration, chains: Sequence[tuple[Place, ...]]) -> Tree:
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
    return tree


def _root(analysis: Analysis, gpu: int, mean: MeanIteration) -> Place:
    figures = measure_iterations(analysis, gpu)
    if figures is not None and mean.count:
        count = f"mean of {units.format_count(mean.count)}"
        selects = link("range", range_names(analysis.paths)[mean.paths[0]], gpu) if mean.paths[0] >= 0 else ""
        return Place("range", f"{figures.name} ({count})", pool_tensor_active(figures.rows)[0], selects)
    whole = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["depth"] == 0)]
    return Place("range", "All work on the GPU", float(whole[HEADLINE.name].iloc[0]))


def _range_chains(analysis: Analysis, gpu: int, mean: MeanIteration) -> list[tuple[Place, ...]]:
    of_gpu = analysis.ranges[analysis.ranges["gpu"] == gpu]
    active = dict(zip(of_gpu["path_id"], of_gpu[HEADLINE.name], strict=True))
    names, parents = analysis.paths["name"].tolist(), analysis.paths["parent_id"].tolist()
    links = range_names(analysis.paths)
    chains: dict[int, tuple[Place, ...]] = {-1: (), **dict.fromkeys(mean.paths, ())}
    for path in sorted(set(mean.parts["path_id"].tolist())):
        around = []
        while path not in chains:
            around.append(path)
            path = parents[path]
        for each in reversed(around):
            outer = parents[each]
            name = one_line(shorten(str(names[each]), str(names[outer]) if outer >= 0 else ""), LONGEST)
            place = Place("range", name, float(active.get(each, math.nan)), link("range", links[each], gpu))
            chains[each] = (*chains[outer], place)
    return [chains[path] for path in mean.parts["path_id"]]


def _module_chains(analysis: Analysis, gpu: int, mean: MeanIteration) -> list[tuple[Place, ...]]:
    """For each part its phase, and the modules that it lies in."""
    modules: pd.DataFrame = analysis.modules[analysis.modules["gpu"] == gpu]
    keys = zip(modules["module_id"], modules["phase"], strict=True)
    row_of = {key: row for row, key in zip(modules.index, keys, strict=True)}
    links = dict(zip(modules.index, np.asarray(module_names(analysis.modules))[modules.index], strict=True))
    rows = modules.to_dict("index")

    def chain(row: int) -> tuple[Place, ...]:
        if row < 0 or row not in rows:
            return ()
        module = rows[row]
        if module["module_id"] < 0:
            return (Place("range", str(module["phase"]), module["tensor_active_pct"]),)
        around = chain(row_of.get((module["parent_id"], module["phase"]), -1))
        selects = link("module", links[row], gpu)
        return (*around, Place("module", one_line(module["name"], LONGEST), module["tensor_active_pct"], selects))

    known = {row: chain(row) for row in set(mean.parts["module"].tolist())}
    return [known[row] for row in mean.parts["module"]]
