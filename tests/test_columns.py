"""A column that no frame has is told here, since no type checker sees it: ``frame["aktive_ns"]``.

A name that a module asks a frame for is known if a Schema or a data file has it, or if some module writes it where none
is asked for: as a key, a keyword, a target, or in a list. In f-strings such words are put together.
"""

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest
from source_tree import PACKAGE, read_modules

from tcprof.frames import SCHEMAS

COLUMN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
ASKING = {"groupby", "sort_values", "set_index", "drop_duplicates", "duplicated", "dropna", "explode", "merge", "pop"}
ASKING_KEYWORDS = {"on", "left_on", "right_on", "by", "subset"}
MODULES = read_modules()


def keys_of(data: object) -> set[str]:
    """All keys of nested dicts."""
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
