"""``tcprof help TERM``: the terms of docs/glossary.md, which a wheel takes along inside the package."""

from pathlib import Path

from tcprof.errors import UsageError

_PACKAGE = Path(__file__).parents[1]
_FILES = (_PACKAGE / "_glossary.md", _PACKAGE.parent / "docs" / "glossary.md")


def read_glossary() -> dict[str, tuple[str, dict[str, str]]]:
    """Read each term with its meaning, and what other tools call it."""
    text = next(file for file in _FILES if file.is_file()).read_text(encoding="utf-8").replace("`", "")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {
        term: (meaning, {tool: name for tool, name in zip(head[2:], names, strict=True) if name != "–"})
        for term, meaning, *names in rows
    }


def explain_term(wanted: str) -> str:
    """Explain a term in a sentence, with what other tools call it."""
    terms = read_glossary()
    key = wanted.lower().replace("-", " ")
    for term, (meaning, tools) in terms.items():
        plain = term.lower().replace("-", " ")
        if key in (plain, *plain.split(", ")):
            names = "".join(f"\n  {tool}: {name}" for tool, name in tools.items())
            return f"{term}: {meaning}.{names}"
    raise UsageError(f"{wanted} is neither a command nor a term.", f"The terms are: {'; '.join(terms)}.")
