"""Settings for all tests; those of nsys and the browser have more of their own."""

import functools
import gc
import hashlib
import inspect
import os
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# As many processes as cores run tests: more threads in each, or in what they start, only wait for one another.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
os.environ["COLUMNS"] = "80"  # outputs are as a terminal of this width shows them
os.environ["TCPROF_CACHE"] = ""  # or a test would show what an earlier one had

import postgres
import pytest
from builders import FIXTURES as FOLDER
from builders import TraceBuilder
from commands import Outcome, Run
from comparison_inputs import compare_several, compare_steps
from hypothesis import HealthCheck, settings

import tcprof
from tcprof import cli, comparison
from tcprof.api import comparing, reading
from tcprof.cli import GARBAGE
from tcprof.comparison import Comparison, Side
from tcprof.findings.pricing.advice import Advice

if TYPE_CHECKING:
    from tcprof.history.store import Store

# The same examples on every machine: a failure in CI is one that can be repeated here.
settings.register_profile(
    "tcprof",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("tcprof")


# As the command line does: Python's own collections, walking all that pandas and the tests have loaded, are far more.
gc.set_threshold(*GARBAGE)

LEFT_OUT = ("slow", "browser", "torch", "postgres")  # marks that pyproject.toml explains
COUNTS = pytest.StashKey[dict[str, int]]()


def folder_from(variable: str) -> Path | None:
    """The folder that an environment variable names; one that is named must be there."""
    value = os.environ.get(variable)
    if not value:
        return None
    folder = Path(value)
    if not folder.is_dir():
        raise pytest.UsageError(f"{variable}={value} is no folder")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    """``pytest --update-golden`` writes the expected outputs anew; look at the difference before you commit it."""
    parser.addoption("--update-golden", action="store_true", help="write the expected outputs anew")
    parser.addoption("--all", action="store_true", help=f"run the tests that are left out too: {', '.join(LEFT_OUT)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of golden files; leaves out what takes long or needs more, unless it is asked for."""
    for item in items:
        if "golden" in getattr(item, "fixturenames", ()):
            item.add_marker("golden")
    if config.getoption("--all") or config.getoption("-m") or any("::" in each for each in config.args):
        return
    named = any(each.endswith(".py") for each in config.args)
    marks = ("slow",) if named else LEFT_OUT
    left = {item: mark for item in items for mark in marks if item.get_closest_marker(mark)}
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=list(left))
    config.stash[COUNTS] = Counter(left.values())
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(config.stash[COUNTS])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each process of xdist collects all tests, and tells how many it left out."""
    node.config.stash[COUNTS] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says how many tests were left out, why, and how they are run."""
    if counts := config.stash.get(COUNTS, {}):
        reasons = ", ".join(f"{count} {mark}" for mark, count in counts.items())
        terminalreporter.write_line(f"Left to make test-all (or pytest --all): {reasons}")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Holds an output against the file of that name in tests/golden."""

    def check(name: str, output: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(output, encoding="utf-8")
        assert output == path.read_text(encoding="utf-8"), "if this is meant: pytest --update-golden"

    return check


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests that take ``corpus_file`` run once for each export in the folder TCPROF_CORPUS."""
    if "corpus_file" in metafunc.fixturenames:
        folder = folder_from("TCPROF_CORPUS")
        files = sorted(folder.glob("*.sqlite")) if folder else []
        skipped = pytest.param(None, marks=pytest.mark.skip(reason="set TCPROF_CORPUS to a folder of exports"))
        metafunc.parametrize("corpus_file", files or [skipped], ids=lambda path: getattr(path, "stem", "none"))


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of reference recordings."""
    folder = folder_from("TCPROF_RECORDINGS")
    if folder is None:
        pytest.skip("set TCPROF_RECORDINGS to the folder of reference recordings")
    return folder


# With graphs recorded whole, without steps, and with steps in epochs. The others have more of the same, and are slow.
KINDS = ("jax_mlp", "matmul", "mnist_amp")
FIXTURES = [
    path if path.stem in KINDS else pytest.param(path, marks=pytest.mark.slow)
    for path in sorted(FOLDER.glob("*.sqlite"))
]
ANALYSES: dict[tuple[object, ...], Any] = {}
COMPARISONS: dict[tuple[object, ...], Any] = {}


@pytest.fixture(scope="module")
def shared_reads(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Reads each recording, and compares each two sides, once for all tests of the modules that use this.

    A recording is the same where its file has the same name and content, and the options are the same. For tests of
    what is made of an analysis: nothing changes one. What patches the analysis itself must not use it.
    The processes of xdist leave the analyses of fixtures to each other.
    """
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.getbasetemp().parent if hasattr(request.config, "workerinput") else None
        read_once = _once(_loading(reading.read, folder) if folder else reading.read, ANALYSES, _recording_key)
        for place in (reading, comparing):  # tcprof.read is looked up in the first
            patch.setattr(place, "read", read_once)
        compare_once = _once(comparison.compare, COMPARISONS, _sides_key)
        for place in ((comparing, "compare_sides"), (comparison, "compare")):  # commands import it when they run
            patch.setattr(*place, compare_once)
        yield


@pytest.fixture
def shared_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces each recording of a rank once for all tests, in this process."""
    from jobs import reduce_once

    monkeypatch.setattr("tcprof.ranks.gather.reduce_file", reduce_once)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)


def _once(function: Callable[..., Any], made: dict[Any, Any], key_of: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is called once for each key of its arguments; None is for those that are not shared."""

    @functools.wraps(function)
    def call_once(*args: Any, **options: Any) -> Any:
        given = inspect.signature(function).bind(*args, **options)
        given.apply_defaults()
        key = key_of(**given.arguments)
        if key is None:
            return function(*args, **options)
        if key not in made:
            made[key] = function(*args, **options)
        return made[key]

    return call_once


def _loading(read: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """The function, which loads what another process has left in the folder of a fixture."""

    @functools.wraps(read)
    def read_or_load(path: Any, *args: Any, **options: Any) -> Any:
        if Path(path).parent != FOLDER:
            return read(path, *args, **options)
        asked = repr((Path(path).name, args, sorted(options.items())))
        file = folder / f"{hashlib.sha256(asked.encode()).hexdigest()}.pickle"
        if not file.exists():
            (written := file.with_suffix(f".{os.getpid()}")).write_bytes(pickle.dumps(read(path, *args, **options)))
            written.replace(file)
        return pickle.loads(file.read_bytes())

    return read_or_load


def _recording_key(path: Any, **options: object) -> object:
    path = Path(path)
    if path.suffix not in (".sqlite", ".json") or not path.is_file():
        return None
    return path.name, hashlib.sha256(path.read_bytes()).digest(), *map(repr, options.values())


def _sides_key(base: Any, new: Any, mapping: Any, allow_mismatch: bool) -> object:
    sides = [side if isinstance(side, Side) else Side("", (side,)) for side in (base, new)]
    read = {id(report.analysis) for report in ANALYSES.values()}  # these stay, and so nothing else gets their numbers
    numbers = [tuple(map(id, side.recordings)) for side in sides]
    if not read.issuperset(numbers[0] + numbers[1]):
        return None
    return *((side.name, side.number) for side in sides), *numbers, tuple(mapping.items()), allow_mismatch


@pytest.fixture
def find(tmp_path: Path, shared_reads: None) -> Callable[[TraceBuilder], dict[str, Advice]]:
    """The advice on a recording that is built, by rule."""
    return lambda builder: {each.rule: each for each in tcprof.read(builder.write(tmp_path)).advice}


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def fixture_file(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tcprof", *map(str, args)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run_command


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A comparison of two recordings of steps."""
    return compare_steps(tmp_path_factory.mktemp("steps"))


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> list[Comparison]:
    return compare_several(tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A PostgreSQL of the tests' own."""
    if postgres.find_programs() is None:
        pytest.skip("there is no PostgreSQL: Debian's package postgresql")
    pytest.importorskip("psycopg", reason="psycopg is not installed: tcprof[postgres]")
    with postgres.serve() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet, in either database."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_server").new_database()
        return url
    return f"sqlite:///{tmp_path / 'history.db'}"


@pytest.fixture
def store(store_url: str) -> "Store":
    """An empty store, in either database."""
    from tcprof.history.store import open_store

    return open_store(store_url)
