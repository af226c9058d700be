"""What other tools read: Bencher's format, github-action-benchmark's, and Otava's CSV."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from histories import IDLE, STEP_TIME, make_store

from tcprof.errors import UsageError
from tcprof.history.exchange import EXCHANGES
from tcprof.history.store import Store

ACTIVE = ("tensor_active_pct", "module", "model.mlp")


def points_of(store: Store) -> pd.DataFrame:
    return store.points().merge(store.series(), on="series_id").merge(store.runs(), on="run_id").sort_values("run_id")


def test_bencher_has_value_and_bounds_of_the_newest_run(tmp_path: Path) -> None:
    points = points_of(make_store(tmp_path, {STEP_TIME: [1e6, 2e6], IDLE: [20.0, 30.0]}))
    points.loc[points["metric"] == "gpu_idle_pct", ["low", "high"]] = np.nan
    assert json.loads(EXCHANGES["bmf"](points)) == {
        "step train": {
            "step-ns": {"value": 2e6, "lower_value": 1.98e6, "upper_value": 2.02e6},
            "gpu-idle-pct": {"value": 30.0},
        }
    }


def test_github_action_benchmark_takes_one_direction(tmp_path: Path) -> None:
    points = points_of(make_store(tmp_path, {STEP_TIME: [1e6, 2e6], ACTIVE: [20.0, 30.0]}))
    with pytest.raises(UsageError, match="--metric step_ns"):
        EXCHANGES["github-action-benchmark"](points)
    (row,) = json.loads(EXCHANGES["github-action-benchmark"](points[points["metric"] == "step_ns"]))
    assert row == {"name": "Step time, step train", "unit": "ns", "value": 2e6, "range": "1.98e+06 to 2.02e+06"}
    (row,) = json.loads(EXCHANGES["github-action-benchmark"](points[points["metric"] != "step_ns"]))
    assert (row["unit"], row["value"]) == ("%", 30.0)


def test_otava_has_a_row_for_each_run(tmp_path: Path) -> None:
    points = points_of(make_store(tmp_path, {STEP_TIME: [1e6, 2e6], IDLE: [20.0, 30.0]}, ["a,b", "c\nd"]))
    points = points[(points["run_id"] != 1) | (points["metric"] != "gpu_idle_pct")]
    first, second = csv.DictReader(EXCHANGES["otava"](points).splitlines())
    assert (first["time"], first["commit"], first["branch"]) == ("2026-01-01T00:00:00Z", "a,b", "main")
    assert (first["step_ns step train"], first["gpu_idle_pct step train"]) == ("1000000.0", "")
    assert second["gpu_idle_pct step train"] == "30.0"
    assert "\n" not in second["commit"]


def test_the_command_writes_them(tmp_path: Path, run) -> None:
    make_store(tmp_path, {STEP_TIME: [1e6, 2e6], ACTIVE: [20.0, 30.0]})
    store = ("--store", f"sqlite:///{tmp_path / 'history.db'}")
    done = run("history", "export", "--for", "bmf", *store)
    assert json.loads(done.out)["step train"]["step-ns"]["value"] == 2e6
    target = tmp_path / "otava.csv"
    assert run("history", "export", "--for", "otava", "-o", str(target), "--metric", "step_ns", *store).status == 0
    assert len(target.read_text().splitlines()) == 3
    wrong = run("history", "export", "--for", "excel", *store)
    assert (wrong.status, "Formats: bmf" in wrong.err) == (2, True)
    mixed = run("history", "export", "--for", "github-action-benchmark", *store)
    assert (mixed.status, "--metric step_ns" in mixed.err) == (2, True)
