"""What a page's address calls ranges, kernels and modules: names that are read, and stay the same in every report.

``web/src/selection_fragment.ts`` reads and writes the same addresses. Elements of a page select by an attribute
``data-select`` that holds one.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from tcprof.untrusted import one_line

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 120
_KEPT = "/,:"  # letters that are read well in an address


def range_names(paths: "pd.DataFrame") -> list[str]:
    """A name for each of a recording's paths, see ``tcprof.frames.PATHS``."""
    return _distinct(paths["path"], paths["domain"])


def kernel_names(kernels: "pd.DataFrame") -> list[str]:
    """A name for each kernel, see ``tcprof.frames.KERNELS``; that of a kernel is the same on each GPU."""
    from tcprof.analysis.kernels.names import short_name  # with pandas, which the command line's help needs not

    names: list[str] = []
    short = kernels["name"].map(short_name)
    for _, of_gpu in kernels.groupby("gpu", sort=False):
        names += _distinct((short[of_gpu.index] + " " + of_gpu["launch_geometry"]).str.strip(), of_gpu["name"])
    return names


def module_names(modules: "pd.DataFrame") -> list[str]:
    """The name of each row's module, see ``tcprof.frames.MODULES``; the phases of a module share one."""
    paths = modules["module"].unique().tolist()
    known = dict(zip(paths, _distinct(paths, paths), strict=True))
    return [known[path] for path in modules["module"]]


def link(kind: str, name: str, gpu: int = 0) -> str:
    """The part of an address, behind ``#``, that selects something."""
    return f"{kind}={quote(name, safe=_KEPT)}{f'&gpu={gpu}' if gpu else ''}"


def _distinct(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """Names as short lines; one that was cut, or that several have, ends in a mark of all that it is cut from."""
    full = list(zip(names, others, strict=True))
    lines = [one_line(name, _LONGEST) for name, _ in full]
    count = Counter(lines)
    return [
        line if line == name and count[line] == 1 else f"{line}~{_mark(f'{name} {other}')}"
        for line, (name, other) in zip(lines, full, strict=True)
    ]


def _mark(text: str) -> str:
    return hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
