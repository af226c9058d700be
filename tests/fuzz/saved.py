"""Mutations of saved analyses: of their frames and other parts, of the JSON document by value, of the ZIP file.

Those of parts are as in ``parts``, those of the file as in ``damage``.
"""

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from saved_files import Parts, read_parts, table_of, write_parts

from fuzz import damage, odd
from fuzz import parts as frames

ABOUT = "tcprof.json"
DAMAGED = (  # what reading and changing one raises that was damaged before
    *(zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, LookupError, ValueError, TypeError),
    pa.ArrowException,
)


def swap_parts(random: Random, parts: Parts) -> str:
    one, other = random.choices(list(parts), k=2)
    parts[one] = parts[other]
    return f"{one} is {other}"


def damage_part(random: Random, parts: Parts) -> str:
    name = random.choice(list(parts))
    content = bytearray(parts[name])
    low = max(len(content) - 500, 0) if random.random() < 0.5 else 0  # what describes a Parquet file is at its end
    for _ in range(random.choice((1, 1, 4, 30))):
        content[random.randrange(low, len(content))] = random.randrange(256)
    parts[name] = bytes(content)
    return f"bytes of {name}"


def leave_out(random: Random, parts: Parts) -> str:
    name = random.choice(list(parts))
    kind = random.choice(("gone", "empty", "text", "cut", "beside another"))
    content = parts.pop(name)
    if kind != "gone":
        cut = content[: random.randrange(len(content))]
        parts[name] = {"empty": b"", "text": b"hello", "cut": cut}.get(kind, content)
    if kind == "beside another":
        parts[random.choice(("more.parquet", "../../etc/passwd", "", "ranges.parquet/x"))] = b"PAR1"
    return f"{name} is {kind}"


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [each for key, inner in items for each in ((*place, key), *_places(inner, (*place, key)))]


def change_document(random: Random, parts: Parts) -> str:
    document = json.loads(parts[ABOUT])
    places = [place for place in _places(document) if place[0] != "fingerprint" or random.random() < 0.02]
    *around, last = random.choice(places)
    inner: Any = document
    for key in around:
        inner = inner[key]
    kind = random.choice(("value", "value", "value", "gone", "renamed", "number", "text"))
    value = inner[last]
    if kind == "gone" or (kind == "renamed" and isinstance(inner, list)):
        del inner[last]
    elif kind == "renamed":
        inner[f"{last}x"] = inner.pop(last)
    else:
        text = lambda: random.choice((*odd.TEXTS, *odd.NUMERALS))  # noqa: E731
        own = text() if isinstance(value, str) else random.choice((*odd.NUMBERS, *odd.REALS, float("nan"), 10**400))
        any_kind = random.choice((None, True, [], {}, [[]], "", -1, 0.5, text(), {"x": [1]}))
        inner[last] = any_kind if kind == "value" else own
    text = json.dumps(document, ensure_ascii=random.random() < 0.5)
    parts[ABOUT] = text.encode("utf-8", "surrogatepass")
    return f"{'.'.join(map(str, (*around, last)))}: {kind}"


def write_document(random: Random, parts: Parts) -> str:
    kind = random.choice(("spaces", "other order", "UTF-16", "deep", "no JSON", "large", "twice"))
    text = parts[ABOUT].decode("utf-8", "replace")
    parts[ABOUT] = {
        "spaces": lambda: text.replace(":", " :\n").encode() if ": " not in text[200:] else f" {text}\n".encode(),
        "other order": lambda: json.dumps(json.loads(text), sort_keys=True).encode(),
        "UTF-16": lambda: text.encode("utf-16"),
        "deep": lambda: b"[" * 200_000,
        "no JSON": lambda: text[: random.randrange(len(text))].encode(),
        "large": lambda: text.encode() + b" " * (1 << 25),
        "twice": lambda: b'{"format": 7, ' + text.encode()[1:],
    }[kind]()
    return f"the document is in {kind}"


IN_PARTS: tuple[Callable[[Random, Parts], str], ...] = (
    *frames.MUTATIONS,
    swap_parts,
    *(damage_part,) * 2,
    leave_out,
    *(change_document,) * 4,
    write_document,
)


def zip_anew(random: Random, path: Path) -> tuple[Path, str]:
    parts = read_parts(path)
    kind = random.choice(("stored", "deflated", "bzip2", "other order", "a part twice", "a comment", "a folder"))
    names = random.sample(list(parts), len(parts)) if kind == "other order" else list(parts)
    methods = {"deflated": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2}
    write_parts(path, {name: parts[name] for name in names}, methods.get(kind, zipfile.ZIP_STORED))
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        if kind == "a comment":
            archive.comment = random.randbytes(200)
        elif kind == "a folder":
            archive.writestr(zipfile.ZipInfo("folder/"), b"")
        elif kind == "a part twice":
            name = random.choice(names)
            warnings.simplefilter("ignore", UserWarning)  # of this very thing
            archive.writestr(zipfile.ZipInfo(name), parts[random.choice((name, names[-1]))])
    return path, f"zipped anew: {kind}"


def damage_directory(random: Random, path: Path) -> tuple[Path, str]:
    """Sizes, checksums, flags and places of parts, as the ZIP file's directory has them."""
    content = bytearray(path.read_bytes())
    begin = content.rfind(b"PK\x01\x02", 0, len(content)) if random.random() < 0.5 else content.find(b"PK\x01\x02")
    if begin < 0:
        return damage.damage_bytes(random, path)
    place, length = random.choice(((6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4), (46, 1)))
    fill = random.choice((bytes(length), b"\xff" * length, b"\1" + bytes(length - 1), random.randbytes(length)))
    content[begin + place : begin + place + length] = fill
    path.write_bytes(content)
    return path, f"byte {place} of the directory's entry"


def surround(random: Random, path: Path) -> tuple[Path, str]:
    before, after = (random.randbytes(random.choice((0, 1, 5000))) for _ in range(2))
    path.write_bytes(before + path.read_bytes() + after)
    return path, f"{len(before)} bytes before it, {len(after)} after it"


IN_FILE = (
    *(zip_anew,) * 3,
    *(damage_directory,) * 2,
    surround,
    damage.damage_bytes,
    damage.change_length,
    damage.rename,
    damage.link,
)


def mutate(change: Callable[[Random, Parts], str], random: Random, path: Path) -> str:
    parts = read_parts(path)
    words = change(random, parts)
    write_parts(path, parts)
    return words


def holds_the_same(path: Path, original: Path) -> bool:
    """Whether a file has all that a saved analysis has, however it is written: then all commands say the same of it."""
    try:
        one, other = read_parts(path), read_parts(original)
        if json.loads(one[ABOUT]) != json.loads(other[ABOUT]) or one.keys() != other.keys():
            return False
        tables = [(table_of(one[name]), table_of(other[name])) for name in one.keys() - {ABOUT}]
        return all(made.select(given.column_names).cast(given.schema).equals(given) for made, given in tables)
    except DAMAGED:
        return False
