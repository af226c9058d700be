"""Finds the columns that a module asks of a frame, and tells those that nobody gives it.

Types say nothing about columns, so that ``frame["aktive_ns"]`` passes every type check. A name is known if a Schema has
it, or if it is introduced by the module, by one that it imports, or by one that imports it: with ``assign``, as a key
of a dict, as the target of a ``rename``, with ``frame["name"] =``. Only such words count as can be columns: snake_case.
Keys of dicts that were read from elsewhere, such as nsys's JSON or the environment, are written in another way.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product

from source_tree import Module, graph_of, reachable

# Methods whose first argument names columns, and arguments that do at any position.
BY_POSITION = {
    "groupby",
    "sort_values",
    "set_index",
    "drop_duplicates",
    "duplicated",
    "dropna",
    "explode",
    "merge",
    "pop",
}
BY_NAME = {"on", "left_on", "right_on", "by", "subset"}
# Methods whose keyword arguments, or whose argument of that name, are new columns.
MAKERS = {"assign", "agg", "aggregate", "dict", "DataFrame"}
NAMING = {"name", "names", "columns", "var_name", "value_name", "suffixes"}
BY_COLUMN = {"agg", "aggregate", "rename", "astype", "fillna"}
SELECTING = {"drop", "pivot", "pivot_table", "filter", "reindex"}
PART = re.compile(r"[a-z0-9_]+")
COLUMN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
MOST = 1000  # texts of one f-string: one with more is no column
FACE = "tcprof"  # imports from everywhere, and gives no frame to anyone in the package
Strings = Mapping[str, frozenset[str]]


def find_unknown_columns(modules: Mapping[str, Module], known: set[str]) -> list[str]:
    """The places where a column is asked for that neither a Schema nor a module that it deals with introduces."""
    graph = graph_of(modules)
    introduced = {name: introduced_by(module) for name, module in modules.items()}
    found = []
    for name, module in modules.items():
        above = [other for other in graph if name in graph[other] and other != FACE]
        around = {name, *above}.union(*(reachable(graph, other) for other in (name, *above)))
        own = known.union(*(introduced[other] for other in around))
        found += [f"{name}:{line} asks for column {asked!r}" for line, asked in asked_by(module) if asked not in own]
    return found


def asked_by(module: Module) -> list[tuple[int, str]]:
    """Line and name of each column that a module reads, as far as it is written there, or in a constant."""
    names = constants_of(module)
    types = set(_nodes_of_types(module.tree))
    asking = (part for node in ast.walk(module.tree) if node not in types for part in _asking(node))
    return sorted(found for part in asking for found in _literals(part, names) if COLUMN.fullmatch(found[1]))


def _asking(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of a node that name columns of a frame."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield node.slice
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in BY_POSITION and node.args:
            yield node.args[0]
        yield from (word.value for word in node.keywords if word.arg in BY_NAME)
        if _called(node) in SELECTING:
            yield from (word.value for word in node.keywords if word.arg in {"columns", "index", "values"})
        if _called(node) in {"agg", "aggregate"}:  # agg(total=("name", "sum"))
            yield from (word.value.elts[0] for word in node.keywords if isinstance(word.value, ast.Tuple))
        yield from (key for keyed in _by_column(node) for key in keyed.keys if key)


def _by_column(node: ast.Call) -> Iterator[ast.Dict]:
    """Dicts whose keys are columns that must be there: of agg({"name": "sum"}), rename(columns={"name": "new"})."""
    if _called(node) in BY_COLUMN:
        given = [*node.args, *(word.value for word in node.keywords if word.arg in {"columns", "dtype", "value"})]
        yield from (each for each in given if isinstance(each, ast.Dict))


def _literals(node: ast.expr, names: Strings) -> Iterator[tuple[int, str]]:
    """The strings of an expression that are columns if it selects some, with their lines; constants by their names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    elif isinstance(node, ast.Name):
        yield from ((node.lineno, text) for text in names.get(node.id, ()))
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for each in node.elts:
            yield from _literals(each, names)
    elif isinstance(node, ast.Starred):
        yield from _literals(node.value, names)
    elif isinstance(node, ast.BinOp):
        yield from _literals(node.left, names)
        yield from _literals(node.right, names)
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body, names)
        yield from _literals(node.orelse, names)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"list", "tuple", "sorted"}:
        for each in node.args:
            yield from _literals(each, names)


def _nodes_of_types(tree: ast.Module) -> Iterator[ast.AST]:
    """What is in annotations, or lists the values of a Literal: these are types, and no columns."""
    for node in ast.walk(tree):
        types = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            types.append(node)
        for each in types:
            if each is not None:
                yield from ast.walk(each)


def constants_of(module: Module) -> Strings:
    """The strings of each constant at the top of a module that lists some, in letters only."""
    found: dict[str, frozenset[str]] = {}
    for node in module.tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            texts = frozenset(text for _, text in _literals(node.value, found))
            found |= {target.id: texts for target in targets if isinstance(target, ast.Name) and texts}
    return found


@cache
def introduced_by(module: Module) -> frozenset[str]:
    """All names that a module gives to columns or to keys."""
    names = _bindings(module.tree)
    found: set[str] = set()
    asked = {each for node in ast.walk(module.tree) if isinstance(node, ast.Call) for each in _by_column(node)}
    for node in ast.walk(module.tree):
        for part in _naming(node) if node not in asked else ():
            found |= _may_be(part, names)
        if isinstance(node, ast.Call) and _called(node) in MAKERS:
            found |= {word.arg for word in node.keywords if word.arg}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)  # a field of a dataclass, which may become a column
    merged = {f"{name}{suffix}" for name in found for suffix in ("_x", "_y")}  # what merge calls those of both sides
    return frozenset(found | merged)


def _naming(node: ast.AST) -> Iterator[ast.expr]:
    """The parts of a node that name something new."""
    if isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key)
    elif isinstance(node, ast.DictComp):
        yield node.key
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield node.slice
    elif isinstance(node, ast.Assign) and any(isinstance(each, ast.Attribute) for each in node.targets):
        yield node.value  # frame.columns = [...]
    elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
        yield node.value.elts[0]  # yield "name", values
    elif isinstance(node, ast.Call):
        if _called(node) not in SELECTING | BY_COLUMN:
            yield from (word.value for word in node.keywords if word.arg in NAMING)
        if _called(node) == "rename":
            yield from node.args
            yield from (
                value for word in node.keywords if isinstance(word.value, ast.Dict) for value in word.value.values
            )
        if _called(node) in {"agg", "aggregate", "fromkeys", "Column"}:
            yield from (each for each in node.args if not isinstance(each, ast.Dict))


def _called(node: ast.Call) -> str:
    """The last word of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _bindings(tree: ast.Module) -> dict[str, frozenset[str]]:
    """All strings that a name may stand for anywhere in a module: rather too many, as they only ever allow."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            pairs += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs.append((node.target, node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            pairs.append((node.target, node.iter))
    found: dict[str, frozenset[str]] = {}
    for _ in range(3):  # a name may be bound to another that is bound below
        for target, value in pairs:
            texts = _may_be(value, found)
            for name in ast.walk(target) if texts else ():
                if isinstance(name, ast.Name):
                    found[name.id] = found.get(name.id, frozenset()) | texts
    return found


def _may_be(node: ast.expr, names: Strings) -> frozenset[str]:
    """All strings that an expression, or what can be iterated in it, may be; of an f-string all combinations."""
    if isinstance(node, ast.Constant):
        return frozenset([node.value] if isinstance(node.value, str) and PART.fullmatch(node.value) else [])
    if isinstance(node, ast.Name):
        return names.get(node.id, frozenset())
    if isinstance(node, ast.JoinedStr):
        parts = [_may_be(part, names) for part in node.values]
        return frozenset(map("".join, product(*parts)) if math.prod(map(len, parts)) <= MOST else ())
    if isinstance(node, ast.FormattedValue):
        return _may_be(node.value, names)
    if isinstance(node, ast.Dict):
        parts = [key for key in node.keys if key]
    elif isinstance(node, ast.Call):
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    elif isinstance(node, ast.Subscript):
        parts = [node.value]
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        parts = [node.elt]
    else:
        parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
    return frozenset().union(*(_may_be(part, names) for part in parts))
