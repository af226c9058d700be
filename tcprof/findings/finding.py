"""A finding: what is said, on what evidence, and what to do about it; and words that sentences are made of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from tcprof.frames import TIMELINE

AMD = "AMD"  # begins the names of its GPUs

WINDOW_NAMES = {"gpu": "GPU windows", "host": "host windows", "busy": "busy windows"}


class Severity(StrEnum):
    """How much a finding matters.

    A fault makes figures untrustworthy and is shown before any of them; a caution is what else a reader must know;
    a remark is so in most recordings, and no reason for doubt; advice is what to do about the program.
    """

    FAULT = "fault"
    CAUTION = "caution"
    REMARK = "remark"
    ADVICE = "advice"


@dataclass(frozen=True)
class Finding:
    """What is so, on what evidence, and what to do about it."""

    rule: str  # which rule found it, such as ``lost-samples``
    severity: Severity  # how much it matters
    sentence: str  # what is so, with the figures that show it; without a full stop
    consequence: str = ""  # what that means for the figures, in whole sentences; may be empty
    remedy: str = ""  # what to do about it, in whole sentences; empty where nothing can be done

    @property
    def text(self) -> str:
        """All of it as one paragraph."""
        return " ".join(part for part in (f"{self.sentence}.", self.consequence, self.remedy) if part)


def texts_of(findings: Iterable[Finding], severity: Severity) -> tuple[str, ...]:
    """The findings of a severity as paragraphs; what several say appears once."""
    return tuple(dict.fromkeys(finding.text for finding in findings if finding.severity == severity))


def class_title(name: str) -> str:
    """What a time class is called, one of ``tcprof.analysis.time.account.TIME_CLASSES``."""
    return TIMELINE[f"{name}_ns"].title


def class_in_sentence(name: str) -> str:
    """The same within a sentence; an abbreviation stays as it is."""
    title = class_title(name)
    return title if title[1:2].isupper() else f"{title[0].lower()}{title[1:]}"


def has_amd_gpu(gpus: pd.DataFrame) -> bool:
    """Whether any of the GPUs, see ``tcprof.frames.GPUS``, is AMD's: traces of torch.profiler and of JAX have these."""
    return bool(gpus["name"].str.startswith(AMD).any())


def name_gpus(gpus: Sequence[int]) -> str:
    """Some GPUs by their numbers: “GPU 0”, “GPUs 0 and 1”, “GPUs 0, 2 and 3”, “GPUs 0 to 7”."""
    numbers = sorted(gpus)
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"GPUs {numbers[0]} to {numbers[-1]}"
    return f"GPUs {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
