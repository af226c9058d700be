"""Words that sentences are made of."""

from tcprof.frames import TIMELINE

WINDOW_NAMES = {"gpu": "gpu windows", "host": "host windows", "busy": "busy windows"}


def class_title(name: str) -> str:
    """What a time class is called.

    Args:
        name: One of ``tcprof.analysis.timeline.TIME_CLASSES``.
    """
    return TIMELINE[f"{name}_ns"].title


def class_in_sentence(name: str) -> str:
    """The same within a sentence; an abbreviation stays as it is."""
    title = class_title(name)
    return title if title[1:2].isupper() else f"{title[0].lower()}{title[1:]}"
