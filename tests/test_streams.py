"""What reaches a terminal, a pipe and a full disk, whatever the recording, the file's name or the error says."""

import errno
import io
import os
import pty
import select
import sqlite3
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from builders import TraceBuilder, small_trace

from tcprof import cli
from tcprof.cli import streams
from tcprof.cli.options import Asked
from tcprof.errors import InputError, NsysError
from tcprof.version import __version__

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b1m\u202etxt\rover"
ACTING = "\x1b\x07\x9b\u202e\r"


class Terminal(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    def got(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8", "surrogateescape")


@pytest.fixture
def terminals(monkeypatch):
    """Runs the command line with both streams a terminal without colours."""

    def run_command(*args: object) -> tuple[int, str, str]:
        out, err = Terminal(), Terminal()
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(sys, "argv", ["tcprof", *map(str, args)])
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), out.got(), err.got()

    return run_command


def no_progress(text: str) -> str:
    """What was said, without the codes that draw and erase the line that shows progress."""
    import re

    return re.sub(r"\x1b\[(?:\?25[lh]|\d*[mAK]|\d+(?:;\d+)*m)|\r(?=\x1b\[2K)", "", text).replace("\r", "\n")


def assert_harmless(text: str) -> None:
    assert not set(ACTING) & set(text), repr(text)


def test_text_does_not_act_on_a_terminal(terminals, tmp_path):
    builder = TraceBuilder().gpu().range(HOSTILE, 0, 9_000).kernel(HOSTILE, 2_000, 3_000, launched=1_000)
    path = builder.write(tmp_path)
    for command in ("ranges", "kernels"):
        status, out, err = terminals(command, path)
        assert status == 0
        assert "owned" in out
        assert_harmless(out)
        assert not set("\x07\x9b\u202e") & set(err)
        assert "\x1b]" not in err


def test_the_name_of_a_file_does_not_act_on_a_terminal(terminals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = small_trace(tmp_path, f"{HOSTILE}.sqlite")
    for args in (["ranges", path.name], ["report", path.name], ["export", path.name, "-o", f"{HOSTILE}-frames"]):
        status, out, err = terminals(*args)
        assert status == 0
        assert_harmless(out)
        assert not set("\x07\x9b\u202e") & set(err), repr(err)
        assert "\x1b]" not in err
    for args in (["ranges", f"absent{HOSTILE}"], [f"--{HOSTILE}"], ["ranges", "--format", HOSTILE, "x"]):
        status, out, err = terminals(*args)
        assert status in (2, 3)
        assert not set("\x07\x9b\u202e") & set(no_progress(err)), repr(err)
        assert "\x1b]" not in err


@pytest.mark.parametrize(
    "error",
    [
        InputError(f"a.sqlite cannot be read: no such table: {HOSTILE}\n::error::forged", f"Try {HOSTILE}"),
        NsysError(f"nsys failed: {HOSTILE}"),
        sqlite3.DatabaseError(HOSTILE),
        OSError(errno.EIO, HOSTILE, HOSTILE),
        ValueError(HOSTILE),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_text_of_an_error_does_not_act_on_a_terminal_nor_begin_a_line(error, run, monkeypatch):
    fail_with(error, monkeypatch)
    done = run("ranges", "a.sqlite")
    assert_harmless(done.err)
    assert "owned" in done.err
    first, *others = done.err.splitlines()
    assert first.startswith("tcprof: ")
    assert all(line.startswith("  ") for line in others)


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(Asked, "read", fail)


class AdbcError(Exception):
    """As ADBC raises it; its classes take more than a message."""

    __module__ = "adbc_driver_manager"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ZeroDivisionError("division by zero"), 70),
        (KeyError("x"), 70),
        (AssertionError(), 70),
        (RecursionError("too deep"), 70),
        (sqlite3.OperationalError("malformed"), 3),
        (AdbcError("INVALID_ARGUMENT"), 3),
        (MemoryError(), 3),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x"), 3),
        (PermissionError(errno.EACCES, "Permission denied", b"x\xff"), 3),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_no_error_ends_like_a_gate_that_failed(error, status, run, monkeypatch):
    fail_with(error, monkeypatch)
    done = run("ranges", "a.sqlite")
    assert done.status == status
    assert "Traceback" not in done.err
    if status == 70:
        said = " ".join(done.err.split())
        assert said.startswith(f"tcprof: This is a bug in tcprof: {type(error).__name__}: ")
        assert "TCPROF_TRACEBACK=1" in said
        assert f"tcprof {__version__}, Python 3." in said
        monkeypatch.setenv("TCPROF_TRACEBACK", "1")
        assert "Traceback (most recent call last)" in run("ranges", "a.sqlite").err


def command_of(*args: object) -> list[str]:
    return [sys.executable, "-m", "tcprof", *map(str, args)]


@pytest.fixture
def small(tmp_path):
    return small_trace(tmp_path)


def shell(line: str, *args: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a line of a shell in which "$@" is the command."""
    environment = {**os.environ, **variables}
    return subprocess.run(["bash", "-c", line, "-", *command_of(*args)], capture_output=True, env=environment)


@pytest.mark.slow
def test_a_full_disk_is_an_error_of_the_output(small):
    done = shell('"$@" > /dev/full', "ranges", small, "--format", "json")
    assert done.returncode == 3
    assert done.stderr.decode().splitlines()[-2:] == [
        "tcprof: The output cannot be written: No space left on device.",
        "  Write to a file with -o.",
    ]


def test_a_reader_that_has_gone_ends_it_quietly(small):
    done = shell('"$@" | true; exit ${PIPESTATUS[0]}', "ranges", small, "--format", "json")
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert b"Broken pipe" not in done.stderr


def lacking(folder: Path) -> Path:
    """A recording with a name that few encodings have the characters of."""
    return TraceBuilder().gpu().range("前向 →", 0, 9_000).kernel("k", 2_000, 3_000, launched=1_000).write(folder)


def test_a_stream_that_lacks_characters_gets_question_marks(run, tmp_path, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run("ranges", lacking(tmp_path)).status == 0
    stream.flush()
    assert b"?? ?" in stream.buffer.getvalue()


@pytest.mark.slow
def test_a_real_terminal_has_its_width_and_gets_nothing_that_acts(tmp_path):
    path = TraceBuilder().gpu().range(HOSTILE, 0, 9_000).kernel("k", 2_000, 3_000, launched=1_000).write(tmp_path)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 66))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"NO_COLOR": "1"}
    command = command_of("ranges", path)
    with subprocess.Popen(command, env=environment, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        got = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                got += os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert b"owned" in got
    assert b"\x1b]" not in got
    assert b"\x07" not in got
    assert "\u202e" not in got.decode()
    assert 50 < max(map(len, got.decode().splitlines())) <= 66


def test_everything_that_commands_say_goes_through_one_module():
    """Whatever is printed elsewhere would reach the terminal as it is."""
    folder = Path(cli.__file__).parent
    assert Path(streams.__file__).parent == folder
    found = [
        f"{path.name}: {line.strip()}"
        for path in folder.glob("*.py")
        if path.name != "streams.py"
        for line in path.read_text().splitlines()
        if any(
            word in line for word in ("print(", "typer.echo", "secho", ".write(text", "stderr.write", "stdout.write")
        )
    ]
    assert found == []
