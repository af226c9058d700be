"""Reads a trace event by event, so that it need not fit into memory."""

import codecs
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from io import BufferedReader
from pathlib import Path
from typing import Any

from tcprof.errors import InputError
from tcprof.sources.kineto import GZIP_MAGIC
from tcprof.sources.remedies import COPY_TRACE_AGAIN as AGAIN

EVENTS = "traceEvents"
_CHUNK = 1 << 23  # characters that are read at a time
_LONGEST = 1 << 26  # characters of one event: a real one has some hundred
_NUMBER = 32  # characters that may follow the beginning of a number
_SPACE = re.compile(r"[\s,:]*")
# An escape of JSON, which is kept, or else a single backslash, as PyTorch writes those of Windows paths.
_BACKSLASH = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_CUT = re.compile(r"\\+[^\\]{0,4}\Z")  # an escape that may go on in the next chunk


class JsonStream:
    """Reads the members of a trace's outermost object; those of ``traceEvents`` one after the other.

    Raises:
        InputError: While it is read: it is no JSON, or cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = {}  # the other members, of which some come last
        # Decimals are exact: microseconds since 1970 with a fraction are more than a double can hold.
        self._decoder, self._lenient = (json.JSONDecoder(parse_float=_exact, strict=strict) for strict in (True, False))
        self.repaired: Counter[str] = Counter()  # what is not as JSON has it and was read all the same
        self._repairs, self._held = False, ""  # whether single backslashes are doubled, and what waits for its end
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")  # of which one may go on in the next chunk
        self._text, self._at = "", 0

    def events(self) -> Iterator[Any]:
        """Yield the events, and fill ``about`` on the way."""
        try:
            with self.path.open("rb") as plain:
                is_packed = plain.read(len(GZIP_MAGIC)) == GZIP_MAGIC
                plain.seek(0)
                if is_packed:
                    with gzip.open(plain) as packed:
                        yield from self._members(packed)  # type: ignore[arg-type]
                else:
                    yield from self._members(plain)
        except (EOFError, zlib.error) as error:
            raise InputError(f"{self.path} is cut off or damaged.", AGAIN) from error
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}.", AGAIN) from error
        except RecursionError as error:
            raise InputError(f"{self.path} is damaged: it nests values too deeply.", AGAIN) from error

    def _members(self, file: BufferedReader) -> Iterator[Any]:
        if self._peek(file) != "{":
            raise InputError(f"{self.path} is not a trace of torch.profiler or JAX.", AGAIN)
        self._at += 1
        while self._peek(file) != "}":
            name = self._value(file)
            if name == EVENTS and self._peek(file) == "[":
                self._at += 1
                while self._peek(file) != "]":
                    yield self._value(file)
                self._at += 1
            else:
                self.about[str(name)] = self._value(file)

    def _peek(self, file: BufferedReader) -> str:
        """Return the next character that begins or ends something."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(file):
                raise InputError(f"{self.path} is cut off.", AGAIN)

    def _value(self, file: BufferedReader) -> Any:
        self._peek(file)
        decoder = self._decoder
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except ValueError as error:  # of one that goes on in the next chunk, too
                message = str(error)
                if message.startswith("Invalid control character") and decoder is self._decoder:
                    decoder = self._lenient
                    self.repaired["control characters"] += 1
                    continue
                if not self._repairs and message.startswith(("Invalid \\escape", "Invalid \\u")):
                    self._repairs = True
                    self._text, self._at = self._double_backslashes(self._text[self._at :]), 0
                    continue
                is_long = len(self._text) - self._at > _LONGEST
                if is_long or not self._read(file):
                    raise InputError(f"{self.path} is cut off or damaged: {error}.", AGAIN) from error
                continue
            began, is_number = self._at, isinstance(value, int | float | Decimal)
            if is_number and len(self._text) - end < _NUMBER and self._read(file):  # it may go on in the next chunk
                continue
            self._at += end - began
            return value

    def _read(self, file: BufferedReader) -> bool:
        chunk = file.read(_CHUNK)
        text = self._characters.decode(chunk)
        if "\ufffd" in text:
            self.repaired["bytes that are not UTF-8"] += text.count("\ufffd") - chunk.count("\ufffd".encode())
        is_last = not chunk and not self._held
        self._text = self._text[self._at :] + (self._double_backslashes(text, not chunk) if self._repairs else text)
        self._at = 0
        return not is_last

    def _double_backslashes(self, text: str, is_whole: bool = False) -> str:
        """Double each single backslash; an escape at the end may go on in the next chunk."""
        text, self._held = self._held + text, ""
        if not is_whole and (cut := _CUT.search(text)):
            text, self._held = text[: cut.start()], text[cut.start() :]

        def double(match: re.Match[str]) -> str:
            self.repaired["single backslashes"] += len(match[0]) == 1
            return match[0] if len(match[0]) > 1 else "\\\\"

        return _BACKSLASH.sub(double, text)


def _exact(text: str) -> float | Decimal:
    return float(text) if "e" in text or "E" in text else Decimal(text)
