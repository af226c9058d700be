"""Gather what an export reveals of the machine and its people: by kind, the texts that no copy may have."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Select, Table, Text, select, type_coerce
from sqlalchemy.sql.elements import ColumnElement

from tcprof.nsys import schema
from tcprof.nsys.opening import decode
from tcprof.redaction.allowed import KNOWN_TABLES, SETTINGS_TABLES, is_kept, left_out, own_words
from tcprof.redaction.own_words import IPV4, is_theirs


class Kind(StrEnum):
    """Kinds of what a redaction leaves out; the value names the kind in the plural."""

    ENVIRONMENT = "environment variables"
    COMMANDS = "commands and arguments"
    NAMES = "host and user names"
    PATHS = "paths"
    PROCESSES = "process names"
    THREADS = "thread names"
    OUTPUT = "lines of captured output"
    HARDWARE = "serial numbers and bus locations"
    MESSAGES = "parts of nsys's messages"
    SETTINGS = "machine settings and details"
    TEXTS = "other texts"
    ROWS = "other rows"


# A setting's kind by its name. "PROCESS_0:COMMAND" and "DeviceEnvironment" are examples.
_KEYS = (
    (Kind.ENVIRONMENT, re.compile(r"environ|:env", re.IGNORECASE)),
    (Kind.COMMANDS, re.compile(r":(?:command|arg)", re.IGNORECASE)),
    (Kind.NAMES, re.compile(r"host_?name|display_name|user_?name|export_(?:host|user)$", re.IGNORECASE)),
    (Kind.PATHS, re.compile(r"(?:dir|path|file)(?:_abs)?$", re.IGNORECASE)),
)
_ONE_VARIABLE = re.compile(r"ENVIRONMENT_VARIABLE$")
_BETWEEN_VARIABLES = re.compile(r"\0|;(?=[A-Za-z_]\w*=)")
_NAMING_VARIABLES = {"USER", "USERNAME", "LOGNAME", "SUDO_USER", "HOST", "HOSTNAME", "SLURMD_NODENAME"}
_PATH = re.compile(r"(?<!\w)(?:/[\w.@%+~-]+){2,}")
_FOLDER = re.compile(r"[/\\]*[^/\\]+[/\\].*(?=[/\\])")  # two names at least
_OWNER = re.compile(r"[/\\](?:home|Users)[/\\]([\w.-]+)")
_BETWEEN_WORDS = re.compile(r"[\s\"'()<>\[\]{}]+")
_BETWEEN_PIECES = re.compile(r"[:;,=@&?|]+")
_VALUE = re.compile(r"^[^=,;]*=([^=,;:]+)$|:([^:@/]+)@")  # --password=sesame, https://bob:sesame@host
_NUMBER = re.compile(r"[\d\s.,:;x+-]*")
# Columns of the numbers of strings: names of threads, and what processes wrote.
THREAD_NAMES, OUTPUTS = ("ThreadNames", "nameId"), ("ProcessStreams", "contentId")
PRIVATE_TABLES = KNOWN_TABLES | {THREAD_NAMES[0], OUTPUTS[0]}  # of what is private, or of what is not
_SHORTEST = 6
_SHORTEST_NAME = 4
_WORD = re.compile(r"[^\W_]+")
_WORD_ONLY = 12  # a text shorter than this is found as a whole word only
# Words that are on every machine or in every message of nsys, and reveal nothing about one.
_COMMON = re.compile(
    r"python[\d.]*|local(?:host)?|root|users?|admin|nobody|host|home|node|worker|master|main|test|name|data|trace|"
    r"docker|container|ubuntu|debian|linux|windows|nvidia|nsight-systems|default|unknown|redacted|noninteractive|"
    r"compute|utility|graphics|driver|device|process|program|profil(?:er|ing)|session|system|memory|kernel|events|"
    r"samples|threads?|librar(?:y|ies)|https|xterm[\w-]*|\w\w?(?:_\w\w)?\.(?:UTF-8|utf8)",
    re.IGNORECASE,
)
# What is private by its form, and a quick sign that texts may hold it.
_PATTERNS = (
    ("a path in a home folder", r"(?<!\w)(?:[A-Za-z]:)?[/\\](?:home|Users|root)[/\\]\w[^\s\"']*", "home|Users|root"),
    ("an e-mail address", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+", "@"),
    ("an IPv4 address", IPV4, r"\d\.\d{1,3}\.\d"),
)
# Columns of texts that no copy has, but for the strings.
_TEXT_COLUMNS = (
    ("PROCESSES", "name", Kind.PROCESSES),
    (schema.GPUS.name, "uuid", Kind.HARDWARE),
    (schema.CUDA_DEVICES.name, "uuid", Kind.HARDWARE),
)


@dataclass(frozen=True)
class PrivateMatch:
    """A text that holds something private."""

    text: str  # the text
    part: str  # what of it is private
    reason: str  # why: "a text of the environment variables", "an IPv4 address"


@dataclass(frozen=True)
class PrivateTexts:
    """Texts to search for, each with the kind of its first occurrence."""

    kinds: dict[str, Kind]

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        """Map each text to the words that occur in every text in which it can be found."""
        return {text: set(_WORD.findall(text if len(text) < _WORD_ONLY else _inner(text))) for text in self.kinds}

    def rule(self, texts: Iterable[str]) -> re.Pattern[str]:
        """Compile an expression that finds everything private in these texts; other texts may hold more."""
        some = list(texts)
        whole = "\0".join(some)
        words: set[str] = set()  # looking them up first spares most searches through all texts
        for text in some:
            words.update(_WORD.findall(text))  # text by text: a list of all words takes ten times as much as the texts
        occurring = [text for text, its_words in self._words.items() if its_words <= words and text in whole]
        occurring.sort(key=len, reverse=True)
        forms = (form for _, form, sign in _PATTERNS if re.search(sign, whole))
        return re.compile("|".join([*map(_expression, occurring), *forms]) or "(?!)")

    def search(self, texts: list[str]) -> list[PrivateMatch]:
        """List those texts that hold something private."""
        rule = self.rule(texts)
        matches = ((text, rule.search(text)) for text in texts)
        return [PrivateMatch(text, match[0], self._reason(match[0])) for text, match in matches if match]

    def _reason(self, part: str) -> str:
        if part in self.kinds:
            return f"a text of the {self.kinds[part]}"
        return next(words for words, form, _ in _PATTERNS if re.match(form, part))


def kind_of(name: str, value: str) -> Kind:
    """Classify a setting."""
    if not value:
        return Kind.SETTINGS
    named = next((kind for kind, key in _KEYS if key.search(name)), Kind.SETTINGS)
    return Kind.PATHS if named is Kind.SETTINGS and is_path(value) else named


def is_path(text: str) -> bool:
    """Tell whether a text is an absolute path, of Linux or of Windows."""
    return re.match(r"/\w|[A-Za-z]:[\\/]|\\\\\w", text) is not None


def variables(name: str, value: str) -> list[str]:
    """Split a text that holds an environment into NAME=VALUE; ``name`` is the setting's, empty for a string."""
    if _ONE_VARIABLE.search(name):
        return [value]
    return [entry for entry in _BETWEEN_VARIABLES.split(value) if entry]


def settings_in(connection: Connection, table: Table, *which: ColumnElement[bool]) -> list[tuple[str, str]]:
    """Read names with values: the rows of one of ``SETTINGS_TABLES``, or those of them that fulfil conditions."""
    rows = connection.execute(select(_text(table.c.name), _text(table.c.value)).where(*which))
    return [(as_text(name or ""), as_text(value or "")) for name, value in rows]


def strings_in(connection: Connection, tables: dict[str, Table]) -> list[tuple[int, str, bool]]:
    """Read the strings of an export: number, text, and whether no copy has it."""
    if not is_kept(schema.STRINGS.name, tables):
        return []
    strings = tables[schema.STRINGS.name]
    rows = connection.execute(select(strings.c.id, _text(strings.c.value), left_out(strings, tables)))
    return [(number, as_text(value), bool(is_left_out)) for number, value, is_left_out in rows if value]


def numbers_in(connection: Connection, tables: dict[str, Table], table: str, column: str) -> set[int]:
    """Read the distinct numbers in a column, such as ``THREAD_NAMES`` of strings; none where the export lacks it."""
    if table not in tables or column not in tables[table].c:
        return set()
    return set(connection.scalars(select(tables[table].c[column]).distinct()))


def gather_private(connection: Connection, tables: dict[str, Table]) -> PrivateTexts:
    """Gather the texts of an export that would reveal something about the machine if a copy had them.

    Environment variables, commands and their arguments are searched for as a whole and in pieces, paths by their
    folder. Short texts, numbers and common words are left out, and so is what nsys and the driver write themselves.
    """
    kinds: dict[str, Kind] = {}
    for kind, text in _texts_with_parts(connection, tables):
        if _is_telling(kind, text):
            kinds.setdefault(text, kind)
    statements = own_words(tables) if kinds else ()  # some fifty, which take longest
    words = "\n".join(text for statement in statements for text in texts_of(connection, statement) if is_theirs(text))
    return PrivateTexts({text: kind for text, kind in kinds.items() if text not in words})


def texts_of(connection: Connection, statement: Select[Any]) -> list[str]:
    """Read the texts, without empty ones, that a statement with one column gives."""
    return [as_text(value) for value in connection.scalars(statement) if value]


def as_text(value: Any) -> str:
    """Turn a value of a column of texts into text, bytes included."""
    return decode(value) if isinstance(value, bytes) else str(value)


def _text(column: ColumnElement[Any]) -> ColumnElement[str]:
    return type_coerce(column, Text)


def _texts_with_parts(connection: Connection, tables: dict[str, Table]) -> Iterator[tuple[Kind, str]]:
    """Yield an export's texts, as a whole and in the parts that reveal something too."""
    for kind, text in _texts(connection, tables):
        if kind is not Kind.PATHS:
            yield kind, text.strip()
        if kind in (Kind.ENVIRONMENT, Kind.COMMANDS):
            yield from ((kind, piece) for piece in _pieces(text))
        if kind is Kind.NAMES:
            yield kind, text.partition(".")[0]  # of a host with its domain
        for path in [text.strip()] if is_path(text) else _PATH.findall(text):
            folder = _FOLDER.match(path)  # other files in it reveal the same
            yield Kind.PATHS, folder[0] if folder else path
        yield from ((Kind.NAMES, owner) for owner in _OWNER.findall(text))


def _texts(connection: Connection, tables: dict[str, Table]) -> Iterator[tuple[Kind, str]]:
    for table in (tables[table.name] for table in SETTINGS_TABLES if is_kept(table.name, tables)):
        for name, value in settings_in(connection, table):
            yield from _of_setting(name, value)
    for name, column, kind in _TEXT_COLUMNS:
        if name in tables and column in tables[name].c:
            texts = texts_of(connection, select(_text(tables[name].c[column])).distinct())
            yield from ((kind, text) for text in texts)
    threads = numbers_in(connection, tables, *THREAD_NAMES)
    for number, text, is_left_out in strings_in(connection, tables):
        if "\0" in text:
            yield from _of_setting("environment", text)
        elif number in threads:
            yield Kind.THREADS, text
        elif is_left_out and is_path(text):  # a name may look like a path: /encoder/layer1
            yield Kind.PATHS, text


def _of_setting(name: str, value: str) -> Iterator[tuple[Kind, str]]:
    kind = kind_of(name, value)
    if kind is Kind.ENVIRONMENT:
        for entry in variables(name, value):
            variable, _, text = entry.partition("=")
            yield Kind.NAMES if variable in _NAMING_VARIABLES else kind, text.strip('"')
    elif kind is not Kind.SETTINGS:
        yield kind, value


def _pieces(text: str) -> Iterator[str]:
    """Yield the words of a text and their parts; of those that are letters only what is a value or a password."""
    for word in _BETWEEN_WORDS.split(text):
        parts = (word, *_BETWEEN_PIECES.split(word))
        yield from (part.removeprefix("//") for part in parts if not part.isalpha())
        yield from (secret[1] or secret[2] for secret in _VALUE.finditer(word))


def _is_telling(kind: Kind, text: str) -> bool:
    """Tell whether finding a text elsewhere reveals something: it is not short, no number and no common word."""
    shortest = _SHORTEST_NAME if kind is Kind.NAMES else _SHORTEST
    return len(text) >= shortest and not _NUMBER.fullmatch(text) and not _COMMON.fullmatch(text)


def _inner(text: str) -> str:
    """Cut what may be part of a longer word off both ends of a text."""
    return re.sub(r"^[^\W_]+|[^\W_]+$", "", text)


def _expression(text: str) -> str:
    """Write an expression for a text; for a short one as a whole word, so that "mark" is not in "benchmark"."""
    if len(text) >= _WORD_ONLY:
        return re.escape(text)
    before = r"(?<![^\W_])" if text[0].isalnum() else ""
    after = r"(?![^\W_])" if text[-1].isalnum() else ""
    return before + re.escape(text) + after
