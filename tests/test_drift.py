"""Exports of versions that tcprof does not know are refused by name, or noted; ranges that never closed are counted."""

import re
import sqlite3
from contextlib import closing

import pytest
from builders import TraceBuilder
from test_damage import alter, sound

import tcprof
from tcprof.errors import InputError
from tcprof.findings.finding import Severity
from tcprof.nsys import schema
from tcprof.nsys.schema import find_drift

pytestmark = pytest.mark.usefixtures("shared_reads")

KERNELS, METRICS, NAMES = schema.KERNELS.name, schema.METRICS.name, schema.METRIC_NAMES.name


@pytest.mark.parametrize("table", ["NVTX_EVENTS", KERNELS, METRICS, "CUPTI_ACTIVITY_KIND_RUNTIME"])
@pytest.mark.parametrize("form", ["{}_V2", "{}_V3_1", "{}2", "V2_{}", "{}_", "{}S"])
def test_a_renamed_table_is_refused_by_its_name(table, form, tmp_path):
    new = form.format(table)
    path = alter(sound().write(tmp_path), f"ALTER TABLE {table} RENAME TO {new}")
    with pytest.raises(InputError, match=rf"a table {new}, .* in place of {table}\.") as caught:
        tcprof.read(path)
    assert "Update tcprof" in caught.value.hint


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (KERNELS, "correlationId"),
        (KERNELS, "deviceId"),
        ("NVTX_EVENTS", "globalTid"),
        (METRICS, "value"),
        ("NVTX_EVENTS", "textId"),
    ],
)
def test_a_renamed_column_is_refused_by_its_name(table, column, tmp_path):
    path = alter(sound().write(tmp_path), f'ALTER TABLE {table} RENAME COLUMN "{column}" TO "{column}_v2"')
    with pytest.raises(InputError, match=rf"{table} has (no column|a column) {column}.*, which"):
        tcprof.read(path)


def test_samples_need_the_names_of_their_metrics(tmp_path):
    with pytest.raises(InputError, match=f"it has {METRICS}, but no table {NAMES}"):
        tcprof.read(alter(sound().write(tmp_path), f"DROP TABLE {NAMES}"))


def test_tables_that_nsys_writes_are_no_renamed_ones():
    others = ["GENERIC_EVENT_SOURCES", "ENUM_NVTX_EVENTS", "NVTX_PAYLOAD_SCHEMAS", "TARGET_INFO_NVTX_CUDA_DEVICE"]
    like_calls = ["OSRT_API", "PROFILER_OVERHEAD", "OPENMP_EVENT_KIND_TASK", "VULKAN_API"]
    found = dict.fromkeys(others, ()) | dict.fromkeys(like_calls, schema.ALWAYS[schema.API_CALLS.name])
    assert not find_drift({name: schema.ALWAYS[name] for name in ("StringIds", KERNELS)}, found)


@pytest.mark.parametrize("table", sorted({*schema.UNIQUE, schema.API_CALLS.name}))
def test_a_table_of_a_wholly_other_name_is_known_by_its_columns(table, tmp_path):
    builder = (
        sound().copy("host to device", 1, 2).memset(3, 4).visible_device(0, 0).graph(5, 6).diagnostic("warning", "lost")
    )
    path = builder.write(tmp_path)
    tcprof.read(path)
    with pytest.raises(InputError, match=rf"a table SOMETHING_ELSE, .* in place of {table}\."):
        tcprof.read(alter(path, f"ALTER TABLE {table} RENAME TO SOMETHING_ELSE"))


def test_names_need_the_table_of_strings(tmp_path):
    path = alter(sound().write(tmp_path), "ALTER TABLE StringIds RENAME TO SOMETHING_ELSE")
    with pytest.raises(InputError, match="no table StringIds, which every version"):
        tcprof.read(path)


@pytest.mark.parametrize(("version", "is_noted"), [("3.25.9", False), ("3.26.0", True), ("4.2.0", True), ("x", False)])
def test_a_newer_schema_is_noted(version, is_noted, tmp_path):
    path = sound().exported().write(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'")
        connection.execute("INSERT INTO META_DATA_EXPORT (name, value) VALUES ('EXPORT_SCHEMA_VERSION', ?)", (version,))
    found = {each.rule: each.severity for each in tcprof.read(path).findings.entries}
    assert (found.get("newer-schema") == Severity.CAUTION) is is_noted


@pytest.mark.parametrize("start_end", [False, True])
@pytest.mark.parametrize(
    ("ranges", "kept"),
    [
        ([("epoch", 0, None), ("step", 10, 20), ("step", 30, None), ("forward", 35, None)], 4),
        ([("step", 0, None), ("step", 20, None), ("step", 40, None)], 0),
        ([("step", 0, None), ("step", 20, 30), ("step", 40, 50)], 2),
        ([("epoch", 0, 90), ("step", 20, None)], 1),
        ([("epoch", 0, 10), ("step", 20, None)], 2),
    ],
)
def test_ranges_that_never_closed_are_counted_apart(ranges, kept, start_end, tmp_path):
    builder = TraceBuilder().gpu().recorded(100_000).kernel("gemm", 60, 80, launched=50)
    for name, start, end in ranges:
        builder.range(name, start, end, start_end=start_end)
    analysis = tcprof.read(builder.write(tmp_path))
    assert len(analysis.nvtx_ranges) == kept
    assert not analysis.faults
    told = [re.findall(r"\d+", each.sentence) for each in analysis.findings.entries if each.rule == "unclosed-ranges"]
    assert told == ([[str(len(ranges) - kept)]] if kept < len(ranges) else [])


def test_processes_of_two_virtual_machines_with_one_number(tmp_path):
    builder = TraceBuilder().gpu().recorded(100_000)
    for machine in (0, 1):
        process = 1000 | machine << 25
        builder.range(f"only {machine}", 0, 90, process=process)
        builder.kernel(f"kernel {machine}", 60 + machine, 80, launched=50, process=process, correlation=5)
    analysis = tcprof.read(builder.write(tmp_path))
    assert analysis.nvtx_ranges["process"].nunique() == analysis.activities["process"].nunique() == 2
    ranges = analysis.ranges[analysis.ranges["depth"] > 0].set_index("name")
    assert ranges["activity_count"].to_dict() == {"only 0": 1, "only 1": 1}
    assert 1000 in analysis.activities["process"].tolist()
