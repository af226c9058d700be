"""Modules of two sides, matched by path."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from test_modules import US, Step

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import find_means
from tcprof.comparison.modules import compare_modules
from tcprof.frames import MODULE_CHANGES

pytestmark = pytest.mark.usefixtures("shared_reads")

STEPS = 6


def training(
    layers: int,
    fc_us: int,
    *,
    extra: bool = False,
    spread: float = 0,
    seed: int = 0,
    steps: int = STEPS,
    percent: int = 50,
) -> Step:
    """Steps of a network of layers, each a product, whose time varies, and a norm."""
    vary = np.random.default_rng(seed)
    step = Step()
    for number in range(steps):
        at = 1000 * number
        step.ours("step", at, at + 990).ours("forward", at + 10, at + 900).ours("Net", at + 20, at + 800)
        for layer in range(layers):
            place = at + 30 + 100 * layer
            step.ours(f"Net.layers.{layer}", place, place + 90)
            step.ours(f"Net.layers.{layer}.fc", place + 5, place + 30).works(
                place + 10, "fc", ns=round(fc_us * US * (1 + spread * vary.uniform(-1, 1)))
            )
            step.ours(f"Net.layers.{layer}.norm", place + 40, place + 60).works(place + 50, "norm")
        if extra:
            step.ours("Net.head", at + 700, at + 750).works(at + 710, "head")
    return step.sampled(percent)


Make = Callable[..., Analysis]


@pytest.fixture
def make(tmp_path):
    return lambda *args, **how: tcprof.read(training(*args, **how).write(tmp_path), warm_up="all").analysis


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["phase"] == "all"].set_index("module")


@pytest.mark.slow
def test_layers_of_a_list_are_one_row_whatever_their_number(make):
    rows = totals(compare_modules([make(3, 40)], [make(4, 20)], iterate=True))
    assert rows.index.tolist() == ["", "Net", "Net.layers.*", "Net.layers.*.fc", "Net.layers.*.norm"]
    assert rows.loc["Net.layers.*.fc", ["base_ns", "new_ns", "difference_ns"]].tolist() == [
        3 * 40 * US,
        4 * 20 * US,
        -40 * US,
    ]
    assert rows.loc["Net.layers.*.fc", ["base_alike_count", "new_alike_count"]].tolist() == [3, 4]
    assert rows.loc["Net.layers.*.norm", "ratio"] == pytest.approx(4 / 3)
    assert rows["depth"].tolist() == [0, 1, 2, 3, 3]
    assert rows["parent_id"].tolist() == [-1, -1, *rows["module_id"].iloc[[1, 2, 2]]]


def test_a_change_has_an_interval_over_the_steps_and_is_judged(make):
    rows = totals(compare_modules([make(3, 40, spread=0.05)], [make(3, 50, spread=0.05, seed=1)], iterate=True))
    fc, norm = rows.loc["Net.layers.*.fc"], rows.loc["Net.layers.*.norm"]
    assert fc["verdict"] == "higher"
    assert fc["difference_low_ns"] < 3 * 10 * US < fc["difference_high_ns"]
    assert 1 < fc["ratio_low"] < fc["ratio"] < fc["ratio_high"] < 1.4
    assert fc["p_value"] < 0.05
    assert (norm["verdict"], norm["difference_ns"]) == ("=", 0)
    noise = totals(compare_modules([make(3, 40, spread=0.05)], [make(3, 40, spread=0.05, seed=1)], iterate=True))
    same = noise.loc["Net.layers.*.fc"]
    assert same["verdict"] == "~"
    assert same["difference_low_ns"] < 0 < same["difference_high_ns"]


def test_the_values_are_means_of_the_sums_of_each_step(make):
    analysis = make(2, 40, spread=0.3)
    launched = analysis.kernel_instances.assign(
        module=analysis.modules["module"].to_numpy()[analysis.kernel_instances["module"].to_numpy()]
    )
    per_step = launched[launched["module"].str.endswith(".fc")].groupby("step")["duration_ns"].sum()
    expected = find_means(np.zeros(STEPS, dtype=int), per_step.to_numpy(float), 1)
    found = totals(compare_modules([analysis], [analysis], iterate=True)).loc["Net.layers.*.fc"]
    assert found["base_ns"] == pytest.approx(expected.value[0])
    assert found["base_low_ns"] <= expected.low[0] < expected.high[0] <= found["base_high_ns"]  # and that of runs
    whole = totals(compare_modules([analysis], [analysis], iterate=True))
    parts = whole.loc[whole["depth"] == 3, ["base_ns", "new_ns"]].sum()
    assert parts.tolist() == pytest.approx(whole.loc["", ["base_ns", "new_ns"]].tolist())


@pytest.mark.slow
def test_a_change_of_tensor_active_has_the_interval_of_the_fit(make):
    rows = totals(compare_modules([make(3, 40)], [make(3, 40, percent=60)], iterate=True))
    fc = rows.loc["Net.layers.*.fc"]
    assert fc["tensor_active_verdict"] == "higher"
    low, high = fc["tensor_active_difference_low_pct"], fc["tensor_active_difference_high_pct"]
    assert fc["tensor_active_difference_pct"] == pytest.approx(10)
    assert low < 10 < high
    halves = [fc[f"{side}_tensor_active_high_pct"] - fc[f"{side}_tensor_active_pct"] for side in ("base", "new")]
    assert high - 10 == pytest.approx(np.hypot(*halves), rel=0.01)


def test_sides_of_which_one_names_no_module_are_not_compared(make, tmp_path):
    plain = tcprof.read(Step().range("step", 0, 900 * US).works(10).sampled().write(tmp_path))
    assert compare_modules([make(2, 20)], [plain.analysis], iterate=True).empty
    assert compare_modules([plain.analysis], [make(2, 20)], iterate=True).empty


def test_the_command_shows_them_and_json_has_them(tmp_path, run):
    sides = [training(3, us).write(tmp_path, f"{name}.sqlite") for name, us in (("base", 40), ("new", 20))]
    done = run("compare", *sides, "--all")
    assert done.status == 0, done.err
    lines = done.out.partition("Modules, per step")[2].splitlines()
    row = next(line for line in lines if line.strip().startswith("fc "))
    assert row.split()[1:8] == ["-60.0", "µs", "120", "µs", "60.0", "µs", "0.500x"]
    assert "–" not in row  # 50 % throughout is resolved
    document = json.loads(run("compare", *sides, "--format", "json").out)
    assert list(document["modules"][0]) == MODULE_CHANGES.names
    assert {each["module"] for each in document["modules"]} >= {"", "Net.layers.*.fc"}
