"""Settings for the tests of the package itself; those of nsys and the browser have their own."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every machine: a failure in CI is one that can be repeated here.
settings.register_profile(
    "tcprof",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("tcprof")


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


FIXTURES = sorted((Path(__file__).parent.parent / "fixtures").glob("*.sqlite"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def fixture_file(request: pytest.FixtureRequest) -> Path:
    """Each recording in fixtures/."""
    return request.param
