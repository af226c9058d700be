"""Write the JSON Schemas of what commands print with --format json: ``python docs/generate_schemas.py``."""

import json
from pathlib import Path
from typing import Any

from tcprof.frames import CLOCKS, KERNELS, LEDGER, MODULES, NCU_METRICS, RANGES, STEP_SUMMARY, STEPS, TIMELINE, Schema

VERSION = 1  # counts up when a key goes or changes its meaning; new ones may come
FOLDER = Path(__file__).parent / "schemas" / str(VERSION)
TYPES = {"int64": "integer", "float64": "number", "bool": "boolean", "object": "string", "category": "string"}
# By kind of document, which is in each: the keys that hold rows, and of which frame.
KINDS: dict[str, dict[str, Schema]] = {
    "recording": {"ranges": RANGES, "kernels": KERNELS},  # of tcprof show
    "ranges": {"rows": RANGES},
    "kernels": {"rows": KERNELS},
    "modules": {"rows": MODULES},
    "timeline": {"rows": TIMELINE, "ledger": LEDGER, "steps": STEPS, "clocks": CLOCKS},
}


def _describe_rows(frame: Schema) -> dict[str, Any]:
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
    properties: dict[str, Any] = {
        "tcprof": {"type": "string"},
        "kind": {"const": kind},
        "recording": {"type": "object"},
    }
    properties |= dict.fromkeys(("first_lines", "verdict", "faults", "warnings"), texts)
    rows = {"step_summary": STEP_SUMMARY, **KINDS[kind]}
    properties |= {name: _describe_rows(frame) for name, frame in rows.items()}
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"tcprof:{VERSION}:{kind}",
        "title": f"tcprof: {kind}",
        "type": "object",
        "required": ["tcprof", "kind", "faults", "warnings", *KINDS[kind]],
        "properties": properties,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        (FOLDER / f"{kind}.json").write_text(render(kind), encoding="utf-8")
