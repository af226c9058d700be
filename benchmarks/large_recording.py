"""Make a large recording: an export as nsys 2025.3 writes it, of as many samples, kernels and ranges as are asked for.

    python benchmarks/large_recording.py /tmp/large.sqlite --metric-rows 10000000 --kernels 100000
    python benchmarks/large_recording.py /tmp/deep.sqlite --metric-rows 0 --ranges 5000 --paths 5000 --depth 5000

Each GPU has a process of its own. Its main thread opens ranges, the same tree of paths in each step, and launches
two thirds of the kernels; the rest are launched by a thread that opens no range, as PyTorch's backward pass is. The
samples are what the kernels count, so that a fit finds them. Times and values vary: nothing repeats exactly. The same
sizes and seed give the same recording.
"""

import argparse
import shutil
import sqlite3
from dataclasses import fields
from pathlib import Path

import adbc_driver_sqlite.dbapi as adbc
import numpy as np
from large_contents import (
    API_NAME,
    CLASSES,
    FIRST_METRIC_TYPE,
    FIRST_PROCESS,
    KERNEL_NAME,
    METRICS,
    TENSOR_CLASSES,
    Size,
    kernel_columns,
    launch_columns,
    lay_out_kernels,
    lay_out_ranges,
    range_columns,
    sample_columns,
)

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mnist_amp.sqlite"  # its small tables are taken as they are
PAGE_BYTES = 4096  # of nsys's exports; the fixture was made small
RECORDED = (  # what is made anew, with all columns that nsys writes: the fixture has only those that tcprof reads
    *("GPU_METRICS", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"),
    *("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "PROCESSES"),
)
GPU_TABLES = {  # the columns that number GPUs and processes, and what they are for the fixture's
    "TARGET_INFO_GPU": {"id": 0, "cuDevice": 0},
    "TARGET_INFO_GPU_METRICS": {"typeId": FIRST_METRIC_TYPE},
    "TARGET_INFO_CUDA_DEVICE": {"gpuId": 0, "cudaId": 0, "pid": 1000},
}


def write_recording(target: Path, size: Size) -> None:
    """Write a recording, over what is there."""
    target.unlink(missing_ok=True)
    _begin(target, size)
    options = "pragma journal_mode = off", "pragma synchronous = off", "pragma locking_mode = exclusive"
    with adbc.connect(f"file:{target.absolute()}", autocommit=True) as connection, connection.cursor() as cursor:
        for option in options:
            cursor.execute(option)
        cursor.execute("begin")
        generator = np.random.default_rng(size.seed)
        for gpu in range(size.gpus):
            ranges, kernels = lay_out_ranges(size), lay_out_kernels(size, generator)
            for table, columns in (
                ("NVTX_EVENTS", range_columns(ranges, gpu)),
                ("CUPTI_ACTIVITY_KIND_RUNTIME", launch_columns(kernels, gpu)),
                ("CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns(kernels, gpu)),
            ):
                if columns.num_rows:
                    cursor.adbc_ingest(table, columns, mode="create_append")
            for columns in sample_columns(size, kernels, gpu, generator):
                cursor.adbc_ingest("GPU_METRICS", columns, mode="create_append")
        cursor.execute("commit")


def _begin(target: Path, size: Size) -> None:
    """The fixture's tables without its recording, and the GPUs, names and messages of the new one."""
    shutil.copyfile(FIXTURE, target)
    connection = sqlite3.connect(target)
    connection.execute("delete from DIAGNOSTIC_EVENT")
    for table in RECORDED:
        connection.execute(f"drop table if exists {table}")
    connection.execute("update ANALYSIS_DETAILS set duration = ?", (size.seconds * 10**9,))
    connection.execute(
        "update META_DATA_CAPTURE set value = ? where name = 'GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY'",
        (round(size.metric_rows / METRICS / size.gpus / size.seconds),),
    )
    _add_gpus(connection, size.gpus)
    names = [(KERNEL_NAME + number, _kernel_name(number)) for number in range(CLASSES)]
    connection.executemany("insert into StringIds values (?, ?)", [*names, (API_NAME, "cudaLaunchKernel_v7000")])
    texts = ((f"{number}: {METRICS} GPU metrics were collected.",) for number in range(size.messages))
    connection.executemany(
        "insert into DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text) values (0, 1, 1, 1, ?)", texts
    )
    connection.commit()
    connection.execute(f"pragma page_size = {PAGE_BYTES}")
    connection.execute("vacuum")
    connection.close()


def _add_gpus(connection: sqlite3.Connection, gpus: int) -> None:
    """The GPU of the fixture more than once, each with its metrics and the process that uses it."""
    connection.execute("update TARGET_INFO_CUDA_DEVICE set pid = ?", (FIRST_PROCESS,))
    for table, numbered in GPU_TABLES.items():
        columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
        first, smallest = next(iter(numbered.items()))
        for gpu in range(1, gpus):
            values = ", ".join(f"{column} + {gpu}" if column in numbered else column for column in columns)
            connection.execute(f"insert into {table} select {values} from {table} where {first} = {smallest}")  # noqa: S608


def _kernel_name(number: int) -> str:
    if number < TENSOR_CLASSES:
        return f"nvjet_sm90_hsh_{64 + 8 * number}x128_64x{4 + number % 3}_1x2_h_bz_coopA_NNT"
    return (
        f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{number}<float>, "
        "std::array<char*, 3ul>>(int, T2, T3)"
    )


def main() -> None:
    """Make the recording that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    for field in fields(Size):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=field.default, help="default: %(default)s")
    options = vars(parser.parse_args())
    target = options.pop("target")
    write_recording(target, Size(**options))
    print(f"{target}: {target.stat().st_size / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
