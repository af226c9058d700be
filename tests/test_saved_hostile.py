"""A saved analysis is read as a file from anyone: what is damaged or made up is refused with a sentence."""

import copy
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from builders import TraceBuilder
from saved_files import Change, bytes_of, change, column, document, read_parts, rows, table_of
from slow import first

import tcprof
from tcprof.errors import InputError
from tcprof.frames.schema import FLOAT, INT
from tcprof.saved.contents import FORMAT, FRAMES, frame_of
from tcprof.saved.reading import MOST_ABOUT_BYTES, SavedFile
from tcprof.sources.saved import ABOUT

CHOSEN = ("window", "tensor_source")  # texts of a few
COMMANDS = ("show", "timeline")


def steps() -> TraceBuilder:
    """A recording with steps, modules, two GPUs' numbers and all that is saved of one."""
    builder = TraceBuilder().gpu().recorded(2_000_000).exported()
    for at in builder.steps(8, 100_000, 90_000):
        builder.range("forward", at + 1_000, at + 40_000)
        builder.kernel("sm90_xmma_gemm_f16f16_f16f32", at + 5_000, at + 50_000, launched=at + 2_000)
        builder.kernel("elementwise", at + 60_000, at + 80_000, launched=at + 50_000)
        builder.copy("host to device", at + 1_000, at + 4_000, launched=at + 500)
    return builder.samples([0, 50, 100, 20] * 20, start=0, period=10_000)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    tcprof.read(steps().write(folder, "run.sqlite")).save(folder / "run.tcprof")
    return (folder / "run.tcprof").read_bytes()


@pytest.fixture
def saved(whole, tmp_path):
    path = tmp_path / "run.tcprof"
    path.write_bytes(whole)
    return path


DAMAGED: dict[str, Callable[[Path], object]] = {
    "half of it": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "no JSON": lambda path: change(path, ABOUT, lambda _: b"{"),
    "a newer format": lambda path: change(path, ABOUT, document(format=FORMAT + 1)),
    "no frame": lambda path: change(path, "ranges.parquet", lambda _: None),
    "ranges of each other's paths": lambda path: change(
        path, "ranges.parquet", column("path_id", lambda values: [values[0], *reversed(values[1:])])
    ),
    "a path that is not there": lambda path: change(
        path, "ranges.parquet", column("path_id", lambda values: [99] * len(values))
    ),
    "compressed twice": lambda path: change(path, "", lambda _: None, zipfile.ZIP_DEFLATED),
    "a document that is large": lambda path: change(path, ABOUT, lambda text: text + b" " * MOST_ABOUT_BYTES),
    "a part twice": lambda path: append(path, "ranges.parquet"),
    "a bomb of rows": lambda path: change(path, "ranges.parquet", bomb),
    "a bomb of texts": lambda path: change(path, "ranges.parquet", bomb_of_texts),
    "a call twice": lambda path: change(path, "api_calls.parquet", rows(lambda count: [0, *range(count)])),
    "a loop of paths": lambda path: change(
        path, "paths.parquet", column("parent_id", lambda values: [1] * len(values))
    ),
    "instances without windows": lambda path: change(path, "instances.parquet", unknown("gpu_start_ns", "gpu_end_ns")),
    "steps that are no instances": lambda path: change(
        path, "instances.parquet", rows(lambda count: list(range(1, count)))
    ),
    "no whole capture": lambda path: change(path, "ranges.parquet", rows(lambda count: list(range(1, count)))),
    "a GPU that is not there": lambda path: change(
        path, "ranges.parquet", column("gpu", lambda values: [7, *values[1:]])
    ),
}


def append(path: Path, name: str) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(name, archive.read(name))


def unknown(*names: str) -> Change:
    def changed(content: bytes) -> bytes:
        for name in names:
            content = column(name, lambda values: [None] * len(values))(content)
        return content

    return changed


def bomb(content: bytes) -> bytes:
    """A few kilobytes that would take hundreds of megabytes."""
    return bytes_of(table_of(content).take(np.zeros(2_000_000, dtype=np.int64)), compression="zstd")


def bomb_of_texts(content: bytes) -> bytes:
    """Texts that each repeat most of the one before."""
    table = table_of(content)
    place = table.column_names.index("path")
    texts = pa.array(["x" * 1_000_000 + str(row) for row in range(len(table))])
    table = table.set_column(place, "path", texts)
    return bytes_of(table, use_dictionary=False, column_encoding={"path": "DELTA_BYTE_ARRAY"})


@pytest.mark.parametrize("kind", first(8, DAMAGED))
def test_what_is_damaged_is_told(kind, saved, run):
    DAMAGED[kind](saved)
    for command in COMMANDS:
        done = run(command, saved)
        assert done.status in (0, 3), done.err  # a command that does not need the frame does without it
        assert done.status == 0 or str(saved) in done.err
        assert "defect" not in done.err
    with pytest.raises(InputError):
        [tcprof.read(saved).findings, *(frame_of(tcprof.read(saved).analysis, name) for name in FRAMES)]


def test_other_figures_than_were_judged_are_judged_anew(saved):
    change(saved, "step_summary.parquet", column("tensor_active_mean_pct", lambda values: [12.5] * len(values)))
    assert "12.5 %" in tcprof.read(saved).verdict[0]


def test_a_file_that_an_older_version_saved_otherwise_names_it(saved):
    for kept in ("0.1.0", "\x1b[31m0.1.0"):
        change(saved, ABOUT, document(tcprof=kept, identity=None))
        with pytest.raises(InputError, match=r"saved by tcprof .*0\.1\.0, and this is \d") as refused:
            tcprof.read(saved)
        assert "\x1b" not in str(refused.value)


def test_what_only_has_the_name_is_no_saved_analysis(tmp_path):
    for name, content in {"text.tcprof": b"hello", "other.tcprof": b"PK\x03\x04" + bytes(60)}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            tcprof.read(tmp_path / name)
    (tmp_path / "folder.tcprof").mkdir()
    with pytest.raises(InputError):
        tcprof.read(tmp_path / "folder.tcprof")


def test_a_column_that_a_recording_may_lack_is_unknown(saved, run):
    change(saved, "kernel_instances.parquet", lambda content: bytes_of(table_of(content).drop_columns("useful_flop")))
    assert np.isnan(tcprof.read(saved).analysis.column("kernel_instances", "useful_flop")).all()
    assert run("show", saved).status == 0


def test_a_page_is_written_of_steps_whose_times_are_unknown(saved, run, tmp_path):
    times = ["step_ns", "step_low_ns", "step_high_ns", "total_ns"]
    change(saved, "step_summary.parquet", lambda content: bytes_of(table_of(content).drop_columns(times)))
    assert run("report", saved, "-o", tmp_path / "page.html").status == 0


@pytest.mark.parametrize("name", first(3, FRAMES))
def test_each_column_is_held_against_what_it_promises(name, saved, whole):
    schema, part = FRAMES[name], f"{name}.parquet"
    table = table_of(read_parts(saved)[part])
    if not len(table):
        pytest.skip("the recording has none")
    for each in schema.columns:
        odd = {INT: [None, int(2 * each.limits[0] - 1)], FLOAT: [2.0**101]}.get(each.dtype, [None])
        for value in odd:
            saved.write_bytes(whole)
            change(saved, part, column(each.name, lambda values, value=value: [value, *values[1:]]))
            with pytest.raises(InputError, match=name):
                SavedFile(saved).frame(name)
        saved.write_bytes(whole)
        change(saved, part, column(each.name, lambda values: [[] for _ in values], pa.list_(pa.int64())))
        with pytest.raises(InputError, match=name):
            SavedFile(saved).frame(name)


@pytest.mark.parametrize("name", first(4, [name for name, schema in FRAMES.items() if schema.key]))
def test_no_row_comes_twice(name, saved):
    if not SavedFile(saved).count(name):
        pytest.skip("the recording has none")
    change(saved, f"{name}.parquet", rows(lambda count: [*range(count), 0]))
    with pytest.raises(InputError, match=f"{name}: "):
        SavedFile(saved).frame(name)


def leaves(value: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from leaves(each, (*place, key))


def test_each_value_of_the_document_is_held_against_its_type(saved):
    given = json.loads(read_parts(saved)[ABOUT])
    places = [place for place in leaves(given) if place and place[:1] != ("fingerprint",)]
    assert len(places) > 30
    for *around, last in [*places, ("fingerprint",), ("fingerprint", 0)]:
        document = copy.deepcopy(given)
        inner = document
        for key in around:
            inner = inner[key]
        value = inner[last]
        for odd in ([[]], {"x": {}}, -1, True, float("inf"), 10**400, "text", None):
            may_be = around == ["options"] and last in ("warm_up", "step", "peak_tflops")
            if may_be or (type(odd) is type(value) and isinstance(odd, bool | str | None) and last not in CHOSEN):
                continue
            inner[last] = odd
            change(saved, ABOUT, lambda _, document=document: json.dumps(document).encode())
            with pytest.raises(InputError):
                SavedFile(saved)
        del inner[last]
        change(saved, ABOUT, lambda _, document=document: json.dumps(document).encode())
        if isinstance(last, str):
            with pytest.raises(InputError):
                SavedFile(saved)
