"""Which source reads a file, and that a second source is a class and a line: recordings as JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from builders import TraceBuilder, open_source

import tcprof
from tcprof.errors import InputError, OutputError
from tcprof.frames import (
    ACTIVITIES,
    API_CALLS,
    DIAGNOSTICS,
    GPUS,
    MARKS,
    NVTX_RANGES,
    SAMPLES,
    UNPROFILED,
    WAITS,
    Schema,
)
from tcprof.outputs import replace_file
from tcprof.sources import InvalidValues, Recording, Samples, SourceType, nsys, registry
from tcprof.sources.nsys_sqlite import NsysExport
from tcprof.sources.registry import find_recordings


class JsonSource:
    """A recording whose frames are lists of records in one JSON file."""

    def __init__(self, path: Path) -> None:
        self.path, self._frames = path, json.loads(path.read_text())["frames"]

    def _frame(self, schema: Schema) -> pd.DataFrame:
        given = self._frames.get(schema.name)
        return schema.conform(pd.DataFrame(given)) if given else schema.empty()

    def recording(self) -> Recording:
        return Recording(self.path.name, "", "", "", "", 40_000.0, 100_000.0, True)

    def gpus(self) -> pd.DataFrame:
        return self._frame(GPUS)

    def samples(self, metrics: Iterable[str]) -> Samples:
        return Samples(self._frame(SAMPLES), "rounded", False, 0)

    def ranges(self) -> pd.DataFrame:
        return self._frame(NVTX_RANGES)

    def marks(self) -> pd.DataFrame:
        return self._frame(MARKS)

    def api_calls(self) -> pd.DataFrame:
        return self._frame(API_CALLS)

    def waits(self) -> pd.DataFrame:
        return self._frame(WAITS)

    def setup_calls(self) -> pd.DataFrame:
        return WAITS.empty()

    def lost_launches(self) -> int | None:
        return None

    def activities(self) -> pd.DataFrame:
        return self._frame(ACTIVITIES)

    def diagnostics(self, without_private) -> pd.DataFrame:
        return self._frame(DIAGNOSTICS)

    def unprofiled(self) -> pd.DataFrame:
        return self._frame(UNPROFILED)

    def wrong(self) -> tuple[InvalidValues, ...]:
        return ()


JSON = SourceType(
    "recordings as JSON", (".json",), (), lambda path, header: header.startswith(b'{"frames"'), JsonSource
)


@pytest.fixture
def json_is_read(monkeypatch):
    monkeypatch.setattr(registry, "SOURCE_TYPES", (JSON, *registry.SOURCE_TYPES))


def write_json(path: Path, start_ns: int = 20_000) -> Path:
    """A range of 40 µs with one kernel in its second half, sampled four times."""
    launch = {"process": 7, "thread": 8, "correlation": 1, "start_ns": 1000}
    kernel = {
        "gpu": 0,
        "kind": "kernel",
        "name": "k",
        "launch_geometry": "",
        "host_memory": "",
        "stream": 3,
        "process": 7,
    }
    opened = {"process": 7, "thread": 8, "domain": "", "name": "step", "start_ns": 0, "end_ns": 40_000}
    frames: dict[str, list[dict[str, Any]]] = {
        "gpus": [{"gpu": 0, "name": "A GPU", "chip": "GH100"}],
        "samples": [
            {"gpu": 0, "start_ns": start, "end_ns": start + 10_000, "tensor_active_pct": percent}
            for start, percent in ((0, 0), (10_000, 0), (20_000, 60), (30_000, 80))
        ],
        "nvtx_ranges": [{**opened, "start_end": False, "sizes": "", "output_sizes": ""}],
        "api_calls": [launch],
        "activities": [{**kernel, "correlation": 1, "start_ns": start_ns, "end_ns": 40_000}],
    }
    path.write_text(json.dumps({"frames": frames}))
    return path


@pytest.mark.usefixtures("json_is_read")
def test_a_second_source_is_analyzed_like_the_first(tmp_path):
    analysis = tcprof.read(write_json(tmp_path / "run.json"))
    assert analysis.recording.file == "run.json"
    step = analysis.ranges.set_index("path").loc["step"]
    assert (step["window_ns"], step["kernel_count"]) == (20_000, 1)
    assert step["tensor_active_mean_pct"] == pytest.approx(70, abs=0.5)
    assert analysis.kernels["name"].tolist() == ["k"]


@pytest.mark.usefixtures("json_is_read")
def test_a_file_of_another_source_is_not_redacted_and_says_what_it_is(tmp_path, run):
    path = write_json(tmp_path / "run.json")
    done = run("redact", path)
    assert (done.status, list(tmp_path.iterdir())) == (3, [path])
    assert "does not redact recordings as JSON, only Nsight Systems reports and SQLite, Parquet" in " ".join(
        done.err.split()
    )
    assert "nsys export" not in done.err


@pytest.mark.usefixtures("json_is_read")
def test_a_file_of_another_source_is_never_overwritten(tmp_path, run):
    path, other = write_json(tmp_path / "run.json"), write_json(tmp_path / "other.data")
    before = other.read_bytes()
    for command in ("ranges", "report"):
        done = run(command, path, "-o", other, "--force")
        assert (done.status, "is a recording" in done.err) == (3, True)
    with pytest.raises(OutputError, match="is a recording"), replace_file(other) as beside:
        beside.write_text("new")
    assert other.read_bytes() == before


def test_a_report_and_its_export_are_one_recording(tmp_path):
    for name in ("a.sqlite", "b.nsys-rep", "b.qdrep", "b.sqlite", "c.qdrep", "c.sqlite", "d.json", ".e.sqlite"):
        (tmp_path / name).touch()
    assert [path.name for path in find_recordings(tmp_path)] == ["a.sqlite", "b.nsys-rep", "c.qdrep"]


def test_a_saved_analysis_beside_its_recording_is_no_second_one(tmp_path):
    names = ("a.nsys-rep", "a.sqlite", "a.tcprof", "b.tcprof", "b-1.tcprof", "b-1.sqlite", "b-2.tcprof")
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in find_recordings(tmp_path)] == ["a.nsys-rep", "b-1.sqlite", "b-2.tcprof", "b.tcprof"]
    (tmp_path / "b.tcprof").unlink()
    assert [path.name for path in find_recordings(tmp_path / "b")] == ["b-1.sqlite", "b-2.tcprof"]
    for name in names[:3]:
        assert find_recordings(tmp_path / name) == [tmp_path / name]


@pytest.mark.usefixtures("json_is_read")
def test_content_decides_and_not_the_name(tmp_path, monkeypatch):
    monkeypatch.setattr(nsys, "find_nsys", lambda: pytest.fail("sent to nsys"))
    for name in ("run.nsys-rep", "run.sqlite", "run"):
        assert isinstance(open_source(write_json(tmp_path / name)), JsonSource)
    recording = TraceBuilder().kernel("k", 0, 1).write(tmp_path, "export.json")
    assert isinstance(open_source(recording), NsysExport)


@pytest.mark.parametrize("content", [b'{"frames": {}}', b"hello, world\n" * 100, b"a", b"SQLite"])
def test_a_file_that_no_source_knows(content, tmp_path):
    path = tmp_path / "run.bin"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        tcprof.read(path)
    assert (
        f"{path} is not a recording that tcprof can read: saved analyses (.tcprof), traces of torch.profiler and JAX "
        "(.json, .json.gz), Nsight Systems reports and SQLite, Parquet or Arrow exports." in str(caught.value)
    )
    assert "tcprof profile -o RUN.nsys-rep -- PROGRAM" in caught.value.hint
    assert "nsys export --type=sqlite REPORT.nsys-rep" in caught.value.hint


@pytest.mark.usefixtures("json_is_read")
def test_all_sources_are_named(tmp_path):
    (tmp_path / "run.txt").write_text("hello")
    with pytest.raises(InputError, match="can read: recordings as JSON, saved analyses"):
        open_source(tmp_path / "run.txt")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"", "is empty"),
        (bytes(5000), "an export that was interrupted: it begins with zeros"),
        (b"SQLite format 3\0", "is cut off"),
        (b"SQLite format 3\0" + b"\xff" * 500, "is (damaged|cut off)"),
        (b"NVIDIA Tegra Profiler Report 2025", "an nsys report, not its SQLite export"),
    ],
)
def test_damaged_files_are_told_from_foreign_ones(content, said, tmp_path):
    path = tmp_path / "run.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        open_source(path)
    assert caught.value.hint
