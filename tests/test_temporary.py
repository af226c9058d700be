"""Temporary folders, and what is left of them when a process is killed."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tcprof import temporary
from tcprof.errors import OutputError
from tcprof.outputs import replace_file
from tcprof.temporary import temporary_folder

HOLDER = """
import sys
from pathlib import Path
from tcprof.temporary import temporary_folder
with temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def hold(tmp_path: Path):
    """Starts processes that hold a temporary folder beside a file, until their input ends or they are killed."""
    started = []

    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_ends_with_its_block(tmp_path: Path):
    with temporary_folder(tmp_path) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text("x")
        assert folder.parent == tmp_path
        assert folder.name.startswith(".tcprof-")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert left_in(tmp_path) == []
    with pytest.raises(ZeroDivisionError), temporary_folder(tmp_path) as folder:
        raise ZeroDivisionError
    assert left_in(tmp_path) == []


def test_without_a_place_it_is_in_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with temporary_folder() as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("tcprof-")


def test_what_a_killed_process_left_goes_with_the_next(hold, tmp_path: Path):
    process, folder = hold()
    process.kill()
    process.wait()
    assert (folder / "half").exists()
    with temporary_folder(tmp_path) as fresh:
        assert left_in(tmp_path) == [fresh.name]
    assert left_in(tmp_path) == []


def test_what_a_living_process_holds_stays(hold, tmp_path: Path):
    process, folder = hold()
    with temporary_folder(tmp_path) as own, temporary_folder(tmp_path) as second:
        assert left_in(tmp_path) == sorted([folder.name, own.name, second.name])
        assert (folder / "half").exists()
    process.communicate()
    assert process.returncode == 0
    assert left_in(tmp_path) == []


def test_folders_of_other_machines_stay_and_those_of_an_earlier_start_stay_for_a_day(hold, tmp_path: Path):
    """Locks of another machine may be invisible here."""
    process, folder = hold()
    process.kill()
    process.wait()
    marker = folder / temporary._MARKER
    name, node, _, *rest = marker.read_text().split("\n")
    for node_then, boot, days in ((f"{node}-2", temporary._boot(), 2), (node, "earlier", 0)):
        marker.write_text("\n".join((name, node_then, boot, *rest)))
        os.utime(marker, (0, time.time() - days * 90_000))
        with temporary_folder(tmp_path):
            pass
        assert folder.exists()
    os.utime(marker, (0, time.time() - 90_000))
    with temporary_folder(tmp_path):
        pass
    assert left_in(tmp_path) == []


def test_a_folder_whose_lock_is_lost_stays_while_its_process_lives(hold, tmp_path: Path, monkeypatch):
    process, folder = hold()
    monkeypatch.setattr(temporary.fcntl, "flock", lambda *_: None)  # a file system on which locks hold nothing
    with temporary_folder(tmp_path):
        assert (folder / "half").exists()
    process.kill()
    process.wait()
    with temporary_folder(tmp_path) as fresh:
        assert left_in(tmp_path) == [fresh.name]


PREFIX = f".{temporary._PREFIX}"
USERS = ("tcprof-a100-fp16", "tcprof-20260110-llama", "tcprof-bad-runs", "tcprof-settings", "tcprof-abcdefgh")


@pytest.mark.parametrize("prefix", ["", "."])
def test_a_folder_of_the_users_stays_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in USERS:
        folder = tmp_path / f"{prefix}{name}"
        folder.mkdir()
        (folder / "results").write_text("x")
        os.utime(folder, (0, time.time() - 900_000))
    with temporary_folder(tmp_path if prefix else None):
        pass
    assert [(tmp_path / f"{prefix}{name}" / "results").exists() for name in USERS] == [True] * len(USERS)


def test_nothing_else_is_removed(hold, tmp_path: Path):
    """Neither a copy that the user made of a folder that was left, nor what a link leads to, nor other things."""
    process, folder = hold()
    process.kill()
    process.wait()
    folder.rename(tmp_path / f"{PREFIX}kept")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / temporary._MARKER).write_text("x")
    (tmp_path / f"{PREFIX}linked").symlink_to(tmp_path / "mine")
    (tmp_path / f"{PREFIX}file").write_text("x")
    for name, content in {"text": b"mine\n" * 3, "bytes": bytes(range(256)) * 20}.items():
        (tmp_path / f"{PREFIX}{name}").mkdir()
        (tmp_path / f"{PREFIX}{name}" / temporary._MARKER).write_bytes(content)
    (tmp_path / f"{PREFIX}pipe").mkdir()
    os.mkfifo(tmp_path / f"{PREFIX}pipe" / temporary._MARKER)
    (tmp_path / f"{PREFIX}unmarked").mkdir()
    (tmp_path / f"{PREFIX}unmarked" / temporary._MARKER).touch()
    (tmp_path / f"{PREFIX}unmarked" / "results").touch()
    (tmp_path / ".tcprof-empty").mkdir()
    before = left_in(tmp_path)
    with temporary_folder(tmp_path):
        pass
    assert left_in(tmp_path) == before
    assert (tmp_path / f"{PREFIX}kept" / "half").exists()


@pytest.mark.parametrize("at", ["open", "flock"])
def test_a_folder_that_is_taken_for_abandoned_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch, at: str):
    module = temporary.os if at == "open" else temporary.fcntl
    real, calls = getattr(module, at), []

    def disturbed(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            temporary._remove_abandoned(tmp_path, f".{temporary._PREFIX}")
        return real(*args, **options)

    monkeypatch.setattr(module, at, disturbed)
    with temporary_folder(tmp_path) as folder:
        temporary._remove_abandoned(tmp_path, f".{temporary._PREFIX}")
        assert left_in(tmp_path) == [folder.name]
        assert left_in(folder) == [temporary._MARKER]
    assert left_in(tmp_path) == []


class Killed(BaseException):
    """Raised where a process is killed: nothing of it runs on."""


@pytest.mark.parametrize("moment", ["os.open", "os.write", "shutil.rmtree"])
def test_what_is_left_of_a_process_that_is_killed_as_it_makes_or_removes_a_folder_goes(
    tmp_path: Path, monkeypatch, moment: str
):
    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(f"tcprof.temporary.{moment}", kill)
        with pytest.raises(Killed), temporary_folder(tmp_path) as folder:
            (folder / "half").write_text("x")
    [left] = tmp_path.iterdir()
    if (marker := left / temporary._MARKER).exists():  # as if the process were gone: its lock, its number
        marker.write_text(marker.read_text().replace(f"\n{os.getpid()}\n", "\n999999999\n"))
        for each in Path("/proc/self/fd").iterdir():
            if os.path.realpath(each) == str(marker):
                os.close(int(each.name))
    with temporary_folder(tmp_path):
        assert not left.exists()


def test_many_at_once_do_not_disturb_each_other(tmp_path: Path):
    failures = []

    def work() -> None:
        for _ in range(20):
            with temporary_folder(tmp_path) as folder:
                (folder / "file").write_text("x")
                if not (folder / "file").exists():
                    failures.append(folder)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert left_in(tmp_path) == []


def test_a_place_that_is_not_there_is_an_error_of_the_output(tmp_path: Path):
    with pytest.raises(OutputError, match="No such file or directory"), replace_file(tmp_path / "absent" / "file"):
        pass
