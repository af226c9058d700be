"""How ranges nest, against the definition as plain loops; and paths of very many names, folded with nothing lost."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tcprof.analysis.ranges.nesting import MOST_PATHS, OTHER, Nesting
from tcprof.analysis.ranges.projection import Hierarchy, build_hierarchy
from tcprof.frames import NVTX_RANGES

TIMES = st.integers(0, 24)
LANES = st.sampled_from([0, 3])
INTERVALS = st.tuples(LANES, TIMES, st.integers(0, 12)).map(lambda t: (t[0], t[1], t[1] + t[2]))


def cross(one, other):
    """Whether two intervals share time and neither encloses the other."""
    return one[0] == other[0] and (one[1] < other[1] < one[2] < other[2] or other[1] < one[1] < other[2] < one[2])


@st.composite
def rows(draw):
    """Push/pop ranges, of which none cross, and start/end ranges: lane, start, end and whether it is the latter."""
    stack = []
    for row in draw(st.lists(INTERVALS, max_size=14)):
        if not any(cross(row, other) for other in stack):
            stack.append(row)
    free = draw(st.lists(INTERVALS, max_size=8))
    found = [(*row, False) for row in stack] + [(*row, True) for row in free]
    return sorted(found, key=lambda row: (row[0], row[1], -row[2]))


def build(found):
    columns = [np.array([row[i] for row in found], dtype=np.int64) for i in range(4)]
    return Nesting(*columns[:3], columns[3].astype(bool))


def left_of(found, i):
    """When a range is open and no push/pop range that it crosses is."""
    lane, start, end, start_end = found[i]
    crossed = [row for row in found if start_end and not row[3] and cross(row[:3], (lane, start, end))]
    low = max([row[2] for row in crossed if row[1] < start], default=start)
    high = min([row[1] for row in crossed if row[1] > start], default=end)
    return low, max(low, high)


def place(found, i):
    """Of two ranges that hold a time the one that is further back is the innermost."""
    low, high = left_of(found, i)
    return (low, -high, i)


def naive_parent(found, i):
    lane, start, end, _ = found[i]
    around = [
        j
        for j, other in enumerate(found)
        if j != i and other[0] == lane and left_of(found, j)[0] <= start < left_of(found, j)[1]
        if end <= left_of(found, j)[1] and place(found, j) < (start, -end, i)
    ]
    return max(around, key=lambda j: place(found, j), default=-1)


def naive_at(found, lane, moment):
    mine = [i for i, row in enumerate(found) if row[0] == lane]
    is_open = [i for i in mine if left_of(found, i)[0] <= moment < left_of(found, i)[1]]
    return max(is_open, key=lambda i: place(found, i), default=-1)


@given(rows())
@example([])
def test_parents(found):
    parents = build(found).parents().tolist()
    assert parents == [naive_parent(found, i) for i in range(len(found))]
    for row, parent in zip(found, parents, strict=True):
        assert parent < 0 or (found[parent][1] <= row[1] and row[2] <= found[parent][2])


@given(rows(), st.lists(st.tuples(LANES, st.integers(-2, 40)), max_size=12))
@example([], [(0, 0)])
def test_at(found, queries):
    lane, moment = (np.array([query[i] for query in queries], dtype=np.int64) for i in range(2))
    at = build(found).at(lane, moment).tolist()
    assert at == [naive_at(found, *query) for query in queries]
    for (query_lane, query), row in zip(queries, at, strict=True):
        assert (row >= 0) == any(lane == query_lane and start <= query < end for lane, start, end, _ in found)


@given(rows(), st.lists(st.tuples(LANES, st.integers(-2, 40)), max_size=12), st.randoms())
@example([], [(0, 0)], None)
def test_start_end_at(found, queries, random):
    path = [random.randrange(3) for _ in found]
    lane, moment = (np.array([query[i] for query in queries], dtype=np.int64) for i in range(2))
    number, row = build(found).start_end_at(np.array(path, dtype=np.int64), lane, moment)
    expected = {}
    for i, (query_lane, query) in enumerate(queries):
        for j, (range_lane, start, end, start_end) in enumerate(found):
            if start_end and range_lane == query_lane and start <= query < end:
                expected[i, path[j]] = j  # the last in order
    pairs = sorted(zip(number.tolist(), row.tolist(), strict=True))
    assert pairs == sorted((i, j) for (i, _), j in expected.items())


COUNT = MOST_PATHS + 500


def hierarchy(names: list[str], *, domain: str = "", length: int = 10) -> Hierarchy:
    """Ranges one after the other, each in a range that is around all."""
    start = np.arange(len(names)) * 100
    rows = {"name": names, "domain": domain, "start_ns": start, "end_ns": start + length}
    around = {"name": ["run"], "domain": domain, "start_ns": [-1], "end_ns": [start[-1] + 100]}
    frame = pd.concat([pd.DataFrame(around), pd.DataFrame(rows)], ignore_index=True)
    return built(frame)


def built(frame: pd.DataFrame) -> Hierarchy:
    frame = frame.assign(process=1, thread=1, start_end=False, sizes="", output_sizes="")
    return build_hierarchy(
        NVTX_RANGES.conform(frame.astype(dict.fromkeys(("name", "domain", "sizes", "output_sizes"), "category")))
    )


@pytest.mark.parametrize("form", ["request {}", "request 0x{:x}", "{:08x}-0000-4000 of a client", "a/{}/b/{}"])
def test_names_that_differ_in_numbers_are_one_where_they_are_too_many(form):
    found = hierarchy([form.format(number, number) for number in range(COUNT)])
    assert found.path_count == COUNT + 1
    assert len(found.paths) == 2
    assert found.paths["path"].tolist()[1].count("#") == form.count("{")
    assert np.bincount(found.path_id).tolist() == [1, COUNT]
    assert found.ranges["name"].nunique() == COUNT + 1  # each range keeps its own


@pytest.mark.parametrize(
    ("form", "count", "name"),
    [
        ("iteration{}", 9, "iteration"),
        ("train_step: {}", 9, "train_step"),
        ("Iter #{}", 9, "Iter"),
        ("step {}", 3, None),
    ],
)
def test_steps_that_are_called_by_their_numbers_are_one_path(form, count, name):
    """Few may be stages, which have numbers, too; and so have batches by their sizes, and layers."""
    names = [form.format(number) for number in range(count)]
    found = hierarchy([*names, "batch 8", "batch 16", "layer_0", "layer_1"])
    assert found.paths["name"].tolist()[1:-4] == ([name] if name else names)


def word(number: int) -> str:
    return "".join(chr(ord("g") + int(digit)) for digit in str(number))


def test_of_other_names_the_longest_are_kept():
    names = [word(number) for number in range(COUNT)]
    found = hierarchy([*names, *["often"] * 50])
    assert len(found.paths) <= MOST_PATHS
    count = dict(zip(found.paths["name"], np.bincount(found.path_id), strict=True))
    assert (count["run"], count["often"]) == (1, 50)
    assert count[OTHER] == COUNT + 50 - sum(number for name, number in count.items() if name not in (OTHER, "run"))
    assert found.paths.loc[found.paths["name"] == OTHER, "path"].tolist() == [f"run / {OTHER}"]
