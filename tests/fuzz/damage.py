"""Mutations of the file: encodings, WAL mode, bytes of pages, the header, its length, its name, what lies beside it.

Each takes a random source and the file's path, and gives the path that the file has now, and what was done in words.
"""

import os
import shutil
import sqlite3
from pathlib import Path
from random import Random

from fuzz import odd

NAMES = (
    "with space.sqlite",
    "a?b#c%20d.sqlite",
    f"{odd.MARKUP.replace('/', '')}.sqlite",
    "\x1b[31mred\n.sqlite",
    "caf\udce9.sqlite",  # bytes that are no UTF-8, as Python has them
    "übung 🤷.sqlite",
    "run.db",
    "run",
    "x" * 240 + ".sqlite",
    "'quoted\".sqlite",
)


def encode(random: Random, path: Path) -> tuple[Path, str]:
    encoding, size = random.choice(("UTF-16le", "UTF-16be", "UTF-8")), random.choice((512, 4096, 65536))
    other = path.with_name("encoded")
    source, target = sqlite3.connect(path), sqlite3.connect(other, isolation_level=None)
    source.text_factory = lambda text: text.decode("utf-8", "replace")
    target.execute(f"PRAGMA encoding = '{encoding}'")
    target.execute(f"PRAGMA page_size = {size}")
    target.executescript("\n".join(source.iterdump()))
    source.close()
    target.close()
    other.replace(path)
    return path, f"encoding {encoding}, pages of {size} bytes"


def write_ahead(random: Random, path: Path) -> tuple[Path, str]:
    real = path.resolve()  # beside which the log of a link lies
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    log = real.with_name(f"{real.name}-wal")
    left = random.random() < 0.5
    if left:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE late (x)")
        shutil.copyfile(log, real.with_name("log"))
        shutil.copyfile(real, real.with_name("copy"))
    connection.close()
    if left:
        real.with_name("copy").replace(real)
        real.with_name("log").replace(log)
        if random.random() < 0.3:
            log.write_bytes(log.read_bytes()[: random.randint(0, 5000)])
    return path, "WAL mode" + ", with a log beside it" if left else "WAL mode"


def lay_log(random: Random, path: Path) -> tuple[Path, str]:
    """A log of a copy that was changed, beside a file whose header knows of none."""
    real = path.resolve()
    copy = Path(shutil.copyfile(real, real.with_name("copy")))
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("UPDATE StringIds SET value = 'late'")
    log = copy.with_name("copy-wal").read_bytes()
    connection.close()
    copy.unlink()
    cut = random.choice((0, 100, len(log), len(log), len(log)))
    real.with_name(f"{real.name}-wal").write_bytes(log[:cut])
    return path, f"{cut} bytes of another database's log beside it"


def leave_journal(random: Random, path: Path) -> tuple[Path, str]:
    header = bytes.fromhex("d9d505f920a163d7") if random.random() < 0.7 else b""
    path.with_name(f"{path.name}-journal").write_bytes(header + random.randbytes(1100))
    return path, "a journal beside it"


def damage_bytes(random: Random, path: Path) -> tuple[Path, str]:
    content = bytearray(path.read_bytes())
    number = random.choice((1, 4, 30, 300))
    for _ in range(number if content else 0):
        content[random.randrange(len(content))] = random.randrange(256)
    path.write_bytes(content)
    return path, f"{number} bytes of the file"


def damage_page(random: Random, path: Path) -> tuple[Path, str]:
    content = bytearray(path.read_bytes())
    size = 4096
    pages = len(content) // size
    if pages < 3:
        return damage_bytes(random, path)
    page, other = random.randrange(1, pages), random.randrange(1, pages)
    kind = random.choice(("zeroed", "random", "another's", "header"))
    new = {
        "zeroed": bytes(size),
        "random": random.randbytes(size),
        "another's": content[other * size : (other + 1) * size],
        "header": random.randbytes(12) + content[page * size + 12 : (page + 1) * size],
    }[kind]
    content[page * size : (page + 1) * size] = new
    path.write_bytes(content)
    return path, f"page {page + 1} {kind}"


def damage_header(random: Random, path: Path) -> tuple[Path, str]:
    content = bytearray(path.read_bytes())
    place, length = random.choice(
        ((0, 100), (0, 16), (16, 2), (18, 2), (20, 4), (24, 4), (28, 4), (32, 8), (40, 8), (52, 8), (56, 4), (100, 8))
    )
    fill = random.choice((bytes(length), b"\xff" * length, random.randbytes(length)))
    content[place : place + length] = fill
    path.write_bytes(content)
    return path, f"bytes {place} to {place + length - 1} of the header are {fill[:4].hex()}…"


def change_length(random: Random, path: Path) -> tuple[Path, str]:
    content = path.read_bytes()
    kind = random.choice(("cut", "cut at a page", "empty", "zero", "longer", "magic only"))
    cut = random.randrange(len(content) or 1)
    path.write_bytes(
        {
            "cut": content[:cut],
            "cut at a page": content[: cut // 4096 * 4096],
            "empty": b"",
            "zero": bytes(len(content)),
            "longer": content + random.randbytes(5000),
            "magic only": content[:16],
        }[kind]
    )
    return path, f"the file is {kind}" + (f" ({cut} bytes)" if kind.startswith("cut") else "")


def rename(random: Random, path: Path) -> tuple[Path, str]:
    name = random.choice(NAMES)
    new = path.with_name(name)
    for beside in list(path.parent.glob(f"{path.name}*")):
        ends = beside.name.removeprefix(path.name)
        if len(os.fsencode(name + ends)) < 256:
            beside.replace(path.with_name(name + ends))
    return new, f"the file is {name!r}"


def link(random: Random, path: Path) -> tuple[Path, str]:
    folder = path.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    for beside in list(path.parent.glob(f"{path.name.replace('[', '[[]')}*")):
        beside.replace(folder / beside.name)
    path.symlink_to(folder / path.name)
    return path, "the file is a link"


MUTATIONS = (
    *(encode, write_ahead, lay_log, leave_journal),
    *(damage_bytes,) * 2,
    *(damage_page,) * 2,
    damage_header,
    *(change_length,) * 2,
    *(rename, link),
)
