"""FLOP of which some are unknown: lower bounds, marked in every output, and never compared as if they were whole."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from builders import FIXTURES
from commands import Run
from report_inputs import render_page

import tcprof

pytestmark = pytest.mark.usefixtures("shared_reads")


WHOLE = FIXTURES / "transformer_tf32.sqlite"


@pytest.fixture(scope="module")
def partly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer in TF32 whose attention has names that nobody knows: 28.5 % of the tensor cycles."""
    path = tmp_path_factory.mktemp("partly") / "partly.sqlite"
    shutil.copyfile(WHOLE, path)
    recording = sqlite3.connect(path)
    with recording:
        recording.execute("UPDATE StringIds SET value = 'mystery_' || id WHERE value LIKE '%fmha%'")
    recording.close()
    return path


def test_what_is_known_is_given_with_the_share_that_is_not(partly: Path) -> None:
    whole, part = (tcprof.read(path) for path in (WHOLE, partly))
    rows = [analysis.ranges.set_index("path").loc["step"] for analysis in (whole, part)]
    attention = whole.kernels["name"].str.contains("fmha")
    steps = whole.kernels["tensor_flop"].sum()
    missing = whole.kernels["tensor_flop"][attention].sum()
    assert rows[1]["tensor_flop"] / rows[0]["tensor_flop"] == pytest.approx(1 - missing / steps, rel=1e-3)
    assert [row["uncovered_cycles_pct"] for row in rows] == pytest.approx([0, 28.5], abs=0.1)
    assert rows[1]["tensor_tflops"] == pytest.approx(rows[1]["tensor_flop"] / rows[1]["window_ns"] / 1e3)
    forward = part.ranges.set_index("path").loc["step / optimizer"]
    assert (forward["tensor_tflops"], forward["uncovered_cycles_pct"]) == (0, 0)


def test_instances_have_what_their_range_has(partly: Path) -> None:
    analysis = tcprof.read(partly)
    step = analysis.ranges.set_index("path").loc["step"]
    instances = analysis.instances[analysis.instances["path_id"] == step["path_id"]]
    assert instances["tensor_flop"].sum() == pytest.approx(step["tensor_flop"])
    assert instances["uncovered_cycles_pct"].mean() == pytest.approx(step["uncovered_cycles_pct"], rel=1e-3)


def test_every_output_marks_it(partly: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    row = next(line for line in run("ranges", partly).out.splitlines() if line.startswith("step"))
    assert "≥ 127 T" in row
    row = next(line for line in run("ranges", WHOLE).out.splitlines() if line.startswith("step"))
    assert " 161 T" in row
    assert "≥" not in row
    document = json.loads(run("ranges", partly, "--format", "json").out)
    assert [round(row["uncovered_cycles_pct"], 1) for row in document["rows"] if row["path"] == "step"] == [28.5]
    assert any(
        "Tensor FLOP/s is a lower bound (≥): 28.5 %" in text and "mystery" in text for text in document["warnings"]
    )
    page = render_page(tcprof.read(partly).analysis).replace("\N{NO-BREAK SPACE}", " ")
    assert "≥ 127 TFLOP/s" in page
    assert "28.5 % of the tensor cycles are in kernels with unknown FLOP" in page
    assert "≥ 161" not in render_page(tcprof.read(WHOLE).analysis).replace("\N{NO-BREAK SPACE}", " ")
