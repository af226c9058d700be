"""Words that sentences are made of."""

from collections.abc import Sequence

from tcprof.frames import TIMELINE

IDLED, NOTHING_TRACED = "the GPU idled", "no traced work ran in"  # so many percent
WINDOW_NAMES = {"gpu": "GPU windows", "host": "host windows", "busy": "busy windows"}


def class_title(name: str) -> str:
    """What a time class is called, one of ``tcprof.analysis.time.account.TIME_CLASSES``."""
    return TIMELINE[f"{name}_ns"].title


def class_in_sentence(name: str) -> str:
    """The same within a sentence; an abbreviation stays as it is."""
    title = class_title(name)
    return title if title[1:2].isupper() else f"{title[0].lower()}{title[1:]}"


def name_gpus(gpus: Sequence[int]) -> str:
    """Some GPUs by their numbers: “GPU 0”, “GPUs 0 and 1”, “GPUs 0, 2 and 3”, “GPUs 0 to 7”."""
    numbers = sorted(gpus)
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"GPUs {numbers[0]} to {numbers[-1]}"
    return f"GPUs {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
