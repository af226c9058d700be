"""A column that no frame has is told here, since no type checker sees it; see column_names.py for the rule."""

import tomllib

import pytest
from column_names import find_unknown_columns
from source_tree import PACKAGE, Module, read_modules

from tcprof.frames import SCHEMAS

COLUMNS = {column.name for schema in SCHEMAS for column in schema.columns}
DATA = [tomllib.loads(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.toml")]


def keys_of(data: object) -> set[str]:
    """All keys of nested dicts."""
    if isinstance(data, list):
        return set().union(*map(keys_of, data))
    return set(data).union(*map(keys_of, data.values())) if isinstance(data, dict) else set()


# Keys of dicts that come from elsewhere: of the package's own data files, and of a column by SQLAlchemy's inspector.
FOREIGN = keys_of(DATA) | {"type"}
MODULES = read_modules()


def test_every_column_that_is_asked_for_is_one():
    found = find_unknown_columns(MODULES, COLUMNS | FOREIGN)
    assert not found, "\n".join(["", *found])


@pytest.mark.slow
def test_a_misspelt_column_is_told_in_whatever_module_it_stands():
    planted = {
        name: Module(name, f'{module.text}\n\ndef planted(frame):\n    return frame["aktive_ns"]\n', module.is_package)
        for name, module in MODULES.items()
    }
    lines = {name: len(module.text.splitlines()) for name, module in planted.items()}
    assert find_unknown_columns(planted, COLUMNS | FOREIGN) == [
        f"{name}:{line} asks for column 'aktive_ns'" for name, line in lines.items()
    ]


def asked_in(text: str, **others: str) -> list[str]:
    """The columns that a module asks for and nobody gives it; ``gpu`` and ``start_ns`` are those of a Schema."""
    modules = {name: Module(name, each) for name, each in {"tcprof.m": text, **others}.items()}
    found = find_unknown_columns(modules, {"gpu", "start_ns"})
    return [place.split("'")[1] for place in found if place.startswith("tcprof.m:")]


MISSPELT = {
    "subscript": 'x = frame["aktive_ns"]',
    "several": 'x = frame[["gpu", "aktive_ns"]]',
    "several of a constant": 'KEY = ["gpu", "aktive_ns"]\nx = frame[KEY]',
    "a constant and more": 'KEY = ["gpu"]\nx = frame[[*KEY, "aktive_ns"]]',
    "two lists": 'KEY = ["gpu"]\nx = frame[KEY + ["aktive_ns"]]',
    "loc": 'x = frame.loc[frame["gpu"] > 0, "aktive_ns"]',
    "loc of several": 'x = frame.loc[:, ["gpu", "aktive_ns"]]',
    "at": 'x = frame.at[0, "aktive_ns"]',
    "groupby": 'x = frame.groupby("aktive_ns")',
    "groupby several": 'x = frame.groupby(["gpu", "aktive_ns"])["gpu"].sum()',
    "of a group": 'x = frame.groupby("gpu")["aktive_ns"].sum()',
    "sort_values": 'x = frame.sort_values(["gpu", "aktive_ns"], kind="stable")',
    "by": 'x = frame.sort_values(by="aktive_ns")',
    "merge": 'x = frame.merge(other, on=["gpu", "aktive_ns"])',
    "left_on": 'x = frame.merge(other, left_on="aktive_ns", right_index=True)',
    "drop_duplicates": 'x = frame.drop_duplicates(["gpu", "aktive_ns"])',
    "subset": 'x = frame.drop_duplicates(subset="aktive_ns")',
    "set_index": 'x = frame.set_index("aktive_ns")',
    "drop": 'x = frame.drop(columns="aktive_ns")',
    "named aggregation": 'x = frame.groupby("gpu").agg(start_ns=("aktive_ns", "min"))',
    "aggregation": 'x = frame.groupby("gpu").agg({"aktive_ns": "min"})',
    "renamed": 'x = frame.rename(columns={"aktive_ns": "gpu"})',
    "converted": 'x = frame.astype({"aktive_ns": "int64"})',
    "in a choice": 'x = frame["gpu" if one else "aktive_ns"]',
    "in an f-string": """x = f"{frame['aktive_ns'].sum()}\"""",
    "in a lambda": 'x = frame.assign(gpu=lambda each: each["aktive_ns"])',
    "in a default": 'def f(x=frame["aktive_ns"]): pass',
    "compared": 'if frame["aktive_ns"] == "gpu": pass',
}


@pytest.mark.parametrize("text", MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_column_is_told_wherever_it_is_asked_for(text):
    assert asked_in(text) == ["aktive_ns"]
    assert asked_in(text.replace("aktive_ns", "start_ns")) == []


GIVEN = {
    "assign": "frame = frame.assign(own_ns=1)",
    "subscript": 'frame["own_ns"] = 1',
    "loc": 'frame.loc[0, "own_ns"] = 1',
    "frame": 'frame = pd.DataFrame({"own_ns": [1]})',
    "columns": 'frame = pd.DataFrame(rows, columns=["gpu", "own_ns"])',
    "set columns": 'frame.columns = ["gpu", "own_ns"]',
    "rename": 'frame = frame.rename(columns={"gpu": "own_ns"})',
    "rename a series": 'frame = x.rename("own_ns").reset_index()',
    "reset_index": 'frame = x.reset_index(name="own_ns")',
    "index": 'frame = x.rename_axis(index="gpu").reset_index(names="own_ns")',
    "aggregation": 'frame = x.groupby("gpu").agg(own_ns=("start_ns", "sum"))',
    "aggregations": 'frame = x.groupby("gpu")["start_ns"].agg(["own_ns"])',
    "one by one": 'def each(frame): yield "own_ns", frame["gpu"]',
    "for": 'for name in ("gpu", "own_ns"): frame[name] = 1',
    "comprehension": 'frame = pd.DataFrame({name: 0 for name in ("gpu", "own_ns")})',
    "comprehension over a constant": 'NAMES = {"own": 1}\nframe = pd.DataFrame({f"{name}_ns": 0 for name in NAMES})',
}


@pytest.mark.parametrize("text", GIVEN.values(), ids=GIVEN)
def test_what_a_module_adds_to_a_frame_may_be_asked_for(text):
    asked = 'x = frame["own_ns"], frame[["gpu", "own_ns"]]'
    assert asked_in(asked) == ["own_ns", "own_ns"]
    assert asked_in(f"{text}\n{asked}") == []
    assert asked_in(f"{text}\n{asked.replace('own', 'owm')}") == ["owm_ns", "owm_ns"]


def test_what_another_module_adds_may_be_asked_for_by_those_that_deal_with_it():
    asked = 'x = frame["own_ns"]'
    giver, caller = 'frame["own_ns"] = 1', "import tcprof.giver\nimport tcprof.m"
    assert asked_in(asked, **{"tcprof.giver": giver}) == ["own_ns"]
    assert asked_in(f"from tcprof.giver import x\n{asked}", **{"tcprof.giver": giver}) == []
    assert asked_in(asked, **{"tcprof.giver": giver, "tcprof.caller": caller}) == []


@pytest.mark.parametrize(
    "text",
    [
        'x: dict["Comparison", int] = {}',
        'def f(x: list["aktive"]) -> "aktive": pass',
        'Kind = Literal["relative", "points"]',
        'x = os.environ["PATH"], found["Fields"], info["GPU_METRICS_OPTIONS:SAMPLING_FREQUENCY"]',
        'x = "aktive_ns"[1:], names["gpu"], print("aktive_ns", end="")',
        'x = both.merge(other, on="gpu", how="left")["start_ns_x"]\ny = {"start_ns": 1}',
    ],
)
def test_what_is_no_column_is_let_pass(text):
    assert asked_in(text) == []
