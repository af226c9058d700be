"""Settings for all tests; those of nsys and the browser have more of their own."""

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# As many processes as cores run tests: more threads in each, or in what they start, only wait for one another.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import pytest
from hypothesis import HealthCheck, settings

from tcprof import api

# The same examples on every machine: a failure in CI is one that can be repeated here.
settings.register_profile(
    "tcprof",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("tcprof")

LEFT_OUT = pytest.StashKey[int]()


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
    parser.addoption("--slow", action="store_true", help="run the tests marked slow too, which are left out otherwise")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is marked slow, unless it is asked for: by ``--slow``, or by its name."""
    if config.getoption("--slow") or any("::" in each for each in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    config.stash[LEFT_OUT] = len(slow)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(slow)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each process of xdist collects all tests, and tells how many it left out."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says how many slow tests were left out, and how they are run."""
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out} slow tests were left out: make test-slow runs them, or pytest --slow")


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


FOLDER = Path(__file__).parent.parent / "fixtures"
# One recording of each kind of program; the others, which have more of the same, are slow.
KINDS = (
    "gan_fp16",
    "inference_fp32",
    "jax_mlp",
    "matmul",
    "mlp_fp32",
    "mnist_amp",
    "pinn_fp32",
    "transformer_compiled",
)
FIXTURES = [
    path if path.stem in KINDS else pytest.param(path, marks=pytest.mark.slow)
    for path in sorted(FOLDER.glob("*.sqlite"))
]
ANALYSES: dict[tuple[object, ...], Any] = {}


@pytest.fixture(scope="module")
def shared_reads() -> Iterator[None]:
    """Reads each recording of fixtures/ once for all tests of the modules that use this, by the same options.

    For tests of what is made of an analysis: nothing changes one. What patches the analysis itself must not use it.
    """
    read = api.read

    @functools.wraps(read)
    def read_once(*args: Any, **options: Any) -> Any:
        given = inspect.signature(read).bind(*args, **options)
        given.apply_defaults()
        path = Path(given.arguments["path"]).resolve()
        if path.parent != FOLDER or not path.is_file():
            return read(*args, **options)
        if given.arguments["kernels"] is None:
            given.arguments["kernels"] = path.stat().st_size < api._LARGE
        key = tuple(map(repr, given.arguments.values()))
        if key not in ANALYSES:
            ANALYSES[key] = read(*given.args, **given.kwargs)
        return ANALYSES[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "read", read_once)  # tcprof.read is looked up there
        yield


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def fixture_file(request: pytest.FixtureRequest) -> Path:
    """Each recording in fixtures/."""
    return request.param
