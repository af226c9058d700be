"""The order of the package: what may import what (its contracts are in pyproject.toml), and how long things are."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import PACKAGE, Module, read_modules

from tcprof.frames import SCHEMAS

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


# A column that no frame has is told here, since no type checker sees it: ``frame["aktive_ns"]``.

COLUMN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
ASKING = {"groupby", "sort_values", "set_index", "drop_duplicates", "duplicated", "dropna", "explode", "merge", "pop"}
ASKING_KEYWORDS = {"on", "left_on", "right_on", "by", "subset"}


def keys_of(data: object) -> set[str]:
    if isinstance(data, list):
        return set().union(*map(keys_of, data))
    return set(data).union(*map(keys_of, data.values())) if isinstance(data, dict) else set()


DATA = [tomllib.loads(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.toml")]
KNOWN = {column.name for schema in SCHEMAS for column in schema.columns} | keys_of(DATA)
KNOWN |= {"type", "ctx", "ge", "msg"}  # keys of SQLAlchemy's inspector, and of pydantic's errors


def asked_nodes(tree: ast.Module) -> Iterator[ast.Constant]:
    """The strings that select columns of a frame, or keys of a dict."""
    for node in ast.walk(tree):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and ast.unparse(node.value) != "Literal":
            parts.append(node.slice)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in ASKING:
                parts += node.args[:1]
            parts += [word.value for word in node.keywords if word.arg in ASKING_KEYWORDS]
            if isinstance(node.func, ast.Attribute) and node.func.attr == "agg":  # agg(total_ns=("start_ns", "sum"))
                parts += [word.value.elts[0] for word in node.keywords if isinstance(word.value, ast.Tuple)]
        for part in parts:
            elements = part.elts if isinstance(part, ast.List | ast.Tuple) else [part]
            yield from (each for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str))


def find_unknown_columns(trees: dict[str, ast.Module]) -> list[str]:
    """The places where a column is asked for that nothing introduces."""
    asked = {name: set(asked_nodes(tree)) for name, tree in trees.items()}
    words, patterns = set(KNOWN), set()
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in asked[name]:
                words.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                words.add(node.target.id)  # a field of a dataclass, which may become a column
            elif isinstance(node, ast.JoinedStr):
                parts = (re.escape(p.value) if isinstance(p, ast.Constant) else "([a-z0-9_]+)" for p in node.values)
                patterns.add("".join(parts))
    words |= {f"{name}{suffix}" for name in words for suffix in ("_x", "_y")}  # what merge calls those of both sides
    forms = [re.compile(pattern) for pattern in patterns if re.search(r"[a-z]_|_[a-z]", pattern)]
    return [
        f"{name}:{node.lineno} asks for column {node.value!r}"
        for name, nodes in asked.items()
        for node in sorted(nodes, key=lambda node: node.lineno)
        if COLUMN.fullmatch(node.value) and node.value not in words and not is_composed(node.value, forms, words)
    ]


def is_composed(name: str, forms: list[re.Pattern[str]], words: set[str]) -> bool:
    matches = (form.fullmatch(name) for form in forms)
    return any(match is not None and words.issuperset(match.groups()) for match in matches)


def test_every_column_that_is_asked_for_is_one():
    found = find_unknown_columns({name: module.tree for name, module in MODULES.items()})
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    "text",
    [
        'x = frame["aktive_ns"]',
        'x = frame[["gpu", "aktive_ns"]]',
        'x = frame.loc[frame["gpu"] > 0, "aktive_ns"]',
        'x = frame.groupby(["gpu", "aktive_ns"])["gpu"].sum()',
        'x = frame.groupby("gpu")["aktive_ns"].sum()',
        'x = frame.sort_values(by="aktive_ns")',
        'x = frame.merge(other, on=["gpu", "aktive_ns"])',
        'x = frame.groupby("gpu").agg(start_ns=("aktive_ns", "min"))',
        """x = f"{frame['aktive_ns'].sum()}\"""",
    ],
)
def test_a_misspelt_column_is_told(text):
    assert find_unknown_columns({"tcprof.m": ast.parse(text)}) == ["tcprof.m:1 asks for column 'aktive_ns'"]
    assert find_unknown_columns({"tcprof.m": ast.parse(text.replace("aktive_ns", "start_ns"))}) == []
