"""Documents as JSON: the version of tcprof, the kind of document, and its data. Unknown is null."""

import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from tcprof.render.formats import Style
from tcprof.version import __version__
from tcprof.views.document import Document

HAS = ("faults", "warnings", "base", "gate")
SUFFIXES = (".json",)
NEEDS = "data"


def render(document: Document, style: Style) -> str:
    """All data, whatever a table leaves out."""
    return render_data(document.kind, document.data)


def render_data(kind: str, data: Mapping[str, Any]) -> str:
    """A document of some kind from its data alone."""
    whole = {"tcprof": __version__, "kind": kind, **plain(data)}
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """A value that JSON knows: a frame is the list of its rows, what is not finite is null."""
    if isinstance(value, pd.DataFrame):
        return [{name: plain(cell) for name, cell in row.items()} for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
