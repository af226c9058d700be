"""Modules of two sides, matched by path."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import test_cli
from test_cli import Outcome
from test_modules import US, Step

import tcprof
from tcprof.analysis import Analysis
from tcprof.comparison.modules import compare_modules
from tcprof.frames import MODULE_CHANGES

run = test_cli.run
STEPS = 6


def training(layers: int, fc_us: int, *, extra: bool = False) -> Step:
    """Steps of a network of layers, each a product and a norm."""
    step = Step()
    for number in range(STEPS):
        at = 1000 * number
        step.ours("step", at, at + 990).ours("forward", at + 10, at + 900).ours("Net", at + 20, at + 800)
        for layer in range(layers):
            place = at + 30 + 100 * layer
            step.ours(f"Net.layers.{layer}", place, place + 90)
            step.ours(f"Net.layers.{layer}.fc", place + 5, place + 30).works(place + 10, "fc", ns=fc_us * US)
            step.ours(f"Net.layers.{layer}.norm", place + 40, place + 60).works(place + 50, "norm")
        if extra:
            step.ours("Net.head", at + 700, at + 750).works(at + 710, "head")
    return step.sampled()


Make = Callable[..., Analysis]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda *args, **how: tcprof.read(training(*args, **how).write(tmp_path), warm_up="all")


def totals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["phase"] == "all"].set_index("module")


def test_layers_of_a_list_are_one_row_whatever_their_number(make: Make) -> None:
    rows = totals(compare_modules(make(3, 40), make(4, 20)))
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


def test_a_module_that_a_side_lacks_takes_no_time_there(make: Make) -> None:
    rows = totals(compare_modules(make(2, 20), make(2, 20, extra=True)))
    head = rows.loc["Net.head"]
    assert pd.isna(head["base_ns"])
    assert pd.isna(head["ratio"])
    assert (head["new_ns"], head["difference_ns"]) == (10 * US, 10 * US)
    assert rows.loc["", "difference_ns"] == 10 * US
    assert compare_modules(make(2, 20), make(2, 20))["difference_ns"].abs().sum() == 0


def test_sides_of_which_one_names_no_module_are_not_compared(make: Make, tmp_path: Path) -> None:
    plain = tcprof.read(Step().range("step", 0, 900 * US).works(10).sampled().write(tmp_path))
    assert compare_modules(make(2, 20), plain).empty
    assert compare_modules(plain, make(2, 20)).empty


def test_the_command_shows_them_and_json_has_them(tmp_path: Path, run: Callable[..., Outcome]) -> None:
    sides = [training(3, us).write(tmp_path, f"{name}.sqlite") for name, us in (("base", 40), ("new", 20))]
    done = run("compare", *sides)
    assert done.status == 0, done.err
    lines = done.out.partition("modules, per step")[2].splitlines()
    row = next(line for line in lines if line.strip().startswith("fc "))
    assert row.split()[1:8] == ["-60.0", "µs", "120", "µs", "60.0", "µs", "0.500x"]
    assert "–" not in row  # 50 % throughout is resolved
    document = json.loads(run("compare", *sides, "--format", "json").out)
    assert list(document["modules"][0]) == MODULE_CHANGES.names
    assert {each["module"] for each in document["modules"]} >= {"", "Net.layers.*.fc"}


def test_what_the_samples_do_not_resolve_is_unknown(run: Callable[..., Outcome]) -> None:
    """The forward pass of ``down_proj`` is anything from 23 to 100 %, as ``tcprof modules`` marks it."""
    llama = test_cli.FIXTURES / "llama.sqlite"
    lines = run("compare", llama, llama).out.partition("modules, per step")[2].splitlines()
    known, unknown = (next(line for line in lines if line.strip().startswith(name)) for name in ("q_proj", "down_proj"))
    assert "–" not in known
    assert unknown.split()[-2:] == ["–", "–"]


def test_the_headings_of_the_page_tell_the_sides_apart() -> None:
    titles = [
        MODULE_CHANGES[f"{side}_{name}"].title for name in ("ns", "tensor_active_pct") for side in ("base", "new")
    ]
    assert titles == ["Time, base", "Time, new", "Tensor Active, base", "Tensor Active, new"]
