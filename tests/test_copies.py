"""One recording has one vote: copies are found by what they hold, whatever their names and bytes."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import FIXTURES, TraceBuilder
from comparison_inputs import read_steps
from hypothesis import given
from hypothesis import strategies as st

import tcprof
from tcprof.analysis.observed import KEPT, is_same_recording, take_fingerprint
from tcprof.comparison import Side, compare
from tcprof.comparison.comparison import ASSUMED
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite import NsysExport

pytestmark = pytest.mark.usefixtures("shared_reads")


BASE, NEW = FIXTURES / "mlp_fp32.sqlite", FIXTURES / "mlp_fp16.sqlite"
COPIES = "Copies of one recording count once: "
SAME = "Both sides have the same recording: "


def plainly(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)


def exported_again(path: Path, copy: Path) -> None:
    """Another order of rows, other tables, and another page size: as another version of nsys writes it."""
    shutil.copyfile(path, copy)
    with closing(sqlite3.connect(copy)) as database, database:
        database.execute("CREATE TABLE turned AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start DESC")
        database.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
        database.execute("ALTER TABLE turned RENAME TO CUPTI_ACTIVITY_KIND_KERNEL")
        database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")


def first_half(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)
    with closing(sqlite3.connect(copy)) as database, database:
        (half,) = database.execute("SELECT (min(start) + max(end)) / 2 FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
        database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end > ?", (half,))


WAYS = (plainly, redact, exported_again, first_half)


def make_side(folder: Path, name: str, path: Path, ways: Sequence[Callable[[Path, Path], object]]) -> Path:
    """A folder with a recording and copies of it."""
    (folder / name).mkdir()
    shutil.copyfile(path, folder / name / f"{name}-1.sqlite")
    for number, way in enumerate(ways, 2):
        way(path, folder / name / f"{name}-{number}.sqlite")
    return folder / name


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_has_no_vote(way, tmp_path):
    """The comparison is that of the recordings, and says so."""
    plain = tcprof.compare(BASE, NEW)
    sides = [make_side(tmp_path, name, path, [way]) for name, path in (("base", BASE), ("new", NEW))]
    compared = tcprof.compare(*(sorted(side.iterdir()) for side in sides))
    pd.testing.assert_frame_equal(compared.rows, plain.rows)
    assert compared.comparison.spread == ASSUMED
    expected = f"{COPIES}base-1.sqlite and base-2.sqlite; new-1.sqlite and new-2.sqlite."
    assert expected in compared.warnings
    assert not any(COPIES in text or SAME in text for text in plain.warnings)


@pytest.mark.slow
def test_runs_are_counted_beside_copies(tmp_path):
    """Two runs and a copy of each measure how much runs differ; they have two votes."""
    runs = [read_steps(tmp_path, f"run-{seed}.sqlite", seed=seed) for seed in (1, 2)]
    for seed in (1, 2):
        shutil.copyfile(tmp_path / f"run-{seed}.sqlite", tmp_path / f"run-{seed}-redacted.sqlite")
    copies = [tcprof.read(tmp_path / f"run-{seed}-redacted.sqlite").analysis for seed in (1, 2)]
    new = Side("new", tuple(read_steps(tmp_path, f"new-{seed}.sqlite", seed=seed) for seed in (3, 4)))
    comparison = compare(Side("base", (copies[0], runs[0], copies[1], runs[1])), new)
    assert [each.recording.file for each in comparison.base.recordings] == ["run-1.sqlite", "run-2.sqlite"]
    assert comparison.base.copies == (
        ("run-1-redacted.sqlite", "run-1.sqlite"),
        ("run-2-redacted.sqlite", "run-2.sqlite"),
    )
    pd.testing.assert_frame_equal(comparison.rows, compare(Side("base", tuple(runs)), new).rows)


def test_a_recording_its_redacted_copy_and_what_was_saved_of_both_are_one_run(tmp_path, run):
    side = make_side(tmp_path, "base", BASE, [redact])
    for number in (1, 2):
        assert run("save", side / f"base-{number}.sqlite", "-o", side / f"saved-{number}.tcprof").status == 0
    files = sorted(side.iterdir())
    assert len(files) == 4
    compared = tcprof.compare(files, NEW)
    assert len(compared.comparison.base.recordings) == 1
    assert compared.comparison.spread == ASSUMED
    pd.testing.assert_frame_equal(compared.rows, tcprof.compare(BASE, NEW).rows)
    for one, other in ((files[0], files[-1]), (side, files[1]), (files[2], files[2])):
        same = run("compare", one, other, "--fail-if", "time > +50%")
        assert (same.status, same.out) == (2, "")
        assert "same recording" in " ".join(same.err.split())


def test_a_recording_against_a_copy_of_itself_is_told_and_passes_no_gate(tmp_path, run):
    redact(BASE, tmp_path / "copy.sqlite")
    comparison = tcprof.compare(BASE, tmp_path / "copy.sqlite")
    assert any(text.startswith(f"{SAME}mlp_fp32.sqlite and copy.sqlite.") for text in comparison.warnings)
    assert not any("step time" in paragraph for paragraph in comparison.verdict)
    gate = comparison.gate(["time > +50%", "time > 1s"])
    assert [each.verdict for each in gate.judgements] == ["inconclusive", "pass"]  # a value needs no baseline
    assert run("compare", NEW, BASE, BASE).status == 2


def test_another_number_of_steps_or_gpus_is_another_recording(tmp_path, run):
    """Only in made-up files do the same steps begin at the same times."""
    files = [TraceBuilder(), TraceBuilder()]
    for trace, count in zip(files, (8, 30), strict=True):
        for at in range(0, count * 1000, 1000):
            trace.range("step", at, at + 990).kernel("gemm", at + 10, at + 500, launched=at + 5)
    few, many = (trace.gpu().write(tmp_path, f"{name}.sqlite") for trace, name in zip(files, "ab", strict=True))
    done = run("compare", few, many)
    assert done.status == 0


@pytest.mark.slow
def test_no_two_fixtures_are_the_same_recording():
    marks = {path.name: take_fingerprint(NsysExport(path).activities()) for path in FIXTURES.glob("*.sqlite")}
    assert len(marks) > 20
    assert not [names for names in combinations(marks, 2) if is_same_recording(*(marks[name] for name in names))]


def work(start: np.ndarray, seed: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"start_ns": start, "end_ns": start + np.random.default_rng(seed).integers(1_000, 9_000, len(start))}
    )


@given(st.integers(3, 5_000), st.floats(0.05, 1), st.booleans())
def test_parts_of_a_recording_are_the_same_and_others_are_not(count, share, first):
    """However much of it a copy has; another run of the same program begins its work at other times."""
    start = np.cumsum(np.random.default_rng(count).integers(1, 20_000, count))
    whole = work(start, 0)
    kept = max(3, int(share * count))
    part = whole[:kept] if first else whole[-kept:]
    marks, others = take_fingerprint(whole), take_fingerprint(work(start, 1))
    assert len(marks) <= KEPT
    assert is_same_recording(marks, take_fingerprint(part))
    assert is_same_recording(take_fingerprint(part), marks)
    assert not is_same_recording(marks, others)
