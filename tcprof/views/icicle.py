"""Bars in each other, as icicles have them: what a bar is, trees of them, and chains that parts of time lie in."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

from tcprof import units
from tcprof.comparison.waterfall import BETWEEN

LEAST = 1 / 5000  # of the time: what is less is in its parent's bar alone
COLORS = 20  # steps of the scale, from 0 to 100 %
LONGEST = 80
RANGES, MODULES = "Ranges", "Modules"
KINDS = ("range", "module", "class", "kernel", "idle")
Key = TypeVar("Key", bound=Hashable)


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

    def add_between(self, root: Place, length_ns: float, start_ns: float) -> None:
        """Add the time from one step to the next, if there is any, which begins after the rest."""
        if not length_ns > 0:
            return
        around = {"launch_count": 0.0, "start_ns": start_ns, "gap_count": 0.0, "longest_ns": length_ns}
        self.add((root, Place("idle", BETWEEN)), SimpleNamespace(time_ns=length_ns, **around), 0.0)

    def name_of(self, node: int) -> str:
        """What a bar is called: idle time with how many gaps it is, of which none is as long as the bar."""
        name, gaps = self.places[node].name, self.gaps[node]
        if self.places[node].kind != "idle" or not gaps > 1:
            return name
        return f"{name}: {units.format_things(gaps, 'gap')}, longest {units.format_ns(self.longest[node])}"

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


def list_around(inner: Iterable[Key | None], outer: Mapping[Key, Key | None]) -> list[Key]:
    """Things and all that they lie in, each after what it lies in itself."""
    found: dict[Key, None] = {}
    for innermost in inner:
        around, key = [], innermost
        while key is not None and key not in found:
            around.append(key)
            key = outer.get(key)
        found.update(dict.fromkeys(reversed(around)))
    return list(found)


def chain_places(
    inner: Iterable[Key | None], outer: Mapping[Key, Key | None], places: Mapping[Key, Place]
) -> list[tuple[Place, ...]]:
    """For each thing the places that it lies in and itself, the outermost first; nothing for None.

    Args:
        outer: What things lie in, where that is something.
        places: The places of things, in the order of ``list_around``.
    """
    chains: dict[Key | None, tuple[Place, ...]] = {None: ()}
    for key, place in places.items():
        chains[key] = (*chains[outer.get(key)], place)
    return [chains[key] for key in inner]
