"""What a saved analysis holds: a ZIP file of two JSON documents, and of a Parquet file for each frame."""

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed
from tcprof.frames import (
    ACTIVITIES,
    API_CALLS,
    CLOCKS,
    DIAGNOSTICS,
    GPUS,
    INSTANCES,
    KERNEL_INSTANCES,
    KERNELS,
    KINDS,
    LEDGER,
    MODULES,
    NVTX_RANGES,
    OUTSIDE,
    PATHS,
    RANGES,
    SAMPLES,
    STEP_SUMMARY,
    STEPS,
    TIMELINE,
    UNPROFILED,
    WAITS,
    Schema,
)
from tcprof.sources import Recording

VARIABLE = "TCPROF_CACHE"  # the folder of the cache; empty or 0: none


def find_folder() -> Path | None:
    """Find the folder that the user's environment names for the cache; None where it wants none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given).expanduser() if given not in ("", "0") else None
    with suppress(RuntimeError):  # a user without a home
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "tcprof"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tcprof"
    return None


FORMAT = 1  # of the file: it rises when a reader of the one before would misread it
JUDGED = "findings.json"
OBSERVED = {"diagnostics": DIAGNOSTICS, "unprofiled": UNPROFILED}  # frames of ``Analysis.observed``
_BEFORE = (GPUS, RANGES, STEP_SUMMARY, STEPS, KINDS, INSTANCES, PATHS, NVTX_RANGES, KERNELS)
_AFTER = (KERNEL_INSTANCES, MODULES, TIMELINE, LEDGER, CLOCKS, OUTSIDE, SAMPLES, ACTIVITIES, API_CALLS, WAITS)
# In the order of the file.
FRAMES: dict[str, Schema] = {
    **{schema.name: schema for schema in _BEFORE},
    "kernels_by_path": KERNELS,
    **{schema.name: schema for schema in _AFTER},
    **OBSERVED,
}
# Columns that are rows of another frame, or -1 for none; with what a row has in common with the one that it names.
ROWS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "paths": {"parent_id": ("paths", ())},
    "ranges": {"path_id": ("paths", ("domain", "path", "name", "depth", "parent_id"))},
    "timeline": {"path_id": ("paths", ("domain", "path", "name", "depth", "parent_id"))},
    "steps": {"range": ("nvtx_ranges", ())},
    "instances": {"range": ("nvtx_ranges", ()), "path_id": ("paths", ())},
    "kernel_instances": {
        "activity": ("activities", ("gpu",)),
        "kernel": ("kernels", ("gpu",)),
        "range": ("nvtx_ranges", ()),
        "path_id": ("paths", ()),
        "step": ("steps", ("gpu",)),
        "module": ("modules", ("gpu",)),
    },
}


class Options(TypedDict):
    """What the analysis was made with, see ``tcprof.analysis.analyze``."""

    metrics: list[str]
    kernels: bool
    warm_up: int | str | None
    step: str | None
    peak_tflops: float | None


class About(TypedDict):
    """All of an analysis that is no frame: the JSON document."""

    format: int
    tcprof: str  # the version that saved it
    options: Options
    recording: Recording
    window: Literal["host", "gpu", "busy"]
    tensor_source: Literal["cycles", "rounded", "none"]
    fingerprint: list[int]
    observed: Observed  # without its frames


def frame_of(analysis: Analysis, name: str) -> pd.DataFrame:
    """Return a frame of an analysis by its name in the file."""
    frame: Any = getattr(analysis.observed if name in OBSERVED else analysis, name)
    return frame


def options_of(analysis: Analysis) -> dict[str, Any]:
    """Return the options of an analysis, by the names of the parameters of ``tcprof.analysis.analyze``."""
    return {"window": analysis.window, **analysis.options}


@cache
def hash_own_code() -> str:
    """Hash the code of tcprof: a release, or a line of a checkout, changes it."""
    package, whole = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".toml")):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(package).as_posix()} {len(content)} ".encode() + content)
    return whole.hexdigest()
