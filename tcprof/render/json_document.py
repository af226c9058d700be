"""JSON documents: what every one of them begins with."""

import json
from typing import Any

from tcprof import __version__


def render_document(kind: str, **parts: Any) -> str:
    """A document of plain values: the version of tcprof, its kind, and its parts in the order given."""
    document = {"tcprof": __version__, "kind": kind, **parts}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
