"""Power of GPUs, as nsys's plugin nvml_metrics samples it: whose it is, over steps, of ranks, in a redacted copy."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import MS, TraceBuilder
from commands import Run
from jobs import make_job
from saved_files import bytes_of, table_of

import tcprof
from tcprof.nsys import schema
from tcprof.ranks.job import Causes, join_ranks
from tcprof.ranks.reduce import reduce_file
from tcprof.ranks.store import read_job, write_job
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite import NsysExport

# What the busy one of four H200s drew: NVML renewed the value with every fifth sample.
IDENT = np.repeat([78, 122, 271, 584, 606, 599, 613, 604, 614, 605, 608, 605, 140], 5).tolist()
ORDERS = [schema.POWER_FIELDS, schema.POWER_FIELDS[::-1]]


def host(numbers: list[int]) -> TraceBuilder:
    """A host whose GPUs have these numbers, in the order of their bus locations."""
    builder = TraceBuilder()
    for place, number in enumerate(numbers):
        builder.gpu(number, bus=f"0000:00:{6 + place:02x}.0")
    return builder


def power_of(path: Path) -> pd.DataFrame:
    return NsysExport(path).samples(()).power


def steps(power: list[int], count: int = 12, length: int = 50 * MS, start: int = 400 * MS) -> TraceBuilder:
    """A program whose steps keep a GPU busy, from 0.4 s on, when the GPU of IDENT is."""
    builder = TraceBuilder().gpu()
    for begin in range(start, start + count * length, length):
        builder.range("step", begin, begin + length - MS).kernel("gemm", begin, begin + length, launched=begin)
    return builder.power(power) if power else builder


@pytest.mark.parametrize("fields", ORDERS)
@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_types_are_gpus_in_the_order_of_bus_locations(tmp_path: Path, numbers: list[int], fields: list[str]) -> None:
    builder = host(numbers)
    for place in (3, 1, 0, 2):
        builder.power(IDENT if place == 2 else [77, 78, 77], place=place, fields=fields)
    power = power_of(builder.write(tmp_path))
    means = power.groupby("gpu")["power_w"].mean().round().to_dict()
    assert means == {number: round(np.mean(IDENT)) if place == 2 else 77 for place, number in enumerate(numbers)}
    busy = power[power["gpu"] == numbers[2]]
    assert (busy["start_ns"].iloc[0], busy["end_ns"].iloc[-1]) == (0, len(IDENT) * 20 * MS)


@pytest.mark.parametrize("places", [1, 3])
def test_of_another_number_of_types_than_gpus_nobody_knows_whose_they_are(tmp_path: Path, places: int) -> None:
    builder = host([0, 1])
    for place in range(places):
        builder.power(IDENT, place=place)
    assert power_of(builder.write(tmp_path)).empty


def test_where_only_some_gpus_have_a_bus_location_their_order_is_unknown(tmp_path: Path) -> None:
    assert power_of(host([0]).gpu(1).power(IDENT).power(IDENT, place=1).write(tmp_path)).empty


def test_events_and_values_with_one_number_are_left_out(tmp_path: Path) -> None:
    builder = host([0]).power([600, 610, 620])
    builder.row(schema.GENERIC_VALUES, genericEventId=1, fieldIdx=0, uintVal=1)
    builder.row(schema.GENERIC_EVENTS, genericEventId=2, timestamp=1, typeId=1)
    builder.row(schema.GENERIC_EVENTS, genericEventId=3, timestamp=40 * MS, typeId=281_492_156_579_841)
    assert power_of(builder.write(tmp_path))["power_w"].tolist() == [610]


def test_the_mean_is_over_the_steps_from_when_the_value_is_theirs(tmp_path: Path) -> None:
    power = [100] * 25 + [600] * 25 + [100] * 10  # NVML says 100 ms late that the steps began, at 400 ms
    (mean,) = tcprof.read(steps(power).write(tmp_path)).step_summary["power_w"]
    assert mean == 600


@pytest.mark.parametrize(
    ("power", "count"),
    [([], 12), ([600] * 60, 5), ([600] * 26, 12), ([600] * 2, 12)],
    ids=["not recorded", "below 0.2 s", "half not sampled", "two samples"],
)
def test_too_little_gives_no_mean(tmp_path: Path, power: list[int], count: int) -> None:
    assert tcprof.read(steps(power, count).write(tmp_path)).step_summary["power_w"].isna().all()


def test_the_page_of_a_recording_says_it(tmp_path: Path, run: Run) -> None:
    page = tmp_path / "page.html"
    assert run("report", steps([600] * 60).write(tmp_path), "-o", page).status == 0
    assert "Mean power of GPU 0 over its steps" in page.read_text()
    assert "600\N{NO-BREAK SPACE}W" in page.read_text()


def test_ranks_have_it_in_their_table_and_in_a_folder(tmp_path: Path, run: Run) -> None:
    files = make_job(tmp_path, [[50_000] * 9] * 2, power_w=[612, 690])
    assert "690 W" in run("ranks", *files, "--jobs", 1).out
    job = join_ranks([rank for file in files for rank in reduce_file(str(file))])
    assert job.ranks["power_w"].tolist() == [612, 690]
    write_job(job, tmp_path / "job")
    assert [each.power_w for each in read_job(tmp_path / "job")] == [612, 690]
    recordings = tmp_path / "job" / "rank_recordings.parquet"
    recordings.write_bytes(bytes_of(table_of(recordings.read_bytes()).drop_columns(["power_w"])))
    assert np.isnan([each.power_w for each in read_job(tmp_path / "job")]).all()


def test_a_lower_clock_is_named_with_the_power(tmp_path: Path) -> None:
    files = make_job(tmp_path, [[50_000] * 9] * 3 + [[60_000] * 9], power_w=[612, 610, 611, 690])
    reduced = [rank for file in files for rank in reduce_file(str(file))]
    clocks = [each.steps.assign(clock_hz=1.2e9 if each.power_w == 690 else 1.5e9) for each in reduced]
    job = join_ranks([replace(each, steps=steps) for each, steps in zip(reduced, clocks, strict=True)])
    assert job.ranks.loc[3, "cause"].startswith("its SM clock is 1.20 GHz at 690 W; the others' is 1.50 GHz at 611 W")
    without = Causes(job.ranks.assign(power_w=np.nan), job.rank_parts)
    assert without.explain(3).startswith("its SM clock is 1.20 GHz; the others' is 1.50 GHz")


def secret_events(builder: TraceBuilder) -> TraceBuilder:
    """The same with events of another plugin, which are nobody's business."""
    builder.row(schema.GENERIC_FIELDS, typeId=77, fieldIdx=0, fieldNameId=4_000)
    builder.row(schema.STRINGS, id=4_000, value="hunter2hunter2")
    builder.row(schema.GENERIC_EVENTS, genericEventId=9_000, timestamp=1, typeId=77, data="hunter2hunter2")
    builder.row(schema.GENERIC_VALUES, genericEventId=9_000, fieldIdx=0, uintVal=66_123)
    builder.row(schema.GENERIC_FIELDS, typeId=281_492_156_579_841, fieldIdx=7, fieldNameId=4_000)
    return builder.row(schema.GENERIC_VALUES, genericEventId=1, fieldIdx=7, uintVal=66_124)


def test_a_redacted_copy_has_the_power_and_nothing_of_other_events(tmp_path: Path) -> None:
    builder = secret_events(host([0, 1]).power(IDENT).power([77] * 3, place=1).samples([0, 50, 100]))
    source, copy, again = builder.write(tmp_path), tmp_path / "copy.sqlite", tmp_path / "again.sqlite"
    redact(source, copy)
    redact(copy, again)
    assert len(power_of(source)) == len(IDENT) + 3
    for path in (copy, again):
        pd.testing.assert_frame_equal(power_of(path), power_of(source))
    assert b"hunter2" not in copy.read_bytes()
    with closing(sqlite3.connect(copy)) as connection:
        values = {value for (value,) in connection.execute("SELECT uintVal FROM GENERIC_EVENT_DATA")}
    assert values == {35, 77, *IDENT}


@pytest.mark.parametrize("builder", [host([1, 0]), host([0]).gpu(1)], ids=["other order", "one without"])
def test_a_copy_that_could_not_say_whose_it_is_has_no_power(tmp_path: Path, builder: TraceBuilder) -> None:
    source = builder.power(IDENT).power([77] * 3, place=1).samples([0, 50, 100]).write(tmp_path)
    redact(source, tmp_path / "copy.sqlite")
    assert power_of(tmp_path / "copy.sqlite").empty
