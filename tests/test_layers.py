"""The order of the package: what may import what (its contracts are in pyproject.toml), and how long things are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import PACKAGE, Module, read_modules

LONGEST_FILE = 500
LONGEST_FUNCTION = 40
HEAVY = ("plotly", "scipy", "torch", "pandas", "numpy", "sqlalchemy", "pyarrow")
MODULES = read_modules()


def assert_none(found: list[str]) -> None:
    assert not found, "\n".join(["", *found])


def find_hidden_imports(module: Module) -> list[str]:
    """Every use of ``import_module`` or ``__import__``, by whatever name: an import that no reader of imports sees."""
    found = [
        node.lineno
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Name) and node.id in ("import_module", "__import__"))
        or (isinstance(node, ast.Attribute) and node.attr in ("import_module", "__import__"))
        or (isinstance(node, ast.alias) and node.name in ("import_module", "importlib"))
        or (isinstance(node, ast.Constant) and node.value in ("import_module", "__import__"))
    ]
    return [f"{module.name}:{line}" for line in sorted(set(found))]


def measure_functions(module: Module) -> dict[str, int]:
    """The lines of each function as it is written, with its parameters and docstring."""
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(node.end_lineno - node.lineno + 1, f"{module.name}.{node.name}") for node in functions]
    return {name: length for length, name in sorted(lengths)}  # of one name the longest


def find_long_functions(module: Module) -> list[str]:
    lengths = measure_functions(module).items()
    return [f"{name}: {length}" for name, length in lengths if length > LONGEST_FUNCTION]


def test_the_package_is_where_these_tests_look():
    assert {"tcprof", "tcprof.analysis.analysis", "tcprof.frames", "tcprof.errors"} <= set(MODULES)
    assert len(MODULES) == len(list(PACKAGE.rglob("*.py")))
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE / "annotate" / "startup"}  # for PYTHONPATH
    assert_none([str(path) for path in folders if not (path / "__init__.py").is_file()])


def test_imports_keep_the_contracts():
    """Layers, circles and who may use what, deferred imports included."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_import_is_hidden():
    """Only formats, rules of advice and commands are loaded by their names, which are those of their own package."""
    found = {module.name: find_hidden_imports(module) for module in MODULES.values()}
    for package in ("tcprof.render.formats", "tcprof.findings.rules", "tcprof.cli"):
        assert len(found.pop(package)) == 2
        assert 'import_module(f"{__name__}.{name}")' in MODULES[package].text
    assert_none([place for places in found.values() for place in places])


def test_workloads_do_not_know_the_package():
    workloads = {path.name: Module(path.stem, path.read_text()) for path in (PACKAGE.parent / "workloads").glob("*.py")}
    assert workloads
    assert [name for name, module in workloads.items() if "tcprof" in module.top_levels] == []


def test_no_file_is_too_long():
    lengths = {name: len(module.text.splitlines()) for name, module in MODULES.items()}
    assert_none([f"{name}: {length}" for name, length in lengths.items() if length > LONGEST_FILE])


def test_no_function_is_too_long():
    assert_none([found for module in MODULES.values() for found in find_long_functions(module)])


@pytest.mark.parametrize("module", ["tcprof", "tcprof.cli"])
def test_importing_the_package_loads_nothing_heavy(module):
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(HEAVY)


def test_reading_loads_nothing_that_it_does_not_need():
    """psutil is for making a recording, plotly for notebooks, and tcprof.comparison where there are two."""
    code = (
        "import sys, tcprof.api.reading, tcprof.views.recording.ranges, tcprof.render.formats.text; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unneeded = {"psutil", "plotly", "scipy.stats", "scipy.optimize", "jinja2", "yaml", "tcprof.comparison"}
    assert set(done.stdout.split()).isdisjoint(unneeded)


def test_pages_are_made_without_plotly_for_python():
    """Its classes check each setting, which takes longer than all else of a page."""
    code = "import sys, tcprof.render.html.page; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "plotly" not in done.stdout.split()


# The rules themselves, held against packages that break them.


@pytest.mark.parametrize(
    "text",
    [
        'from importlib import import_module\ndef f(): return import_module("tcprof.views")',
        'import importlib\ndef f(name): return importlib.import_module(f"tcprof.{name}")',
        "import importlib as i\n",
        'def f(name): return __import__("tcprof." + name)',
        'import builtins\ngetattr(builtins, "__import__")("tcprof.views")',
    ],
)
def test_a_hidden_import_is_seen(text):
    assert find_hidden_imports(Module("tcprof.analysis.fit", text))


def test_reading_files_of_the_package_is_no_hidden_import():
    assert find_hidden_imports(Module("m", "from importlib.resources import files\nimport importlib.metadata\n")) == []


def test_a_long_function_is_seen_as_it_is_written():
    body = "\n".join(f"    x{number} = 1" for number in range(LONGEST_FUNCTION - 2))
    assert find_long_functions(Module("tcprof.m", f'def f():\n    """A."""\n{body}\n')) == []
    assert find_long_functions(Module("tcprof.m", f'def f(\n    a,\n):\n    """A."""\n{body}\n')) == ["tcprof.m.f: 42"]
