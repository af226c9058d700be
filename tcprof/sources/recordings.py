"""The recordings that a name stands for: one, or repeated ones of the same program."""

import re
from collections.abc import Iterable
from pathlib import Path

from tcprof.errors import InputError
from tcprof.sources import registry

_REPEATED = re.compile(r"-(\d+)(?:-redacted)?$")  # as 'tcprof profile --repeat' and '--redact' name them


def find_recordings(given: Path) -> list[Path]:
    """The recordings that are meant, in order of their names' numbers.

    Args:
        given: A file; a folder of recordings of one program; or NAME, where there are NAME-1, NAME-2 and so on, as
            ``tcprof profile --repeat`` writes them. A report stands for its export, too.

    Raises:
        InputError: There is none, or the folder may not be read.
    """
    try:
        return _find(given)
    except OSError as error:
        raise InputError(f"{given} cannot be read: {error.strerror}.", "Check the name.") from error


def _find(given: Path) -> list[Path]:
    suffixes = tuple(dict.fromkeys(suffix for each in registry.SOURCE_TYPES for suffix in each.suffixes))
    if given.is_dir():
        found = _in_order(path for path in given.iterdir() if not path.name.startswith("."))
        if not found:
            raise InputError(
                f"{given} is a folder without recordings.", f"Give one with files that end in {', '.join(suffixes)}."
            )
        return found
    if given.exists() or not given.parent.is_dir():
        return [given]
    plain = given.with_suffix("") if given.suffix in suffixes else given
    return _in_order(path for path in given.parent.iterdir() if _belongs(path, plain.name)) or [given]


def _belongs(path: Path, name: str) -> bool:
    match = _REPEATED.search(path.stem)
    return match is not None and path.stem[: match.start()] == name


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """The files that are recordings by their names, one of each: see ``SourceType.suffixes``."""
    files = list(paths)
    found: dict[tuple[str, Path], Path] = {}
    for each in registry.SOURCE_TYPES:
        for suffix in reversed(each.suffixes):
            found |= {(each.title, path.with_suffix("")): path for path in files if path.suffix == suffix}
    return sorted(
        set(found.values()),
        key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)],
    )
