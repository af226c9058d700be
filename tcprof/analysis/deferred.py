"""Frames of an analysis that are made or read when they are first asked for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import pandas as pd

from tcprof.frames import plain_texts


@dataclass(frozen=True)
class Deferred:
    """A frame that is made, or read from a file, when it is first asked for."""

    make: Callable[[], pd.DataFrame]
    column: Callable[[str], npt.NDArray[Any]] | None = None  # reads one without the others


class Frame:
    """A field of ``Analysis``: a frame, or a ``Deferred`` one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, analysis: object, owner: type | None = None) -> pd.DataFrame:
        if analysis is None:
            raise AttributeError(self._name)  # by which a dataclass knows that it has no default
        frame = vars(analysis)[self._name]
        if isinstance(frame, Deferred):
            with plain_texts():
                frame = vars(analysis)[self._name] = frame.make()
        return frame

    def __set__(self, analysis: object, frame: pd.DataFrame | Deferred) -> None:
        vars(analysis)[self._name] = frame
