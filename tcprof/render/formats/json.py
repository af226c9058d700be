"""Documents as JSON: the version of tcprof, the kind of document, and its data. Unknown is null.

By the standard library: orjson refuses names with lone surrogates, and writes whole floats with a fraction.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tcprof.render.formats import Style, Writer
from tcprof.units import plain
from tcprof.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.views.document import Document

HAS = ("faults", "warnings", "base", "gate")
SUFFIXES = (".json",)
_ROWS_AT_ONCE = 10_000


def write(document: "Document", style: Style, file: Writer) -> None:
    """Write all data, whatever a table leaves out, and what Nsight Compute calls the columns of the rows."""
    data = document.data
    if columns := {name for rows in data.values() for name in _columns(rows)}:
        from tcprof.frames import NCU_METRICS  # here, since documents without rows need no pandas

        metrics = {name: metric for name, metric in NCU_METRICS.items() if name in columns}
        data = {**data, "ncu_metrics": metrics} if metrics else data
    write_data(document.kind, data, file)


def _columns(rows: Any) -> Iterable[str]:
    """List the columns of a frame, or of rows."""
    if hasattr(rows, "iloc"):
        return [str(name) for name in rows.columns]
    return rows[0] if isinstance(rows, list | tuple) and rows and isinstance(rows[0], dict) else ()


def write_data(kind: str, data: Mapping[str, Any], file: Writer) -> None:
    """Write a document of some kind from its data alone; the rows of a frame some at a time."""
    between = "{"
    for name, value in {"tcprof": __version__, "kind": kind, **data}.items():
        file.write(f"{between}\n  {_dump(name)}: ")
        if hasattr(value, "iloc"):  # a frame; pandas is not imported where there is none
            _write_rows(value, file)
        else:
            file.write(_dump(value))
        between = ","
    file.write("\n}\n")


def _write_rows(frame: "pd.DataFrame", file: Writer) -> None:
    between = "["
    for first in range(0, len(frame), _ROWS_AT_ONCE):
        rows = _dump(frame.iloc[first : first + _ROWS_AT_ONCE])
        file.write(between + rows.removeprefix("[").removesuffix("\n  ]"))
        between = ","
    file.write("\n  ]" if len(frame) else "[]")


def _dump(value: Any) -> str:
    """Write a value of a document as JSON, which stands in its margin."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False).replace("\n", "\n  ")
