"""Ranges, launches and activities of an export."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from sqlalchemy import Select, Table, func, literal, select, union

from tcprof.frames import ACTIVITIES, LAUNCHES, RANGES
from tcprof.trace import schema
from tcprof.trace.database import UNKNOWN, Database, decode, text_bytes

UNNAMED = "(unnamed)"
OPEN = -(1 << 62)  # in place of the end of a range that never closed

Ints = npt.NDArray[np.int64]


def read_ranges(database: Database, end_of_recording: int) -> pd.DataFrame:
    """The NVTX push/pop and start/end ranges, see ``tcprof.frames.RANGES``."""
    nvtx = schema.NVTX
    if not database.has(nvtx):
        return RANGES.empty()
    is_range = nvtx.c.eventType.in_((schema.NVTX_PUSH_POP, schema.NVTX_START_END)) & nvtx.c.start.is_not(None)
    table = database.table(
        select(
            nvtx.c.start,
            *database.integers(nvtx, "end", default=OPEN),
            *database.integers(nvtx, "globalTid", "domainId", "textId"),
            text_bytes(func.coalesce(database.column(nvtx, "text"), "")).label("text"),
        ).where(is_range)
    )
    if table is None:
        return RANGES.empty()
    start, end, thread, domain, text_id = (table.column(i).to_numpy() for i in range(5))
    strings = database.strings(select(nvtx.c.textId).where(is_range)) if (text_id != UNKNOWN).any() else {}
    process = (thread >> 24) & 0xFFFFFF
    closed = np.where(end == OPEN, max(end_of_recording, int(start.max()), int(end.max())), end)
    return RANGES.conform(
        pd.DataFrame(
            {
                "process": process,
                "thread": thread & 0xFFFFFF,
                "domain": _domains(database, process, domain),
                "name": _names(table.column(5), text_id, strings),
                "start_ns": start,
                "end_ns": np.maximum(closed, start),
            }
        )
    )


def _names(texts: pa.ChunkedArray, ids: Ints, strings: dict[int, str]) -> pd.Categorical:
    """Names that stand in the row itself, or in the string table (registered strings)."""
    encoded = texts.combine_chunks().dictionary_encode()
    inline = [decode(value) for value in encoded.dictionary.to_pylist()]
    unique_ids, id_codes = np.unique(ids, return_inverse=True)
    names = inline + [strings.get(int(key), "") for key in unique_ids]
    code_of_name, unique = pd.factorize(np.array([name or UNNAMED for name in names], dtype=object))
    codes = encoded.indices.to_numpy()
    registered = np.array([not text for text in inline])[codes] & (ids != UNKNOWN)
    return pd.Categorical.from_codes(code_of_name[np.where(registered, len(inline) + id_codes, codes)], unique)


def _domains(database: Database, process: Ints, domain: Ints) -> pd.Categorical:
    """The names of the ranges' domains. Domain 0 is the default one and has none."""
    nvtx = schema.NVTX
    columns = database.integers(nvtx, "globalTid", "domainId", "textId"), database.column(nvtx, "text")
    created = database.rows(select(*columns[0], columns[1]).where(nvtx.c.eventType == schema.NVTX_DOMAIN_CREATE))
    strings = database.strings(select(nvtx.c.textId).where(nvtx.c.eventType == schema.NVTX_DOMAIN_CREATE))
    name_of = {
        (schema.process_of(tid), number): text or strings.get(text_id, "") for tid, number, text_id, text in created
    }
    codes, pairs = _pairs(process, domain)
    names = ["" if pair[1] in (0, UNKNOWN) else name_of.get(pair) or f"domain {pair[1]}" for pair in pairs]
    code_of_name, unique = pd.factorize(np.array(names, dtype=object))
    return pd.Categorical.from_codes(code_of_name[codes], unique)


def _pairs(process: Ints, number: Ints) -> tuple[Ints, list[tuple[int, int]]]:
    """The distinct pairs of a process and a number of its own, and for each row its pair."""
    codes, keys = pd.factorize((process << 32) + (number & 0xFFFFFFFF))
    _, first = np.unique(codes, return_index=True)
    return codes, [(int(process[i]), int(number[i])) for i in first[: len(keys)]]


def read_activities(database: Database, gpu_of: dict[tuple[int, int], int]) -> pd.DataFrame:
    """Kernels, copies, sets and whole graphs, see ``tcprof.frames.ACTIVITIES``.

    Args:
        database: The export.
        gpu_of: The GPU's number for a process and its CUDA device number; process -1 stands for any.
    """
    parts = []
    for kind, table in zip(("kernel", "memcpy", "memset", "graph"), schema.ACTIVITY_TABLES, strict=True):
        if database.has(table):
            part = _read_activity_table(database, table, kind, gpu_of)
            if len(part):
                parts.append(part)
    if not parts:
        return ACTIVITIES.empty()
    # Categories differ from table to table: left to itself, concat would make strings of them.
    categories = ["kind", "name"]
    united = {name: pd.api.types.union_categoricals([part[name] for part in parts]) for name in categories}
    merged = pd.concat([part.drop(columns=categories) for part in parts], ignore_index=True).assign(**united)
    return ACTIVITIES.conform(merged.sort_values("start_ns", kind="stable"))


def _read_activity_table(
    database: Database, table: Table, kind: str, gpu_of: dict[tuple[int, int], int]
) -> pd.DataFrame:
    code = {"kernel": "demangledName", "memcpy": "copyKind"}.get(kind)
    code_column = database.integers(table, code)[0] if code else literal(0).label("code")
    frame = database.frame(
        select(
            table.c.start,
            table.c.end,
            *database.integers(table, "deviceId", "streamId", "correlationId", "globalPid"),
            code_column.label("code"),
        ).where(table.c.start.is_not(None) & table.c.end.is_not(None))
    )
    pid = frame["globalPid"].to_numpy()
    process = np.where(pid == UNKNOWN, UNKNOWN, (pid >> 24) & 0xFFFFFF)
    if len(frame) and (process == UNKNOWN).all():
        process[:] = _only_process(database)
    if kind == "kernel":
        names = database.strings(select(table.c.demangledName))
    else:
        names = schema.COPY_KINDS if kind == "memcpy" else {0: kind}
    return pd.DataFrame(
        {
            "gpu": _gpu_numbers(process, frame["deviceId"].to_numpy(), gpu_of),
            "kind": pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [kind]),
            "name": _coded(frame["code"].to_numpy(), names),
            "stream": frame["streamId"],
            "process": process,
            "correlation": frame["correlationId"],
            "start_ns": frame["start"],
            "end_ns": np.maximum(frame["end"], frame["start"]),
        },
        copy=False,
    )


def _coded(codes: Ints, names: dict[int, str]) -> pd.Categorical:
    """Numbers as the names that they stand for."""
    inverse, unique_codes = pd.factorize(codes)
    found = np.array([names.get(int(code)) or UNNAMED for code in unique_codes], dtype=object)
    code_of_name, unique = pd.factorize(found)
    return pd.Categorical.from_codes(code_of_name[inverse] if len(codes) else inverse, unique)


def _gpu_numbers(process: Ints, device: Ints, gpu_of: dict[tuple[int, int], int]) -> Ints:
    """The GPU of each activity: by process and device, else by device, else the device number itself."""
    codes, pairs = _pairs(process, device)
    numbers = [gpu_of.get(pair, gpu_of.get((UNKNOWN, pair[1]), pair[1])) for pair in pairs]
    return np.array(numbers, dtype=np.int64)[codes] if len(process) else process


def _only_process(database: Database) -> int:
    """The process that made all API calls, or -1: old exports do not say which process a kernel belongs to."""
    if not database.has(schema.API_CALLS):
        return UNKNOWN
    owner = schema.API_CALLS.c.globalTid.op(">>")(24)
    processes = database.rows(select(owner).distinct().where(owner.is_not(None)).limit(2))
    return int(processes[0][0]) & 0xFFFFFF if len(processes) == 1 else UNKNOWN


def read_launches(database: Database) -> pd.DataFrame:
    """The API calls that started the recorded activities, see ``tcprof.frames.LAUNCHES``."""
    calls = schema.API_CALLS
    started = _correlations(database)
    if not database.has(calls) or started is None:
        return LAUNCHES.empty()
    frame = database.frame(
        select(calls.c.start, calls.c.globalTid, calls.c.correlationId).where(
            calls.c.correlationId.in_(started) & calls.c.globalTid.is_not(None)
        )
    )
    thread = frame["globalTid"].to_numpy(np.int64)
    launches = pd.DataFrame(
        {
            "process": (thread >> 24) & 0xFFFFFF,
            "thread": thread & 0xFFFFFF,
            "correlation": frame["correlationId"].to_numpy(np.int64),
            "start_ns": frame["start"].to_numpy(np.int64),
        },
        copy=False,
    )
    # A driver call inside a runtime call may bear the same number; the outer one began first.
    ordered = launches.sort_values("start_ns", kind="stable")
    return LAUNCHES.conform(ordered.drop_duplicates(["process", "correlation"]))


def _correlations(database: Database) -> Select[Any] | None:
    """The correlation ids of all activities."""
    parts = [
        select(table.c.correlationId)
        for table in schema.ACTIVITY_TABLES
        if database.has(table) and database.has_column(table, "correlationId")
    ]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else select(union(*parts).subquery().c.correlationId)
