"""The store of the history, by the same tests in SQLite and in PostgreSQL."""

import errno
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import FIXTURES
from histories import FACTS, record
from sqlalchemy import Connection, NullPool, create_engine, text

from tcprof.errors import InputError, OutputError, TcprofError, UsageError
from tcprof.frames import ACCEPTED, HISTORY_RUNS, POINTS, RANGES, SERIES
from tcprof.history import database, run
from tcprof.history.store import open_store


def test_a_run_is_there_with_its_series_and_points(store, tmp_path):
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


def test_figures_are_those_that_the_recording_shows():
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


def test_a_recording_counts_once_by_its_content(store, tmp_path):
    analysis = record(tmp_path)
    first, again = store.add([analysis, replace(analysis, window="host")], FACTS)
    assert (again.run_id, again.is_new) == (first.run_id, False)
    shortened = replace(analysis, activities=analysis.activities.iloc[1:])
    assert not np.array_equal(shortened.fingerprint, analysis.fingerprint)
    assert store.add([shortened], FACTS)[0].run_id == first.run_id
    assert len(store.runs()) == 1
    assert store.add([record(tmp_path, 1)], FACTS)[0].is_new


def test_a_saved_analysis_is_kept_where_it_is_asked_for(store, tmp_path):
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
def test_stable_facts_split_series_and_others_do_not(store, tmp_path, change):
    store.add([record(tmp_path)], FACTS)
    count = len(store.series())
    other = record(tmp_path, 1)
    driver = replace(other, recording=replace(other.recording, driver_version="999.1"))
    store.add([driver], replace(FACTS, branch="dev", label="b", commit="c"))
    assert len(store.series()) == count
    store.add([record(tmp_path, 2)], replace(FACTS, **change))
    assert len(store.series()) == 2 * count


def test_a_run_needs_a_program(store, tmp_path):
    with pytest.raises(UsageError, match="does not name its program"):
        store.add([record(tmp_path)])
    assert store.runs().empty


def test_changes_are_accepted(store):
    store.accept("abc", "a new loss")
    assert store.accepted()[["commit", "why"]].to_numpy().tolist() == [["abc", "a new loss"]]
    assert list(store.accepted().columns) == ACCEPTED.names


def test_a_run_is_removed_with_all_of_it(store, tmp_path):
    first, second = store.add([record(tmp_path), record(tmp_path, 1, name="other")], FACTS, keep=True)
    store.remove(first.run_id)
    assert store.runs()["run_id"].tolist() == [second.run_id]
    assert set(store.points()["run_id"]) == {second.run_id}
    assert set(store.series()["series_id"]) == set(store.points()["series_id"])
    assert store.blob(first.run_id) is None
    with pytest.raises(UsageError, match="no run"):
        store.remove(first.run_id)
    assert store.add([record(tmp_path)], FACTS)[0].run_id > second.run_id


def test_runs_are_in_order_of_time_whatever_the_clocks_say(store, tmp_path):
    """A commit of the future is as new as when it was added; points follow the runs."""
    times = ["2099-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2024-01-01T00:00:00Z", ""]
    for number, time in enumerate(times):
        store.add([record(tmp_path, number)], replace(FACTS, commit_utc=time, commit=str(number)))
    runs = store.runs()
    assert runs["commit"].tolist()[:2] == ["2", "1"]
    assert (runs["ordered_utc"] <= runs["added_utc"]).all()
    assert store.points([1])["run_id"].tolist() == runs["run_id"].tolist()
    assert store.runs("no such branch").empty


def test_points_of_some_runs(store, tmp_path):
    for number in range(3):
        store.add([record(tmp_path, number)], FACTS)
    first, _, last = store.runs()["run_id"]
    points, some = store.points(), store.points(run_ids=[last, first])
    assert set(some["run_id"]) == {first, last}
    assert len(some) == points["run_id"].isin([first, last]).sum()
    series = some["series_id"].iloc[:1]
    assert store.points(series, [first])["series_id"].tolist() == series.tolist()
    assert store.points(run_ids=[]).empty


# A store under bad input: other schemas, locks, lost connections, many writers, hostile names and other units.

TABLES = ("tcprof_run", "tcprof_mark", "tcprof_series", "tcprof_point", "tcprof_blob")


def count_rows(url: str) -> list[int]:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return [connection.scalar(text(f"SELECT count(*) FROM {table}")) for table in TABLES]  # noqa: S608


def test_a_store_of_a_newer_tcprof_is_refused_and_left_as_it_is(store, store_url, tmp_path, monkeypatch):
    store.add([record(tmp_path)], FACTS)
    with create_engine(store_url, poolclass=NullPool).begin() as connection:
        connection.execute(text("UPDATE tcprof_version SET version_num = '2'"))
    with pytest.raises(InputError, match="store of a newer tcprof") as refused:
        open_store(store_url)
    assert "Update tcprof" in refused.value.hint
    monkeypatch.setattr(database, "SCHEMA_VERSION", "2")
    assert len(open_store(store_url).runs()) == 1


def test_a_locked_file_is_waited_for_and_then_said(tmp_path):
    path = tmp_path / "history.db"
    store = open_store(f"sqlite:///{path}?timeout=0.2")
    analysis = record(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OutputError, match="is locked by another process") as error:
            store.add([analysis], FACTS)
        assert "timeout=" in error.value.hint
        assert store.runs().empty
    assert store.add([analysis], FACTS)[0].is_new


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0 but not", b"no database at all, but a text" * 40])
def test_a_file_that_is_no_database(content, tmp_path):
    path = tmp_path / "history.db"
    path.write_bytes(content)
    with pytest.raises(TcprofError) as error:
        open_store(f"sqlite:///{path}", create=False)
    assert str(path) in error.value.message
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "recording.sqlite"
    shutil.copy(FIXTURES / "mlp_fp16.sqlite", path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="not a store of tcprof"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


@pytest.mark.postgres
def test_a_password_is_not_shown(postgres_server):
    with pytest.raises(OutputError) as error:
        open_store("postgresql+psycopg://someone:secret@localhost:1/none")
    assert "secret" not in str(error.value)


@pytest.mark.postgres
def test_a_server_that_goes_away_in_the_middle_leaves_nothing_half_written(postgres_server, tmp_path, monkeypatch):
    url = postgres_server.new_database()
    store = open_store(url)
    store.add([record(tmp_path)], FACTS)
    before = count_rows(url)
    write = database.StoreDatabase.write

    @contextmanager
    def write_until_it_is_gone(self: database.StoreDatabase) -> Iterator[Connection]:
        with write(self) as connection:
            yield connection
            postgres_server.stop()

    monkeypatch.setattr(database.StoreDatabase, "write", write_until_it_is_gone)
    with pytest.raises(OutputError, match="cannot be used"):
        store.add([record(tmp_path, 1)], FACTS, keep=True)
    monkeypatch.undo()
    with pytest.raises(OutputError, match="cannot be used"):
        store.runs()
    postgres_server.start()
    assert count_rows(url) == before
    assert store.add([record(tmp_path, 1)], FACTS)[0].is_new


MANY = """
import os, sys, traceback
import tcprof
from tcprof.history.run import Facts
from tcprof.history.store import open_store
analyses = [tcprof.read(file).analysis for file in sys.argv[2:]]
from tcprof.history import store
points = {id(analysis): store.list_points(analysis) for analysis in analyses}
store.list_points = lambda analysis: points[id(analysis)]  # once for all processes, which then write at one time
children = []
for number in range(50):
    if not (child := os.fork()):
        status = 1
        try:  # each adds one of its own and one that all add
            for analysis in (analyses[1 + number % (len(analyses) - 1)], analyses[0]):
                open_store(sys.argv[1]).add([analysis], Facts(program="train"))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    children.append(child)
failed = [child for child in children if os.waitpid(child, 0)[1]]
sys.exit(len(failed))
"""


@pytest.mark.slow
def test_fifty_processes_add_at_once_each_recording_once(store_url, tmp_path):
    """The store is not there before: they make it at once, too."""
    files = []
    for number in range(9):
        record(tmp_path, number)
        files.append(str(tmp_path / f"r{number}.sqlite"))
    done = subprocess.run([sys.executable, "-c", MANY, store_url, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    store = open_store(store_url, create=False)
    assert sorted(store.runs()["file"]) == sorted(Path(file).name for file in files)
    assert len(store.points()) == len(files) * len(store.series())


@pytest.mark.parametrize("name", ["'; DROP TABLE tcprof_run; --", 'a"b', "%s :name ?", "a\0b", "\ud800", "é\u202e", ""])
def test_names_with_sql_in_them_are_names(store, tmp_path, name):
    facts = replace(FACTS, program=name or "x", branch=name, label=name, commit=name, config={name or "k": name})
    store.add([record(tmp_path, name=name.replace("\ud800", "") or "step")], facts)
    store.accept(name, name)
    shown = name.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    run = store.runs().iloc[0]
    assert (run["branch"], run["label"], run["commit"]) == (shown, shown, shown)
    assert len(store.runs(shown)) == 1
    assert store.accepted()["why"].tolist() == [shown]


def test_a_series_that_changes_its_unit_goes_on_as_another(store, tmp_path, monkeypatch):
    store.add([record(tmp_path)], FACTS)
    count = len(store.series())
    monkeypatch.setitem(run.METRICS, "gpu_window_ns", replace(RANGES["gpu_window_ns"], unit="s"))
    (added,) = store.add([record(tmp_path, 1)], FACTS)
    assert len(added.notes) == 1
    assert "changed from ns to s: a new series begins" in added.notes[0]
    series = store.series()
    assert len(series) == count + 1
    units = series[series["metric"] == "gpu_window_ns"].set_index("unit")["series_id"]
    assert store.points([units["ns"]])["run_id"].nunique() == store.points([units["s"]])["run_id"].nunique() == 1


def test_a_store_in_a_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'history.db'}"
    open_store(url).add([record(tmp_path)], FACTS)

    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(database, "TemporaryFile", refuse)
    assert len(open_store(url, create=False).runs()) == 1
