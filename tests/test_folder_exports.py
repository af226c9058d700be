"""Exports that are folders of Parquet or Arrow files: read as SQLite is, through the same border."""

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import FIXTURES, TraceBuilder, write_tables
from slow import first

import tcprof
from tcprof.errors import InputError, OutputError
from tcprof.nsys.export import find_export
from tcprof.ranks.gather import find_files
from tcprof.sources.registry import find_recordings

INDEXED = ".arrow with an index"
KINDS = ["_pqtdir/.parquet", "_arwdir/.arrow", f"_arwdir/{INDEXED}"]


def trace() -> TraceBuilder:
    return TraceBuilder().gpu(0, "NVIDIA H200").range("step", 0, 9_000).kernel("gemm", 2_000, 9_000, launched=1_000)


@pytest.fixture
def folder(tmp_path):
    """A small export; a test damages one file of it."""
    return write_tables(trace().write(tmp_path, "whole.sqlite"), tmp_path / "run_pqtdir")


@pytest.mark.parametrize("kind", first(1, KINDS))
def test_a_folder_gives_the_figures_of_its_sqlite_export(kind, tmp_path, run):
    name, suffix = kind.split("/")
    source = shutil.copy(FIXTURES / "mlp_fp16.sqlite", tmp_path / "run.sqlite")
    given = write_tables(source, tmp_path / f"other{name}", suffix)
    answers = [json.loads(run("show", path, "--format", "json").out) for path in (source, given)]
    for answer in answers:
        for facts in (answer, answer.get("recording", {})):
            [facts.pop(fact, None) for fact in ("file", "content", "recording_file")]
    assert answers[0] == answers[1]
    assert tcprof.read(given).recording.file == "other.sqlite"


def test_the_sqlite_file_is_made_once_and_again_when_a_table_is_newer(folder):
    made = find_export(folder, None)
    assert made == folder / "run.sqlite"
    before = made.stat().st_mtime_ns
    assert find_export(folder, None).stat().st_mtime_ns == before
    os.utime(folder / "NVTX_EVENTS.parquet", ns=(before + 1, before + 1))
    assert find_export(folder, None).stat().st_mtime_ns > before


def test_numbers_keep_their_bits_and_unknown_stays_unknown(folder):
    high = pa.array([(1 << 63) + 5, 7, None], pa.uint64())
    odd = {"named": pa.array(["é", "a", None]).dictionary_encode(), "list": [[1], [2], None], "real": [0.5, 1.0, None]}
    pq.write_table(pa.table({"value": high, **odd}), folder / "OTHER.parquet")
    with closing(sqlite3.connect(find_export(folder, None))) as connection:
        rows = connection.execute('SELECT value, named, list, real FROM "OTHER"').fetchall()
    assert rows == [(-(1 << 63) + 5, "é", None, 0.5), (7, "a", None, 1.0), (None, None, None, None)]


def test_what_is_wrong_is_counted_as_in_sqlite(folder):
    kernels = pq.read_table(folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet").to_pandas()
    wrong = pd.concat([kernels, kernels.assign(start=None), kernels.assign(start=1 << 60)])
    wrong.to_parquet(folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet", index=False)
    faults = " ".join(tcprof.read(folder).faults)
    assert "CUPTI_ACTIVITY_KIND_KERNEL.start" in faults
    assert len(tcprof.read(folder).activities) == 1


@pytest.mark.parametrize(
    ("old", "new"), [("NVTX_EVENTS", "NVTX_EVENTS_V2"), ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_KERNEL_V3")]
)
def test_a_renamed_table_is_refused_by_name(folder, old, new):
    (folder / f"{old}.parquet").rename(folder / f"{new}.parquet")
    with pytest.raises(InputError, match=f"{new}, which tcprof does not know, in place of {old}"):
        tcprof.read(folder)


def test_a_newer_schema_is_noted(tmp_path, run):
    source = trace().exported("2027.1.1.1", "4.2.0").write(tmp_path, "whole.sqlite")
    assert "schema 4.2" in run("show", write_tables(source, tmp_path / "run_pqtdir"), "--notes").err


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("end", [b"", b"\xff\xff\xff\x7fPAR1", b"ARROW1"])
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_damaged_file_is_named(kept, end, suffix, tmp_path, run):
    given = write_tables(trace().write(tmp_path, "whole.sqlite"), tmp_path / "run_pqtdir", suffix)
    path = given / f"NVTX_EVENTS{suffix}"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))] + end)
    done = run("show", given)
    assert (done.status, path.name in done.err, "parquetdir" in done.err) == (3, True, True)
    assert [each.name for each in given.iterdir() if each.suffix == ".sqlite" or each.name[0] == "."] == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", INDEXED])
def test_changed_bytes_end_in_no_other_error(suffix, tmp_path):
    original = write_tables(trace().write(tmp_path, "whole.sqlite"), tmp_path / "original", suffix)
    files = sorted(original.iterdir())
    for seed in range(40):
        chance = random.Random(seed)
        given = Path(shutil.copytree(original, tmp_path / f"{seed}_pqtdir"))
        path = given / chance.choice(files).name
        content = bytearray(path.read_bytes())
        for _ in range(chance.choice((1, 4, 16))):
            content[chance.randrange(len(content))] = chance.choice((0, 127, 128, 255))
        path.write_bytes(content)
        with suppress(InputError):
            find_export(given, None)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(pa.table({"id": pa.nulls((1 << 25) + 1)}), id="rows without bytes"),
        pytest.param(pa.table([pa.array([1]), pa.array([2])], names=["id", "ID"]), id="one name twice"),
        pytest.param(pa.table({}), id="no columns"),
    ],
)
def test_a_table_that_nsys_writes_not_is_refused(table, folder):
    pq.write_table(table, folder / "StringIds.parquet")
    with pytest.raises(InputError, match=r"StringIds\.parquet cannot be read"):
        tcprof.read(folder)


def test_a_folder_that_cannot_be_written_says_what_to_do(folder):
    (folder / "run.sqlite").mkdir()
    with pytest.raises(OutputError, match="Copy the folder"):
        find_export(folder, None)


def test_a_folder_is_one_recording_beside_its_report_and_among_ranks(tmp_path):
    source = trace().write(tmp_path, "b.sqlite")
    tables = [write_tables(source, tmp_path / name) for name in ("a_pqtdir", "b_pqtdir", "c")]
    find_export(tables[0], None)
    assert [path.name for path in find_recordings(tmp_path)] == ["a_pqtdir", "b.sqlite"]
    assert find_recordings(tables[0]) == [tables[0]]
    assert find_files([tmp_path]) == [tables[0], source]


def test_a_redacted_copy_of_a_folder(tmp_path, run):
    given = write_tables(shutil.copy(FIXTURES / "mlp_fp16.sqlite", tmp_path / "run.sqlite"), tmp_path / "x_pqtdir")
    copy = tmp_path / "copy.sqlite"
    assert run("redact", given, "-o", copy).status == 0
    assert len(tcprof.read(copy).activities) == len(tcprof.read(tmp_path / "run.sqlite").activities)
