"""Recognizes saved analyses; ``tcprof.saved`` reads them."""

from pathlib import Path

from tcprof.errors import InputError
from tcprof.files import SAVED_SUFFIX
from tcprof.sources import Source, SourceType

ABOUT = "tcprof.json"  # the first member of the ZIP file, so that it is recognized by its first bytes
_NAME_AT = 30  # where a ZIP file has its first member's name
_ZIP = b"PK\x03\x04"


def _recognizes(_: Path, header: bytes) -> bool:
    return header.startswith(_ZIP) and header[_NAME_AT:].startswith(ABOUT.encode())


def _open(path: Path) -> Source:
    raise InputError(
        f"{path} is a saved analysis, and not a recording.", "Give the recording that it was made from, or its export."
    )


SAVED = SourceType("saved analyses (.tcprof)", suffixes=(SAVED_SUFFIX,), magic=(), recognizes=_recognizes, open=_open)
