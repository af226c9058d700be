"""The order of the house: what may import what, who may use what, and how long things are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "tcprof"
MODULES = sorted(PACKAGE.rglob("*.py"))
# Lowest first: a module imports only from rooms that stand before its own.
ROOMS = (
    "errors",
    "units",
    "untrusted",
    "files",
    "workloads",
    "frames",
    "chips",
    "record",
    "sources",
    "analysis",
    "findings",
    "comparison",
    "report",
    "views",
    "render",
    "cli",
)
LONGEST_FILE = 300
LONGEST_FUNCTION = 40
SQL = {"sqlalchemy", "sqlite3", "adbc_driver_sqlite", "adbc_driver_manager"}
HEAVY = ("plotly", "scipy", "torch", "pandas", "numpy", "sqlalchemy", "pyarrow")
# The public face, which imports inside its functions.
FACE = {"__init__.py", "__main__.py"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Everything that a module imports, in functions and for type checkers too; relative imports are banned by ruff."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def top_levels(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports_of(path)}


def longest_functions(path: Path) -> list[tuple[str, int]]:
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(node.name, _lines(node, is_command=room_of(path) == "cli")) for node in functions]
    return [(name, length) for name, length in lengths if length > LONGEST_FUNCTION]


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef, is_command: bool) -> int:
    """Lines of a function without its docstring, and of a command without its parameters: both are for its readers."""
    first = function.body[0]
    begin = first.lineno if is_command else function.lineno
    documented = ast.get_docstring(function) is not None
    return function.end_lineno - begin + 1 - documented * (first.end_lineno - first.lineno + 1)


def test_the_package_is_where_these_tests_look():
    assert {"sources/nsys_sqlite/export.py", "analysis/analysis.py", "errors.py"} <= {name_of(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_stands_in_a_room_of_the_house(path):
    assert room_of(path) in ROOMS or name_of(path) in FACE


@pytest.mark.parametrize("path", [path for path in MODULES if name_of(path) not in FACE], ids=name_of)
def test_a_module_imports_only_from_rooms_below_its_own(path):
    # "from tcprof import x" may name what the face itself defines, such as __version__
    names = [name.split(".")[1] for name in imports_of(path) if name.startswith("tcprof.")]
    known = {name for name in names if name in ROOMS}
    above = ROOMS[ROOMS.index(room_of(path)) + 1 :]
    assert not known & set(above), f"{name_of(path)} imports from {sorted(known & set(above))}"


def test_only_the_room_of_nsys_starts_programs():
    assert {room_of(path) for path in MODULES if "subprocess" in top_levels(path)} <= {"record"}


def test_only_the_room_of_traces_speaks_sql():
    speakers = {name_of(path) for path in MODULES if SQL & top_levels(path)}
    # An export is proved to be a whole database before it is handed over.
    assert {name for name in speakers if not name.startswith("sources/")} <= {"record/nsys/export.py"}
    exporter = PACKAGE / "record" / "nsys" / "export.py"
    assert SQL & top_levels(exporter) <= {"sqlite3"}


def test_workloads_and_package_do_not_know_each_other():
    assert not [name_of(path) for path in MODULES if {"torch", "nvtx", "workloads"} & top_levels(path)]
    workloads = sorted((PACKAGE.parent / "workloads").glob("*.py"))
    assert workloads
    assert not [path.name for path in workloads if "tcprof" in top_levels(path)]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_file_is_too_long(path):
    assert len(path.read_text().splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_function_is_too_long(path):
    assert longest_functions(path) == []


@pytest.mark.parametrize("module", ["tcprof", "tcprof.cli"])
def test_importing_the_package_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(HEAVY)
