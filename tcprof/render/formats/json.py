"""Documents as JSON: the version of tcprof, the kind of document, and its data. Unknown is null.

By the standard library: orjson refuses names with lone surrogates, and writes whole floats with a fraction.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tcprof.render.formats import Style, Writer
from tcprof.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from tcprof.views.document import Document

HAS = ("faults", "warnings", "base", "gate")
SUFFIXES = (".json",)
_ROWS_AT_ONCE = 10_000


def write(document: "Document", style: Style, file: Writer) -> None:
    """All data, whatever a table leaves out."""
    write_data(document.kind, document.data, file)


def write_data(kind: str, data: Mapping[str, Any], file: Writer) -> None:
    """A document of some kind from its data alone; the rows of a frame some at a time."""
    between = "{"
    for name, value in {"tcprof": __version__, "kind": kind, **data}.items():
        file.write(f"{between}\n  {_dump(name)}: ")
        if hasattr(value, "iloc"):  # a frame; pandas is not imported where there is none
            _write_rows(value, file)
        else:
            file.write(_dump(plain(value), "  "))
        between = ","
    file.write("\n}\n")


def _write_rows(frame: "pd.DataFrame", file: Writer) -> None:
    """The rows of a frame, each an object, as ``_dump`` would write the list of them."""
    keys = ",\n".join(f"      {_dump(str(name)).replace('%', '%%')}: %s" for name in frame)
    row = f"    {{\n{keys}\n    }}"
    between = "[\n"
    for first in range(0, len(frame), _ROWS_AT_ONCE):
        some = frame.iloc[first : first + _ROWS_AT_ONCE]
        columns = (_dump_all(some.iloc[:, place]) for place in range(some.shape[1]))
        file.write(between + ",\n".join(row % cells for cells in zip(*columns, strict=True)))
        between = ",\n"
    file.write("\n  ]" if len(frame) else "[]")


def _dump_all(values: "pd.Series[Any]") -> Iterable[str]:
    """Each value of a column; equal texts, which most columns of texts have many of, only once."""
    if values.dtype.kind in "fiub":
        return [_dump(plain(value)) for value in values.tolist()]
    known: dict[str, str] = {}
    return [
        (known.get(value) or known.setdefault(value, _dump(value)))
        if isinstance(value, str)
        else _dump(plain(value), "      ")
        for value in values.tolist()
    ]


def _dump(value: Any, margin: str = "") -> str:
    """A value that JSON knows; what it holds stands in lines of their own, each after the margin."""
    indent = 2 if isinstance(value, dict | list) else None
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return text.replace("\n", f"\n{margin}") if indent else text


def plain(value: Any) -> Any:
    """A value that JSON knows: a frame is the list of its rows, what is not finite is null."""
    if isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    import numpy as np
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return [{name: plain(cell) for name, cell in row.items()} for row in value.to_dict("records")]
    if isinstance(value, np.generic):
        return plain(value.item())
    return value
