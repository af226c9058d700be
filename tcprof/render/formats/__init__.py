"""The formats of documents. Each module here is one: its name is what ``--format`` takes.

A format is a module with:

* ``write(document, style, file)``: writes the document as text, piece by piece where it may be large.
* ``HAS``: which of a document's ``faults``, ``warnings``, ``base`` and ``gate`` that text holds; what it has no place
  for goes to the error stream. With ``doubt`` its reader sees at once which conditions of a gate are inconclusive; else
  the error stream, which is the log of a build, says that too.
* ``SUFFIXES``: ends of the names of files that are written in it; none where only ``--format`` asks for it.
* ``SIGNATURE``, where the format itself does not name tcprof: what a file ends with, for ``tcprof.outputs``.
* ``NEEDS``, where it cannot show every document: what a document must have, ``rows`` or ``gate``.

Commands offer the formats that can show their documents, so all modules are loaded for ``--help``: they import what is
slow to import where they use it.
"""

import pkgutil
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Protocol

FORMATS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


@dataclass(frozen=True)
class Style:
    """How text is set."""

    width: int = 80
    color: bool = False
    wide: bool = False  # whether tables have all their columns, and names in full, however long the lines get


PLAIN = Style()


class Writer(Protocol):
    """What documents are written to: a file, or a stream."""

    def write(self, text: str, /) -> object:
        """Write text."""


def formats_for(*has: str) -> tuple[str, ...]:
    """List the formats that can show a document with these of ``rows`` and ``gate``."""
    return tuple(name for name in FORMATS if getattr(load_format(name), "NEEDS", "") in ("", *has))


def load_format(name: str) -> ModuleType:
    """Load the module of a format, one of ``FORMATS``."""
    return import_module(f"{__name__}.{name}")
