"""What docs/lessons.md says in words holds in the figures of its runs and recordings."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("shared_reads")

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, str]]:
    with (FIXTURES / "runs.csv").open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_the_tables_are_those_of_the_fixtures() -> None:
    code = (
        "import runpy, pathlib; page = runpy.run_path('docs/generate_lessons.py'); print(page['render']("
        "pathlib.Path('docs/lessons.md').read_text()), end='')"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "lessons.md").read_text() == made, "run: make lessons"


def test_what_a_graph_hides_is_a_dash_and_no_zero() -> None:
    (row,) = re.findall(r"^\| `jax_mlp.py` \|.*$", (ROOT / "docs" / "lessons.md").read_text(), re.MULTILINE)
    assert row.endswith("| 64.6 % | 99.8 % | – |")


def test_every_run_of_the_gallery_is_there_and_in_the_lessons(runs: dict[str, dict[str, str]]) -> None:
    page = (ROOT / "docs" / "lessons.md").read_text()
    named = set(re.findall(r"[a-z]\w+", " ".join(re.findall(r"<!-- (?:runs|printed|rates|ranges): ([^>]*) -->", page))))
    assert named == set(runs)
    assert all((ROOT / "workloads" / run["command"].split()[0]).exists() for run in runs.values())
