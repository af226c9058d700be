"""The formats of documents. Each module here is one: its name is what ``--format`` takes.

A format is a module with:

* ``render(document, style)``: the document as text.
* ``HAS``: which of a document's ``faults``, ``warnings``, ``base`` and ``gate`` that text holds; what it has no place
  for goes to the error stream. With ``doubt`` its reader sees at once which conditions of a gate are inconclusive; else
  the error stream, which is the log of a build, says that too.
* ``SUFFIXES``: ends of the names of files that are written in it.
* ``NEEDS``, where it cannot show every document: what a document must have, ``rows``, ``data`` or ``gate``.
"""

import pkgutil
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

FORMATS = tuple(sorted(each.name for each in pkgutil.iter_modules(__path__) if not each.name.startswith("_")))


@dataclass(frozen=True)
class Style:
    """How text is set.

    Attributes:
        width: Columns.
        color: Whether it may be coloured.
    """

    width: int = 80
    color: bool = False


PLAIN = Style()


def load_format(name: str) -> ModuleType:
    """The module of a format, one of ``FORMATS``."""
    return import_module(f"{__name__}.{name}")
