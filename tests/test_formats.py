"""Every format keeps what ``tcprof.render.formats`` asks of one, and none takes the file names of another."""

import csv
import html
import io
import json
import math
import re
import runpy
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from builders import FIXTURES, small_trace
from gate_inputs import make_row, make_rows
from hypothesis import given
from hypothesis import strategies as st
from source_tree import PACKAGE

from tcprof.comparison.gate import Gate, judge_condition, parse_condition
from tcprof.frames import NCU_METRICS
from tcprof.render.formats import FORMATS, PLAIN, load_format
from tcprof.render.formats.csv import write_csv
from tcprof.render.formats.json import write_data
from tcprof.render.formats.junit import render
from tcprof.render.formats.markdown import escape
from tcprof.render.formats.spreadsheet import without_formulas
from tcprof.units import plain
from tcprof.version import __version__
from tcprof.views.comparison.gate import view_gate
from tcprof.views.document import Document, Notes

pytestmark = pytest.mark.usefixtures("shared_reads")

# What the documents of commands have; a format that needs more cannot show them.
HAS = {
    **dict.fromkeys(("ranges", "kernels", "timeline", "show", "chips"), ("rows",)),
    "compare": ("rows", "gate"),
    **dict.fromkeys(("doctor", "workloads"), ()),
}
TAKES = {
    command: {name for name in FORMATS if getattr(load_format(name), "NEEDS", "") in ("", *has)}
    for command, has in HAS.items()
}
PARTS = {"faults", "warnings", "base", "gate", "doubt"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_it_holds_and_what_its_files_are_called(name):
    form = load_format(name)
    assert set(form.HAS) <= PARTS
    assert all(suffix.startswith(".") for suffix in form.SUFFIXES)
    assert getattr(form, "NEEDS", "") in ("", "rows", "gate")


def test_no_two_formats_share_a_file_name():
    suffixes = [suffix for name in FORMATS for suffix in load_format(name).SUFFIXES]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("name", [name for name in FORMATS if not getattr(load_format(name), "NEEDS", "")])
def test_hostile_text_is_harmless(name):
    hostile = "a\x1b[31mb\u202ec"
    document = Document(kind="test", parts=(Notes((hostile,)),), faults=(hostile,))
    written = io.StringIO()
    load_format(name).write(document, PLAIN, written)
    assert not {"\x1b", "\u202e"} & set(written.getvalue())


@pytest.mark.parametrize(("command", "takes"), TAKES.items())
def test_a_command_offers_the_formats_that_show_its_document_and_refuses_the_others(
    command, takes, run, tmp_path, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "400")
    offered = re.search(r"--format +([a-z|]+)", run(command, "--help").out)
    assert offered is not None
    assert set(offered[1].split("|")) == takes
    recordings = {"compare": ["a", "b"], "doctor": [], "workloads": [], "chips": []}.get(command, ["a"])
    for name in set(FORMATS) - takes:
        refused = run(command, *recordings, "--format", name)
        assert refused.status == 2
        assert f"'{name}' is not one of {', '.join(sorted(takes))}." in " ".join(refused.err.split())
        for suffix in load_format(name).SUFFIXES:
            refused = run(command, *recordings, "-o", tmp_path / f"x{suffix}")
            assert refused.status == 2
            assert "has the suffix of a format that this command does not write" in refused.err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("command", [command for command in TAKES if command not in ("compare", "doctor")])
def test_every_format_that_is_offered_shows_the_document(command, run, tmp_path):
    recordings = [] if command in ("chips", "workloads") else [small_trace(tmp_path)]
    for name in TAKES[command]:
        by_option = run(command, *recordings, "--format", name)
        form = load_format(name)
        named = [tmp_path / f"out{suffix}" for suffix in form.SUFFIXES]
        written = [run(command, *recordings, "-o", output).status for output in named]
        assert (by_option.status, written) == (0, [0] * len(named))
        assert {output.read_text() for output in named} <= {by_option.out + getattr(form, "SIGNATURE", "")}


LINKED = ("https://evil.test/x", "HTTP://evil.test", "ftp://evil.test", "(www.evil.test)", "WWW.evil.test"
          "a@evil.test", "@team", "#123", "org/repo#4", "gh-12", "!5", "3f2a9c1", "0123456789abcdef" * 2,
          "<https://evil.test>")  # fmt: skip


@pytest.mark.parametrize("text", LINKED)
def test_markdown_makes_no_link_of_a_name(text):
    escaped = escape(text)
    assert not re.search(r"://|(?i:www\.|gh-\d)|@\w|#\d|!\d|[0-9a-f]{7}", escaped.replace("\\", ""))
    shown = html.unescape(escaped.replace("\\", ""))
    assert shown.replace("\N{ZERO WIDTH SPACE}", "") == text


# The JSON Schemas in docs/schemas: generated from the frames, and true of what the commands print.

MADE = runpy.run_path(str(PACKAGE.parent / "docs" / "generate_schemas.py"))
TYPES = {"integer": int, "number": (int, float), "boolean": bool, "string": str, "null": type(None)}
LLAMA, JOBS = FIXTURES / "llama.sqlite", FIXTURES / "jobs"
COMMANDS: dict[str, tuple[Any, ...]] = {
    **{kind: (kind, LLAMA) for kind in MADE["OF_RECORDING"]},
    "recording": ("show", LLAMA),
    "advice": ("advise", LLAMA),
    "gaps": ("timeline", LLAMA, "--gaps"),
    "comparison": ("compare", FIXTURES / "mnist_fp32.sqlite", FIXTURES / "mnist_amp.sqlite"),
    "ranks": ("ranks", JOBS / "base"),
    "jobs": ("compare", JOBS / "base", JOBS / "input"),
    "history": ("history", "list"),
    "trend": ("history", "trend"),
    **{kind: (kind,) for kind in ("doctor", "chips", "workloads")},
}


@pytest.mark.parametrize("kind", MADE["KINDS"])
def test_they_are_generated_from_the_frames(kind):
    written = (MADE["FOLDER"] / f"{kind}.json").read_text(encoding="utf-8")
    assert written == MADE["render"](kind), "run: python docs/generate_schemas.py"


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        *COMMANDS.items(),
        ("ranges", ("ranges", FIXTURES / "mlp_fp32.sqlite")),
        ("kernels", ("kernels", FIXTURES / "wmma.sqlite")),
    ],
)
def test_they_hold_for_what_is_printed(kind, command, run, tmp_path):
    schema, store = json.loads(MADE["render"](kind)), ("--store", f"sqlite:///{tmp_path / 'runs.db'}")
    if command[0] == "history":
        run("history", "add", LLAMA, "--program", "llama", "--keep", *store)
    printed = json.loads(run(*command, *store * (command[0] == "history"), "--format", "json").out)
    assert printed["kind"] == kind
    assert {*schema["required"]} <= printed.keys()
    for name, frame in MADE["KINDS"][kind].items():
        if frame and (name in schema["required"] or printed.get(name)):
            check_rows(printed[name], schema["properties"][name]["items"]["properties"])


def check_rows(rows: list[dict[str, Any]], columns: dict[str, Any]) -> None:
    assert rows
    for row in rows:
        assert row.keys() <= columns.keys()
        for name, value in row.items():
            assert any(isinstance(value, TYPES[kind]) for kind in columns[name]["type"]), name


# The gate's verdicts as JUnit XML, read back by a parser.


def judge(text, path="step"):
    return judge_condition(parse_condition(text), make_rows(make_row(path=path)), path)


JUDGEMENTS = [judge("time > +5%"), judge("time > +9%"), judge("time > +15%")]


def read(judgements, base=("base.sqlite",), new=("new.sqlite",)):
    files = {side: [{"file": name} for name in names] for side, names in (("base", base), ("new", new))}
    text = render(Document("comparison", data={"recordings": files}, gate=view_gate(Gate(tuple(judgements)))))
    assert text.isascii()
    root = ElementTree.fromstring(text.encode("ascii"))
    assert root.tag == "testsuites"
    (suite,) = root
    assert (suite.tag, suite.get("name")) == ("testsuite", "tcprof")
    return suite


def results(suite):
    """Each test case by its name, with the element that says how it ended, and that one's message."""
    found = {}
    for case in suite.iter("testcase"):
        ended = [child for child in case if child.tag in ("failure", "skipped", "error")]
        assert len(ended) <= 1
        found[case.get("name")] = (ended[0].tag, ended[0].get("message")) if ended else ("passed", None)
        assert all(child.text == child.get("message") for child in ended)
    return found


def counts(suite):
    return {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def test_a_test_case_for_each_condition():
    suite = read(JUDGEMENTS)
    assert counts(suite) == {"tests": 3, "failures": 1, "errors": 0, "skipped": 1}
    assert results(suite) == {
        "time > +5% (step)": ("failure", "fail: +10.0 %, 95 % interval +8.0 % to +12.0 %"),
        "time > +9% (step)": (
            "skipped",
            "inconclusive: +10.0 %, 95 % interval +8.0 % to +12.0 %: the interval includes the bound",
        ),
        "time > +15% (step)": ("passed", None),
    }
    assert {case.get("classname") for case in suite.iter("testcase")} == {"tcprof.compare"}
    assert [case.findtext("system-out") for case in suite.iter("testcase")] == [
        None,
        None,
        "+10.0 %, 95 % interval +8.0 % to +12.0 %",
    ]


def test_the_files_are_properties():
    suite = read(JUDGEMENTS, base=["base-1.sqlite", "base-2.sqlite"], new=["<new> & 'old'.sqlite"])
    assert [(each.get("name"), each.get("value")) for each in suite.iter("property")] == [
        ("base", "base-1.sqlite"),
        ("base", "base-2.sqlite"),
        ("new", "<new> & 'old'.sqlite"),
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\x00b\x1b[31m\x0b", "a\ufffdb\ufffd[31m\ufffd"),
        ("a\ud800b\ufffe\uffff", "a\ufffdb\ufffd\ufffd"),
        ("right\u202eto left\nline", "right\ufffdto left\ufffdline"),
        ("]]> <!-- & \"quotes\" 'x' </testcase>", "]]> <!-- & \"quotes\" 'x' </testcase>"),
        ("µ 前向 😀", "µ 前向 😀"),
    ],
)
def test_names_are_text_whatever_they_hold(name, shown):
    suite = read([judge("time > +5%", path=name)], base=[name], new=[name])
    assert [case.get("name") for case in suite.iter("testcase")] == [f"time > +5% ({shown})"]
    assert {each.get("value") for each in suite.iter("property")} == {shown}


# JSON and CSV of any frame: what other programs read is what the frame holds, however large or strange.

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
def test_json_written_by_rows_is_that_written_at_once(rows):
    frame = pd.DataFrame(rows, columns=["a %s", "b", "c", 'd"'])
    data = {"first": [1.5, None, {"x": [math.nan]}], "rows": frame, "last": {"in": frame, "empty": []}}
    whole = {"tcprof": __version__, "kind": "test", **plain(data)}
    assert as_json(**data) == json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def test_large_frames_are_written_in_pieces():
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
def test_json_is_never_what_json_does_not_know(value):
    text = as_json(value=value, inside=[{"value": value}], rows=pd.DataFrame({"a": [value], "b": [[value]]}))
    read = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    known = None if not math.isfinite(float(value)) else float(value)
    assert read["value"] == read["inside"][0]["value"] == read["rows"][0]["a"] == read["rows"][0]["b"][0] == known


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_csv_gives_back_every_text(rows):
    rows = [(first or "x", second or "y") for first, second in rows]  # an empty field is unknown
    text = as_csv(pd.DataFrame(rows, columns=["a", "b"]))
    assert list(csv.reader(io.StringIO(text, newline=""), strict=True)) == [["a", "b"], *map(list, rows)]


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "=cmd|' /C calc'!A0")
BEFORE = ("", "\t", "\r", "\n", "a;", "a; ", "a\t", "a,", "a|", 'a;"', "b\n", "\ufeff", "\xa0")


@pytest.mark.parametrize("before", BEFORE, ids=ascii)
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_spreadsheet_gets_no_formula(formula, before):
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


def test_outputs_have_the_names_of_nsight_compute_beside_ours(tmp_path, run):
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
