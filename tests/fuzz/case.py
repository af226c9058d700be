"""A case: an original, its mutations and a command, all chosen by a seed and a number."""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz import contents, damage, deletions, recording, saved, structure, traces

IN_DATABASE = (contents.MUTATIONS, structure.MUTATIONS, recording.MUTATIONS, deletions.MUTATIONS)
FORMATS = ("text", "json", "csv", "markdown", "junit")
Mutation = Callable[[Random, sqlite3.Connection], str]
Mutated = tuple[Path, list[str]]  # where the file is, and what was done


@dataclass(frozen=True)
class Case:
    path: Path  # the file that was mutated; whatever else the case reads lies in the same folder
    mutations: list[str]  # what was done, in words
    arguments: list[str]  # the command
    original: Path  # what was mutated


def make_case(seed: int, number: int, originals: list[Path], folder: Path, only: set[int] | None = None) -> Case:
    """Make a case's files in a folder, by all of its mutations or only those of the given numbers, from 0."""
    random = Random(f"{seed}:{number}")
    original = random.choice(originals)
    path = folder / f"run{original.suffix}"
    shutil.copyfile(original, path)
    mutate = {".tcprof": _mutate_saved, ".json": _mutate_trace}.get(original.suffix, _mutate_export)
    path, words = mutate(f"{seed}:{number}", random, path, only)
    words = [f"saved {original.stem}" if original.suffix == ".tcprof" else original.stem, *words]
    return Case(path, words, choose_command(random, path, original), original)


def _mutate_export(case: str, random: Random, path: Path, only: set[int] | None) -> Mutated:
    """Mutations of the database, then those of its file."""
    in_database, in_file = _choose(random)
    words = []
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA legacy_alter_table = ON")
    for place, change in enumerate(in_database):
        if only is None or place in only:
            words.append(_apply(change, Random(f"{case}:{place}"), connection))
    connection.close()
    for place, damaged in enumerate(in_file, len(in_database)):
        if only is None or place in only:
            try:
                path, done = damaged(Random(f"{case}:{place}"), path)
                words.append(done)
            except (sqlite3.Error, UnicodeError, OSError) as error:  # damaged before, or a link to itself
                words.append(f"{damaged.__name__}: {error}")
    return path, words


def _mutate_saved(case: str, random: Random, path: Path, only: set[int] | None) -> Mutated:
    """Up to three mutations of a saved analysis: first those of its parts, then those of its file."""
    count = random.choice((1, 1, 1, 2, 3))
    in_file = sum(random.random() < 0.2 for _ in range(count))
    chosen = [random.choice(saved.IN_PARTS) for _ in range(count - in_file)]
    damages = [random.choice(saved.IN_FILE) for _ in range(in_file)]
    words = []
    for place, change in enumerate([*chosen, *damages]):
        own = Random(f"{case}:{place}")
        if only is not None and place not in only:
            continue
        try:
            if place < len(chosen):
                words.append(saved.mutate(change, own, path))
            else:
                path, done = change(own, path)
                words.append(done)
        except saved.DAMAGED as error:
            words.append(f"{change.__name__}: {type(error).__name__}")  # damaged before
    return path, words


def _mutate_trace(case: str, random: Random, path: Path, only: set[int] | None) -> Mutated:
    """Up to three mutations of a trace: first of its events, then of its text."""
    chosen = [random.choice(traces.MUTATIONS) for _ in range(random.choice((1, 1, 2, 3)))]
    chosen += [random.choice(traces.IN_FILE)] * (random.random() < 0.3)
    kept = [(place, change) for place, change in enumerate(chosen) if only is None or place in only]
    return path, [change(Random(f"{case}:{place}"), path) for place, change in kept]


def _choose(random: Random) -> tuple[list[Mutation], list[Callable[..., tuple[Path, str]]]]:
    """One to four mutations: first those of the database, then those of its file."""
    number = random.choice((1, 1, 2, 2, 3, 4))
    in_file = sum(random.random() < 0.2 for _ in range(number))
    database = [random.choice(random.choice(IN_DATABASE)) for _ in range(number - in_file)]
    return database, [random.choice(damage.MUTATIONS) for _ in range(in_file)]


def _apply(change: Mutation, random: Random, connection: sqlite3.Connection) -> str:
    """Change the database in one transaction, which an earlier mutation may make impossible."""
    try:
        connection.execute("BEGIN")
        done = change(random, connection)
        connection.execute("COMMIT")
    except (sqlite3.Error, IndexError, OverflowError, UnicodeError) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return f"{change.__name__}: {error}"
    return done


def choose_command(random: Random, path: Path, original: Path) -> list[str]:
    """A command with options, which runs in a folder of its own."""
    run = str(path)
    tables = ("ranges", "ranges", "kernels", "timeline", "show", "modules", "advise")
    command = random.choice((*tables, "report", "compare", "export", "trace", "save", "redact", "redact"))
    form = ["--format", random.choice(FORMATS[:-1])] if random.random() < 0.8 else []
    window = ["--window", random.choice(("gpu", "host", "busy"))] if random.random() < 0.5 else []
    warm = ["--warm-up", random.choice(("all", "0", "2"))] if random.random() < 0.3 else []
    if original.suffix == ".tcprof" and random.random() < 0.9:
        window, warm = [], []  # which need the recording
    if command == "save":
        return [command, run, "-o", "run.tcprof", *window, *warm]
    if command == "report":
        return [command, run, "-o", "page.html", *window, *warm, "--plotlyjs", "cdn"]
    if command == "export":
        return [command, run, "-o", "frames", "--format", random.choice(("csv", "csv", "parquet")), *window, *warm]
    if command == "trace":
        return ["export", run, "--chrome-trace", random.choice(("trace.json", "trace.json.gz")), *window]
    if command == "redact":
        return [command, run, "-o", "copy.sqlite"]
    if command == "compare":
        return _choose_comparison(random, run, original, [*window, *warm])
    own = {
        "ranges": (
            (),
            window,
            ("--depth", "1"),
            ("--gpu", "0"),
            ("--filter", "step"),
            ("--kernels",),
            ("--no-kernels",),
        ),
        "kernels": ((), ("--by", "path"), ("--limit", "0"), ("--gpu", "0"), ("--filter", "gemm")),
        "timeline": ((), ("--depth", "2"), ("--step", "step"), ("--gpu", "0")),
        "show": ((), window, ("--limit", "3")),
        "modules": ((), ("--depth", "2"), ("--gpu", "0")),
        "advise": ((),),
    }[command]
    out = ["-o", f"out.{random.choice(('json', 'csv', 'md', 'txt'))}"] if not form and random.random() < 0.7 else []
    return [command, run, *form, *random.choice(own), *warm, *out]


def _choose_comparison(random: Random, run: str, original: Path, options: list[str]) -> list[str]:
    """The mutated file against its original, or the other way round."""
    sides = random.choice(([run, str(original)], [str(original), run]))
    form = random.choice(FORMATS)
    gate = ["--fail-if", random.choice(("time > +5%", "tensor_active < 30", "kernel_time > +0%"))]
    gated = gate if form == "junit" or random.random() < 0.3 else []
    page = ["-o", "page.html", "--plotlyjs", "cdn"] if random.random() < 0.4 else []
    more = random.choice(([], ["--force"], ["--limit", "0"], ["--strict"], ["--depth", "1"]))
    return ["compare", *sides, "--format", form, *gated, *page, *more, *options]
