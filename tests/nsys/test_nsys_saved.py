"""``tcprof profile`` leaves a saved analysis beside its report, which every later command may read in its place."""

from pathlib import Path

import pytest
from builders import FIXTURES

import tcprof
from tcprof.files import hash_file
from tcprof.sources.registry import find_recordings

COMMANDS = ("show", "ranges", "kernels", "timeline")


@pytest.fixture
def machine(fake_nsys, gpu_root, install_importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on a machine whose nsys is the fake one, with a script in it."""
    install_importer(tmp_path / "host-linux-x64" / "QdstrmImporter")
    monkeypatch.setenv("TCPROF_NSYS", str(fake_nsys.path))
    monkeypatch.setenv("FAKE_NSYS_EXPORT", str(FIXTURES / "mlp_fp16.sqlite"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text("print('trained')\n")
    return folder


@pytest.mark.slow
def test_every_command_says_the_same_of_it_as_of_the_report(run, machine: Path, capfd) -> None:
    assert run("profile", "--gpus", "none", "train.py") == 0
    capfd.readouterr()
    outputs = []
    for name in ("train.nsys-rep", "train.tcprof"):
        assert [run(command, name) for command in COMMANDS] == [0] * len(COMMANDS)
        outputs.append(capfd.readouterr())
    assert outputs[0].out == outputs[1].out
    assert tcprof.read("train.tcprof").recording == tcprof.read("train.nsys-rep").recording
    assert tcprof.read("train.tcprof").recording.content == hash_file(machine / "train.sqlite")


@pytest.mark.parametrize("content", [None, b"mine"], ids=["of another recording", "of another program"])
def test_what_is_there_is_replaced_only_if_forced(run, machine: Path, content: bytes | None, capfd) -> None:
    there = machine / "train.tcprof"
    if content is None:
        tcprof.read(FIXTURES / "matmul.sqlite").save(there)
    else:
        there.write_bytes(content)
    before = there.read_bytes()
    assert run("profile", "--gpus", "none", "train.py") == 3
    shown = capfd.readouterr()
    assert "train.tcprof already exists" in shown.err
    assert "trained" not in shown.out
    assert there.read_bytes() == before
    assert run("profile", "--gpus", "none", "--force", "train.py") == 0
    assert tcprof.read(there).recording.file == "train.sqlite"


@pytest.mark.slow
def test_a_folder_of_repeated_runs_has_each_once(run, machine: Path) -> None:
    assert run("profile", "--gpus", "none", "--repeat", "2", "-o", "base", "train.py") == 0
    (machine / "base").mkdir()
    for path in machine.glob("base-*"):
        path.rename(machine / "base" / path.name)
    assert [path.stem for path in find_recordings(machine / "base")] == ["base-1", "base-2"]
