"""All sentences that users see, read from the code.

They stand in ``tests/golden/sentences.txt``, for people to read: tests assert rules, severities and numbers, and
``pytest -m golden --update-golden tests/test_wording.py`` writes the file anew.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEWEST_WORDS = 4


def list_sentences(path: Path) -> list[tuple[int, str]]:
    """Texts of a module that read as sentences, each with its line: not docstrings, but those of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_command = "cli" in path.relative_to(ROOT).parts
    silent = set(_docstrings(tree, is_command))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in silent or id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = " ".join(_text_of(node).split())
        is_expression = re.search(r"\(\?|\\[a-z]|\w\[\w+[],]|^(?:SELECT|CREATE|PRAGMA|ATTACH|attach) ", text)
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= FEWEST_WORDS and " " in text and not is_expression:
            found.append((node.lineno, text))
    return sorted(found)


def _docstrings(tree: ast.AST, are_commands: bool) -> Iterator[int]:
    """Docstrings, but for those that are a command's help."""
    shown = {
        id(node.body[0])
        for node in ast.walk(tree)
        if are_commands and isinstance(node, ast.FunctionDef) and any(map(_is_command, node.decorator_list))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and id(node) not in shown:
            yield id(node.value)


def _is_command(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Attribute) and called.attr in ("command", "callback")


def _text_of(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


def modules() -> list[Path]:
    return sorted(path for path in (ROOT / "tcprof").rglob("*.py") if "annotate" not in path.parts)


def render_catalogue() -> str:
    parts = []
    for module in modules():
        if sentences := list_sentences(module):
            lines = "".join(f"  {text}\n" for _, text in sentences)
            parts.append(f"{module.relative_to(ROOT).as_posix()}\n{lines}")
    return "\n".join(parts)
