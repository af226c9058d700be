"""A saved analysis stands for its recording in every command; it is safe to share, and checked when it is read."""

import ast
import io
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from builders import FIXTURES, TraceBuilder
from commands import Run
from saved_files import read_parts, table_of
from slow import first_of
from test_redact import OF_EACH_KIND, PRIVATE_WORDS, SECRETS, recording, recording_with_secrets
from test_redact_canaries import CANARY, FORMS, holds, text_cells, with_every_table

import tcprof
from tcprof.frames.schema import Deferred
from tcprof.nsys import schema
from tcprof.saved.contents import FRAMES, JUDGED, frame_of, save

pytestmark = pytest.mark.usefixtures("shared_reads")

NAMES = ["mlp_fp16"]
COMMANDS = (
    *("show", "advise", "ranges", "ranges --format json", "kernels --by path", "kernels --format json", "modules"),
    *("timeline --format csv", "advise --format json"),
)


@pytest.fixture(params=NAMES)
def both(request, tmp_path):
    given = FIXTURES / f"{request.param}.sqlite"
    saved = tmp_path / f"{request.param}.tcprof"
    tcprof.read(given).save(saved)
    return given, saved


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run.tcprof"
    tcprof.read(recording().write(tmp_path, "run.sqlite")).save(path)
    return path


def check_same(given: Path, saved: Path, run: Run, folder: Path) -> None:
    """All commands print and write the same of both, to the byte."""
    for command in COMMANDS:
        name, *options = command.split()
        done = [run(name, path, *options) for path in (given, saved)]
        assert done[0].out == done[1].out, command
        assert done[0].err.replace(str(given), str(saved)) == done[1].err, command
    written = []
    twin = folder / given.parent.name / saved.name  # the sides of a comparison are called by their folder
    twin.parent.mkdir(parents=True)
    shutil.copy(saved, twin)
    other = FIXTURES / f"mlp_{'fp32' if given.stem == 'mlp_fp16' else 'fp16'}.sqlite"
    for path in (given, twin):
        made = folder / path.suffix[1:]
        made.mkdir(parents=True)
        done = [
            run("report", path, "-o", made / "page.html"),
            run("export", path, "-o", made / "frames"),
            run("export", path, "--chrome-trace", made / "trace.json"),
            run("compare", other, path, "--format", "json", "-o", made / "compare.html"),
        ]
        files = (each for each in sorted(made.rglob("*")) if each.is_file())
        lines = {each.relative_to(made): each.read_text("utf-8").splitlines() for each in files}
        written.append(
            (
                [(each.status, each.out.replace(str(made), "")) for each in done],
                {name: [line for line in each if "tcprof-recording" not in line] for name, each in lines.items()},
            )
        )
    assert written[0][1].keys() == written[1][1].keys()
    for name, each in written[0][1].items():
        assert each == written[1][1][name], name
    assert written[0][0] == written[1][0]
    assert {Path("page.html"), Path("trace.json"), Path("frames/ranges.csv")} <= written[0][1].keys()


@pytest.mark.slow
def test_all_commands_say_the_same_of_it(both, run, tmp_path):
    check_same(*both, run, tmp_path / "made")
    assert both[1].stat().st_size < 1_000_000


RUN_ALL = """
import sys
from tcprof.cli import main

for command in ("kernels", "show", "ranges", "modules", "advise", "timeline"):
    sys.argv = ["tcprof", command, sys.argv[-1]]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, command
print(*sys.modules)
"""


@pytest.mark.slow
def test_commands_load_neither_what_fits_nor_what_reads_databases(tmp_path):
    saved = tmp_path / "run.tcprof"
    tcprof.read(FIXTURES / "llama.sqlite").save(saved)
    done = subprocess.run([sys.executable, "-c", RUN_ALL, saved], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "tcprof.analysis.analysis" in loaded
    heavy = {"scipy", "sqlalchemy", "adbc_driver_manager", "tcprof.analysis.kernels.fit", "plotly", "jinja2"}
    assert loaded & heavy == set()


@pytest.mark.slow
def test_a_comparison_takes_both(run, tmp_path):
    base, new = (FIXTURES / f"mlp_{name}.sqlite" for name in ("fp32", "fp16"))
    saved = tmp_path / "mlp_fp32.tcprof"
    tcprof.read(base).save(saved)
    assert run("compare", saved, new, "--format", "json") == run("compare", base, new, "--format", "json")


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with the texts of categories as Python's: pandas keeps some as its own."""
    categories = frame.select_dtypes("category")
    return frame.assign(**{name: values.astype(object) for name, values in categories.items()})


def test_all_frames_come_back_and_only_those_that_are_asked_for_are_read(both):
    given, saved = tcprof.read(both[0]), tcprof.read(both[1])
    assert isinstance(vars(saved.analysis)["kernels"], Deferred)
    for name in FRAMES:
        pd.testing.assert_frame_equal(
            *(plain(frame_of(each.analysis, name)) for each in (given, saved)), check_column_type=False
        )
    again = pickle.loads(pickle.dumps(saved))
    pd.testing.assert_frame_equal(again.kernels_by_path, given.kernels_by_path, check_column_type=False)


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    analysis = tcprof.read(FIXTURES / "polynomial.sqlite").analysis
    wrong = analysis.replace(kernels=analysis.kernels.assign(lost_ns=-1.0))
    with pytest.raises(ValueError, match="kernels: lost_ns is out of range"):
        save(wrong, tmp_path / "wrong.tcprof")
    assert not list(tmp_path.iterdir())


def test_an_analysis_can_be_pickled():
    given = tcprof.read(FIXTURES / "mlp_fp16.sqlite")
    again = pickle.loads(pickle.dumps(given))
    assert repr(again) == repr(given)
    pd.testing.assert_frame_equal(again.kernels_by_path, given.kernels_by_path)


def test_what_is_said_is_not_saved_and_a_stranger_s_words_are_not_read(saved, run):
    assert JUDGED not in read_parts(saved)
    expected = run("advise", saved)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(JUDGED, '{"findings": {}, "advice": []}')
    assert run("advise", saved) == expected


def test_the_same_analysis_gives_the_same_bytes(saved, tmp_path):
    other = tmp_path / "other.tcprof"
    tcprof.read(saved).save(other)
    assert other.read_bytes() == saved.read_bytes()


def texts_of(path: Path) -> list[str]:
    """All texts of a saved analysis, its documents as they are and its frames as CSV."""
    parts = read_parts(path)
    return [
        part.decode() if name.endswith(".json") else table_of(part).to_pandas().to_csv() for name, part in parts.items()
    ]


def test_nothing_private_is_saved(tmp_path):
    path = tmp_path / "secret.tcprof"
    tcprof.read(recording_with_secrets().write(tmp_path, "run.sqlite")).save(path)
    assert [secret for secret in SECRETS for text in texts_of(path) if secret in text] == []
    assert [secret for secret in SECRETS if secret.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("source", OF_EACH_KIND, ids=lambda path: path.stem)
def test_a_saved_fixture_holds_nothing_private(source, tmp_path):
    path = tmp_path / "fixture.tcprof"
    tcprof.read(source).save(path)
    assert [word for word in PRIVATE_WORDS for text in texts_of(path) if word in text] == []


# What the program names, and what Nsight Systems says of its recording, without what is private in it.
SAVED_TEXTS = {("NVTX_EVENTS", "text"), ("StringIds", "value"), ("DIAGNOSTIC_EVENT", "text")}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["alone", "after a NUL"])
def test_only_what_the_program_names_is_saved_of_texts(form, tmp_path):
    source = with_every_table(recording_with_secrets()).write(tmp_path, "source.sqlite")
    planted, saved, found = tmp_path / "planted.sqlite", tmp_path / "planted.tcprof", set()
    cells = text_cells(source)
    assert len(cells) > len(SAVED_TEXTS) + 5
    for table, column in cells:
        shutil.copy(source, planted)
        with closing(sqlite3.connect(planted)) as connection, connection:
            connection.create_function("planted", 1, FORMS[form])
            connection.execute(f'update "{table}" set "{column}" = planted("{column}")')  # noqa: S608
        assert holds(planted)
        tcprof.read(planted).save(saved)
        found |= {(table, column)} if any(CANARY in text for text in texts_of(saved)) else set()
    assert found <= SAVED_TEXTS
    assert (("NVTX_EVENTS", "text") in found) == (form != "after a NUL")  # which ends a text


def test_a_string_that_nothing_names_is_not_saved(tmp_path):
    saved = tmp_path / "run.tcprof"
    tcprof.read(recording().row(schema.STRINGS, id=9_999, value=CANARY).write(tmp_path, "run.sqlite")).save(saved)
    assert not any(CANARY in text for text in texts_of(saved))


def test_pandas_reads_a_frame_in_three_lines(saved):
    with zipfile.ZipFile(saved) as archive:
        ranges = pd.read_parquet(io.BytesIO(archive.read("ranges.parquet")))
    assert ranges["path"].tolist() == ["", "step", "step / forward"]


def test_the_command_replaces_no_recording(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = recording().write(tmp_path, "run.sqlite")
    done = run("save", given)
    assert (done.status, done.out.splitlines()[-1]) == (0, "run.tcprof")
    before = Path("run.tcprof").read_bytes()
    for command in (f"ranges {given} -o run.tcprof --force", f"save {given} -o {given} --force"):
        assert run(*command.split()).status == 3
    assert Path("run.tcprof").read_bytes() == before
    assert run("redact", "run.tcprof").status == 3


def test_other_options_than_it_was_saved_with_need_the_recording(run, saved, tmp_path):
    for option in ("--window host", "--warm-up 1", "--peak-tflops 100"):
        done = run("ranges", saved, *option.split())
        assert done.status == 3, option
        assert f"it has no figures with {option.removeprefix('--')}." in done.err
        assert "run.sqlite" in done.err
    other = tmp_path / "host.tcprof"
    assert run("save", tmp_path / "run.sqlite", "-o", other, "--window", "host", "--warm-up", "1").status == 0
    assert run("ranges", other, "--window", "host", "--warm-up", "1").status == 0


@pytest.mark.parametrize("builder", [TraceBuilder().gpu().range("step", 0, 10), TraceBuilder()])
def test_a_program_without_kernels_is_saved_too(builder, tmp_path):
    path = tmp_path / "empty.tcprof"
    given = tcprof.read(builder.write(tmp_path, "run.sqlite"))
    given.save(path)
    assert repr(tcprof.read(path)) == repr(given)
    shutil.move(tmp_path / "run.sqlite", tmp_path / "gone")
    assert tcprof.read(path).ranges.equals(given.ranges)


@pytest.mark.skipif(sys.platform != "linux", reason="lists the threads in /proc")
@first_of(1)(
    ("command", "path"), [("ranges", FIXTURES / "mlp_fp16.sqlite"), ("ranks", FIXTURES / "jobs" / "more-work")]
)
def test_no_thread_of_arrow_outlives_a_command(command, path, tmp_path):
    # One that holds the last reference to something of Python's takes the interpreter's lock as that ends: an abort.
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom tcprof.cli import main\ntry: main()\nfinally:\n"
        " print([Path(f'/proc/self/task/{each}/comm').read_text() for each in os.listdir('/proc/self/task')])"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    for _ in range(2):  # the second reads what the first has saved
        asked = [sys.executable, "-c", code, command, str(path)]
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
        threads = ast.literal_eval(done.stdout.splitlines()[-1])
        assert len([name for name in threads if "jemalloc" not in name]) == 1
