"""What a saved analysis holds, a ZIP file of two JSON documents and a Parquet file for each frame; and writing it."""

import hashlib
import io
import json
import os
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.observed import Observed
from tcprof.frames import KERNELS, SCHEMAS, Schema
from tcprof.frames.schema import CATEGORY, FLOAT, INT
from tcprof.outputs import replace_file
from tcprof.sources import Recording
from tcprof.sources.saved import ABOUT
from tcprof.units import plain
from tcprof.version import __version__

VARIABLE = "TCPROF_CACHE"  # the folder of the cache; empty or 0: none
FORMAT = 1  # of the file: it rises when a reader of the one before would misread it
JUDGED = "findings.json"
OBSERVED = ("diagnostics", "driver_log", "unprofiled")  # frames of ``Analysis.observed``
_SCHEMAS = {schema.name: schema for schema in SCHEMAS}
_NAMES = (
    *("gpus", "ranges", "step_summary", "steps", "kinds", "instances", "paths", "nvtx_ranges", "kernels"),
    *("kernels_by_path", "kernel_instances", "modules", "timeline", "ledger", "clocks", "outside"),
    *("samples", "activities", "api_calls", "waits", *OBSERVED),
)
FRAMES: dict[str, Schema] = {name: _SCHEMAS.get(name, KERNELS) for name in _NAMES}  # in the order of the file
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
_MEMBER_TIME = (1980, 1, 1, 0, 0, 0)  # the same analysis gives the same bytes


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


def save(analysis: Analysis, path: Path, judged: Mapping[str, Any] | None = None) -> None:
    """Write an analysis, with all that a command needs of its recording, into one file.

    ``judged`` is what its figures say, for the cache: it holds code to paste, so a file for others has none.
    """
    with replace_file(path, for_recording=True) as made, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        about = json.dumps(_describe(analysis), indent=1, ensure_ascii=False)
        archive.writestr(zipfile.ZipInfo(ABOUT, _MEMBER_TIME), about)
        for name, schema in FRAMES.items():
            frame = frame_of(analysis, name)
            if wrong := schema.find_invalid(frame):  # a defect of its maker: nothing could read the file
                raise ValueError(f"{name}: {wrong}")
            content = as_parquet(_name_gpus(frame) if name == "gpus" else frame)
            archive.writestr(zipfile.ZipInfo(f"{name}.parquet", _MEMBER_TIME), content)
        if judged is not None:
            archive.writestr(zipfile.ZipInfo(JUDGED, _MEMBER_TIME), json.dumps(judged))


def _name_gpus(gpus: pd.DataFrame) -> pd.DataFrame:
    """Keep only vendors' own names of GPUs, as ``tcprof redact`` does."""
    from tcprof.redaction.gpu_names import is_gpu_name  # here, since what reads a saved analysis does without

    is_vendors = {name: [is_gpu_name(text) for text in gpus[name]] for name in ("name", "chip")}
    unnamed = [f"GPU {gpu}" for gpu in gpus["gpu"]]
    return gpus.assign(
        name=gpus["name"].where(is_vendors["name"], unnamed), chip=gpus["chip"].where(is_vendors["chip"], "")
    )


def _describe(analysis: Analysis) -> dict[str, Any]:
    """Describe all of an analysis that is no frame."""
    recording = {**asdict(analysis.recording), "identity": analysis.recording.identity.facts()}
    observed = {name: value for name, value in vars(analysis.observed).items() if name not in OBSERVED}
    return {
        "format": FORMAT,
        "tcprof": __version__,
        "options": dict(analysis.options),
        "recording": recording,
        "window": analysis.window,
        "tensor_source": analysis.tensor_source,
        "fingerprint": [int(mark) for mark in analysis.fingerprint],
        "observed": plain(observed),
    }


def as_parquet(frame: pd.DataFrame) -> bytes:
    """Write a frame as a Parquet file, compressed with zstd."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1).replace_schema_metadata(None)
    dtypes = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    encodings = {INT: "DELTA_BINARY_PACKED", FLOAT: "BYTE_STREAM_SPLIT"}  # half as large as dictionaries of numbers
    encoded = {name: encodings[dtype] for name, dtype in dtypes.items() if dtype in encodings}
    plain = [name for name in dtypes if name not in encoded]
    target = io.BytesIO()
    pq.write_table(
        table,
        target,
        compression="zstd",
        use_dictionary=plain,
        column_encoding=encoded,
        write_statistics=False,
        store_schema=CATEGORY in dtypes.values(),  # only to keep the categories: it takes more than a small frame
    )
    return target.getvalue()
