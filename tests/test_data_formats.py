"""JSON and CSV of any frame: what other programs read is what the frame holds, however large or strange."""

import csv
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from builders import FIXTURES
from commands import Run
from hypothesis import given
from hypothesis import strategies as st

from tcprof.frames import NCU_METRICS
from tcprof.render.formats import PLAIN, load_format
from tcprof.render.formats.csv import write_csv
from tcprof.render.formats.json import write_data
from tcprof.render.formats.spreadsheet import without_formulas
from tcprof.units import plain
from tcprof.version import __version__
from tcprof.views.document import Document

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.floats() | st.integers(-(2**63), 2**63 - 1).map(float)


def as_json(**data: object) -> str:
    written = io.StringIO()
    write_data("test", data, written)
    return written.getvalue()


def as_csv(frame: pd.DataFrame) -> str:
    written = io.StringIO()
    write_csv(frame, written)
    return written.getvalue()


@given(st.lists(st.tuples(TEXTS, NUMBERS, st.booleans(), st.integers(-(2**63), 2**63 - 1)), max_size=5))
def test_json_written_by_rows_is_that_written_at_once(rows: list[tuple[str, float, bool, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["a %s", "b", "c", 'd"'])
    data = {"first": [1.5, None, {"x": [math.nan]}], "rows": frame, "last": {"in": frame, "empty": []}}
    whole = {"tcprof": __version__, "kind": "test", **plain(data)}
    assert as_json(**data) == json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def test_large_frames_are_written_in_pieces() -> None:
    sizes: list[int] = []

    class Counting(io.StringIO):
        def write(self, text: str) -> int:
            sizes.append(len(text))
            return super().write(text)

    frame = pd.DataFrame({"number": np.arange(45_000), "name": "a name"})
    written = Counting()
    write_data("test", {"rows": frame}, written)
    assert max(sizes) < len(written.getvalue()) / 4
    assert len(json.loads(written.getvalue())["rows"]) == 45_000
    sizes.clear()
    load_format("csv").write(Document("test", rows=frame), PLAIN, Counting())
    assert max(sizes) < 100


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, np.float32("nan"), np.float64("inf"), np.float32(0.5), np.int64(7), np.True_],
)
def test_json_is_never_what_json_does_not_know(value: object) -> None:
    text = as_json(value=value, inside=[{"value": value}], rows=pd.DataFrame({"a": [value], "b": [[value]]}))
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    known = None if not math.isfinite(float(value)) else float(value)
    assert read["value"] == read["inside"][0]["value"] == read["rows"][0]["a"] == read["rows"][0]["b"][0] == known


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_csv_gives_back_every_text(rows: list[tuple[str, str]]) -> None:
    rows = [(first or "x", second or "y") for first, second in rows]  # an empty field is unknown
    text = as_csv(pd.DataFrame(rows, columns=["a", "b"]))
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [["a", "b"], *map(list, rows)]


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "=cmd|' /C calc'!A0")
BEFORE = ("", "\t", "\r", "\n", "a;", "a; ", "a\t", "a,", "a|", 'a;"', "b\n", "\ufeff", "\xa0")


@pytest.mark.parametrize("before", BEFORE, ids=ascii)
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_spreadsheet_gets_no_formula(formula: str, before: str) -> None:
    text = before + formula
    frame = pd.DataFrame({"name": [text, "a->b"], "kind": pd.Categorical([text, "x"]), "change": [-1.5, 2.0]})
    safe = without_formulas(frame)
    assert not re.search(rf"(^|[^\w']){re.escape(formula)}", safe["name"][0])
    assert safe["name"].str.replace("'", "").tolist() == [text.replace("'", ""), "a->b"]
    assert safe["kind"].tolist() == [safe["name"][0], "x"]
    assert safe["change"].tolist() == [-1.5, 2.0]
    assert frame["name"].tolist() == [text, "a->b"]
    written = io.StringIO()
    load_format("spreadsheet").write(Document("test", rows=frame), PLAIN, written)
    assert written.getvalue() == as_csv(safe)


def test_outputs_have_the_names_of_nsight_compute_beside_ours(tmp_path: Path, run: Run) -> None:
    recording, name = FIXTURES / "mlp_fp16.sqlite", NCU_METRICS["tensor_active_pct"]
    assert json.loads(run("kernels", recording, "--format", "json").out)["ncu_metrics"]["tensor_active_pct"] == name
    for form in ("csv", "parquet"):
        assert run("export", recording, "-o", tmp_path / form, "--format", form).status == 0
        about = json.loads((tmp_path / form / "recording.json").read_text())
        assert about["ncu_metrics"]["tensor_active_pct"] == name
    field = pq.read_schema(tmp_path / "parquet" / "kernels.parquet").field("tensor_active_pct")
    assert field.metadata[b"ncu"].decode() == name
    assert run("export", recording, "--chrome-trace", tmp_path / "a.json").status == 0
    args = [event.get("args", {}) for event in json.loads((tmp_path / "a.json").read_text())["traceEvents"]]
    kernels = [each for each in args if name in each]
    assert kernels
    assert all(each[name] == each["tensor_active_pct"] for each in kernels)
