"""Read a recording's API calls, and the work of the GPUs."""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals
from sqlalchemy import ColumnElement, Table, func, or_, select

from tcprof.arrays import Floats, Ints, broadcast_if_constant, name_codes
from tcprof.frames import ACTIVITIES, API_CALLS, DEVICE_TO_HOST, GRAPH_NODES, HOST_TO_DEVICE, WAITS
from tcprof.nsys import schema
from tcprof.sources.checks import LATER_WORK, MANY_GPUS, count_lost, cut_overruns
from tcprof.sources.nsys_sqlite.database import OWN_NUMBER, UNNAMED, Database, distinct_pairs
from tcprof.sources.nsys_sqlite.query import UNKNOWN, Query

_GEOMETRY = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
_SIDES = ("srcKind", "dstKind")
_OF_HOST = [kind for way in (HOST_TO_DEVICE, DEVICE_TO_HOST) for kind, name in schema.COPY_KINDS.items() if name == way]
_OF_LAUNCH = ("gpu", "process", "stream")
_OFTEN_ONE = (*_OF_LAUNCH, "graph_node")
_DEEPEST = 32  # copies of copies of a node of a graph, as powers of two
_BLOCK = 3  # where the block begins
_LONGEST_CALL = 256  # characters of a call's name
_LAUNCHING = {"kernel": "%aunch%Kernel%", "memcpy": "cu%Memcpy%", "memset": "cu%Memset%", "graph": "cu%GraphLaunch%"}


def read_activities(database: Database, gpu_of: dict[tuple[int, int], int]) -> pd.DataFrame:
    """Read kernels, copies, sets and graphs in order of start, with ``gpu_of`` a process, -1 for any, and device."""
    kinds = zip(("kernel", "memcpy", "memset", "graph"), schema.ACTIVITY_TABLES, strict=True)
    parts = [_read_kind(database, table, kind, gpu_of) for kind, table in kinds if database.has(table)]
    parts = [part for part in parts if len(part["start_ns"])]
    if not parts:
        return ACTIVITIES.empty()
    order = np.argsort(np.concatenate([part["start_ns"] for part in parts]), kind="stable")
    columns: dict[str, Any] = {}
    for name in ACTIVITIES.names:  # one after the other, each freed when it is joined: there may be millions of rows
        pieces = [part.pop(name) for part in parts]
        is_category = isinstance(pieces[0], pd.Categorical)
        joined = (union_categoricals(pieces) if is_category else np.concatenate(pieces))[order]
        columns[name] = broadcast_if_constant(joined) if name in _OFTEN_ONE else joined
    columns["correlation"] = _pair_in_order(database, columns)
    node = columns.pop("graph_node")
    if (node != UNKNOWN).any():
        columns["graph_node"] = np.where(node == UNKNOWN, np.nan, node)
    frame = pd.DataFrame(_without_overruns(database, columns), copy=False)
    if (beyond := np.sort(pd.unique(columns["gpu"]))[schema.MOST_GPUS :]).size:
        is_beyond = frame["gpu"].isin(beyond)
        database.tell(schema.KERNELS, "deviceId", MANY_GPUS, int(is_beyond.sum()))
        frame = frame[~is_beyond]
    return ACTIVITIES.conform(frame)


def size_messages(activities: pd.DataFrame, launches: pd.DataFrame, messages: pd.DataFrame) -> pd.DataFrame:
    """Give NCCL's kernels the size of what they move, as ``moved_bytes``, from ``read_messages``.

    A kernel moves the message of the range in which it was launched or, in a group, those of its thread since the
    kernel before. Where several kernels move them, the size of each stays unknown.
    """
    key, thread = ["process", "correlation"], ["process", "thread"]
    is_nccl = activities["name"].isin([name for name in activities["name"].cat.categories if "nccl" in name])
    rows = np.flatnonzero(is_nccl)
    kernels = pd.MultiIndex.from_frame(activities.iloc[rows][key])
    launches = launches[pd.MultiIndex.from_frame(launches[key]).isin(kernels)].sort_values("start_ns")
    launches = launches.rename(columns={"start_ns": "launched_ns"})[[*thread, "correlation", "launched_ns"]]
    times = {"left_on": "start_ns", "right_on": "launched_ns", "direction": "forward"}
    given = pd.merge_asof(messages, launches, by=thread, **times).dropna(subset="launched_ns")
    is_around = (given["end_ns"] >= given["launched_ns"]).rename("alone")
    is_alone = is_around.groupby([given[name] for name in key]).transform("any")
    of_kernel = given[is_around | ~is_alone].assign(alone=is_alone).groupby(key)
    launches = launches.set_index(key)
    launches["size_bytes"] = of_kernel["size_bytes"].agg(lambda size: size.sum(skipna=False))
    has_none = launches["size_bytes"].isna().groupby([launches.index.get_level_values(0), launches["thread"]])
    shares = (has_none.shift(-1).fillna(0) != 0) & ~of_kernel["alone"].any().reindex(launches.index, fill_value=False)
    moved = activities["moved_bytes"].to_numpy(copy=True)
    moved[rows] = launches["size_bytes"].where(~shares).reindex(kernels)
    return activities.assign(moved_bytes=moved)


def _without_overruns(database: Database, columns: dict[str, Any]) -> dict[str, Any]:
    """Cut the ends of work that overruns the next work in its stream."""
    stream = pd.DataFrame({name: columns[name] for name in _OF_LAUNCH}).groupby(list(_OF_LAUNCH), sort=False).ngroup()
    is_known = (columns["stream"] != UNKNOWN) & (columns["process"] != UNKNOWN)
    serial = np.where(is_known, stream, UNKNOWN)
    ends, count = cut_overruns(serial, columns["correlation"], columns["start_ns"], columns["end_ns"])
    database.tell(schema.KERNELS, "end", LATER_WORK, count, kept=True)
    return columns | {"end_ns": ends}


def _pair_in_order(database: Database, columns: dict[str, Any]) -> Ints:
    """Number work of launches that share a number as ``_read_shared``, in order, unless it would begin before them."""
    read = ("process", "kind", "correlation", "start_ns", "graph_node")
    work = pd.DataFrame({name: columns[name] for name in read}, copy=False)
    if not work.loc[work["kind"] == "kernel", ["process", "correlation"]].duplicated().any():
        return np.asarray(work["correlation"])
    shared = _read_shared(database)
    work = work.reset_index().merge(shared[["process", "correlation"]].drop_duplicates()).astype({"kind": "str"})
    work["kind"] = work["kind"].where(work["graph_node"] == UNKNOWN, "graph")
    key = ["process", "kind"]
    first_ns = work[key].merge(shared.groupby(key, as_index=False)["start_ns"].min(), how="left")["start_ns"].to_numpy()
    is_earlier = (work["start_ns"] < first_ns).groupby([work[name] for name in key])  # launched before the recording
    work["rank"] = work.groupby(key).cumcount() - is_earlier.transform("sum")
    in_graph = (work["graph_node"] != UNKNOWN).to_numpy()
    work.loc[in_graph, "rank"] = _count_runs(work[in_graph])
    called = shared[["process", "kind", "rank", "number", "start_ns"]].rename(columns={"start_ns": "called_ns"})
    paired = work.merge(called, how="left", on=["process", "kind", "rank"])
    is_early = paired["called_ns"] > paired["start_ns"]
    has_failed = is_early.groupby([paired["process"], paired["kind"]]).transform("any")
    numbers = np.array(columns["correlation"])
    numbers[paired["index"]] = paired["number"].where(~has_failed).fillna(UNKNOWN).astype(np.int64)
    return numbers


def _count_runs(work: pd.DataFrame) -> "pd.Series[int]":
    """Number the runs of graphs in a process that each kernel belongs to, in order; -1 before the first whole one.

    A run begins with the node that was made first, of the graph that the upper half of a node's number names.
    """
    graph, process = work["graph_node"] // (1 << 32), work["process"]
    is_first = work["graph_node"] == work["graph_node"].groupby([process, graph]).transform("min")
    run = is_first.groupby(process).cumsum().where(is_first)
    return (run.groupby([process, graph]).ffill().fillna(0) - 1).astype("int64")


def _read_shared(database: Database) -> pd.DataFrame:
    """Read launches with the number of an earlier one that had returned, and that one; each gets its own ``number``.

    CUPTI that begins to record within a call of a thread takes all its later calls for a part of that one. ``rank``
    counts those of a kind in a process.
    """
    parts = []
    for kind, pattern in _LAUNCHING.items():
        columns = ("start", "globalTid", "correlationId", "end")
        query = Query(schema.API_CALLS, columns[:-1], facts={"end": UNKNOWN}, where=_is_called(pattern))
        parts.append(pd.DataFrame(database.read(query)).assign(kind=kind))
    calls = (
        pd.concat(parts)
        .astype(dict.fromkeys(columns, np.int64))
        .rename(columns={"correlationId": "correlation", "start": "start_ns", "end": "returned_ns"})
    )
    calls = calls.assign(process=database.processes(calls["globalTid"].to_numpy()))
    calls = calls.sort_values("start_ns", kind="stable", ignore_index=True)
    key = ["process", "correlation"]
    latest = calls.groupby(key)["returned_ns"].cummax().groupby([calls[name] for name in key]).shift()
    calls = calls[~(calls["start_ns"] < latest)]  # else a driver call inside a runtime call
    calls = calls[calls.duplicated(key, keep=False)].reset_index(drop=True)
    numbers = database.read(Query(schema.API_CALLS, required=("correlationId",)))["correlationId"]
    return calls.assign(
        number=int(numbers.max(initial=0)) + 1 + calls.index, rank=calls.groupby(["process", "kind"]).cumcount()
    )


def _read_kind(
    database: Database, table: Table, kind: str, gpu_of: dict[tuple[int, int], int]
) -> dict[str, Ints | Floats | pd.Categorical]:
    code = {"kernel": ("demangledName",), "memcpy": ("copyKind",)}.get(kind, ())
    sizes = _GEOMETRY if kind == "kernel" else ()
    places = ("deviceId", "streamId", "correlationId", "globalPid", *code, *sizes)
    moved_facts = {"memcpy": ("bytes", *_SIDES), "memset": ("bytes",)}.get(kind, ())
    facts = (*moved_facts, *(("graphNodeId",) if kind != "graph" else ()))
    unknown = [dict.fromkeys(columns, UNKNOWN) for columns in (places, facts)]
    rows = database.read(Query(table, ("start", "end"), unknown[0], unknown[1]))
    start, device, pid = rows["start"], rows["deviceId"], rows["globalPid"]
    codes = rows[code[0]] if code else np.zeros(len(start), dtype=np.int64)
    process = np.where(pid == UNKNOWN, UNKNOWN, database.processes(pid))
    if len(process) and (process == UNKNOWN).all():  # old exports do not say: it is the one that made all API calls
        threads = database.read(Query(schema.API_CALLS, required=("globalTid",)))["globalTid"]
        processes = np.unique(database.processes(threads))
        process[:] = processes[0] if len(processes) == 1 else UNKNOWN
    moved = rows["bytes"] if moved_facts else np.full(len(start), UNKNOWN)
    numbers, unique_codes = pd.factorize(codes)
    names = {0: kind} | (schema.COPY_KINDS if kind == "memcpy" else {})
    if kind == "kernel":
        names = database.strings(unique_codes)
    return {
        "gpu": _gpu_numbers(process, device, gpu_of),
        "kind": pd.Categorical.from_codes(np.zeros(len(start), dtype=np.int8), [kind]),
        "name": name_codes(numbers, [names.get(int(code)) or UNNAMED for code in unique_codes]),
        "launch_geometry": _named_geometry([rows[size] for size in sizes], len(start)),
        "stream": rows["streamId"],
        "process": process,
        "correlation": rows["correlationId"],
        "start_ns": start,
        "end_ns": database.close_backwards(table, start, rows["end"]),
        "moved_bytes": np.where(moved == UNKNOWN, np.nan, moved),
        "host_memory": _host_memory(codes, *(rows[side] for side in _SIDES if side in rows)),
        "graph_node": rows.get("graphNodeId", np.full(len(start), UNKNOWN)),
    }


def _host_memory(copied: Ints, *sides: Ints) -> pd.Categorical:
    """Name the memory of each copy's host side; empty for other activities."""
    codes = np.zeros(len(copied), dtype=np.int8)
    names = ["", *dict.fromkeys(schema.HOST_MEMORY.values())]
    for way, side in zip(_OF_HOST, sides, strict=False):
        kinds = pd.Series(side).map(schema.HOST_MEMORY)
        is_host = (copied == way) & kinds.notna().to_numpy()
        codes[is_host] = pd.Categorical(kinds[is_host], names).codes
    return pd.Categorical.from_codes(codes, names)


def _named_geometry(dimensions: list[Ints], count: int) -> pd.Categorical:
    """Write grid and block as text; empty where there are none."""
    codes, values = np.zeros(count, dtype=np.int64), [""]
    for place, dimension in enumerate(dimensions):
        size_codes, sizes = pd.factorize(dimension)
        codes, pairs = pd.factorize(codes * len(sizes) + size_codes)
        mark = " " if place == _BLOCK else "x" if place else ""
        values = [f"{values[pair // len(sizes)]}{mark}{sizes[pair % len(sizes)]}" for pair in pairs.tolist()]
    return name_codes(codes, values) if count else pd.Categorical([], categories=[""])


def _gpu_numbers(process: Ints, device: Ints, gpu_of: dict[tuple[int, int], int]) -> Ints:
    """Look up the GPU of each activity: by process and device, else by device, else the device number itself."""
    codes, pairs = distinct_pairs(process, device)
    keys = [(process & OWN_NUMBER if process >= 0 else process, device) for process, device in pairs]
    numbers = [gpu_of.get(pair, gpu_of.get((UNKNOWN, pair[1]), pair[1])) for pair in keys]
    return np.array(numbers, dtype=np.int64)[codes] if len(process) else process


def read_graph_nodes(database: Database) -> pd.DataFrame:
    """Read when the program made the nodes of its CUDA graphs, see ``tcprof.frames.GRAPH_NODES``.

    A graph that is made executable, or put into another, is copied: of its nodes the original counts, if it is known.
    """
    if not database.has_column(schema.NODE_EVENTS, "originalGraphNodeId"):
        return GRAPH_NODES.empty()  # copies, which are what runs, were made elsewhere
    query = Query(schema.NODE_EVENTS, ("start", "globalTid", "graphNodeId"), facts={"originalGraphNodeId": UNKNOWN})
    rows = database.read(query)
    columns = {
        "process": database.processes(rows["globalTid"]),
        "graph_node": rows["graphNodeId"],
        "original": rows["originalGraphNodeId"],
        "thread": rows["globalTid"] & 0xFFFFFF,
        "start_ns": rows["start"],
    }
    # Some events of a copy do not name the original, whose number is at least 1.
    nodes = pd.DataFrame(columns).sort_values(["original", "start_ns"], ascending=[False, True], kind="stable")
    nodes = nodes.drop_duplicates(["process", "graph_node"], ignore_index=True)
    by_number = pd.MultiIndex.from_frame(nodes[["process", "graph_node"]])
    is_copy = (nodes["original"] > 0).to_numpy()
    above = by_number.get_indexer(pd.MultiIndex.from_frame(nodes[["process", "original"]]))
    origin = np.where(is_copy, np.where(above >= 0, above, len(nodes)), np.arange(len(nodes)))
    origin = np.append(origin, len(nodes))  # the last row stands for originals that are not known
    for _ in range(_DEEPEST if is_copy.any() else 0):
        if (origin[origin] == origin).all():
            break
        origin = origin[origin]
    rows_made = np.flatnonzero(origin[:-1] < len(nodes))
    made = nodes[["thread", "start_ns"]].iloc[origin[rows_made]].reset_index(drop=True)
    return GRAPH_NODES.conform(nodes[["process", "graph_node"]].iloc[rows_made].reset_index(drop=True).join(made))


def read_launches(database: Database) -> pd.DataFrame:
    """Read the API calls that started the recorded activities, see ``tcprof.frames.API_CALLS``."""
    calls = schema.API_CALLS
    started = _correlations(database)
    if not database.has(calls) or not len(started):
        return API_CALLS.empty()
    # SQLite would take longer to choose the launches than to hand over all calls.
    rows = database.read(Query(calls, required=("start", "globalTid", "correlationId"), facts={"end": UNKNOWN}))
    chosen = np.isin(rows["correlationId"], started)
    start, thread, correlation, end = (rows.pop(name)[chosen] for name in tuple(rows))
    # A driver call inside a runtime call may bear the same number; the outer one began first.
    order = np.argsort(start, kind="stable")
    process = database.processes(thread)[order]
    key = pd.Series(process << 39 | correlation[order])
    outer = ~key.duplicated().to_numpy()
    has_later = bool((start[order] >= end[order][outer][key.factorize()[0]])[~outer].any())
    order, process = order[outer], process[outer]
    columns = {
        "process": broadcast_if_constant(process),
        "thread": broadcast_if_constant(thread[order] & 0xFFFFFF),
        "correlation": correlation[order],
        "start_ns": start[order],
        "returned_ns": np.where(end < start, np.nan, end)[order],
    }
    frame = pd.DataFrame(columns, copy=False)
    return API_CALLS.conform(_separate_launches(database, frame) if has_later else frame)


def _separate_launches(database: Database, frame: pd.DataFrame) -> pd.DataFrame:
    """Replace the first of the launches that share a number by all of them."""
    shared = _read_shared(database)
    is_first = pd.MultiIndex.from_frame(frame[["process", "correlation"]]).isin(
        pd.MultiIndex.from_frame(shared[["process", "correlation"]])
    )
    apart = shared.assign(thread=shared["globalTid"] & 0xFFFFFF, correlation=shared["number"])
    apart["returned_ns"] = apart["returned_ns"].where(apart["returned_ns"] >= apart["start_ns"])
    return pd.concat([frame[~is_first], apart[frame.columns]]).sort_values("start_ns", kind="stable", ignore_index=True)


def read_calls(database: Database, *patterns: str) -> pd.DataFrame:
    """Read the API calls of such names, with the columns of ``tcprof.frames.WAITS``."""
    calls = schema.API_CALLS
    if not database.has_column(calls, "nameId"):
        return WAITS.empty()
    columns = ("start", "end", "globalTid", "nameId")
    rows = database.read(Query(calls, required=columns, where=or_(*map(_is_called, patterns))))
    codes, ids = pd.factorize(rows["nameId"])
    texts = database.strings(ids)
    order = np.argsort(rows["start"], kind="stable")
    named = {
        "process": database.processes(rows["globalTid"]),
        "thread": rows["globalTid"] & 0xFFFFFF,
        "name": name_codes(codes, [texts.get(int(number)) or UNNAMED for number in ids]),
        "start_ns": rows["start"],
        "end_ns": np.maximum(rows["start"], rows["end"]),
    }
    return WAITS.conform(pd.DataFrame({name: column[order] for name, column in named.items()}, copy=False))


def count_lost_launches(database: Database) -> int | None:
    """Count the launches without a kernel, see ``tcprof.sources.checks.count_lost``.

    None where this is unknown: launches that are captured into a CUDA graph have no kernel of their own.
    """
    calls, kernels = schema.API_CALLS, schema.KERNELS
    if not (database.has_column(calls, "nameId") and database.has(kernels)) or database.has(schema.GRAPHS):
        return None
    launching = _is_called("%aunch%Kernel%")
    called = database.read(Query(calls, ("start", "correlationId"), {"globalTid": UNKNOWN}, where=launching))
    if not len(called["start"]):
        return None
    ran = database.read(Query(kernels, optional=dict.fromkeys(("globalPid", "correlationId", "streamId"), UNKNOWN)))
    owner, thread = ran["globalPid"] >> 24, called["globalTid"] >> 24
    if not (database.has_column(kernels, "globalPid") and database.has_column(calls, "globalTid")):
        owner, thread = np.zeros_like(owner), np.zeros_like(thread)
    launches = pd.DataFrame({"process": thread, "correlation": called["correlationId"], "start": called["start"]})
    recorded = pd.DataFrame({"process": owner, "correlation": ran["correlationId"], "stream": ran["streamId"]})
    key = ["process", "correlation"]
    often = bool((launches.groupby(key).size() > 2).any())  # more than a call and the driver's within it
    launches = launches.sort_values("start", kind="stable").drop_duplicates(key)
    if often:
        shared = _read_shared(database).query("kind == 'kernel'").rename(columns={"start_ns": "start"})
        shared["process"] = shared["globalTid"].to_numpy() >> 24
        launches = pd.concat([launches, shared[launches.columns]]).drop_duplicates().sort_values("start", kind="stable")
        launches["place"], recorded["place"] = (frame.groupby(key).cumcount() for frame in (launches, recorded))
        key.append("place")
    launches = launches.merge(recorded.drop_duplicates(key), how="left")
    return count_lost(launches)


def _is_called(pattern: str) -> ColumnElement[bool]:
    """Select API calls by name, short ones only: matching a pattern with two gaps in megabytes takes long."""
    names = schema.STRINGS.c
    named = (func.length(names.value) < _LONGEST_CALL) & names.value.like(pattern)
    return schema.API_CALLS.c.nameId.in_(select(names.id).where(named))


def _correlations(database: Database) -> Ints:
    """Read the numbers of the launches of all activities."""
    queries = (Query(table, optional={"correlationId": UNKNOWN}) for table in schema.ACTIVITY_TABLES)
    numbers: Ints = np.concatenate([database.read(query)["correlationId"] for query in queries])
    return np.asarray(numbers[numbers != UNKNOWN], dtype=np.int64)
