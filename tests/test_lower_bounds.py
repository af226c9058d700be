"""What is a lower bound, as samples were lost or FLOP are unknown: marked in every output, never compared as whole."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES
from report_inputs import render_page
from scenarios import draw
from slow import first_of
from worlds import Sampler, World, make_world, write_world

import tcprof
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison, compare
from tcprof.comparison.statistics.rows import LOST_SAMPLES
from tcprof.comparison.statistics.verdicts import HIGHER, LOWER
from tcprof.frames import KERNELS, RANGES, WORK

pytestmark = pytest.mark.usefixtures("shared_reads")

KNOWN_WORK = Path(__file__).parent.parent / "fixtures" / "known_work.sqlite"

SUMS = ("tensor_cycles", "tensor_active_s")
LOST = (0.1, 0.25, 0.4)


def long_kernels(run_number: int = 1) -> World:
    """Kernels of which each has a range of its own, whose cycles are the kernel's; the same in each run."""
    kernels = draw(1, number=12, us=(150, 600))
    return replace(make_world(kernels, 30, 1, start_ns=1_000 * run_number), seed=run_number)


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    def write_export(sampler: Sampler, run_number: int = 1) -> Path:
        return write_world(long_kernels(run_number), sampler, tmp_path_factory.mktemp("lost"))

    return write_export


@pytest.fixture(scope="module")
def whole(write):
    return write(Sampler())


def true_cycles() -> pd.Series:
    world = long_kernels()
    names = np.array([kernel.name for kernel in world.kernels])[world.kind]
    return pd.Series(world.cycles).groupby(names).sum()


def ranges_of(analysis: Analysis) -> pd.DataFrame:
    return analysis.ranges[analysis.ranges["depth"] == 1].set_index("path")


def false_claims(comparison: Comparison, quantities: Sequence[str]) -> int:
    rows = comparison.rows[comparison.rows["quantity"].isin(quantities)]
    return int((rows[["verdict", "mean_verdict"]].isin([HIGHER, LOWER])).any(axis=1).sum())


@first_of(1)("kernels", [True, False])
@pytest.mark.parametrize("lost", LOST)
def test_sums_over_lost_samples_are_lower_bounds(lost, kernels, write):
    """What is not marked is the whole, what is marked is no more than that."""
    true, ranges = true_cycles(), ranges_of(tcprof.read(write(Sampler(lost=lost)), kernels=kernels).analysis)
    marked = []
    for path, row in ranges[ranges["tensor_cycles"].notna() & (true.reindex(ranges.index) > 0)].iterrows():
        is_bound = RANGES["tensor_cycles"].is_lower_bound(row)
        assert RANGES["tensor_active_s"].is_lower_bound(row) == is_bound
        assert (0 if is_bound else 0.98 * true[path]) <= row["tensor_cycles"] <= 1.02 * true[path]
        if kernels:
            assert row["fitted_cycles"] == pytest.approx(true[path], rel=0.03)
        marked.append(is_bound)
    assert np.mean(marked) > 0.5
    assert (ranges["tensor_cycles"] / true.where(true > 0)).min() < 1 - lost / 2  # which is why they are marked


@pytest.mark.parametrize("lost", LOST)
def test_lost_samples_are_no_change(lost, whole, write):
    """Two recordings of the same work, of which one lost samples: nothing differs."""
    one, other = tcprof.read(whole), tcprof.read(write(Sampler(lost=lost), 2))
    for comparison in (compare(one.analysis, other.analysis), compare(other.analysis, one.analysis)):
        assert false_claims(comparison, comparison.rows["quantity"].unique()) == 0
        rows = comparison.rows[comparison.rows["quantity"].isin(SUMS) & (comparison.rows["depth"] == 1)]
        marked = rows["base_lower_bound"] | rows["new_lower_bound"]
        assert marked.any()
        assert (rows.loc[marked, "not_judged"] == LOST_SAMPLES).all()
        assert rows.loc[marked, ["ratio", "difference", "p_value", "mean_ratio"]].isna().all(axis=None)


def test_every_output_marks_them(write, whole, run):
    lost = write(Sampler(lost=0.25), 2)
    report = tcprof.read(lost)
    path, _ = next(
        (path, row)
        for path, row in ranges_of(report.analysis).iterrows()
        if RANGES["tensor_cycles"].is_lower_bound(row)
    )
    assert "≥ " in run("ranges", lost, "--wide").out
    assert "≥ " in render_page(report.analysis)
    assert not any(RANGES["tensor_cycles"].is_lower_bound(row) for _, row in tcprof.read(whole).ranges.iterrows())
    document = json.loads(run("ranges", lost, "--format", "json").out)
    (found,) = (each for each in document["rows"] if each["path"] == path)
    assert found["coverage_pct"] < 99
    document = json.loads(run("timeline", lost, "--format", "json").out)
    assert all("coverage_pct" in each for each in document.get("steps", ()))
    shown = next(line for line in run("compare", whole, lost, "--all").out.splitlines() if "Tensor-active time" in line)
    assert "≥" in shown.split()[4:]
    gate = run("compare", whole, lost, "--fail-if", f"tensor_cycles[{path}] < -5%")
    assert gate.status == 5
    assert "has a fault: Samples were lost" in " ".join(gate.out.split())
    assert "samples were lost" in run("compare", whole, lost, "--format", "json").out


def test_a_kernel_that_no_sample_shows_is_unknown_in_all_outputs(tmp_path, run):
    """All launches of one kernel in a gap: its own figures, and what is summed over it."""
    path = tmp_path / "known_work.sqlite"
    shutil.copyfile(KNOWN_WORK, path)
    whole = tcprof.read(path)
    lost = int(whole.kernels.index[whole.kernels["name"].str.contains("GeluCUDAKernel")][0])
    mine = whole.kernel_instances["kernel"] == lost
    rows = whole.activities.iloc[whole.kernel_instances["activity"][mine]]
    gap = int(rows["start_ns"].min()) - 100_000, int(rows["end_ns"].max()) + 100_000
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM GPU_METRICS WHERE timestamp BETWEEN ? AND ?", gap)
    report = tcprof.read(path)
    (kernel,) = report.kernels.index[report.kernels["name"] == whole.kernels.loc[lost, "name"]]
    measured = [name for name in KERNELS.names if name.startswith("tensor_") and name != "tensor_kernel"]
    measured += [*WORK, *(f"{name}_error" for name in WORK), "sm_cycles", "dram_pct", "dram_bandwidth", "fma_tflops"]
    assert whole.kernels.loc[lost, measured].drop(["tensor_peak_pct"]).notna().all()
    assert report.kernels.loc[kernel, measured].isna().all()
    assert report.kernels.loc[kernel, ["fit", "bound"]].tolist() == ["not sampled", ""]
    launched = report.kernel_instances[report.kernel_instances["kernel"] == kernel]
    assert launched[[*WORK, "tensor_active_ns", "tensor_cycles", "sm_cycles", "tensor_flop"]].isna().all(axis=None)
    others = report.kernels.drop(index=kernel)
    assert others["tensor_cycles"].notna().sum() >= len(others) - 2  # what the gap touches may be lost with it
    summed = report.ranges.set_index("path").loc["gelu", ["fitted_cycles", "fitted_active_s", "dram_bytes"]]
    assert summed.isna().all()
    document = json.loads(run("kernels", path, "--format", "json", "--limit", "0").out)
    (row,) = (row for row in document["rows"] if row["name"] == report.kernels.loc[kernel, "name"])
    assert [row[name] for name in ("tensor_active_pct", "tensor_cycles", "dram_read_bytes")] == [None] * 3
    changes = compare(whole.analysis, report.analysis).matching.changes.set_index("base_name")
    assert np.isnan(changes.loc[whole.kernels.loc[lost, "name"], "new_tensor_active_pct"])


WHOLE = FIXTURES / "transformer_tf32.sqlite"


@pytest.fixture(scope="module")
def partly(tmp_path_factory):
    """A transformer in TF32 whose attention has names that nobody knows: 28.5 % of the tensor cycles."""
    path = tmp_path_factory.mktemp("partly") / "partly.sqlite"
    shutil.copyfile(WHOLE, path)
    recording = sqlite3.connect(path)
    with recording:
        recording.execute("UPDATE StringIds SET value = 'mystery_' || id WHERE value LIKE '%fmha%'")
    recording.close()
    return path


def test_what_is_known_is_given_with_the_share_that_is_not(partly):
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


def test_instances_have_what_their_range_has(partly):
    analysis = tcprof.read(partly)
    step = analysis.ranges.set_index("path").loc["step"]
    instances = analysis.instances[analysis.instances["path_id"] == step["path_id"]]
    assert instances["tensor_flop"].sum() == pytest.approx(step["tensor_flop"])
    assert instances["uncovered_cycles_pct"].mean() == pytest.approx(step["uncovered_cycles_pct"], rel=1e-3)
