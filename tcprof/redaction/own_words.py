"""Tell which texts are words of nsys, CUPTI and NVIDIA's products, by a list of these."""

import re
import sqlite3
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files

from tcprof.identity import alias_of, plain_fact
from tcprof.nsys.opening import decode
from tcprof.nsys.schema import MESSAGE_SIZE, parse_message_size
from tcprof.redaction.gpu_names import is_gpu_name

_LONGEST = 100
_MOST_DIGITS = 8  # "cudaLaunchKernel_v7000", "0x90 (GR Active)": no number of a card, a telephone or a person
_MOST_LETTERS = 3  # alone, as in "L1 to L2 [B]": hexadecimal numbers have more
_JSON_LONGEST = 50_000
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CHARACTERS = re.compile(r"[A-Za-z0-9 _()\[\]<>%+/:.,|-]*")
_JSON_CHARACTERS = re.compile(r"[A-Za-z0-9\s_()\[\]<>%+/:.,|\\\"{}-]*")
# A program's name is its user's own words: these and nsys's are what anybody calls one.
_PROGRAM = r"(?!.*\d{5})(?!(?:.*\d){9})(?:[A-Za-z]{1,20}|\d{1,4}[a-z]?)(?:[_.-]?(?:[A-Za-z]{1,20}|\d{1,4}[a-z]?)){0,7}"
_DIGIT = re.compile(r"\d")
IPV4 = r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\.?\w)"
_ADDRESS = re.compile(IPV4)


def is_own(text: str) -> bool:
    """Tell whether a text is short, has few digits, and is made of words that nsys, CUPTI or NVIDIA's products have."""
    if len(text) > _LONGEST or not _CHARACTERS.fullmatch(text) or len(_DIGIT.findall(text)) > _MOST_DIGITS:
        return False
    return sum(len(word) == 1 for word in _WORD.findall(text)) <= _MOST_LETTERS and _has_own_words(text)


def is_theirs(text: str) -> bool:
    """Tell whether a text is made of such words, or the name of a GPU."""
    return is_own(text) or is_gpu_name(text)


def copied_fact(name: str, value: str) -> str:
    """Return a run's fact as a copy has it: an alias of a program whose name is not made of usual words."""
    if name != "program" or re.fullmatch("[0-9a-f]{16}", value):
        return plain_fact(name, value)
    words = {word.lower() for word in _WORD.findall(value)}
    is_usual = re.fullmatch(_PROGRAM, value) is not None and words <= _read_words() | _read_words("program_words.txt")
    return value if is_usual else alias_of("program", value)


def copied_payload(payload: str) -> str:
    """Return a payload of NVTX as a copy has it: with the size of NCCL's message alone."""
    size = parse_message_size(payload)
    return "" if size is None else f'{{"{MESSAGE_SIZE}":{size}}}'


def is_own_json(text: str) -> bool:
    """Tell whether a text is JSON of such words and of numbers, as nsys 2022 wrote samples."""
    return len(text) <= _JSON_LONGEST and _JSON_CHARACTERS.fullmatch(text) is not None and _has_own_words(text)


def _fits(text: str, pattern: str) -> bool:
    return re.fullmatch(pattern, text) is not None and not _ADDRESS.search(text)


def _has_own_words(text: str) -> bool:
    return not _ADDRESS.search(text) and {word.lower() for word in _WORD.findall(text)} <= _read_words()


@cache
def _read_words(name: str = "own_words.txt") -> frozenset[str]:
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def set_functions(connection: sqlite3.Connection) -> None:
    """Give a connection the functions by which texts are chosen; they take bytes, since text may be no UTF-8."""
    functions: dict[str, tuple[int, Callable[..., bool]]] = {
        "fits": (2, lambda value, pattern: _fits(decode(value), pattern)),
        "is_gpu_name": (1, lambda value: is_gpu_name(decode(value))),
        "is_own": (1, lambda value: is_own(decode(value))),
        "is_own_json": (1, lambda value: is_own_json(decode(value))),
    }
    connection.create_function(
        "copied_payload", 1, lambda value: value if value is None else copied_payload(decode(value))
    )
    connection.create_function("copied_fact", 2, lambda name, value: value and copied_fact(decode(name), value))
    for name, (arguments, function) in functions.items():
        connection.create_function(name, arguments, partial(_of_bytes, function), deterministic=True)


def _of_bytes(function: Callable[..., bool], value: bytes | None, *arguments: str) -> bool | None:
    return None if value is None else function(value, *arguments)
