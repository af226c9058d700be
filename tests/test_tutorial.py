"""The tutorial notebook runs, and %%tcprof says what it shows and why it cannot record."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel: pip install 'tcprof[dev]'")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel", reason="needs ipykernel: pip install 'tcprof[dev]'")
ROOT = Path(__file__).parent.parent


def run(cells: list[str], folder: Path) -> list[str]:
    """What the cells of a notebook show, as text."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return outputs(notebook, folder)


def outputs(notebook, folder: Path) -> list[str]:
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return [json.dumps(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture
def without_nsys(monkeypatch, tmp_path):
    monkeypatch.setenv("TCPROF_NSYS", str(tmp_path / "absent"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


@pytest.mark.filterwarnings("default")
def test_the_tutorial(without_nsys):
    """But for the recording, which says that it is left out."""
    notebook = nbformat.read(ROOT / "docs" / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    loaded, shown, advice, modules, roofline, compared, recorded = outputs(notebook, ROOT)
    assert loaded == "[]"
    assert "Step time 36.7 ms" in shown
    assert "'Use CUDA graphs': 50" in advice
    assert "lost_ns" in modules
    assert "application/vnd.plotly" in roofline
    assert "is faster: 0.79" in compared
    assert "tcprof: " in recorded
    assert "absent" in recorded
    assert "Traceback" not in recorded


@pytest.mark.filterwarnings("default")
def test_errors_are_messages(without_nsys, tmp_path):
    cells = ["%load_ext tcprof", "%tcprof absent.sqlite", "%tcprof", "%%tcprof a b\npass"]
    _, absent, none, several = run(cells, tmp_path)
    assert "tcprof: absent.sqlite does not exist." in absent
    assert "tcprof takes one name." in none
    assert "tcprof takes one name." in several
    assert "Traceback" not in absent + none + several
