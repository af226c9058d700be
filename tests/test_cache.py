"""Analyses are kept for the next command: never a wrong figure from them, and no command fails because of them."""

import os
import shutil
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest
from slow import first, slow
from test_redact import recording

import tcprof
from tcprof.analysis import Analysis, analyze
from tcprof.findings.judge import describe
from tcprof.saved import cache, contents
from tcprof.saved.cache import Cache
from tcprof.sources.nsys_sqlite import NsysExport

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(contents.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


ANALYSES: dict[object, Analysis] = {}


@pytest.fixture(autouse=True)
def analyzed_once(monkeypatch):
    """What the tests are about is what becomes of an analysis, and each content and its options have the same one."""

    def analyze_once(source: NsysExport, **options: object) -> Analysis:
        key = source.path.name, source.path.read_bytes(), *map(repr, options.values())
        if key not in ANALYSES:
            ANALYSES[key] = analyze(source, **options)
        return ANALYSES[key]

    monkeypatch.setattr("tcprof.api.reading.analyze", analyze_once)


@pytest.fixture
def given(tmp_path):
    return recording().write(tmp_path, "run.sqlite")


@pytest.fixture
def other(tmp_path):
    return recording().kernel("gemv", 12_000, 15_000, launched=11_000).write(tmp_path, "other.sqlite")


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tcprof"))


def forbid(*_: object, **__: object) -> None:
    raise AssertionError("the recording was analyzed again")


@pytest.mark.slow
def test_the_next_command_says_the_same_and_analyzes_nothing(folder, run, monkeypatch):
    given = FIXTURES / "mlp_fp16.sqlite"
    commands = [("show",), ("ranges",), ("kernels", "--by", "path"), ("modules",), ("timeline", "--format", "json")]
    anew = [run(name, given, "--no-cache", *options) for name, *options in commands]
    assert not folder.exists()
    first = run("show", given)
    assert len(entries(folder)) == 1
    assert folder.stat().st_mode & 0o077 == 0
    monkeypatch.setattr("tcprof.api.reading.analyze", forbid)
    assert [run(name, given, *options) for name, *options in commands] == anew
    assert first == anew[0]


def test_an_entry_is_of_its_content_and_options_whatever_the_file_is_called(folder, given, run, tmp_path):
    run("show", given)
    moved = shutil.copy(given, tmp_path / "moved.sqlite")
    assert "moved.sqlite" in run("show", moved).out
    assert len(entries(folder)) == 1
    assert run("show", given, "--window", "host").out == run("show", given, "--window", "host", "--no-cache").out
    assert len(entries(folder)) == 2


def test_ranges_alone_do_not_answer_for_kernels(folder, given, run):
    assert run("ranges", given, "--no-kernels") == run("ranges", given, "--no-kernels")
    assert run("kernels", given) == run("kernels", given, "--no-cache")
    assert run("ranges", given) == run("ranges", given, "--no-cache")


def test_a_recording_replaced_with_its_size_and_time_kept_is_read_anew(folder, given, other, run):
    size = max(path.stat().st_size for path in (given, other))
    for path in (given, other):
        os.truncate(path, size)  # SQLite takes no notice of what comes after its pages
    before = given.stat()
    run("show", given)
    given.write_bytes(other.read_bytes())
    os.utime(given, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (given.stat().st_size, given.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert run("show", given) == run("show", given, "--no-cache")


DAMAGES = {
    "newer": lambda entry: entry.write_bytes(entry.read_bytes().replace(b'"format": 1', b'"format": 9')),
    "zeros": lambda entry: entry.write_bytes(entry.read_bytes()[:-2000] + bytes(2000)),
    "cut off": lambda entry: os.truncate(entry, entry.stat().st_size // 2),
    "text": lambda entry: entry.write_text("no analysis"),
    "empty": lambda entry: entry.write_bytes(b""),
}


@pytest.mark.parametrize("damage", first(2, DAMAGES.values()), ids=DAMAGES)
def test_a_damaged_entry_is_told_and_made_anew(folder, given, run, damage):
    anew = run("show", given)
    [entry] = entries(folder)
    whole = entry.read_bytes()
    damage(entry)
    told = run("show", given)
    assert (told.status, told.out) == (anew.status, anew.out)
    assert "a cached analysis cannot be used" in told.err
    assert entry.read_bytes() == whole
    assert run("show", given) == anew


def test_an_entry_of_another_user_is_not_used(folder, given, run, monkeypatch):
    first = run("advise", given)
    monkeypatch.setattr(os, "getuid", lambda: entries(folder)[0].stat().st_uid + 1)
    again = run("advise", given)
    assert (again.out, "is another user's" in again.err) == (first.out, True)


def test_what_was_judged_is_not_judged_again(folder, given, run, monkeypatch):
    first = run("advise", given)
    for module, name in {"api.reading": "judge", "findings.advise": "advise"}.items():
        monkeypatch.setattr(import_module(f"tcprof.{module}"), name, forbid)
    assert run("advise", given) == first


def test_an_entry_of_another_recording_is_told(folder, given, other, run):
    run("show", given)
    [entry] = entries(folder)
    run("show", other)
    shutil.copy(*({*entries(folder)} - {entry}), entry)
    assert "belongs to another recording" in run("show", given).err
    assert run("show", given) == run("show", given, "--no-cache")


@pytest.mark.parametrize("place", ["file", "closed", *slow(["/proc/kept", "/dev/full/kept"])])
def test_a_folder_that_cannot_be_written_is_a_note(place, given, run, tmp_path, monkeypatch):
    anew = run("show", given, "--no-cache")
    (tmp_path / "file").touch()
    (tmp_path / "closed").mkdir(mode=0o500)
    if place == "closed" and os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    monkeypatch.setenv(contents.VARIABLE, str(tmp_path / place))
    done = run("show", given)
    assert (done.status, done.out) == (anew.status, anew.out)
    assert "note: the analysis cannot be cached" in done.err


def test_what_was_not_used_for_longest_goes(folder, given, run, monkeypatch):
    for window in ("gpu", "host"):
        run("show", given, "--window", window)
    oldest, *rest = sorted(entries(folder), key=lambda entry: entry.stat().st_mtime_ns)
    run("show", given)  # uses the first one again
    monkeypatch.setattr(cache, "MOST_BYTES", 2 * oldest.stat().st_size + rest[0].stat().st_size // 2)
    run("show", given, "--window", "busy")
    assert oldest in entries(folder)
    assert rest[0] not in entries(folder)
    assert len(entries(folder)) == 2


def keep_often(folder: Path, given: Path) -> list[str]:
    notes: list[str] = []
    kept = Cache(folder, notes.append)
    report = tcprof.read(given)
    for _ in range(8):
        kept.keep(report.analysis, describe(report.findings, report.advice))
        tcprof.read(given, cache=kept).kernels  # noqa: B018
    return notes


@pytest.mark.slow
def test_processes_that_write_it_at_once_leave_a_whole_one(folder, given):
    with get_context("spawn").Pool(2) as pool:
        assert pool.starmap(keep_often, [(folder, given)] * 2) == [[], []]
    assert len(entries(folder)) == 1
    assert [*folder.iterdir()] == entries(folder)
