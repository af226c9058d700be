"""The package as syntax trees: its modules, and what each of them imports, wherever in a module that is."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "tcprof"


@dataclass(frozen=True)
class Module:
    """A module by its dotted name; a package is its ``__init__.py``."""

    name: str
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> list[tuple[int, str, str]]:
        """Line, module and name of every import: in functions, under ``TYPE_CHECKING``; the name is empty for all."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found += [(node.lineno, _absolute(self, node), alias.name) for alias in node.names]
        return found

    @property
    def top_levels(self) -> set[str]:
        return {module.split(".")[0] for _, module, _ in self.imports}


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    """The module that ``from ... import`` names; relative ones count although ruff bans them."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    around = parts[: len(parts) - node.level + module.is_package]
    return ".".join([*around, node.module] if node.module else around)


def read_modules(folder: Path = PACKAGE) -> dict[str, Module]:
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, path.read_text(encoding="utf-8"), is_package)
    return found
