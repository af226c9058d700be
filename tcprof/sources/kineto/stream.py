"""Reads a trace event by event, so that it need not fit into memory."""

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from tcprof.errors import InputError
from tcprof.sources.kineto import GZIP_MAGIC

EVENTS = "traceEvents"
_CHUNK = 1 << 23  # characters that are read at a time
_LONGEST = 1 << 26  # characters of one event: a real one has some hundred
_NUMBER = 32  # characters that may follow the beginning of a number
_SPACE = re.compile(r"[\s,:]*")
AGAIN = "Write the trace again with export_chrome_trace, and copy the whole file."


class JsonStream:
    """The members of a trace's outermost object; those of ``traceEvents`` one after the other.

    Raises:
        InputError: While it is read: it is no JSON, or cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = {}  # the other members, of which some come last
        self._decoder = json.JSONDecoder()
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")  # of which one may go on in the next chunk
        self._text, self._at = "", 0

    def events(self) -> Iterator[Any]:
        """The events, and ``about`` on the way."""
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
        """The next character that begins or ends something."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(file):
                raise InputError(f"{self.path} is cut off.", AGAIN)

    def _value(self, file: BufferedReader) -> Any:
        self._peek(file)
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except ValueError as error:  # of one that goes on in the next chunk, too
                is_long = len(self._text) - self._at > _LONGEST
                if is_long or not self._read(file):
                    raise InputError(f"{self.path} is cut off or damaged: {error}.", AGAIN) from error
                continue
            began, is_number = self._at, isinstance(value, int | float)
            if is_number and len(self._text) - end < _NUMBER and self._read(file):  # it may go on in the next chunk
                continue
            self._at += end - began
            return value

    def _read(self, file: BufferedReader) -> bool:
        chunk = file.read(_CHUNK)
        self._text = self._text[self._at :] + self._characters.decode(chunk)
        self._at = 0
        return bool(chunk)
