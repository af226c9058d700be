"""The fuzzer finds what is planted, changes what it says, and repeats itself; 300 cases of it have no symptom."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz import contents, damage, deletions, odd, recording, structure, traces
from fuzz.case import make_case
from fuzz.figures import find_impossible
from fuzz.judge import fingerprint, judge
from fuzz.originals import make_originals
from fuzz.sandbox import MOST_BYTES, Outcome

TESTS = Path(__file__).parent.parent
KINDS = (contents, structure, recording, deletions)
IN_DATABASE = sorted({each for kind in KINDS for each in kind.MUTATIONS}, key=lambda each: each.__name__)
# Runs the fuzzer with a reader that always fails.
PLANT = """
import sys
from tcprof.sources.nsys_sqlite import NsysExport
from fuzz import __main__ as fuzzer

def fail(self):
    raise LookupError("planted")

fuzzer.warm_up = lambda original, folder: setattr(NsysExport, "ranges", fail)
sys.exit(fuzzer.main())
"""


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return make_originals(tmp_path_factory.mktemp("originals"))


def run_fuzzer(*arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join((str(TESTS), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("change", IN_DATABASE, ids=lambda each: each.__name__)
def test_a_mutation_changes_the_database(change, originals, tmp_path):
    path = tmp_path / "run.sqlite"
    before = {original: hashlib.sha256(original.read_bytes()).digest() for original in originals}
    done = 0
    for seed, original in enumerate(originals[:1] + originals[-4:-1]):
        shutil.copyfile(original, path)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN")  # as for a case: each statement on its own would wait for the disk
        words = change(Random(seed), connection)
        connection.execute("COMMIT")
        connection.close()
        assert words
        done += hashlib.sha256(path.read_bytes()).digest() != before[original]
    assert done > 0


@pytest.mark.parametrize("damaged", sorted(set(damage.MUTATIONS), key=lambda each: each.__name__))
def test_a_mutation_changes_the_file(damaged, originals, tmp_path):
    path = tmp_path / "run.sqlite"
    shutil.copyfile(originals[0], path)
    before = fingerprint(tmp_path)
    new, words = damaged(Random(1), path)
    assert words
    assert new.exists()
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize("change", [*sorted({*traces.MUTATIONS, *traces.IN_FILE}, key=lambda each: each.__name__)])
def test_a_mutation_changes_the_trace(change, tmp_path):
    path = traces.write_trace(tmp_path / "run.json")
    before = path.read_bytes()
    assert change(Random(1), path)
    assert path.read_bytes() != before


def test_a_seed_gives_the_same_case_again(originals, tmp_path):
    made = []
    for again in ("a", "b"):
        for number in range(25):
            folder = tmp_path / f"{again}{number}"
            folder.mkdir()
            case = make_case(7, number, originals, folder)
            arguments = [each.replace(str(folder), "") for each in case.arguments]
            made.append((case.mutations, arguments, hashlib.sha256(case.path.read_bytes()).hexdigest()))
    assert made[:25] == made[25:]
    assert len({content for _, _, content in made}) > 20
    assert len({arguments[0] for _, arguments, _ in made}) >= 6


@pytest.mark.slow
def test_a_planted_fault_is_found_and_told_once():
    done = run_fuzzer("-c", PLANT, "--cases", "5", "--jobs", "1", "--seed", "5")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("traceback: LookupError in tcprof/") == 1, done.stdout
    assert "  planted\n" in done.stdout
    assert "python -m fuzz --seed 5 --case " in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_three_hundred_cases_have_no_symptom():
    done = run_fuzzer("-m", "fuzz", "--cases", "300", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_saved_analyses_have_no_symptom():
    done = run_fuzzer("-m", "fuzz", "--saved", "--cases", "20", "--seed", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def ended(folder: Path, status: int = 0, **how: object) -> Outcome:
    """A command's end, with the folders that it had."""
    for name in ("work", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    usual = {"crash": "", "message": "", "cpu_s": 0.1, "peak_bytes": 0, "out": b"", "err": b"", "folder": folder}
    return Outcome(status, **(usual | how))  # type: ignore[arg-type]


def kinds(arguments: str, outcome: Outcome, before: dict[str, str] | None = None) -> list[str]:
    return [each.kind for each in judge(arguments.split(), outcome, before or {}, {})]


@pytest.mark.parametrize(
    ("arguments", "how", "found"),
    [
        ("show x", {}, []),
        ("show x", {"status": 3, "err": b"tcprof: no\n"}, []),
        ("show x", {"status": 3}, ["status"]),
        ("show x", {"status": 1}, ["status"]),
        ("compare x y --fail-if time>1", {"status": 1}, []),
        ("show x", {"status": 70, "err": b"?"}, ["status"]),
        ("show x", {"status": 70, "err": b"?", "crash": "ValueError in tcprof/a.py:1 f"}, ["traceback"]),
        ("show x", {"status": 70, "err": b"?", "crash": "MemoryError in tcprof/a.py:1 f"}, ["memory"]),
        ("show x", {"peak_bytes": MOST_BYTES + 1}, ["memory"]),
        ("show x", {"status": -signal.SIGXCPU}, ["hang"]),
        ("show x", {"status": -signal.SIGSEGV}, ["killed"]),
        ("show x", {"err": b"/a/tcprof/b.py:3: RuntimeWarning: overflow\n"}, ["warning"]),
        ("show x", {"err": b"\x1b[31m"}, ["control"]),
        ("show x", {"out": "a\x85b".encode()}, ["control"]),
        ("show x", {"out": b" mean  nan %"}, ["number"]),
        ("show x --format markdown", {"out": f"| {odd.MARKUP} |".encode()}, ["markup"]),
        ("show x --format json", {"out": b'{"a": NaN}'}, ["format"]),
        ("show x --format json", {"out": b'{"rows": [{"share_pct": 130}]}'}, ["number"]),
        ("show x --format json", {"out": b'{"faults": ["told"], "rows": [{"share_pct": 130}]}'}, []),
        ("show x --format csv", {"out": b"gpu,kernel_ns\n0,-5\n"}, ["number"]),
        ("show x --format csv", {"out": b"gpu,kernel_ns\n0\n"}, ["format"]),
        ("show x --format csv", {"out": b"gpu,kernel_ns\n0,inf\n"}, ["number"]),
        ("show x --format csv", {"out": b"gpu,chip\n0,Infinity\n"}, []),
        ("compare x y --format junit --fail-if a", {"out": b"<a><b></a>"}, ["format"]),
    ],
)
def test_what_is_judged(arguments, how, found, tmp_path):
    assert kinds(arguments, ended(tmp_path, **how)) == found  # type: ignore[arg-type]


def test_files_are_judged(tmp_path):
    outcome = ended(tmp_path, 3, err=b"tcprof: no\n")
    assert kinds("show x", outcome, {"run.sqlite": "1"}) == ["input"]
    (tmp_path / "work" / "page.html").write_text("<html>")
    assert kinds("report x", outcome) == ["left behind"]
    assert kinds("report x", ended(tmp_path)) == ["format"]
    (tmp_path / "work" / "page.html").write_text(f"<html><script>'</script>{odd.MARKUP}'</script></html>")
    assert kinds("report x", ended(tmp_path)) == ["markup"]
    (tmp_path / "work" / "page.html").write_text("<html><p title='<fuzz-tag>'>&lt;fuzz-tag&gt;</p></html>")
    assert kinds("report x", ended(tmp_path)) == []
    (tmp_path / "tmp" / "rest").touch()
    assert kinds("report x", ended(tmp_path)) == ["left behind"]


@pytest.mark.parametrize(
    ("row", "impossible"),
    [
        ({"tensor_active_mean_pct": 100.3, "kernel_ns": 0, "offset_low_ns": -5, "start_ns": -9}, 0),
        ({"tensor_active_mean_pct": 101}, 1),
        ({"coverage_pct": -1}, 1),
        ({"gpu_window_ns": -1}, 1),
        ({"host_ns": 1e19}, 1),
        ({"kernel_count": -1}, 1),
        ({"tensor_active_mean_pct": 30, "tensor_active_peak_pct": 20}, 1),
        ({"tensor_active_low_pct": 30, "tensor_active_high_pct": None}, 0),
        ({"start_ns": 5, "end_ns": 4}, 1),
        ({"quantity": "gpu_window_ns", "base": -1, "difference": -5, "ratio_high": float("inf")}, 1),
        ({"rows": [{"gpu": 0, "name": "a", "share_pct": 60}, {"gpu": 0, "name": "b", "share_pct": 50}]}, 1),
        ({"rows": [{"gpu": 0, "name": "a", "share_pct": 60}, {"gpu": 1, "name": "a", "share_pct": 50}]}, 0),
        ({"value": float("inf")}, 1),
    ],
)
def test_impossible_numbers(row, impossible):
    assert len(list(find_impossible(row))) == impossible
