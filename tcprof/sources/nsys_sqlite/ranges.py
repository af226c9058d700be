"""The NVTX ranges of an export."""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from sqlalchemy import func, select

from tcprof.frames import NVTX_RANGES
from tcprof.sources.nsys_sqlite import schema
from tcprof.sources.nsys_sqlite.database import UNKNOWN, UNNAMED, Database, decode, distinct_pairs, text_bytes
from tcprof.sources.source import UNNAMED_DOMAIN

OPEN = -(1 << 62)  # in place of the end of a range that never closed

Ints = npt.NDArray[np.int64]


def read_ranges(database: Database, end_of_recording: int) -> pd.DataFrame:
    """The NVTX push/pop and start/end ranges, see ``tcprof.frames.NVTX_RANGES``."""
    nvtx = schema.NVTX
    if not database.has(nvtx):
        return NVTX_RANGES.empty()
    is_range = nvtx.c.eventType.in_((schema.NVTX_PUSH_POP, schema.NVTX_START_END)) & nvtx.c.start.is_not(None)
    table = database.table(
        select(
            nvtx.c.start,
            *database.integers(nvtx, "end", default=OPEN),
            *database.integers(nvtx, "globalTid", "domainId", "textId", "eventType"),
            text_bytes(func.coalesce(database.column(nvtx, "text"), "")).label("text"),
        ).where(is_range)
    )
    if table is None:
        return NVTX_RANGES.empty()
    start, end, thread, domain, text_id, kind = (table.column(i).to_numpy() for i in range(6))
    process = (thread >> 24) & 0xFFFFFF
    closed = np.where(end == OPEN, max(end_of_recording, int(start.max()), int(end.max())), end)
    return NVTX_RANGES.conform(
        pd.DataFrame(
            {
                "process": process,
                "thread": thread & 0xFFFFFF,
                "domain": _domains(database, process, domain),
                "name": _names(database, table.column(6), text_id),
                "start_ns": start,
                "end_ns": np.maximum(closed, start),
                "start_end": kind == schema.NVTX_START_END,
            }
        )
    )


def _names(database: Database, texts: pa.ChunkedArray, ids: Ints) -> pd.Categorical:
    """Names that are in the row itself, or in the string table (registered strings)."""
    encoded = texts.combine_chunks().dictionary_encode()
    inline = [decode(value) for value in encoded.dictionary.to_pylist()]
    unique_ids, id_codes = np.unique(ids, return_inverse=True)
    strings = database.strings(unique_ids)
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
    strings = database.strings(row.textId for row in created)
    name_of = {
        (schema.process_of(tid), number): text or strings.get(text_id, "") for tid, number, text_id, text in created
    }
    codes, pairs = distinct_pairs(process, domain)
    names = ["" if pair[1] in (0, UNKNOWN) else name_of.get(pair) or f"{UNNAMED_DOMAIN}{pair[1]}" for pair in pairs]
    code_of_name, unique = pd.factorize(np.array(names, dtype=object))
    return pd.Categorical.from_codes(code_of_name[codes], unique)
