"""The store of the history, by the same tests in SQLite and in PostgreSQL."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import FIXTURES
from histories import FACTS, record

from tcprof.errors import UsageError
from tcprof.frames import ACCEPTED, HISTORY_RUNS, POINTS, SERIES
from tcprof.history.store import Store


def test_a_run_is_there_with_its_series_and_points(store: Store, tmp_path: Path) -> None:
    facts = replace(FACTS, commit="abc", commit_utc="2026-01-02T03:04:05+01:00", label="first", config={"batch": "8"})
    added = store.add([record(tmp_path)], facts)
    assert [each.is_new for each in added] == [True]
    runs, series, points = store.runs(), store.series(), store.points()
    for frame, schema in ((runs, HISTORY_RUNS), (series, SERIES), (points, POINTS)):
        assert list(frame.columns) == schema.names
        assert all(column.has(frame[column.name].dtype) for column in schema.columns)
    run = runs.iloc[0]
    assert (run["run_id"], run["commit"], run["branch"], run["label"]) == (added[0].run_id, "abc", "main", "first")
    assert (run["commit_utc"], run["ordered_utc"]) == ("2026-01-02T02:04:05Z", "2026-01-02T02:04:05Z")
    assert (run["program"], run["gpu_name"], run["config"], run["kept"]) == ("train", "NVIDIA H200", "batch=8", False)
    step = series[(series["metric"] == "step_ns") & (series["scope"] == "step")].iloc[0]
    assert (step["subject"], step["unit"], step["gpu"]) == ("step", "ns", 0)
    point = store.points([step["series_id"]]).iloc[0]
    assert (point["value"], point["n"]) == (100_000, 7)
    assert point["low"] <= point["value"] <= point["high"]
    assert set(series["scope"]) == {"step", "range"}
    assert set(points["series_id"]) == set(series["series_id"])


def test_figures_are_those_that_the_recording_shows() -> None:
    import tcprof
    from tcprof.history.run import list_points

    report = tcprof.read(FIXTURES / "llama.sqlite")
    points = list_points(report.analysis).set_index(["scope", "subject", "metric"])
    summary = report.step_summary.iloc[0]
    assert points.loc[("step", "step", "step_ns"), "value"] == summary["step_ns"]
    assert points.loc[("step", "step", "tensor_active_mean_pct"), "value"] == summary["tensor_active_mean_pct"]
    idle = 100 * summary["idle_ns"] / summary["total_ns"]
    assert points.loc[("step", "step", "gpu_idle_pct"), "value"] == pytest.approx(idle)
    modules = report.modules
    whole = modules[(modules["module"] == "Llama") & (modules["phase"] == "all")].iloc[0]
    assert points.loc[("module", "Llama", "kernel_ns"), "value"] == pytest.approx(
        whole["kernel_ns"] / whole["step_count"]
    )
    known = points[["low", "high"]].notna().all(axis=1)
    assert ((points["low"] <= points["value"]) & (points["value"] <= points["high"]))[known].all()
    assert points.groupby(["scope", "metric"]).size().max() <= 20


def test_a_recording_counts_once_by_its_content(store: Store, tmp_path: Path) -> None:
    analysis = record(tmp_path)
    first, again = store.add([analysis, replace(analysis, window="host")], FACTS)
    assert (again.run_id, again.is_new) == (first.run_id, False)
    shortened = replace(analysis, activities=analysis.activities.iloc[1:])
    assert not np.array_equal(shortened.fingerprint, analysis.fingerprint)
    assert store.add([shortened], FACTS)[0].run_id == first.run_id
    assert len(store.runs()) == 1
    assert store.add([record(tmp_path, 1)], FACTS)[0].is_new


def test_a_saved_analysis_is_kept_where_it_is_asked_for(store: Store, tmp_path: Path) -> None:
    import tcprof

    analysis = record(tmp_path)
    (added,) = store.add([analysis], FACTS)
    assert store.blob(added.run_id) is None
    store.add([analysis], FACTS, keep=True)
    (tmp_path / "kept.tcprof").write_bytes(store.blob(added.run_id) or b"")
    kept = tcprof.read(tmp_path / "kept.tcprof")
    assert kept.step_summary["step_ns"].tolist() == analysis.step_summary["step_ns"].tolist()
    assert store.runs()["kept"].tolist() == [True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", [{"program": "other"}, {"config": {"batch": "9"}}, {"power_limit_w": 300.0}], ids=str
)
def test_stable_facts_split_series_and_others_do_not(store: Store, tmp_path: Path, change: dict[str, Any]) -> None:
    store.add([record(tmp_path)], FACTS)
    count = len(store.series())
    other = record(tmp_path, 1)
    driver = replace(other, recording=replace(other.recording, driver_version="999.1"))
    store.add([driver], replace(FACTS, branch="dev", label="b", commit="c"))
    assert len(store.series()) == count
    store.add([record(tmp_path, 2)], replace(FACTS, **change))
    assert len(store.series()) == 2 * count


def test_a_run_needs_a_program(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not name its program"):
        store.add([record(tmp_path)])
    assert store.runs().empty


def test_changes_are_accepted(store: Store) -> None:
    store.accept("abc", "a new loss")
    assert store.accepted()[["commit", "why"]].to_numpy().tolist() == [["abc", "a new loss"]]
    assert list(store.accepted().columns) == ACCEPTED.names


def test_a_run_is_removed_with_all_of_it(store: Store, tmp_path: Path) -> None:
    first, second = store.add([record(tmp_path), record(tmp_path, 1, name="other")], FACTS, keep=True)
    store.remove(first.run_id)
    assert store.runs()["run_id"].tolist() == [second.run_id]
    assert set(store.points()["run_id"]) == {second.run_id}
    assert set(store.series()["series_id"]) == set(store.points()["series_id"])
    assert store.blob(first.run_id) is None
    with pytest.raises(UsageError, match="no run"):
        store.remove(first.run_id)
    assert store.add([record(tmp_path)], FACTS)[0].run_id > second.run_id


def test_runs_are_in_order_of_time_whatever_the_clocks_say(store: Store, tmp_path: Path) -> None:
    """A commit of the future is as new as when it was added; points follow the runs."""
    times = ["2099-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2024-01-01T00:00:00Z", ""]
    for number, time in enumerate(times):
        store.add([record(tmp_path, number)], replace(FACTS, commit_utc=time, commit=str(number)))
    runs = store.runs()
    assert runs["commit"].tolist()[:2] == ["2", "1"]
    assert (runs["ordered_utc"] <= runs["added_utc"]).all()
    assert store.points([1])["run_id"].tolist() == runs["run_id"].tolist()
    assert store.runs("no such branch").empty


def test_points_of_some_runs(store: Store, tmp_path: Path) -> None:
    for number in range(3):
        store.add([record(tmp_path, number)], FACTS)
    first, _, last = store.runs()["run_id"]
    points, some = store.points(), store.points(run_ids=[last, first])
    assert set(some["run_id"]) == {first, last}
    assert len(some) == points["run_id"].isin([first, last]).sum()
    series = some["series_id"].iloc[:1]
    assert store.points(series, [first])["series_id"].tolist() == series.tolist()
    assert store.points(run_ids=[]).empty
