"""Where recordings are read: each kind of file has a source, which gives frames. ``registry`` finds the right one."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import pandas as pd

from tcprof.frames import DIAGNOSTICS, DRIVER_LOG, GRAPH_NODES, MARKS, NVTX_RANGES, SAMPLES, UNPROFILED, WAITS
from tcprof.identity import VERSION, Identity
from tcprof.sources.remedies import REMEDIES, Recorder, Remedies

UNCLOSED = "never closed"  # ranges that the program began, and did not end
Clean: TypeAlias = Callable[[Path, list[str]], list[str]]  # messages of a file as what may leave a machine
UNNAMED_DOMAIN = "domain "  # before the number of an NVTX domain whose name was not recorded
__all__ = ["UNCLOSED", "UNNAMED_DOMAIN", "Clean", "InvalidValues", "Recording", "Samples", "Source", "SourceType"]


@dataclass(frozen=True)
class Recording:
    """The facts that a file has about its recording."""

    file: str  # name of the file that was read, without its folder
    nsys_version: str  # version of Nsight Systems that exported; empty where not known
    schema_version: str  # version of the export's tables; empty where not known
    driver_version: str  # NVIDIA driver; empty where not known
    started_utc: str  # when the recording began, ISO 8601; empty where not known
    duration_ns: float  # length of the recording; NaN where not known
    frequency_hz: float  # sampling frequency that was asked for; NaN where not known
    metrics_requested: bool  # whether GPU metrics were asked for
    content: str = ""  # SHA-256 of the file that was read; empty where not known
    cuda_version: str = ""  # the newest CUDA that the driver runs; empty where not known
    identity: Identity = field(default_factory=Identity)  # run, host, GPUs and ranks, none of them by its name
    recorder: Recorder = "nsys"  # what recorded

    @property
    def remedies(self) -> Remedies:
        """Return what users change in how they record."""
        return REMEDIES[self.recorder]

    def __post_init__(self) -> None:
        """Leave out versions that are none: they are shown, and saved, as the file has them."""
        for name in ("nsys_version", "schema_version", "driver_version", "cuda_version"):
            if not re.fullmatch(VERSION, getattr(self, name)):
                object.__setattr__(self, name, "")


@dataclass(frozen=True)
class Samples:
    """The samples of a recording, and how they were measured."""

    frame: pd.DataFrame  # see ``tcprof.frames.SAMPLES``
    tensor_source: str  # "cycles", "rounded" (whole percentages) or "none"
    shared_pipe: bool  # whether the counter also counts plain half-precision arithmetic (Turing)
    lost_ns: int  # time marked as missing by the profiler
    driver_log: pd.DataFrame = field(default_factory=DRIVER_LOG.empty)  # see ``tcprof.frames.DRIVER_LOG``


@dataclass(frozen=True)
class InvalidValues:
    """Impossible values of a file, counted: it is damaged, or no recorder wrote it."""

    place: str  # where, as ``TABLE.column``
    what: str  # what is wrong, in words that follow a number: "text", "over 100 %"
    count: int  # how many rows or values
    kept: bool = False  # whether they are still counted, corrected where need be; otherwise they are left out


class Source(Protocol):
    """One recording, as ``tcprof.analysis.analyze`` reads it. Its methods may be called from several threads.

    A source of files that lack something need not have its method: as a subclass, it gives none.
    """

    path: Path  # the file that is read

    def recording(self) -> Recording:
        """Return what the file says about its recording."""

    def gpus(self) -> pd.DataFrame:
        """List the GPUs that the file names, see ``tcprof.frames.GPUS``."""

    def samples(self, metrics: Iterable[str]) -> Samples:
        """Read the GPU metric samples; columns of ``tcprof.frames.SAMPLES`` beside ``metrics`` may stay unknown."""
        return Samples(SAMPLES.empty(), "none", False, 0)

    def ranges(self) -> pd.DataFrame:
        """Read the NVTX ranges, see ``tcprof.frames.NVTX_RANGES``."""

    def marks(self) -> pd.DataFrame:
        """Read the NVTX marks of the annotation, see ``tcprof.frames.MARKS``."""
        return MARKS.empty()

    def graph_nodes(self) -> pd.DataFrame:
        """Read where the program made the nodes of its CUDA graphs, see ``tcprof.frames.GRAPH_NODES``."""
        return GRAPH_NODES.empty()

    def captured(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Read the ranges and marks that the annotation kept while streams were captured, as of the recording."""
        return NVTX_RANGES.empty(), MARKS.empty()

    def api_calls(self) -> pd.DataFrame:
        """Read the API calls that started work on a GPU, see ``tcprof.frames.API_CALLS``."""

    def waits(self) -> pd.DataFrame:
        """Read the API calls that wait for a GPU, see ``tcprof.frames.WAITS``."""

    def setup_calls(self) -> pd.DataFrame:
        """Read the API calls that load code or manage memory, with the columns of ``tcprof.frames.WAITS``."""
        return WAITS.empty()

    def lost_launches(self) -> int | None:
        """Count launches of kernels whose kernels are not in the recording; None where this is unknown."""
        return None

    def activities(self) -> pd.DataFrame:
        """Read work on the GPUs, see ``tcprof.frames.ACTIVITIES``."""

    def diagnostics(self, without_private: Clean) -> pd.DataFrame:
        """Read the profiler's messages on the recording, see ``tcprof.frames.DIAGNOSTICS``.

        Args:
            without_private: Replaces what is private in messages of a file.
        """
        return DIAGNOSTICS.empty()

    def unprofiled(self) -> pd.DataFrame:
        """Read the steps of the program's run without a profiler, see ``tcprof.frames.UNPROFILED``."""
        return UNPROFILED.empty()

    def wrong(self) -> tuple[InvalidValues, ...]:
        """List the invalid values in all that has been read so far; the frames do not have them."""


@dataclass(frozen=True)
class SourceType:
    """A kind of recordings, with how to recognize and open them: an entry of ``tcprof.sources.registry``."""

    title: str  # what the files are, for people, in the plural
    # What the names of its files end in. Files of one folder whose names differ in nothing else, such as a report and
    # its export, are the same recording: that with the first suffix is read.
    suffixes: tuple[str, ...]
    # What its files begin with, where they all begin alike: such a file is not overwritten, even if it is not
    # recognized
    magic: tuple[bytes, ...]
    # Whether a file is of this kind, whole or damaged, by its path and its first bytes (256, fewer of a shorter file,
    # none of one that cannot be read). It may look further into the file, and must not raise.
    recognizes: Callable[[Path, bytes], bool]
    open: Callable[[Path], Source]  # opens that file; raises an ``InputError`` where it is of this kind, but damaged
    # From what the user gave to the file that is read: of a report its export, which is made where it is not there yet.
    # It may raise what the reading of a recording raises.
    find: Callable[[Path], Path] = Path
    # Whether other programs' files end in its suffixes, too: an empty one of a folder is then none
    has_common_name: bool = False
