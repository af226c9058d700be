"""What a large recording holds, see ``large_recording.py``: its ranges, kernels and samples, as columns of tables."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

METRICS = 9  # of tcprof's own set, which the fixture has
MACHINE = 1 << 48
FIRST_METRIC_TYPE = MACHINE | 1 << 32
FIRST_PROCESS = 1000
SM_COUNT, CLOCK_HZ = 132, 1.98e9
CLASSES, TENSOR_CLASSES = 60, 20  # of kernels; the first ones have matrix instructions
LAUNCH_LEAD_NS = 10_000
KERNEL_NAME, API_NAME = 1_000_000, 2_000_000  # where the ids of their strings begin
SAMPLES_AT_ONCE = 50_000


@dataclass(frozen=True)
class Size:
    """What a recording holds, of all GPUs together.

    Attributes:
        metric_rows: Rows of GPU_METRICS: nine metrics for each sample.
        kernels: Kernels, each with its launch.
        ranges: NVTX ranges, rounded to whole steps.
        paths: Distinct paths.
        depth: Depth of the innermost ones.
        gpus: GPUs.
        messages: Messages of nsys.
        seconds: Length.
        seed: Of all that varies.
    """

    metric_rows: int = 10_000_000
    kernels: int = 100_000
    ranges: int = 10_000
    paths: int = 100
    depth: int = 5
    gpus: int = 1
    messages: int = 100
    seconds: int = 60
    seed: int = 0


@dataclass(frozen=True)
class _Ranges:
    start: Ints
    end: Ints
    path: Ints


def lay_out_ranges(size: Size) -> _Ranges:
    """The ranges of one process: a chain as deep as asked for, whose links have the other paths as leaves."""
    links = min(size.depth, size.paths)
    leaves = np.bincount(np.arange(size.paths - links) % max(links - 1, 1), minlength=links)
    first = np.cumsum(1 + 2 * leaves) - (1 + 2 * leaves)  # when each link opens
    ticks = int((1 + 2 * leaves).sum()) + links
    of_leaf = np.repeat(np.arange(links), leaves)
    rank = np.arange(len(of_leaf)) - np.repeat(np.cumsum(leaves) - leaves, leaves)
    opened = np.append(first, first[of_leaf] + 1 + 2 * rank)
    closed = np.append(ticks - 1 - np.arange(links), first[of_leaf] + 2 + 2 * rank)
    steps = round(size.ranges / size.gpus / max(size.paths, 1))
    tick_ns = size.seconds * 1e9 / max(steps, 1) / (ticks + 1)
    begun = np.repeat(np.arange(steps) * (ticks + 1), len(opened))
    start, end = ((np.tile(at, steps) + begun + 0.5) * tick_ns for at in (opened, closed))
    path = np.tile(np.arange(len(opened)), steps)
    order = np.argsort(start, kind="stable")
    return _Ranges(*(column[order].astype(np.int64) for column in (start, end, path)))


def range_columns(ranges: _Ranges, gpu: int) -> pa.Table:
    """The rows of ranges, all of one thread."""
    count = len(ranges.start)
    names = pa.array([f"model.layers.{number}.forward" for number in range(int(ranges.path.max(initial=-1)) + 1)])
    return pa.table(
        {
            "start": ranges.start,
            "end": ranges.end,
            "eventType": np.full(count, 59),
            "text": names.take(pa.array(ranges.path)) if count else pa.array([], pa.string()),
            "globalTid": np.full(count, _global_id(gpu, 1)),
            "domainId": np.zeros(count, np.int64),
            **_empty(count, "rangeId", "category", "color", "endGlobalTid", "textId", "jsonTextId"),
            **_empty(count, *(f"{kind}{bits}Value" for kind in ("uint", "int") for bits in (64, 32))),
            **_empty(count, "doubleValue", "floatValue", kind=pa.float64()),
            **_empty(count, "jsonText", "binaryData", kind=pa.string()),
        }
    )


@dataclass(frozen=True)
class _Kernels:
    start: Ints
    end: Ints
    kind: Ints
    tensor: Floats  # Tensor Active while each ran, 0 to 1
    memory: Floats  # of the bandwidth, likewise


def lay_out_kernels(size: Size, generator: np.random.Generator) -> _Kernels:
    """The kernels of one GPU, one after the other with gaps, always in the same order."""
    count = size.kernels // size.gpus
    step = size.seconds * 1e9 / max(count, 1)
    kind = np.arange(count) % CLASSES
    start = (np.arange(count) + generator.uniform(0.02, 0.1, count)) * step + 2 * LAUNCH_LEAD_NS
    length = step * (0.2 + 0.6 * (kind * 7 % CLASSES) / CLASSES) * generator.uniform(0.97, 1.03, count)
    is_tensor = kind < TENSOR_CLASSES
    return _Kernels(
        start.astype(np.int64),
        (start + length).astype(np.int64) + 1,
        kind,
        np.where(is_tensor, 0.3 + 0.65 * kind / TENSOR_CLASSES, 0.0),
        np.where(is_tensor, 0.2, 0.9 * kind / CLASSES),
    )


def launch_columns(kernels: _Kernels, gpu: int) -> pa.Table:
    """The rows of the calls that launch kernels."""
    count = len(kernels.start)
    thread = np.where(np.arange(count) // CLASSES % 3 < 2, _global_id(gpu, 1), _global_id(gpu, 2))
    start = kernels.start - LAUNCH_LEAD_NS
    return pa.table(
        {
            "start": start,
            "end": start + 5_000,
            "eventClass": np.ones(count, np.int64),
            "globalTid": thread,
            "correlationId": np.arange(1, count + 1),
            "nameId": np.full(count, API_NAME),
            "returnValue": np.zeros(count, np.int64),
            **_empty(count, "callchainId"),
        }
    )


def kernel_columns(kernels: _Kernels, gpu: int) -> pa.Table:
    """The rows of kernels."""
    count = len(kernels.start)
    constant = {"gridY": 1, "gridZ": 1, "blockX": 128, "blockY": 1, "blockZ": 1, "streamId": 7, "contextId": 1}
    constant |= {"registersPerThread": 64, "dynamicSharedMemory": 0, "localMemoryTotal": 250_871_808, "launchType": 1}
    constant |= {"staticSharedMemory": 0, "localMemoryPerThread": 0, "sharedMemoryExecuted": 233_472, "cacheConfig": 0}
    unset = "greenContextId", "mangledName", "gridId", "graphNodeId", "sharedMemoryLimitConfig"
    return pa.table(
        {
            "start": kernels.start,
            "end": kernels.end,
            "deviceId": np.full(count, gpu),
            "correlationId": np.arange(1, count + 1),
            "globalPid": np.full(count, _global_id(gpu)),
            "demangledName": KERNEL_NAME + kernels.kind,
            "shortName": KERNEL_NAME + kernels.kind,
            "gridX": 132 * (1 + kernels.kind % 4),
            **{name: np.full(count, value) for name, value in constant.items()},
            **_empty(count, *unset),
        }
    )


def sample_columns(size: Size, kernels: _Kernels, gpu: int, generator: np.random.Generator) -> Iterator[pa.Table]:
    """The samples of one GPU, some at a time: all metrics of one time after the other, as nsys writes them."""
    count = size.metric_rows // METRICS // size.gpus
    period = size.seconds * 1e9 / max(count, 1)
    length = kernels.end - kernels.start
    borders = np.append(0, np.column_stack([kernels.start, kernels.end]).ravel()).astype(np.float64)
    counted = [
        np.append(0, np.repeat(np.cumsum(length * share), 2)[: 2 * len(length)])
        for share in (np.ones(len(length)), kernels.tensor, kernels.memory)
    ]
    for total in counted:  # what was counted before each border: up to a kernel's start only that of those before it
        total[1::2] = np.append(0, total[2::2])[:-1] if len(length) else total[1::2]
    for first in range(0, count, SAMPLES_AT_ONCE):
        some = min(SAMPLES_AT_ONCE, count - first)
        stamps = np.arange(first, first + some + 1) * period
        stamps[1:-1] += generator.uniform(-16, 16, some - 1)
        stamps = stamps.astype(np.int64)
        duration = np.diff(stamps)
        busy, tensor, memory = (np.diff(np.interp(stamps, borders, total)) / duration for total in counted)
        yield _metric_rows(gpu, stamps[:-1], duration, busy, tensor, memory, generator)


def _metric_rows(
    gpu: int,
    stamps: Ints,
    duration: Ints,
    busy: Floats,
    tensor: Floats,
    memory: Floats,
    generator: np.random.Generator,
) -> pa.Table:
    """Nine rows for each sample, in the order of the fixture's metrics."""
    clock = CLOCK_HZ * generator.uniform(0.99, 1.0, len(stamps))
    cycles = SM_COUNT * clock * duration * 1e-9
    shares = (busy, 0.95 * busy, 0.4 * busy, tensor)
    values = [
        clock,
        *map(_percent, shares),
        4 * tensor * cycles,
        _percent(0.7 * memory),
        _percent(0.3 * memory),
        cycles,
    ]
    rows = np.column_stack([_as_exported(np.round(value).astype(np.int64)) for value in values]).ravel()
    times = np.repeat(stamps, METRICS)
    return pa.table(
        {
            "rawTimestamp": times,
            "timestamp": times,
            "typeId": np.full(len(times), FIRST_METRIC_TYPE + gpu),
            "metricId": np.tile(np.arange(METRICS), len(stamps)),
            "value": rows,
        }
    )


def _empty(count: int, *names: str, kind: pa.DataType | None = None) -> dict[str, pa.Array]:
    """Columns that nsys writes and nothing was recorded for."""
    return dict.fromkeys(names, pa.nulls(count, kind or pa.int64()))


def _percent(share: Floats) -> Floats:
    """A share as nsys rounds it: to the nearest percent, but what is above 0 reads at least 1."""
    return np.where(share > 0, np.maximum(np.round(100 * share), 1), 0)


def _as_exported(counts: Ints) -> Ints:
    """Counts as nsys stores them: in as few bytes as hold the largest, and then read with a sign."""
    bits = 8 * max(1, -(-int(counts.max(initial=0)).bit_length() // 8))
    return np.where(counts >= 1 << (bits - 1), counts - (1 << bits), counts)


def _global_id(gpu: int, thread: int = 0) -> int:
    return MACHINE | (FIRST_PROCESS + gpu) << 24 | thread
