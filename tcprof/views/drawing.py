"""What a page's own script draws, where plotly has no such figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Icicle:
    """Time in parts of parts, as rows of bars: see ``web/src/icicle.ts``.

    Attributes:
        name: What it is called among the parts of its document.
        title: The heading above it; may be empty.
        caption: What it shows, for those who cannot see it.
        gpu: Number of the GPU.
        trees: What each way to divide the time is called.
        data: The trees themselves, and the colours, for the script.
    """

    name: str
    title: str
    caption: str
    gpu: int
    trees: tuple[str, ...]
    data: Mapping[str, Any]
