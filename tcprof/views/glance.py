"""A recording at a glance: the parts of a document that its first screen shows."""

from dataclasses import dataclass
from typing import Any

from tcprof.views.selection import link


@dataclass(frozen=True)
class Tile:
    """One figure that is read at a glance: what, how much, its 95 % interval, and over which window."""

    title: str
    value: str
    interval: str
    caption: str


@dataclass(frozen=True)
class Summary:
    """A GPU at a glance: its title, the verdict, tiles and checks.

    Attributes:
        gpu: Number of the GPU.
        title: Number and name.
        verdict: Sentences, the most important first.
        tiles: Figures.
        checks: What was checked, see ``tcprof.findings.Check``.
        headline: The verdict in two short sentences.
        where: How busy the Tensor Cores were in which ranges.
        measured: What these and the tiles are over.
        checked: How many checks pass, and which do not, in one line.
    """

    gpu: int
    title: str
    verdict: tuple[str, ...]
    tiles: tuple[Tile, ...]
    checks: tuple[Any, ...]
    headline: tuple[str, ...] = ()
    where: str = ""
    measured: str = ""
    checked: str = ""


@dataclass(frozen=True)
class Lead:
    """What to do first: one finding with what it is likely to win.

    Attributes:
        name: By which a page selects it: its rule, numbered where several are of one.
        rule: What ``--fail-if`` calls it.
        sentence: What is so.
        gain: What it is likely to win; empty where that is not known.
        about: What it is about, as fragments of a page's address, see ``tcprof.views.selection``.
        place: Which GPU it is about, where there are several.
    """

    name: str
    rule: str
    sentence: str
    gain: str = ""
    about: tuple[str, ...] = ()
    place: str = ""

    @property
    def link(self) -> str:
        """What selects all that it is about; empty for nothing."""
        return link("finding", self.name) if self.about else ""


@dataclass(frozen=True)
class Leads:
    """The findings that are worth most, the best first; what their gains are of, and what more there is."""

    items: tuple[Lead, ...]
    base: str = ""
    more: str = ""
