"""The order of the package: what may import what, who may use what, and how long things are. One test lists all."""

import ast
import subprocess
import sys

import pytest
from source_tree import PACKAGE, Module, cycles_of, graph_of, read_modules, siblings_of, targets_of

# Lowest first: a module imports only from layers before its own.
LAYERS = (
    "version",
    "errors",
    "arrays",
    "units",
    "untrusted",
    "temporary",
    "memory",
    "files",
    "workloads",
    "frames",
    "chips",
    "nsys",
    "redaction",
    "record",
    "annotate",
    "sources",
    "analysis",
    "comparison",
    "findings",
    "views",
    "render",
    "store",
    "unprofiled",
    "api",
    "cli",
)
# The same inside of packages that have layers of their own; what is not named lies beside them.
LAYERS_WITHIN = {
    "render": ("formats", "html"),
    "views": ("figures", "recording", "comparison"),
    "comparison": ("matching", "statistics", "gate"),
}
# The public face imports from all of them, inside its functions.
FACE = ("tcprof", "tcprof.__main__")
LONGEST_FILE = 300
LONGEST_FUNCTION = 40
SQL = {"sqlalchemy", "sqlite3", "adbc_driver_sqlite", "adbc_driver_manager"}
HEAVY = ("plotly", "scipy", "torch", "pandas", "numpy", "sqlalchemy", "pyarrow")
MODULES = read_modules()


def assert_none(found: list[str]) -> None:
    assert not found, "\n".join(["", *found])


def layer_of(name: str) -> str:
    return name.split(".")[1]


def find_upward_imports(modules: dict[str, Module]) -> list[str]:
    """Imports from a layer above, or of the face, which only commands take their functions from."""
    found = []
    for module in modules.values():
        if module.name in FACE:
            continue
        for line, target in targets_of(module, modules):
            if target in FACE:
                wrong = layer_of(module.name) != "cli"
            else:
                wrong = LAYERS.index(layer_of(target)) > LAYERS.index(layer_of(module.name))
            if wrong:
                found.append(f"{module.name}:{line} imports {target}")
    return found


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


def find_unordered(modules: dict[str, Module], package: str, order: tuple[str, ...]) -> list[str]:
    """Imports inside of a package against the order of its parts."""
    graph = siblings_of(graph_of(modules), package)
    above = {name: set(order[place + 1 :]) for place, name in enumerate(order)}
    return [
        f"{package}.{name} imports {sorted(graph[name] & above[name])}" for name in order if graph[name] & above[name]
    ]


def find_long_functions(module: Module) -> list[str]:
    nodes = ast.walk(module.tree)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = [(node.name, count_lines(node, module.name.startswith("tcprof.cli."))) for node in functions]
    return [f"{module.name}.{name}: {length}" for name, length in lengths if length > LONGEST_FUNCTION]


def count_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, is_command: bool) -> int:
    """Lines of a function without its docstring, and of a command without its parameters: both are for its readers."""
    first = function.body[0]
    begin = first.lineno if is_command else function.lineno
    documented = ast.get_docstring(function) is not None
    return function.end_lineno - begin + 1 - documented * (first.end_lineno - first.lineno + 1)


def test_the_package_is_where_these_tests_look():
    assert {"tcprof", "tcprof.analysis.analysis", "tcprof.frames", "tcprof.errors"} <= set(MODULES)
    assert len(MODULES) == len(list(PACKAGE.rglob("*.py")))
    folders = {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE / "annotate" / "startup"}  # for PYTHONPATH
    assert_none([str(path) for path in folders if not (path / "__init__.py").is_file()])


def test_every_module_stands_in_a_layer():
    assert {layer_of(name) for name in MODULES if name not in FACE} <= set(LAYERS)
    for package, order in LAYERS_WITHIN.items():
        assert set(order) <= set(siblings_of(graph_of(MODULES), f"tcprof.{package}")), package


def test_no_module_imports_from_a_layer_above_its_own():
    assert_none(find_upward_imports(MODULES))


def test_parts_of_a_package_import_in_their_order():
    orders = LAYERS_WITHIN.items()
    assert_none([found for package, order in orders for found in find_unordered(MODULES, f"tcprof.{package}", order)])


def test_no_import_is_hidden():
    """Only formats, rules of advice and commands are loaded by their names, which are those of their own package."""
    found = {module.name: find_hidden_imports(module) for module in MODULES.values()}
    for package in ("tcprof.render.formats", "tcprof.findings.rules", "tcprof.cli"):
        assert len(found.pop(package)) == 2
        assert 'import_module(f"{__name__}.{name}")' in MODULES[package].text
    assert_none([place for places in found.values() for place in places])


def test_no_modules_import_each_other_in_a_circle():
    assert_none(cycles_of(graph_of(MODULES)))


def test_no_parts_of_a_package_import_each_other_in_a_circle():
    graph = graph_of(MODULES)
    packages = [name for name, module in MODULES.items() if module.is_package and name not in FACE]
    assert_none([f"in {name}: {cycle}" for name in packages for cycle in cycles_of(siblings_of(graph, name))])


def test_only_record_starts_programs():
    assert {layer_of(name) for name, module in MODULES.items() if "subprocess" in module.top_levels} <= {
        "nsys",
        "record",
    }


def test_only_sources_speak_sql():
    speakers = {name for name, module in MODULES.items() if SQL & module.top_levels}
    # An export is proved to be a whole database before it is handed over.
    assert {name for name in speakers if layer_of(name) not in {"sources", "redaction"}} <= {
        f"tcprof.nsys.{name}" for name in ("export", "opening", "schema")
    }
    assert SQL & MODULES["tcprof.nsys.export"].top_levels <= {"sqlite3"}


def test_workloads_and_package_do_not_know_each_other():
    theirs = {"torch", "nvtx", "workloads"}
    users = [name for name, module in MODULES.items() if theirs & module.top_levels]
    assert_none([name for name in users if layer_of(name) != "annotate"])  # which runs inside of programs
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
    code = "import sys, tcprof.render.html.report, tcprof.render.html.comparison; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "plotly" not in done.stdout.split()


# The rules themselves, held against packages that break them.


def package_of(**texts):
    """Modules by their names, with ``__`` for a dot; every package around them is there too."""
    found = {f"tcprof.{name.replace('__', '.')}": text for name, text in texts.items()}
    packages = {name.rsplit(".", depth)[0] for name in found for depth in range(1, name.count(".") + 1)}
    return {
        name: Module(name, found.get(name, ""), name in packages) for name in sorted(found | dict.fromkeys(packages))
    }


IMPORTS_OF_VIEWS = {
    "plain": "from tcprof.views.page import x",
    "a module": "from tcprof.views import page",
    "all of it": "import tcprof.views.page",
    "in a function": "def f():\n    from tcprof.views.page import x",
    "for type checkers": "if TYPE_CHECKING:\n    from tcprof.views.page import x",
    "in a class in a try": "try:\n    class A:\n        import tcprof.views.page as p\nexcept ImportError: pass",
    "relative": "from ..views import page",
}


@pytest.mark.parametrize("text", IMPORTS_OF_VIEWS.values(), ids=IMPORTS_OF_VIEWS)
def test_an_upward_import_is_seen(text):
    (found,) = find_upward_imports(package_of(analysis__fit=text, views__page=""))
    assert found.startswith("tcprof.analysis.fit:")
    assert found.endswith(" imports tcprof.views.page")
    assert find_upward_imports(package_of(cli__show=text, views__page="")) == []


def test_the_face_is_above_all_but_the_commands():
    below = package_of(analysis__fit="import tcprof", frames__schema="from tcprof import read", cli__x="import tcprof")
    assert [found.split(":")[0] for found in find_upward_imports(below)] == [
        "tcprof.analysis.fit",
        "tcprof.frames.schema",
    ]
    assert find_upward_imports(package_of(analysis__fit="from tcprof import units", units="")) == []


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


def test_circles_are_seen_through_deferred_imports():
    modules = package_of(
        analysis__a="def f():\n    from tcprof.analysis.b import x",
        analysis__b="if TYPE_CHECKING:\n    from tcprof.analysis import c",
        analysis__c="import tcprof.analysis.a",
        analysis__d="from tcprof.analysis.a import y",
    )
    (found,) = cycles_of(graph_of(modules))
    assert found == "tcprof.analysis.a -> tcprof.analysis.b -> tcprof.analysis.c -> tcprof.analysis.a"
    assert len(cycles_of({"a": {"b"}, "b": {"a"}, "c": {"c", "a"}})) == 2


def test_circles_between_parts_are_seen_where_no_module_is_in_one():
    modules = package_of(
        record__doctor__a="from tcprof.record.recording import plan",
        record__doctor__machine="",
        record__recording__plan="",
        record__recording__run="from tcprof.record.doctor.machine import x",
    )
    assert cycles_of(graph_of(modules)) == []
    assert cycles_of(siblings_of(graph_of(modules), "tcprof.record")) == ["doctor -> recording -> doctor"]
    assert find_unordered(modules, "tcprof.record", ("recording", "doctor")) == [
        "tcprof.record.recording imports ['doctor']"
    ]


def test_a_circle_through_the_package_itself_is_seen():
    modules = package_of(analysis="from tcprof.analysis.a import x", analysis__a="from tcprof.analysis import y")
    assert cycles_of(graph_of(modules)) == ["tcprof.analysis -> tcprof.analysis.a -> tcprof.analysis"]


def test_a_long_function_is_seen_without_its_docstring():
    body = "\n".join(f"    x{number} = 1" for number in range(LONGEST_FUNCTION - 1))
    assert find_long_functions(Module("tcprof.m", f'def f():\n    """A.\n\n    B.\n    """\n{body}\n')) == []
    assert find_long_functions(Module("tcprof.m", f"def f():\n{body}\n    return 1\n")) == ["tcprof.m.f: 41"]
