"""A job in a folder: one Parquet file a frame, sorted by rank, that DuckDB, Polars and pandas read as well."""

from pathlib import Path

import pandas as pd

from tcprof.errors import InputError
from tcprof.frames import COLLECTIVES, RANK_PARTS, RANK_RECORDINGS, RANK_STEPS, RANKS, Schema
from tcprof.identity import Identity, Rank
from tcprof.outputs import replace_folder
from tcprof.ranks.job import Job, join_frames
from tcprof.ranks.reduce import ReducedRank
from tcprof.saved.contents import as_parquet
from tcprof.saved.reading import find_nulls, find_unreadable
from tcprof.sources.registry import JOB_FILE

_FRAMES = {"steps": RANK_STEPS, "collectives": COLLECTIVES, "parts": RANK_PARTS}  # by the attributes of a rank


def write_job(job: Job, folder: Path) -> None:
    """Write a job's frames and what they were made from; other files of the folder stay."""
    ranks = [(reduced, reduced.rank) for reduced in job.recordings if reduced.rank]
    recordings = pd.DataFrame(
        {
            "rank": [rank.rank for _, rank in ranks],
            "world_size": [rank.world_size for _, rank in ranks],
            "local_rank": [-1 if rank.local_rank is None else rank.local_rank for _, rank in ranks],
            **{name: [getattr(reduced, name) for reduced, _ in ranks] for name in RANK_RECORDINGS.names[3:]},
        }
    )
    frames = {RANKS.name: job.ranks, RANK_RECORDINGS.name: RANK_RECORDINGS.conform(recordings)}
    for name, schema in _FRAMES.items():
        frames[schema.name] = join_frames([reduced for reduced, _ in ranks], name, schema)
    with replace_folder(folder, JOB_FILE) as staged:
        for name, frame in frames.items():
            (staged / f"{name}.parquet").write_bytes(as_parquet(frame.sort_values("rank", kind="stable")))


def read_job(folder: Path) -> list[ReducedRank]:
    """Read the ranks of a job in a folder, which anyone may have written, to judge them anew."""
    recordings = _read(folder, RANK_RECORDINGS)
    frames = {name: dict(list(_read(folder, schema).groupby("rank"))) for name, schema in _FRAMES.items()}
    ranks = []
    for row in recordings.to_dict("records"):
        facts = {"job": row["job"], "host": row["host"], "gpu_0": row["gpu_alias"], "program": row["program"]}
        identity = Identity.from_facts(facts)
        local = row["local_rank"]
        ranks.append(
            ReducedRank(
                Rank(row["rank"], row["world_size"], None if local < 0 else local),
                *(row["file"], row["content"], identity.job, identity.host, identity.gpus.get(0, "")),
                *(row["gpu_name"], identity.program),
                **{name: frames[name].get(row["rank"], schema.empty()) for name, schema in _FRAMES.items()},
                stage=row["stage"],
                power_w=row["power_w"],
                unprofiled_ns=row["unprofiled_ns"],
                rank_from=row["rank_from"],
            )
        )
    return ranks


def _read(folder: Path, schema: Schema) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"{schema.name}.parquet"
    try:
        file = pq.ParquetFile(path, pre_buffer=False)
        wrong = find_unreadable(file, schema, path.stat().st_size)
        table = None if wrong else file.read(columns=schema.names, use_threads=False)
        wrong = wrong or find_nulls(table, schema)
        frame = schema.empty() if wrong or table is None else schema.conform(table.to_pandas(use_threads=False))
        wrong = wrong or schema.find_invalid(frame)
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
        wrong = str(error)
    if wrong:
        raise InputError(
            f"{path} cannot be read as part of a job: {wrong}.", f"Write it again: tcprof ranks FILES --save {folder}"
        )
    return frame
