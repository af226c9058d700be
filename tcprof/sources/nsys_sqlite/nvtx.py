"""Read the program's NVTX ranges, and the marks of the annotation."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa

from tcprof.annotate.captures import CLOCK
from tcprof.annotate.steps import DOMAIN
from tcprof.arrays import Bools, Ints, broadcast_if_constant, name_codes
from tcprof.frames import MARKS, NVTX_RANGES, OPS_DOMAIN
from tcprof.nsys import schema
from tcprof.sources import UNCLOSED, UNNAMED_DOMAIN
from tcprof.sources.nsys_sqlite.database import UNNAMED, Columns, Database, distinct_pairs, texts
from tcprof.sources.nsys_sqlite.query import UNKNOWN, Query
from tcprof.sources.torch_ops import split_names
from tcprof.sources.xla import lie_in_compilation, shorten_name

MOST_DOMAINS = 100  # each costs a search of all launches; libraries have some ten
MANY_DOMAINS = f"beyond the {MOST_DOMAINS} domains with the most ranges"
OTHER_DOMAINS = "(other domains)"
_CLOCK = re.compile(CLOCK + r" ([0-9]{1,7}) ([0-9]{1,8}) ([0-9]{1,18})")  # written by ``annotate.captures``
OPEN = -(1 << 62)  # in place of the end of a range that never closed


def read_ranges(database: Database, end_of_recording: int) -> pd.DataFrame:
    """Read the NVTX push/pop and start/end ranges, see ``tcprof.frames.NVTX_RANGES``."""
    rows = _read_nvtx(database, (schema.NVTX_PUSH_POP, schema.NVTX_START_END), "start", end=OPEN)
    start, end, thread = rows["start"], rows["end"], rows["globalTid"]
    if not len(start):
        return NVTX_RANGES.empty()
    process = database.processes(thread)
    ops = split_names(_names(database, rows["text"], rows["textId"]), process)
    if ops.malformed_count:
        database.tell(schema.NVTX, "text", "invalid op sizes", ops.malformed_count, kept=True)
    lost = _have_lost_their_end(start, end, [thread, rows["domainId"]], ops.name.codes)
    database.tell(schema.NVTX, "end", UNCLOSED, int(lost.sum()))
    closed = np.where(end == OPEN, max(end_of_recording, int(start.max()), int(end.max())), end)
    closed = database.close_backwards(schema.NVTX, start, closed)
    ranges = NVTX_RANGES.conform(
        pd.DataFrame(
            {
                "process": broadcast_if_constant(process),
                "thread": broadcast_if_constant(thread & 0xFFFFFF),
                "domain": _set_apart(_domains(database, process, rows["domainId"]), ops.is_op),
                "name": ops.name,
                "start_ns": start,
                "end_ns": closed,
                "start_end": rows["eventType"] == schema.NVTX_START_END,
                "sequence": ops.sequence,
                "sizes": ops.sizes,
                "output_sizes": ops.output_sizes,
            },
            copy=False,
        )
    )
    left_out = lost | lie_in_compilation(ops.name, thread, start, np.where(lost, start, closed))
    return ranges[~left_out].reset_index(drop=True) if left_out.any() else ranges


def _have_lost_their_end(start: Ints, end: Ints, lane: list[Ints], name: Ints) -> Bools:
    """Find ranges that never closed, and were not open when the recording ended either.

    Such a one is the last of its name on its thread, the only one of that name that is open, and in no closed range.
    """
    is_open: Bools = end == OPEN
    if not is_open.any():
        return is_open
    rows = pd.DataFrame(
        {"thread": lane[0], "domain": lane[1], "start": start, "end": end, "name": name, "open": is_open}
    )
    rows = rows.sort_values("start", kind="stable")
    closed_until = rows["end"].groupby([rows["thread"], rows["domain"]]).cummax()
    same = rows.groupby(["thread", "domain", "name"])
    is_last = (same["open"].transform("sum") == 1) & (rows["start"] == same["start"].transform("max"))
    lost = rows["open"] & ~(is_last & (closed_until <= rows["start"]))
    return np.asarray(lost.sort_index(), dtype=bool)


def read_marks(database: Database) -> pd.DataFrame:
    """Read the NVTX marks of the annotation, see ``tcprof.frames.MARKS``."""
    rows = _read_nvtx(database, (schema.NVTX_MARK,), "start")
    process, thread = database.processes(rows["globalTid"]), rows["globalTid"] & 0xFFFFFF
    if not len(process):
        return MARKS.empty()
    is_ours = np.asarray(_domains(database, process, rows["domainId"]) == DOMAIN)
    name = _names(database, rows["text"], rows["textId"])
    columns = {"process": process, "thread": thread, "name": name, "start_ns": rows["start"]}
    return MARKS.conform(pd.DataFrame(columns)[is_ours])


def read_messages(database: Database) -> pd.DataFrame:
    """Read NCCL's messages: process, thread, when the range of each began and ended, and ``size_bytes``."""
    if not database.has_column(schema.NVTX, "jsonText"):
        return pd.DataFrame()
    query = Query(
        schema.NVTX,
        required=("start", "eventType", "globalTid"),
        optional={"end": OPEN, "domainId": UNKNOWN},
        texts=("jsonText",),
        among=("eventType", (schema.NVTX_PUSH_POP, schema.NVTX_START_END)),
        where=schema.NVTX.c.jsonText.contains(schema.MESSAGE_SIZE),
    )
    rows = database.read(query)
    process = database.processes(rows["globalTid"])
    encoded = rows["jsonText"].dictionary_encode()
    sizes = [schema.parse_message_size(text) for text in texts(encoded.dictionary)]
    frame = pd.DataFrame(
        {
            "process": process,
            "thread": rows["globalTid"] & 0xFFFFFF,
            "start_ns": rows["start"],
            "end_ns": rows["end"],
            "size_bytes": np.array([*sizes, np.nan], dtype=np.float64)[encoded.indices.to_numpy()],
        }
    )
    frame = frame[np.asarray(_domains(database, process, rows["domainId"]) == schema.NCCL_DOMAIN)]
    database.tell(schema.NVTX, "jsonText", "invalid message sizes", int(frame["size_bytes"].isna().sum()), kept=True)
    return frame.sort_values("start_ns", ignore_index=True)


def read_captured(database: Database) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the ranges and marks that the annotation kept while streams were captured: see ``write_captured``."""
    rows = database.read(Query(schema.CAPTURED, ("kind", "globalTid", "begin", "until"), texts=("name",)))
    encoded = rows["name"].dictionary_encode()
    names = [shorten_name(name) or UNNAMED for name in texts(encoded.dictionary)]
    columns = {
        "process": database.processes(rows["globalTid"]),
        "thread": rows["globalTid"] & 0xFFFFFF,
        "domain": DOMAIN,
        "name": name_codes(encoded.indices.to_numpy(), names),
        "start_ns": rows["begin"],
        "end_ns": np.maximum(rows["begin"], rows["until"]),
        "start_end": rows["kind"] == schema.NVTX_START_END,
        "sequence": np.nan,
        "sizes": "",
        "output_sizes": "",
    }
    frame = pd.DataFrame(columns)
    is_mark = rows["kind"] == schema.NVTX_MARK
    return NVTX_RANGES.conform(frame[~is_mark]), MARKS.conform(frame[is_mark])


def read_clocks(database: Database) -> list[tuple[int, int, int, int]]:
    """Read what processes told of their clock: number, time in the recording, time on the clock, and global id."""
    rows = _read_nvtx(database, (schema.NVTX_MARK,), "start")
    names = _names(database, rows["text"], rows["textId"])
    clock_names = {code: match for code, name in enumerate(names.categories) if (match := _CLOCK.fullmatch(name))}
    clocks = []
    for row in np.flatnonzero(np.isin(names.codes, np.array([*clock_names], dtype=np.int64))).tolist():
        process, thread, time = map(int, clock_names[names.codes[row]].groups())
        owner = int(rows["globalTid"][row])
        if owner & 0xFFFFFFFFFF == process << 24 | thread:  # else they are numbered otherwise there
            clocks.append((process, int(rows["start"][row]), time, owner - thread))
    return clocks


def _read_nvtx(database: Database, kinds: tuple[int, ...], *required: str, **optional: int) -> Columns:
    return database.read(
        Query(
            schema.NVTX,
            required=(*required, "eventType"),
            optional={**optional, "globalTid": UNKNOWN, "domainId": UNKNOWN, "textId": UNKNOWN},
            texts=("text",),
            among=("eventType", kinds),
        )
    )


def _set_apart(domain: pd.Categorical, is_op: Bools) -> pd.Categorical:
    """Move ops to a domain of their own: between the program's ranges they would end what these inherit."""
    if not is_op.any():
        return domain
    named = domain.add_categories([name for name in (OPS_DOMAIN,) if name not in domain.categories])
    codes = np.where(is_op, named.categories.get_loc(OPS_DOMAIN), named.codes)
    return pd.Categorical.from_codes(codes, dtype=named.dtype).remove_unused_categories()


def _names(database: Database, inline_texts: pa.Array, ids: Ints) -> pd.Categorical:
    """Take names from the row itself, or from the string table (registered strings)."""
    encoded = inline_texts.dictionary_encode()
    inline = texts(encoded.dictionary)
    unique_ids, id_codes = np.unique(ids, return_inverse=True)
    strings = database.strings(unique_ids)
    names = inline + [strings.get(int(key), "") for key in unique_ids]
    codes = encoded.indices.to_numpy()
    registered = np.array([not text for text in inline], dtype=bool)[codes] & (ids != UNKNOWN)
    codes = np.where(registered, len(inline) + id_codes, codes)
    return name_codes(codes, [shorten_name(name) or UNNAMED for name in names])


def _domains(database: Database, process: Ints, domain: Ints) -> pd.Categorical:
    """Name the ranges' domains. Domain 0 is the default one and has none."""
    created = _read_nvtx(database, (schema.NVTX_DOMAIN_CREATE,))
    ids = created["textId"].tolist()
    strings = database.strings(ids)
    owners = zip(database.processes(created["globalTid"]).tolist(), created["domainId"].tolist(), strict=True)
    name_of = {
        owner: text or strings.get(text_id, "")
        for owner, text_id, text in zip(owners, ids, texts(created["text"]), strict=True)
    }
    codes, pairs = distinct_pairs(process, domain)
    rare = np.bincount(codes, minlength=len(pairs)).argsort(kind="stable")[:-MOST_DOMAINS]
    database.tell(schema.NVTX, "domainId", MANY_DOMAINS, int(np.isin(codes, rare).sum()), kept=True)
    names = ["" if pair[1] in (0, UNKNOWN) else name_of.get(pair) or f"{UNNAMED_DOMAIN}{pair[1]}" for pair in pairs]
    for pair in rare.tolist():
        names[pair] = OTHER_DOMAINS
    return name_codes(codes, names)
