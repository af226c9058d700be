"""Paths of ranges with very many names: folded to as many as a table can have, with nothing lost from the sums."""

import numpy as np
import pandas as pd
import pytest

from tcprof.analysis.ranges.nesting import MOST_PATHS, OTHERS
from tcprof.analysis.ranges.projection import Hierarchy, build_hierarchy
from tcprof.frames import NVTX_RANGES

COUNT = MOST_PATHS + 500


def hierarchy(names: list[str], *, domain: str = "", length: int = 10) -> Hierarchy:
    """Ranges one after the other, each in a range that is around all."""
    start = np.arange(len(names)) * 100
    rows = {"name": names, "domain": domain, "start_ns": start, "end_ns": start + length}
    around = {"name": ["run"], "domain": domain, "start_ns": [-1], "end_ns": [start[-1] + 100]}
    frame = pd.concat([pd.DataFrame(around), pd.DataFrame(rows)], ignore_index=True)
    frame = frame.assign(process=1, thread=1, start_end=False, sizes="", output_sizes="")
    return build_hierarchy(
        NVTX_RANGES.conform(frame.astype(dict.fromkeys(("name", "domain", "sizes", "output_sizes"), "category")))
    )


@pytest.mark.parametrize("form", ["request {}", "request 0x{:x}", "{:08x}-0000-4000 of a client", "a/{}/b/{}"])
def test_names_that_differ_in_numbers_are_one_where_they_are_too_many(form: str) -> None:
    found = hierarchy([form.format(number, number) for number in range(COUNT)])
    assert found.path_count == COUNT + 1
    assert len(found.paths) == 2
    assert found.paths["path"].tolist()[1].count("#") == form.count("{")
    assert np.bincount(found.path_id).tolist() == [1, COUNT]
    assert found.ranges["name"].nunique() == COUNT + 1  # each range keeps its own


def test_few_names_stay_as_they_are() -> None:
    found = hierarchy([f"step {number}" for number in range(200)])
    assert (len(found.paths), found.path_count) == (201, 201)
    assert found.paths["name"].tolist()[:3] == ["run", "step 0", "step 1"]


def word(number: int) -> str:
    return "".join(chr(ord("g") + int(digit)) for digit in str(number))


def test_of_other_names_the_longest_are_kept() -> None:
    names = [word(number) for number in range(COUNT)]
    found = hierarchy([*names, *["often"] * 50])
    assert len(found.paths) <= MOST_PATHS
    count = dict(zip(found.paths["name"], np.bincount(found.path_id), strict=True))
    assert (count["run"], count["often"]) == (1, 50)
    assert count[OTHERS] == COUNT + 50 - sum(number for name, number in count.items() if name not in (OTHERS, "run"))
    assert found.paths.loc[found.paths["name"] == OTHERS, "path"].tolist() == [f"run / {OTHERS}"]


@pytest.mark.parametrize("domain", ["tcprof", "PyTorch ops"])
def test_modules_and_ops_keep_their_names(domain: str) -> None:
    names = [f"layers.{number}" for number in range(COUNT)]
    assert len(hierarchy(names, domain=domain).paths) == COUNT + 1


def test_paths_of_a_few_names_in_each_other_are_bounded_too() -> None:
    names = [word(number) for number in range(40)]
    rows = []
    for number, (a, b, c) in enumerate((a, b, c) for a in names for b in names for c in names[:20]):
        rows += [(name, 100 * number + at, 100 * number + 90 - at) for at, name in enumerate((a, b, c))]
    frame = pd.DataFrame(rows, columns=["name", "start_ns", "end_ns"])
    frame = frame.assign(domain="", process=1, thread=1, start_end=False, sizes="", output_sizes="")
    found = build_hierarchy(
        NVTX_RANGES.conform(frame.astype(dict.fromkeys(("name", "domain", "sizes", "output_sizes"), "category")))
    )
    assert found.path_count == 40 + 40 * 40 + 40 * 40 * 20
    assert len(found.paths) <= 2 * MOST_PATHS
    assert (found.path_id >= 0).all()
