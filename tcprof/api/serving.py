"""Serves agents over the standard streams."""

import io
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tcprof.api.agents import make_server
from tcprof.untrusted import without_surrogates


class _Requests(io.BufferedIOBase):
    """Standard input, whose lines the SDK can all parse: it never answers JSON that has a lone surrogate.

    What else reads standard input, such as a child process, finds nothing.
    """

    def __init__(self) -> None:
        self._lines = os.fdopen(os.dup(0), "rb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def readable(self) -> bool:
        return True

    def read1(self, _size: int = -1) -> bytes:
        line = self._lines.readline()
        if not re.search(rb"\\u[dD][89a-fA-F]", line):
            return line
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return line
        return without_surrogates(json.dumps(request, ensure_ascii=False)).encode() + b"\n"


def serve(roots: Sequence[Path]) -> None:
    """Answer an agent over the standard streams, until it closes them; see ``make_server``."""
    server = make_server(roots)
    sys.stdin = io.TextIOWrapper(_Requests())
    server.run("stdio")
