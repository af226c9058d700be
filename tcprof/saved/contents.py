"""What a saved analysis holds: a ZIP file of two JSON documents, and of a Parquet file for each frame."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.frames import (
    ACTIVITIES,
    API_CALLS,
    CLOCKS,
    DIAGNOSTICS,
    GPUS,
    INSTANCES,
    ITERATIONS,
    KERNEL_INSTANCES,
    KERNELS,
    LEDGER,
    MODULES,
    NVTX_RANGES,
    OUTSIDE,
    PATHS,
    RANGES,
    SAMPLES,
    TIMELINE,
    UNPROFILED,
    WAITS,
    Schema,
)

FORMAT = 1  # of the file: it rises when a reader of the one before would misread it
JUDGED = "findings.json"
OBSERVED = {"diagnostics": DIAGNOSTICS, "unprofiled": UNPROFILED}  # frames of ``Analysis.observed``
FRAMES: dict[str, Schema] = {
    "gpus": GPUS,
    "ranges": RANGES,
    "iterations": ITERATIONS,
    "instances": INSTANCES,
    "paths": PATHS,
    "nvtx_ranges": NVTX_RANGES,
    "kernels": KERNELS,
    "kernels_by_path": KERNELS,
    "kernel_instances": KERNEL_INSTANCES,
    "modules": MODULES,
    "timeline": TIMELINE,
    "ledger": LEDGER,
    "clocks": CLOCKS,
    "outside": OUTSIDE,
    "samples": SAMPLES,
    "activities": ACTIVITIES,
    "api_calls": API_CALLS,
    "waits": WAITS,
    **OBSERVED,
}
# Columns that are rows of another frame, which may be -1 where they are none.
ROWS: dict[str, dict[str, str]] = {
    "ranges": {"path_id": "paths", "parent_id": "paths"},
    "iterations": {"range": "nvtx_ranges"},
    "instances": {"range": "nvtx_ranges", "path_id": "paths"},
    "kernel_instances": {
        "activity": "activities",
        "kernel": "kernels",
        "range": "nvtx_ranges",
        "path_id": "paths",
        "iteration": "iterations",
        "module": "modules",
    },
}


def frame_of(analysis: Analysis, name: str) -> pd.DataFrame:
    """A frame of an analysis by its name in the file."""
    found: Any = getattr(analysis.observed if name in OBSERVED else analysis, name)
    return found


def options_of(analysis: Analysis) -> dict[str, Any]:
    """All that an analysis was made with, by the names of the parameters of ``tcprof.analysis.analyze``."""
    return {"window": analysis.window, **analysis.options}


@cache
def hash_own_code() -> str:
    """What changes where tcprof does, be it a release or a line of a checkout."""
    package, whole = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in (".py", ".toml")):
        content = path.read_bytes()
        whole.update(f"{path.relative_to(package).as_posix()} {len(content)} ".encode() + content)
    return whole.hexdigest()
