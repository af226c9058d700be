"""The HTML pages, and what the command line lets their readers choose."""

from dataclasses import dataclass
from enum import StrEnum


class Theme(StrEnum):
    """Colours of a page; auto are those of the reader's system."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


class PlotlyScript(StrEnum):
    """Where a page has plotly's script from: in itself, from a file beside it, or from the network."""

    EMBED = "embed"
    DIRECTORY = "directory"
    CDN = "cdn"


@dataclass(frozen=True)
class PageOptions:
    """How a page is made."""

    title: str | None = None  # its title; the file names by default
    theme: Theme = Theme.AUTO
    plotlyjs: PlotlyScript = PlotlyScript.EMBED  # where it has plotly's script from
    origin: str = ""  # A number for where the recording lies, so that a page is not taken for one of another recording


USUAL = PageOptions()
