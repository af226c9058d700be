"""Writing an analysis into one file."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.frames.schema import CATEGORY, FLOAT, INT
from tcprof.outputs import replace_file
from tcprof.saved.contents import FORMAT, FRAMES, JUDGED, OBSERVED, frame_of
from tcprof.sources.saved import ABOUT
from tcprof.units import plain
from tcprof.version import __version__

_MEMBER_TIME = (1980, 1, 1, 0, 0, 0)  # the same analysis gives the same bytes


def save(analysis: Analysis, path: Path, judged: Mapping[str, Any] | None = None) -> None:
    """Write an analysis, with all that a command needs of its recording, into one file.

    Args:
        path: The file to write, which may replace another saved analysis.
        judged: What its figures say, for the cache. It holds code to paste, so a file for others has none.

    Raises:
        ValueError: A frame holds what its Schema does not.
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
