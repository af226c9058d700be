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
from tcprof.files import replace_file
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


def test_a_process_killed_before_it_locked_its_folder(tmp_path: Path):
    (tmp_path / f".tcprof-{temporary._boot()}-abcdefgh").mkdir()
    with temporary_folder(tmp_path):
        pass
    assert left_in(tmp_path) == []


def test_folders_of_other_machines_stay_for_a_day(tmp_path: Path):
    """Their locks may be invisible here."""
    other = tmp_path / ".tcprof-0123abcd-abcdefgh"
    other.mkdir()
    with temporary_folder(tmp_path):
        pass
    assert other.exists()
    os.utime(other, (0, time.time() - 90_000))
    with temporary_folder(tmp_path):
        pass
    assert left_in(tmp_path) == []


def test_nothing_else_is_removed(tmp_path: Path):
    """Neither files nor folders that are called alike, nor what a link leads to."""
    boot = temporary._boot()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    (tmp_path / f".tcprof-{boot}-linked12").symlink_to(tmp_path / "mine")
    (tmp_path / f".tcprof-{boot}-afile123").write_text("x")
    (tmp_path / ".tcprof-settings").mkdir()
    (tmp_path / f"tcprof-{boot}-abcdefgh").mkdir()  # not hidden: not made beside a file
    before = left_in(tmp_path)
    with temporary_folder(tmp_path):
        pass
    assert left_in(tmp_path) == before
    assert (tmp_path / "mine" / "file").exists()


def test_a_folder_that_is_taken_for_abandoned_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch):
    made = []
    real = temporary.tempfile.mkdtemp

    def mkdtemp(prefix: str, dir: Path) -> str:
        made.append(real(prefix=prefix, dir=dir))
        if len(made) == 1:
            temporary._remove_abandoned(tmp_path, ".tcprof-")
        return made[-1]

    monkeypatch.setattr(temporary.tempfile, "mkdtemp", mkdtemp)
    with temporary_folder(tmp_path) as folder:
        assert [str(folder)] == made[1:]
        temporary._remove_abandoned(tmp_path, ".tcprof-")
        assert folder.is_dir()


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
