"""The training scripts that come with tcprof: what each is there to show, and the command that records it.

The scripts are read, never imported: most of them need torch, and tcprof does not.
"""

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import INSTALL_AGAIN, InputError

_PACKAGE = Path(__file__).parent
# A wheel takes the folder along inside the package; in a checkout it lies beside the package.
FOLDERS = (_PACKAGE / "_workloads", _PACKAGE.parent / "workloads")
_PROFILE = "tcprof profile"
_PROFILE_PART = f"{_PROFILE} --capture-range cudaProfilerApi"


@dataclass(frozen=True)
class Workload:
    """A script of the folder."""

    name: str  # its file name
    summary: str  # what it does: the first line of its docstring, or of the comment at the top of a CUDA program
    point: str  # what it is there to show: the paragraph below
    command: str  # what records it, from a shell in the folder that the command is made for


def find_workloads() -> Path:
    """Find the folder of the scripts."""
    for folder in FOLDERS:
        if folder.is_dir():
            return folder
    raise InputError("This tcprof came without its workloads.", f"{INSTALL_AGAIN}.")


def read_workloads(folder: Path, relative_to: Path) -> list[Workload]:
    """Read the scripts of a folder by name, with commands for another folder, without the modules that they share."""
    workloads = []
    for path in sorted(folder.iterdir()):
        about = _about(path) if path.suffix in (".py", ".cu") else None
        if about is None:
            continue
        summary, point, *_ = (" ".join(part.split()) for part in [*about.strip().split("\n\n"), ""])
        if not summary:
            raise InputError(f"{path} does not say what it does.", "Add a first line that says what it does.")
        script = path.relative_to(relative_to) if path.is_relative_to(relative_to) else path
        workloads.append(Workload(path.name, summary, point, _command(script, _is_unprepared(path))))
    return workloads


def _about(path: Path) -> str | None:
    """Read a script's docstring, or the comment at the top of a CUDA program; None for a shared module."""
    try:
        source = path.read_text(encoding="utf-8")
        module = ast.parse(source) if path.suffix == ".py" else None
    except (OSError, ValueError, SyntaxError) as error:
        raise InputError(f"{path} cannot be read: {error}.", "Fix it, or remove it from the folder.") from error
    if module is None:
        lines = source.splitlines()
        comment = lines[: next((n for n, line in enumerate(lines) if not line.startswith("//")), len(lines))]
        return "\n".join(line.removeprefix("//") for line in comment)
    tests = [ast.unparse(node.test) for node in module.body if isinstance(node, ast.If)]
    return ast.get_docstring(module) or "" if "__name__ == '__main__'" in tests else None


def _is_unprepared(path: Path) -> bool:
    """Tell whether a script uses PyTorch and nothing that opens ranges: it is recorded whole."""
    if path.suffix != ".py":
        return False
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    beside = {script.stem for script in path.parent.glob("*.py")}
    return "torch" in names and not names & {"nvtx", *beside}


def _command(path: Path, is_unprepared: bool) -> str:
    """Write the command that records a script; a CUDA program is compiled first."""
    script = shlex.quote(str(path))
    if path.suffix == ".py":
        return f"{_PROFILE if is_unprepared else _PROFILE_PART} {script}"
    program = shlex.quote(path.stem)
    return f"nvcc -O3 -arch=native {script} -o {program} && {_PROFILE_PART} ./{program}"
