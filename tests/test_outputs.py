"""What commands write to: never to what they read, nor over what tcprof did not write; whole, or not at all."""

import contextlib
import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from builders import FIXTURES, TraceBuilder

import tcprof
from tcprof.errors import OutputError
from tcprof.outputs import is_made_by_tcprof, replace_file, replace_folder
from tcprof.render.files import FRAMES, list_files, write_frames

pytestmark = pytest.mark.usefixtures("shared_reads")

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mlp_fp16.sqlite"


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """A small recording in an otherwise empty current folder."""
    monkeypatch.chdir(tmp_path)
    builder = TraceBuilder().gpu().range("step", 0, 20_000).kernel("gemm", 2_000, 9_000, launched=1_000)
    return builder.samples([0, 50, 100], start=0, period=10_000).write(tmp_path, "a.sqlite")


def commands_to(target: object, *inputs: object) -> dict[str, list[object]]:
    """Every command that writes a file, told to write to a target."""
    (first, *_) = inputs
    return {
        "ranges": ["ranges", first, "-o", target, "--format", "csv"],
        "kernels": ["kernels", first, "-o", target, "--format", "json"],
        "timeline": ["timeline", first, "-o", target, "--format", "markdown"],
        "show": ["show", first, "-o", target, "--format", "text"],
        "report": ["report", first, "-o", target],
        "compare": ["compare", *inputs, "-o", target],
        "redact": ["redact", first, "-o", target],
    }


NAMES = tuple(commands_to("", ""))


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "forced"])
def test_no_output_is_an_input(name, way, force, run, recording):
    other = shutil.copy(recording, recording.with_name("b.sqlite"))
    folder = recording.parent / "folder"
    folder.mkdir()
    target: Path = {
        "itself": recording,
        "symbolic link": folder / "link.csv",
        "hard link": folder / "same.html",
    }[way]
    if way == "symbolic link":
        target.symlink_to("../a.sqlite")
    if way == "hard link":
        target.hardlink_to(recording)
    before = recording.read_bytes()
    inputs = (other, recording) if name == "compare" else (recording,)  # any of the sides, not only the first
    done = run(*commands_to(target, *inputs)[name], *force)
    assert (done.status, recording.read_bytes() == before) == (3, True)
    assert "is the input" in done.err
    assert not [path.name for path in recording.parent.iterdir() if path.name.startswith(".tcprof")]


def test_no_output_is_a_side_of_a_comparison_that_a_folder_stands_for(run, recording):
    side = recording.parent / "side"
    side.mkdir()
    for number in (1, 2):
        shutil.copy(recording, side / f"run-{number}.sqlite")
    (side / "page.html").symlink_to("run-2.sqlite")
    assert run("compare", recording, side, "-o", side / "page.html", "--force").status == 3
    assert run("compare", recording, side / "run", "-o", side / "run-2.sqlite", "--force").status == 3
    assert (side / "run-2.sqlite").read_bytes() == recording.read_bytes()


def test_the_export_that_a_report_will_get_is_no_output(run, recording):
    report = recording.with_suffix(".nsys-rep")
    report.write_bytes(b"NVIDIA Tegra Profiler Report 2026@1@1@1-1")
    recording.unlink()
    done = run("ranges", report, "-o", "a.sqlite", "--format", "csv", "--force")
    assert (done.status, "is the input" in done.err) == (3, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_replaced_by_nothing_but_a_copy(name, run, recording):
    other = Path(shutil.copy(FIXTURE, recording.with_name("other.sqlite" if name == "redact" else "other.html")))
    assert run(*commands_to(other, recording, recording)[name]).status == 3
    forced = run(*commands_to(other, recording, recording)[name], "--force")
    if name == "redact":
        assert forced.status == 0
        assert other.read_bytes() != FIXTURE.read_bytes()
    else:
        assert (forced.status, "is a recording" in forced.err) == (3, True)
        assert other.read_bytes() == FIXTURE.read_bytes()


def test_a_frame_is_not_written_over_a_recording(run, recording):
    """Through a link in the folder, and from Python too."""
    folder = recording.parent / "frames"
    folder.mkdir()
    (folder / "ranges.csv").symlink_to(recording)
    before = recording.read_bytes()
    assert run("export", recording, "-o", folder, "--force").status == 3
    report = tcprof.read(recording)
    with pytest.raises(OutputError, match="is a recording"):
        write_frames(report.analysis, report.findings, folder, "csv")
    assert recording.read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["ranges.csv"]


FOREIGN = {
    "notes.html": "<!doctype html><title>My notes on tcprof</title>",
    "z.json": '{"mine": 1, "tcprof": "0.1.0"}',
    "z.csv": "gpu,path\n0,mine\n",
    "z.md": "# Made by hand\n",
    "z.txt": "Do not lose this.\n",
}
WRITING = {
    "notes.html": ["report", "a.sqlite", "-o", "notes.html"],
    "z.csv": ["ranges", "a.sqlite", "-o", "z.csv"],
    "trace.json": ["export", "a.sqlite", "--chrome-trace", "trace.json"],
    "list.txt": ["workloads", "-o", "list.txt"],
}


@pytest.mark.parametrize("name", WRITING)
def test_what_tcprof_did_not_write_is_replaced_by_force_only(name, run, recording):
    target = recording.with_name(name)
    text = FOREIGN.get(name, "mine")
    target.write_text(text)
    refused = run(*WRITING[name])
    assert (refused.status, target.read_text()) == (3, text)
    assert "not written by tcprof" in refused.err
    assert "--force" in refused.err
    assert run(*WRITING[name], "--force").status == 0
    first = target.read_bytes()
    assert first != text.encode()
    again = run(*WRITING[name])  # what tcprof wrote makes way for what it writes anew
    assert (again.status, target.read_bytes()) == (0, first), again.err


@pytest.mark.parametrize("suffix", [".json", ".pdf", ".md", ".html", ".xml", ".tcprof", ".sqlite"])
@pytest.mark.parametrize("name", ["ranges", "report", "compare", "redact", "save", "workloads"])
def test_no_file_holds_something_else_than_its_suffix_says(name, suffix, run, recording):
    begins = {
        ".json": b'{\n  "tcprof"',
        ".md": b"",
        ".html": b"<!doctype html>",
        ".tcprof": b"PK",
        ".sqlite": b"SQLite",
    }
    target = recording.with_name(f"made{suffix}")
    inputs = {"compare": [recording, FIXTURES / "matmul.sqlite"], "workloads": []}.get(name, [recording])
    done = run(name, *inputs, "-o", target)
    if done.status == 0:
        assert target.read_bytes().startswith(begins[suffix])
    else:
        assert (done.status, target.exists()) == (2, False), done.err
        assert "End it in ." in done.err or "Add --fail-if" in done.err, done.err
    one = {"report": ".html", "redact": ".sqlite", "save": ".tcprof"}
    assert (done.status == 0) == (suffix == one.get(name, suffix)) or name not in one


def test_an_empty_file_holds_nothing_to_lose(run, recording):
    recording.with_name("made-by-mktemp.csv").touch()
    assert run("ranges", recording, "-o", "made-by-mktemp.csv").status == 0


@pytest.mark.parametrize("file_format", ["csv", "spreadsheet", "parquet"])
def test_an_export_replaces_its_own_frames_and_no_others(file_format, run, recording):
    folder = recording.parent / "f"
    arguments = ["export", recording, "-o", folder, "--format", file_format]
    name = list_files(file_format)[1]
    folder.mkdir()
    (folder / "plot.png").write_text("mine too")
    (folder / name).write_text("mine")
    assert run(*arguments).status == 3
    assert sorted(path.name for path in folder.iterdir()) == sorted(["plot.png", name])
    assert (folder / name).read_text() == "mine"
    assert run(*arguments, "--force").status == 0
    assert run(*arguments).status == 0
    assert (folder / "plot.png").read_text() == "mine too"
    assert sorted(path.name for path in folder.iterdir()) == sorted(["plot.png", *list_files(file_format)])


@pytest.mark.parametrize("stops_at", ["writing", "moving"])
def test_an_export_is_whole_or_not_there(stops_at, monkeypatch, recording, tmp_path):
    report = tcprof.read(recording)
    folder = tmp_path / "new" / "frames"
    if stops_at == "moving":  # one that is there is whole as long as it has what is known of the recording
        write_frames(report.analysis, report.findings, folder, "csv")
    where, name = ("tcprof.render.files", "write_csv") if stops_at == "writing" else ("tcprof.outputs", "_move")
    real, calls = getattr(sys.modules[where], name), []

    def fail(*args: object) -> object:
        calls.append(args)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(f"{where}.{name}", fail)
    with pytest.raises(KeyboardInterrupt):
        write_frames(report.analysis, report.findings, folder, "csv")
    assert folder.exists() == (stops_at == "moving")
    assert not (folder / "recording.json").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_new_folder_has_all_frames(recording, tmp_path):
    report = tcprof.read(recording)
    written = write_frames(report.analysis, report.findings, tmp_path / "some" / "where", "csv")
    assert sorted(written) == sorted((tmp_path / "some" / "where").iterdir())
    assert len(written) == len(FRAMES) + 1
    umask = os.umask(0)
    os.umask(umask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o666 & ~umask}
    assert stat.S_IMODE((tmp_path / "some").stat().st_mode) == 0o777 & ~umask


def test_a_file_keeps_its_permissions_and_a_link_stays_one(tmp_path):
    page, link = tmp_path / "page", tmp_path / "link"
    page.write_text("old")
    page.chmod(0o600)
    link.symlink_to("page")
    with replace_file(link) as path:
        path.write_text("new")
    assert (link.is_symlink(), page.read_text()) == (True, "new")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    umask = os.umask(0o027)
    try:
        with replace_file(tmp_path / "fresh") as path:
            path.write_text("new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
    (tmp_path / "dangling").symlink_to("absent")
    with replace_file(tmp_path / "dangling") as path:
        path.write_text("new")
    assert ((tmp_path / "absent").read_text(), (tmp_path / "dangling").is_symlink()) == ("new", True)


def test_what_is_no_file_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with replace_file(pipe) as path:
        path.write_text("new")
    assert os.read(reader, 100) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with replace_file(Path("/dev/null")) as path:
        path.write_text("new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    page = tmp_path / "page"
    page.write_text("old")
    for replaced in (replace_file(page), replace_folder(tmp_path / "folder", "last")):
        with contextlib.suppress(ZeroDivisionError), replaced as path:
            (path / "x" if path.is_dir() else path).write_text("half")
            raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["page"]
    assert page.read_text() == "old"
    with pytest.raises(OutputError, match="cannot be written"), replace_file(tmp_path / ("x" * 256)):
        pass


def test_json_that_only_mentions_tcprof_is_not_taken_for_its_own(tmp_path):
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text)
        assert not is_made_by_tcprof(tmp_path / name), name
    (tmp_path / "own.json").write_text(json.dumps({"tcprof": "0.0.1", "kind": "ranges"}, indent=2))
    assert is_made_by_tcprof(tmp_path / "own.json")
    assert is_made_by_tcprof(tmp_path / "absent")
