"""A recording that is replaced while a command reads it: its answer is of one content, or it refuses."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from fuzz.judge import Symptom
from fuzz.sandbox import PACKAGE, Outcome, run_command

MOST_CALLS = 20_000


@dataclass(frozen=True)
class Replacement:
    """What takes a file's place."""

    path: Path  # the file that is replaced
    other: Path  # what replaces it
    calls: int  # the number of calls within tcprof after which it does
    in_place: bool  # whether its bytes are written over instead of another file renamed over it

    def __str__(self) -> str:
        how = "written over" if self.in_place else "replaced"
        return f"{how} by {self.other.stem} after {self.calls} calls"

    def begin(self) -> None:
        """Count this process's calls from now on; the last of them replaces the file."""
        left = self.calls

        def count(frame: FrameType, event: str, _: Any) -> None:
            nonlocal left
            if event == "call" and PACKAGE in frame.f_code.co_filename:
                left -= 1
                if left == 0:
                    sys.setprofile(None)
                    self.replace()

        sys.setprofile(count)

    def replace(self) -> None:
        """Do it at once."""
        if self.in_place:
            shutil.copyfile(self.other, self.path)
        else:
            new = self.path.parent.parent / "new"
            shutil.copyfile(self.other, new).replace(self.path)


def choose_replacement(random: Random, path: Path, original: Path, originals: list[Path]) -> Replacement:
    """What the file was made of, which has the same tables, or another original of its kind; early or late."""
    others = [each for each in originals if each.suffix == original.suffix]
    other = original if random.random() < 0.5 else random.choice(others)
    return Replacement(path, other, int(MOST_CALLS ** random.random()), random.random() < 0.5)


def judge_replaced(
    replacement: Replacement, arguments: list[str], outcome: Outcome, content: bytes, folder: Path
) -> Iterator[Symptom]:
    """Whether what a command said is what it says of one of the two contents; it may refuse instead."""
    if outcome.status not in (0, 1) or arguments.count(str(replacement.path)) != 1:
        return
    replacement.path.unlink(missing_ok=True)
    replacement.path.write_bytes(content)
    for name in ("before", "after"):
        (folder / name).mkdir(parents=True)
        alone = run_command(arguments, folder / name)
        if outcome.says_the_same(alone):
            return
        replacement.replace()
    yield Symptom("replaced", f"{arguments[0]} answers for neither content", str(replacement))
