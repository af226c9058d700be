"""What a command may never do, whatever it reads: each breach of a rule is a symptom."""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import signal
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fuzz.figures import check_row, check_rows, find_impossible
from fuzz.sandbox import MOST_BYTES, Outcome
from tcprof.errors import InputError
from tcprof.frames import SCHEMAS
from tcprof.saved.contents import FRAMES
from tcprof.saved.reading import SavedFile

TEXTS = frozenset(column.name for schema in SCHEMAS for column in schema.columns if column.is_text)
STATUSES = (0, 2, 3)
OF_GATES = (1, 5)  # a condition is met; none is, and one is inconclusive
PYTHON_WARNING = re.compile(r"^\S*?/(?P<file>(?:tcprof|site-packages)/\S+\.py:\d+): (?P<what>\w+Warning)", re.MULTILINE)
NOT_A_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf|NaT)(?![\w.])")
TAG = "fuzz-tag"


@dataclass(frozen=True, order=True)
class Symptom:
    """A breach of a rule: ``what`` is the same for the same defect, ``detail`` of this case."""

    kind: str
    what: str
    detail: str = ""


def fingerprint(folder: Path) -> dict[str, str]:
    """All files below a folder, each with the hash of its content."""
    files = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {
        os.fspath(path.relative_to(folder)): f"link {path.readlink()}"
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def judge(arguments: list[str], outcome: Outcome, before: dict[str, str], after: dict[str, str]) -> list[Symptom]:
    """The symptoms of a command; each kind of defect once."""
    found = [*_judge_end(arguments, outcome), *_judge_files(arguments, outcome, before, after)]
    if outcome.status in (0, *OF_GATES) and not found:
        found += _judge_outputs(arguments, outcome)
    found += _judge_text("the error stream", outcome.err)
    return list({(each.kind, each.what): each for each in found}.values())


def _judge_end(arguments: list[str], outcome: Outcome) -> Iterator[Symptom]:
    if outcome.status in (-signal.SIGXCPU, -signal.SIGKILL):
        yield Symptom("hang", f"{arguments[0]} takes more than 20 s", f"{outcome.cpu_s:.0f} s of CPU time")
    elif outcome.crash:
        kind = "memory" if outcome.crash.startswith("MemoryError") else "traceback"
        yield Symptom(kind, outcome.crash, outcome.message[:300])
    elif outcome.status < 0:
        yield Symptom("killed", f"{arguments[0]} by {signal.Signals(-outcome.status).name}")
    elif outcome.status in OF_GATES and "--fail-if" not in arguments:
        yield Symptom("status", f"{arguments[0]} ends with {outcome.status} without a gate")
    elif outcome.status not in (*STATUSES, *OF_GATES):
        yield Symptom("status", f"{arguments[0]} ends with {outcome.status}", _last_line(outcome.err))
    elif outcome.status not in (0, *OF_GATES) and not outcome.err.strip():
        yield Symptom("status", f"{arguments[0]} ends with {outcome.status} without a word")
    if outcome.peak_bytes > MOST_BYTES:
        yield Symptom("memory", f"{arguments[0]} takes more than 2 GB", f"{outcome.peak_bytes >> 20} MB")
    for match in PYTHON_WARNING.finditer(outcome.err.decode("utf-8", "replace")):
        yield Symptom("warning", f"{match['what']} in {match['file']}")


def _judge_files(
    arguments: list[str], outcome: Outcome, before: dict[str, str], after: dict[str, str]
) -> Iterator[Symptom]:
    """Inputs are as they were, with nothing beside them; what failed left nothing behind."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            what = "left beside" if name not in before else "gone" if name not in after else "changed"
            ends = next((end for end in ("-wal", "-shm", "-journal") if name.endswith(end)), "")
            yield Symptom("input", f"an input's {ends or 'file'} is {what}", f"{arguments[0]}: {name}")
    if outcome.status < 0:
        return  # who is killed cannot clean up
    for path in sorted((outcome.folder / "tmp").rglob("*")):
        yield Symptom("left behind", f"{arguments[0]} leaves temporary files", path.name)
    made = sorted(path.relative_to(outcome.work).as_posix() for path in outcome.work.rglob("*"))
    if outcome.status not in (0, *OF_GATES) and made:
        yield Symptom("left behind", f"{arguments[0]} fails and leaves outputs", ", ".join(made[:5]))
    for name in made:
        if ".tcprof-" in name or name.endswith((".tmp", "-wal", "-shm", "-journal")):
            yield Symptom("left behind", f"{arguments[0]} leaves parts of files", name)


def _judge_outputs(arguments: list[str], outcome: Outcome) -> Iterator[Symptom]:
    """What was printed and written is whole, well formed, escaped, and has no impossible number."""
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "text"
    told = re.search(rb"^warning:", outcome.err, re.MULTILINE) is not None
    where = f"{arguments[0]}"
    if (
        arguments[0] in ("ranges", "kernels", "timeline", "show", "modules", "advise", "compare")
        and outcome.out.strip()
    ):
        printed = "text" if "-o" in arguments and arguments[0] != "compare" else form
        yield from _judge_document(f"{where} {printed}", printed, outcome.out, told)
    else:
        yield from _judge_text(where, outcome.out)
    for path in sorted(outcome.work.rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        kind = {"md": "markdown", "txt": "text", "html": "html", "htm": "html"}.get(path.suffix[1:], path.suffix[1:])
        if path.name.startswith("trace.json"):
            yield from _judge_trace(gzip.decompress(content) if kind == "gz" else content)
        elif kind == "tcprof":
            yield from _judge_saved(path)
        elif kind in ("json", "csv", "markdown", "text", "html"):
            yield from _judge_document(f"{where} {path.name}", kind, content, told)


def _judge_saved(path: Path) -> Iterator[Symptom]:
    try:
        file = SavedFile(path)
        for name in FRAMES:
            file.frame(name)
    except InputError as error:
        yield Symptom("format", f"what was saved is not read: {str(error).rpartition(' read: ')[2]}")


def _judge_document(where: str, kind: str, content: bytes, told: bool) -> Iterator[Symptom]:
    try:
        text = content.decode("utf-8")
        if kind == "json":
            yield from _judge_json(where, text, told)
        elif kind == "csv":
            yield from _judge_csv(where, text, told)
        elif kind == "html":
            yield from _judge_page(where, text)
        elif kind == "junit":
            ElementTree.fromstring(text[text.index("<") : text.rindex(">") + 1])
        else:
            yield from _judge_text(where, content)
            yield from _judge_words(where, text, markup=kind == "markdown")
    except (ValueError, ElementTree.ParseError, csv.Error, RecursionError) as error:
        yield Symptom("format", f"{where} is not well formed: {type(error).__name__}", str(error)[:200])


def _judge_json(where: str, text: str, told: bool) -> Iterator[Symptom]:
    document = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)[0]
    if not told and not _has_faults(document):
        yield from _impossible(where, find_impossible(document))


def _judge_csv(where: str, text: str, told: bool) -> Iterator[Symptom]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    rows = [{name: cell if name in TEXTS else _number(cell) for name, cell in row.items() if name} for row in reader]
    if any(None in row.values() for row in rows):
        yield Symptom("format", f"{where} has rows that are too short")
    if not told:
        problems = [problem for row in rows for problem in check_row(row, "rows")]
        yield from _impossible(where, [*problems, *check_rows(rows, "rows")])


def _judge_trace(content: bytes) -> Iterator[Symptom]:
    for event in json.loads(content, parse_constant=_refuse)["traceEvents"]:
        if event.get("dur", 0) < 0:
            yield Symptom("number", "trace: an event of negative duration", json.dumps(event)[:200])


def _judge_page(where: str, text: str) -> Iterator[Symptom]:
    page = _Page()
    page.feed(text)
    if page.hostile:
        yield Symptom("markup", f"{where}: a name became a tag", page.hostile)
    if not text.rstrip().endswith("</html>"):
        yield Symptom("format", f"{where} does not end", text[-100:])


def _judge_text(where: str, content: bytes) -> Iterator[Symptom]:
    """No control characters but line breaks."""
    for character in set(content.decode("utf-8", "replace")) - {"\n"}:
        if unicodedata.category(character) == "Cc":
            yield Symptom("control", f"{where}: U+{ord(character):04X}")


def _judge_words(where: str, text: str, markup: bool) -> Iterator[Symptom]:
    if match := NOT_A_NUMBER.search(text):
        yield Symptom("number", f"{where}: {match[0]}", text[max(0, match.start() - 60) : match.end() + 20])
    if markup and re.search(rf"(?<![\\`])<{TAG}", text):
        yield Symptom("markup", f"{where}: a name is not escaped")


def _impossible(where: str, problems: Iterable[str]) -> Iterator[Symptom]:
    for problem in problems:
        what, _, figures = problem.partition(" (")
        yield Symptom("number", f"{where}, {what}", figures.rstrip(")"))


def _has_faults(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("faults"))


def _number(cell: str | None) -> Any:
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return cell


def _refuse(token: str) -> None:
    raise ValueError(f"{token} is not JSON")


def _last_line(text: bytes) -> str:
    return (text.decode("utf-8", "replace").strip().splitlines() or [""])[-1]


class _Page(HTMLParser):
    """Looks for tags that only a name can have brought."""

    hostile = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        links = any(name == "href" and (value or "").strip().startswith("javascript:") for name, value in attrs)
        if tag == TAG or links:
            self.hostile = self.get_starttag_text() or tag
