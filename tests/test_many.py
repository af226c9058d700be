"""Many recordings that are read at once: their names, their frames in one, and those that cannot be read."""

import shutil
from pathlib import Path

import pytest
from builders import FIXTURES, small_trace

import tcprof
from tcprof.api.many import Runs

NAMES = ["mlp_fp16", "mlp_tf32"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two saved analyses and their recordings."""
    folder = tmp_path_factory.mktemp("runs")
    for name in NAMES:
        shutil.copy(FIXTURES / f"{name}.sqlite", folder)
        tcprof.read(folder / f"{name}.sqlite").save(folder / f"{name}.tcprof")
    return folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> Runs:
    return tcprof.read_many(folder / "*.tcprof")


def test_each_run_is_an_analysis_by_the_name_of_its_file(runs: Runs, folder: Path) -> None:
    assert list(runs) == NAMES
    assert runs["mlp_fp16"].verdict == tcprof.read(folder / "mlp_fp16.tcprof").verdict
    assert repr(runs).splitlines()[0].startswith("mlp_fp16: The Tensor Cores were busy")


def test_frames_of_all_runs_are_one_with_a_column_run(runs: Runs) -> None:
    for name in dir(runs):
        frame = getattr(runs, name)
        if name in ("failures", "items", "keys", "values"):
            continue
        assert frame.columns[0] == "run"
        assert len(frame) == sum(len(frame[frame["run"] == run]) for run in NAMES)
    assert runs.ranges[runs.ranges["run"] == "mlp_tf32"]["kernel_ns"].tolist() == (
        runs["mlp_tf32"].ranges["kernel_ns"].tolist()
    )
    with pytest.raises(AttributeError):
        _ = runs.nothing


def test_processes_give_what_one_after_the_other_does(runs: Runs, folder: Path) -> None:
    files = [folder / f"{name}.sqlite" for name in NAMES]
    parallel = tcprof.read_many(files, jobs=2, warm_up=1)
    assert list(parallel) == NAMES
    one = tcprof.read(files[0], warm_up=1)
    assert parallel["mlp_fp16"].ranges.equals(one.ranges)
    assert parallel["mlp_fp16"].verdict == one.verdict
    assert parallel["mlp_fp16"].options["warm_up"] == 1


def test_a_recording_stands_for_its_export_and_its_saved_analysis(folder: Path) -> None:
    assert list(tcprof.read_many(folder / "*", jobs=1, kernels=False)) == NAMES


def test_of_two_alike_the_folder_is_named(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "mlp_fp16.tcprof", tmp_path)
    runs = tcprof.read_many([folder / "mlp_fp16.tcprof", tmp_path / "mlp_fp16.tcprof"])
    assert list(runs) == [f"{folder.name}/mlp_fp16", f"{tmp_path.name}/mlp_fp16"]


def test_a_file_that_cannot_be_read_is_named_or_a_row(folder: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.tcprof"
    damaged.write_bytes((folder / "mlp_fp16.tcprof").read_bytes()[:5_000])
    given = [folder / "mlp_fp16.tcprof", damaged]
    with pytest.raises(tcprof.InputError, match="damaged"):
        tcprof.read_many(given)
    runs = tcprof.read_many(given, failures="keep")
    assert list(runs) == ["mlp_fp16"]
    assert runs.failures["file"].tolist() == [str(damaged)]
    assert "damaged.tcprof" in runs.failures["error"].item()
    assert repr(runs).splitlines()[1].startswith("damaged: ")


def test_where_all_fail_the_frames_are_empty_and_have_their_columns(tmp_path: Path) -> None:
    runs = tcprof.read_many(tmp_path / "absent.tcprof", failures="keep")
    assert runs.ranges.empty
    assert runs.steps.columns[:2].tolist() == ["run", "gpu"]


def test_a_pattern_that_nothing_matches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tcprof.InputError, match=r"No file matches .*\*\.tcprof"):
        tcprof.read_many(tmp_path / "*.tcprof")


def test_a_process_that_dies_is_a_failure_of_its_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        files.append(small_trace(tmp_path / name).rename(tmp_path / f"{name}.sqlite"))
    # Processes that begin anew import this module, by whose means one of them ends.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, tcprof.api.reading as reading\n"
        "whole = reading.find_type\n"
        "reading.find_type = lambda path: os._exit(9) if path.name == 'two.sqlite' else whole(path)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    runs = tcprof.read_many(files, jobs=2, failures="keep")
    assert list(runs) == ["one", "three"]
    assert runs.failures["run"].tolist() == ["two"]
    assert "two.sqlite was not read: its process was killed" in runs.failures["error"].item()
