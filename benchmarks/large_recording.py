"""Make a large recording out of a small one: repeated in time, and once more on a second GPU.

    python benchmarks/large_recording.py fixtures/mnist_amp.sqlite /tmp/large.sqlite --metric-rows 10000000

The copies carry everything that tcprof reads: samples, ranges, launches, kernels, copies. All is done in SQL; the
source is not changed.
"""

import argparse
import shutil
import sqlite3
from pathlib import Path

PID_SHIFT = 1 << 24  # the process number begins at bit 24 of every global id
TIMES = {
    "GPU_METRICS": ("timestamp", "rawTimestamp"),
    "NVTX_EVENTS": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end"),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("start", "end"),
}
GPU_COLUMNS = {"deviceId": 1, "typeId": 1, "globalPid": PID_SHIFT, "globalTid": PID_SHIFT, "endGlobalTid": PID_SHIFT}


def copy_rows(connection: sqlite3.Connection, table: str, changes: dict[str, str], where: str = "") -> None:
    """Insert every row of a table once more, with some columns replaced by expressions."""
    columns = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
    values = ", ".join(changes.get(column, f'"{column}"') for column in columns)
    connection.execute(f'insert into "{table}" select {values} from "{table}" {where}')  # noqa: S608


def repeat(connection: sqlite3.Connection, tables: dict[str, list[str]], times: int) -> None:
    """Append the recording to itself, each time later and with higher correlation ids."""
    first, last = connection.execute("select min(timestamp), max(timestamp) from GPU_METRICS").fetchone()
    period = last - first + 1_000_000
    (launches,) = connection.execute("select max(correlationId) + 1 from CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
    for table, columns in tables.items():
        (rows,) = connection.execute(f'select max(rowid) from "{table}"').fetchone()  # noqa: S608
        for number in range(1, times):
            changes = {column: f'"{column}" + {number * period}' for column in TIMES[table] if column in columns}
            if "correlationId" in columns:
                changes["correlationId"] = f'"correlationId" + {number * launches}'
            copy_rows(connection, table, changes, f"where rowid <= {rows}")


def add_gpu(connection: sqlite3.Connection, tables: dict[str, list[str]]) -> None:
    """Everything once more, on a second GPU and from a second process."""
    for table, columns in tables.items():
        copy_rows(connection, table, {c: f'"{c}" + {by}' for c, by in GPU_COLUMNS.items() if c in columns})
    copy_rows(connection, "TARGET_INFO_GPU_METRICS", {"typeId": '"typeId" + 1'})
    copy_rows(connection, "TARGET_INFO_GPU", {"id": "1", "cuDevice": "1"})
    copy_rows(connection, "TARGET_INFO_CUDA_DEVICE", {"gpuId": "1", "cudaId": "1", "pid": '"pid" + 1'})


def main() -> None:
    """Repeat the recording until it has about the metric rows asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--metric-rows", type=int, default=10_000_000)
    options = parser.parse_args()
    shutil.copyfile(options.source, options.target)
    connection = sqlite3.connect(options.target)
    connection.executescript("pragma journal_mode = off; pragma synchronous = off;")
    present = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    tables = {
        table: [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
        for table in TIMES
        if table in present
    }
    connection.execute("update NVTX_EVENTS set end = start where end is null")
    (rows,) = connection.execute("select count(*) from GPU_METRICS").fetchone()
    times = max(1, round(options.metric_rows / (2 * rows)))
    repeat(connection, tables, times)
    add_gpu(connection, tables)
    connection.commit()
    print(f"{2 * times * rows:,} metric rows: {options.target}")


if __name__ == "__main__":
    main()
