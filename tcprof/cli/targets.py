"""What commands may write to: never to what they read, and only with ``--force`` over what tcprof did not write."""

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tcprof.errors import InputError, OutputError

_OTHER_NAME = "Choose another name with -o."


def check_target(
    target: Path, inputs: Iterable[Path], *, force: bool, origin: str = "", for_recording: bool = False
) -> None:
    """Make sure, before anything is read, that a file may be written.

    Args:
        inputs: What the command reads, as it was given.
        force: Whether a file that tcprof did not write may be replaced.
        origin: What a page must be of to be replaced, see ``origin_of``; empty where the user gave its name.
        for_recording: Whether what is written is a recording itself, which may replace another.

    Raises:
        OutputError: It is a folder, one of the inputs, a recording, or a file that tcprof did not write; or its folder
            is absent.
    """
    from tcprof.render import is_made_by_tcprof, is_page_of
    from tcprof.sources.registry import is_recording

    if target.is_dir():
        raise OutputError(f"{target} is a folder.", "Give a file name with -o.")
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}.", "Make it first.")
    if any(_is_same(target, path) for given in inputs for path in _read_with(given)):
        raise OutputError(f"{target} is what is read.", _OTHER_NAME)
    what = ""
    if is_recording(target):
        what = "is a recording"
    elif not is_made_by_tcprof(target):
        what = "was not written by tcprof"
    elif origin and target.is_file() and not is_page_of(target, origin):
        what = "is about another recording"
    may_force = for_recording or what != "is a recording"
    if what and not (force and may_force):
        hint = f"{_OTHER_NAME[:-1]}, or replace it with --force." if may_force else _OTHER_NAME
        raise OutputError(f"{target} exists already, and {what}.", hint)


def check_folder(folder: Path, names: Iterable[str], inputs: Iterable[Path], *, force: bool) -> None:
    """Make sure that files of these names may be written into a folder, which need not be there.

    Raises:
        OutputError: It is no folder, or a file in it may not be replaced, see ``check_target``.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise OutputError(f"{folder} is no folder.", "Give a folder with -o; it is made if it is absent.")
    given = tuple(inputs)
    for name in names:
        if os.path.lexists(folder / name):
            check_target(folder / name, given, force=force)


def origin_of(recording: Path) -> str:
    """A number for a recording and its exports by where they lie, which does not reveal where."""
    return f"{zlib.crc32(os.fsencode(Path(os.path.realpath(recording)).parent / recording.stem)):08x}"


def find_reports(page: Path, given: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Links from a page to the reports on recordings, where these lie beside the page or beside the recording.

    Args:
        given: The recordings, as ``tcprof.sources.registry.find_recordings`` takes them.
        files: The names of those that are wanted.

    Returns:
        A link for each of these; empty where there is no report on it.
    """
    from tcprof.render import is_page_of
    from tcprof.sources.registry import find_recordings

    links, beside = [], find_recordings(given)[0].parent
    for recording in map(beside.joinpath, files):
        places = (folder / f"{recording.stem}.html" for folder in (page.parent, recording.parent))
        origin = origin_of(recording)
        found = next((each for each in places if each.is_file() and is_page_of(each, origin)), None)
        links.append(quote(Path(os.path.relpath(found, page.parent)).as_posix()) if found else "")
    return tuple(links)


def _read_with(given: Path) -> Iterator[Path]:
    """The files that are read for a recording, or for several, and those that are the same recording."""
    from tcprof.sources.registry import SOURCE_TYPES, find_recordings

    yield given
    with suppress(InputError, OSError):  # whoever reads it says what is wrong
        for path in find_recordings(given):
            yield path
            suffixes = (each.suffixes for each in SOURCE_TYPES if path.suffix in each.suffixes)
            yield from (path.with_suffix(suffix) for some in suffixes for suffix in some)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two names lead to one file, or would if there were one."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
