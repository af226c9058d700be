"""Python runs this at its start, in each process that has this folder on PYTHONPATH; the user's own runs after it.

The folder is put there by 'tcprof profile'. This Python need not have tcprof installed: the package is found beside
this file.
"""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "tcprof.annotate"


def _annotate() -> None:
    if PACKAGE in sys.modules:
        return
    folder = HERE.parent
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    module.start()


def _run_the_users() -> None:
    """Run the sitecustomize that Python would have found without us, or say as Python would that there is none."""
    sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _annotate()
except Exception as error:  # the program is not ours to stop
    sys.stderr.write(f"tcprof: nothing is annotated: {type(error).__name__}: {error}\n")
_run_the_users()
