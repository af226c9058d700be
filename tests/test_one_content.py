"""One answer is of one content: whatever is replaced, written, or laid beside a file while it is read."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from slow import first
from test_damage import sound
from test_kineto import TraceWriter

import tcprof
from tcprof.analysis import Analysis
from tcprof.errors import InputError
from tcprof.files import hash_file
from tcprof.ranks.reduce import reduce_file
from tcprof.redaction import redact as redaction
from tcprof.saved.cache import Cache
from tcprof.sources.kineto.trace import KinetoTrace
from tcprof.sources.nsys_sqlite import NsysExport

Change = Callable[[Path, Path], object]
Hook = Callable[[Change, int], None]


def rename_over(path: Path, other: Path) -> None:
    Path(shutil.copyfile(other, path.with_suffix(".new"))).replace(path)


def write_over(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def there_and_back(path: Path, other: Path) -> None:
    """Between the two, the other one is read: its times are of the past, and its size is the same."""
    rename_over(path.rename(path.with_suffix(".kept")).with_suffix(path.suffix), other)
    path.with_suffix(".kept").rename(path)


@pytest.fixture(params=["run.sqlite", "run.json", "run.json.gz"])
def pair(request, tmp_path):
    (tmp_path / "other").mkdir()
    names = tmp_path / request.param, tmp_path / "other" / request.param
    for number, path in enumerate(names):
        if path.suffix == ".sqlite":
            sound().range(f"only {number}", 0, 10).write(path.parent, path.name)
        else:
            writer = TraceWriter()
            writer.step(0, 0.0)
            writer.event("user_annotation", f"only {number}", 0, 10)
            writer.write(path)
    return names


@pytest.fixture
def during(pair, monkeypatch):
    """Has a change made while the recording is read, so often."""

    def hook(change: Change, times: int) -> None:
        left = [change] * times
        for source in (NsysExport, KinetoTrace):

            def ranges(self: Any, plain: Callable[[Any], Any] = source.ranges) -> Any:
                if left:
                    left.pop()(*pair)
                return plain(self)

            monkeypatch.setattr(source, "ranges", ranges)

    return hook


def names(analysis: Analysis) -> set[str]:
    return {name for name in analysis.nvtx_ranges["name"] if name.startswith("only")}


@pytest.mark.parametrize("change", first(2, [rename_over, there_and_back, write_over]))
def test_what_changed_while_it_was_read_is_read_again(change, pair, during, tmp_path):
    during(change, 1)
    cache = Cache(tmp_path / "cache", print)
    report = tcprof.read(pair[0], cache=cache)
    assert report.recording.content == hash_file(pair[0])
    assert names(report.analysis) == ({"only 0"} if change is there_and_back else {"only 1"})
    assert names(tcprof.read(pair[0], cache=cache).analysis) == names(report.analysis)


@pytest.mark.parametrize("read", [tcprof.read, lambda path: reduce_file(str(path))])
def test_what_changes_again_and_again_is_refused(read, pair, during, tmp_path):
    during(rename_over, 2)
    with pytest.raises(InputError, match="was replaced or written while it was read"):
        read(pair[0])


def test_a_fault_in_what_was_half_written_is_none(pair, during):
    def fail(path: Path, other: Path) -> None:
        write_over(path, other)
        raise KeyError(path)

    during(fail, 1)
    assert names(tcprof.read(pair[0]).analysis) == {"only 1"}
    during(lambda path, other: 1 / 0, 1)
    with pytest.raises(ZeroDivisionError):
        tcprof.read(pair[0])


def test_a_link_that_leads_elsewhere(pair, during):
    link = pair[0].with_name(f"link{pair[0].suffix}")
    link.symlink_to(pair[0])

    def lead(*_: Path) -> None:
        link.unlink()
        link.symlink_to(pair[1])

    during(lead, 1)
    report = tcprof.read(link)
    assert (names(report.analysis), report.recording.content) == ({"only 1"}, hash_file(pair[1]))


def test_a_redacted_copy_is_of_one_content(tmp_path, monkeypatch):
    path = sound().write(tmp_path)
    other = sound().range("only 1", 0, 10).write(tmp_path, "other.sqlite")
    changes, plain = [rename_over, rename_over], redaction.gather_private

    def gather(*arguments: Any) -> Any:
        if changes:
            changes.pop()(path, other)
        return plain(*arguments)

    monkeypatch.setattr(redaction, "gather_private", gather)
    with pytest.raises(InputError, match="while it was read"):
        redaction.redact(path, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()
    changes.append(rename_over)
    redaction.redact(path, tmp_path / "copy.sqlite")
    assert names(tcprof.read(tmp_path / "copy.sqlite").analysis) == {"only 1"}


def test_a_saved_analysis_that_is_replaced_before_all_of_it_was_read(tmp_path):
    for number, name in enumerate(("a", "b")):
        tcprof.read(sound().range(f"only {number}", 0, 10).write(tmp_path)).save(tmp_path / f"{name}.tcprof")
    same, other = tcprof.read(tmp_path / "a.tcprof"), tcprof.read(tmp_path / "a.tcprof")
    rename_over(tmp_path / "a.tcprof", tmp_path / "a.tcprof")
    assert names(same.analysis) == {"only 0"}
    rename_over(tmp_path / "a.tcprof", tmp_path / "b.tcprof")
    with pytest.raises(InputError, match="was replaced while it was read"):
        other.ranges  # noqa: B018


def log_of(path: Path) -> bytes:
    """A write-ahead log that changes the recording, made in a copy of it."""
    copy = Path(shutil.copyfile(path, path.with_suffix(".copy")))
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + 500")
        log = copy.with_name(f"{copy.name}-wal").read_bytes()
    copy.unlink()
    return log


@pytest.mark.parametrize(
    ("suffix", "content", "refused"),
    [
        ("-wal", log_of, "intact, but run.sqlite-wal"),
        ("-wal", lambda path: b"\0" * 4096, "intact, but run.sqlite-wal"),
        ("-wal", lambda path: b"", ""),
        ("-shm", lambda path: b"\0" * 32768, ""),
        ("-journal", lambda path: bytes.fromhex("d9d505f920a163d7"), "still being written"),
        ("-journal", lambda path: bytes(512), ""),
        ("-journal", lambda path: b"", ""),
    ],
)
@pytest.mark.parametrize("by_link", first(1, [False, True]))
def test_what_lies_beside_a_recording_is_never_read(suffix, content, refused, by_link, tmp_path):
    path = sound().write(tmp_path, "run.sqlite")
    before, given = tcprof.read(path), path
    path.with_name(f"run.sqlite{suffix}").write_bytes(content(path))
    if by_link:
        (tmp_path / "links").mkdir()
        given = tmp_path / "links" / "run.sqlite"
        given.symlink_to(path)
    beside = {each.name: each.read_bytes() for each in tmp_path.glob("run*")}
    if refused:
        for read in (tcprof.read, lambda it: redaction.redact(it, tmp_path / "copy.sqlite")):
            with pytest.raises(InputError, match=refused):
                read(given)
    else:
        assert tcprof.read(given).kernels.equals(before.kernels)
    assert {each.name: each.read_bytes() for each in tmp_path.glob("run*")} == beside
    assert not (tmp_path / "copy.sqlite").exists()
