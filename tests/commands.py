"""What tests of commands take: the fixtures ``run`` and ``golden`` of conftest.py."""

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Outcome]
Golden = Callable[[str, str], None]
# What the JSON of a recording begins with.
FIRST_KEYS = ("tcprof", "kind", "recording", "first_lines", "step_summary", "verdict", "checks")
