"""The JSON Schemas in docs/schemas: generated from the frames, and true of what the commands print."""

import json
import runpy
from typing import Any

import pytest
from builders import FIXTURES
from commands import Run
from source_tree import PACKAGE

MADE = runpy.run_path(str(PACKAGE.parent / "docs" / "generate_schemas.py"))
TYPES = {"integer": int, "number": (int, float), "boolean": bool, "string": str, "null": type(None)}
COMMANDS = {"recording": "show"}


@pytest.mark.parametrize("kind", MADE["KINDS"])
def test_they_are_generated_from_the_frames(kind: str) -> None:
    written = (MADE["FOLDER"] / f"{kind}.json").read_text(encoding="utf-8")
    assert written == MADE["render"](kind), "run: python docs/generate_schemas.py"


@pytest.mark.parametrize(
    ("recording", "kind"), [("llama", kind) for kind in MADE["KINDS"]] + [("mlp_fp32", "ranges"), ("wmma", "kernels")]
)
def test_they_hold_for_what_is_printed(kind: str, recording: str, run: Run) -> None:
    schema = json.loads(MADE["render"](kind))
    printed = json.loads(run(COMMANDS.get(kind, kind), FIXTURES / f"{recording}.sqlite", "--format", "json").out)
    assert printed["kind"] == kind
    assert {*schema["required"]} <= printed.keys()
    for name in MADE["KINDS"][kind]:
        check_rows(printed[name], schema["properties"][name]["items"]["properties"])


def check_rows(rows: list[dict[str, Any]], columns: dict[str, Any]) -> None:
    assert rows
    for row in rows:
        assert row.keys() <= columns.keys()
        for name, value in row.items():
            assert any(isinstance(value, TYPES[kind]) for kind in columns[name]["type"]), name
