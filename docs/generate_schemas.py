"""Write the JSON Schemas of what commands print with --format json: ``python docs/generate_schemas.py``."""

import json
from pathlib import Path
from typing import Any

from tcprof.frames import (
    ACCEPTED,
    BOARDS,
    CLOCKS,
    COLLECTIVE_KINDS,
    COMPARISON,
    GAP_SUMS,
    GAPS,
    HISTORY_RUNS,
    JOB,
    JOB_COMPARISON,
    KERNEL_CHANGES,
    KERNELS,
    LEDGER,
    MODULE_CHANGES,
    MODULES,
    NCU_METRICS,
    POINTS,
    RANGES,
    RANK_STEPS,
    RANKS,
    SERIES,
    STEP_SUMMARY,
    STEPS,
    TIMELINE,
    WATERFALL,
    Schema,
)

VERSION = 1  # counts up when a key goes or changes its meaning; new ones may come
FOLDER = Path(__file__).parent / "schemas" / str(VERSION)
TYPES = {"int64": "integer", "float64": "number", "bool": "boolean", "object": "string", "category": "string"}
# By kind of document, which is in each: the keys that hold rows, and of which frame; None for rows without a frame.
OF_RECORDING: dict[str, dict[str, Schema | None]] = {
    "recording": {"ranges": RANGES, "kernels": KERNELS},  # of tcprof show
    "advice": {"advice": None},
    "ranges": {"rows": RANGES},
    "kernels": {"rows": KERNELS},
    "modules": {"rows": MODULES},
    "timeline": {"rows": TIMELINE, "ledger": LEDGER, "steps": STEPS, "clocks": CLOCKS},
    "gaps": {"rows": GAPS, "gap_sums": GAP_SUMS},  # of tcprof timeline --gaps
}
KINDS: dict[str, dict[str, Schema | None]] = {
    **OF_RECORDING,
    "comparison": {"rows": COMPARISON, "modules": MODULE_CHANGES, "waterfall": WATERFALL, "kernels": KERNEL_CHANGES},
    "ranks": {"job": JOB, "ranks": RANKS, "rank_steps": RANK_STEPS, "collective_kinds": COLLECTIVE_KINDS},
    "jobs": {"job_comparison": JOB_COMPARISON},  # of two jobs, by tcprof compare
    "history": {"runs": HISTORY_RUNS, "series": SERIES, "points": POINTS, ACCEPTED.name: ACCEPTED},
    "trend": {"series": None, "points": None},
    "doctor": {"checks": None},
    "chips": {"boards": BOARDS},
    "workloads": {"workloads": None},
}
PARTIAL = ("comparison", "history")  # of several new recordings each comparison is in a list; of history, by command


def _describe_rows(frame: Schema | None) -> dict[str, Any]:
    if frame is None:
        return {"type": "array", "items": {"type": "object"}}
    columns = {}
    for column in frame.columns:
        kind = TYPES[column.dtype]
        facts = {"type": [kind, "null"], "description": column.meaning}
        facts |= {"unit": column.unit} if column.unit else {}
        columns[column.name] = facts | ({"ncu": NCU_METRICS[column.name]} if column.name in NCU_METRICS else {})
    return {"type": "array", "description": frame.meaning, "items": {"type": "object", "properties": columns}}


def render(kind: str) -> str:
    """The schema of one kind of document, as JSON."""
    texts = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {"tcprof": {"type": "string"}, "kind": {"const": kind}}
    rows, required = KINDS[kind], [] if kind in PARTIAL else [*KINDS[kind]]
    if kind in OF_RECORDING:
        properties |= {"recording": {"type": "object"}, **dict.fromkeys(("first_lines", "verdict"), texts)}
        rows, required = {"step_summary": STEP_SUMMARY, **rows}, ["faults", "warnings", *required]
    properties |= dict.fromkeys(("faults", "warnings"), texts)
    properties |= {name: _describe_rows(frame) for name, frame in rows.items()}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"tcprof:{VERSION}:{kind}",
        "title": f"tcprof: {kind}",
        "type": "object",
        "required": ["tcprof", "kind", *required],
        "properties": properties,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        (FOLDER / f"{kind}.json").write_text(render(kind), encoding="utf-8")
