"""Stores with many runs, written as ``tcprof.history.store`` writes them, without a recording for each."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import TraceBuilder, analyzed
from sqlalchemy import insert

from tcprof.analysis import Analysis
from tcprof.history import database
from tcprof.history.run import METRICS, SPLITTING, Facts
from tcprof.history.store import Store, open_store

STEP_TIME, IDLE = ("step_ns", "step", "train"), ("gpu_idle_pct", "step", "train")
RUN = {
    **dict.fromkeys(("recorded_utc", "label", "config", "rank"), ""),
    "branch": "main",
    "program": "train.py",
    "file": "train.sqlite",
    "marks": b"",
    "power_limit_w": None,
    "gpu_name": "NVIDIA H100",
    "gpu_count": 1,
    "clock_hz": 1.98e9,
    "tcprof_version": "0.1",
    "driver_version": "580.1",
    "cuda_version": "13.0",
    "torch_version": "2.11",
}


def make_store(
    folder: Path,
    values: Mapping[tuple[str, str, str], Sequence[float]],
    commits: Sequence[str] | None = None,
    **columns: Sequence[Any],
) -> Store:
    """A store of a run a day, with a point in each series; ``columns`` are of the runs."""
    store = open_store(f"sqlite:///{folder / 'history.db'}")
    count = len(next(iter(values.values())))
    commits = commits or [f"{number:08d}" for number in range(count)]
    with store._database.write() as connection:
        runs = [
            RUN
            | {name: column[number] for name, column in columns.items()}
            | {"run_id": number + 1, "content": str(number), "commit": commits[number]}
            | dict.fromkeys(("commit_utc", "added_utc"), f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T00:00:00Z")
            for number in range(count)
        ]
        connection.execute(insert(database.RUN), runs)
        fingerprint = json.dumps({name: RUN[name] for name in SPLITTING})
        for number, ((metric, scope, subject), column) in enumerate(values.items(), 1):
            facts = {"metric": metric, "scope": scope, "subject": subject, "unit": METRICS[metric].unit, "gpu": 0}
            row = {**facts, "series_id": number, "key": str(number), "fingerprint": fingerprint}
            connection.execute(insert(database.SERIES), row)
            points = [
                {
                    "series_id": number,
                    "run_id": place,
                    "value": value,
                    "low": 0.99 * value,
                    "high": 1.01 * value,
                    "n": 9,
                }
                for place, value in enumerate(column, 1)
            ]
            connection.execute(insert(database.POINT), points)
    return store


FACTS = Facts(program="train", branch="main")


def record(folder: Path, number: int = 0, step_us: int = 100, name: str = "step") -> Analysis:
    """Eight steps of one kernel each; recordings of other numbers are other ones."""
    builder = TraceBuilder().gpu(0, "NVIDIA H200").recorded(duration=10_000_000)
    for step in range(8):
        begin = 10_000 + 7 * number + step * step_us * 1_000
        builder.range(name, begin, begin + 80_000)
        builder.kernel("gemm", begin + 10_000, begin + 70_000 + 10 * step, launched=begin + 5_000)
    samples = builder.samples([50] * 100, start=0, period=10_000)
    return analyzed(samples, folder, f"r{number}.sqlite")
