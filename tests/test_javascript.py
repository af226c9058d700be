"""The scripts of the pages, by node's test runner, and their bundles. Skipped aloud without node or its packages."""

import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from importlib.resources import files
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

WEB = Path(__file__).parent.parent / "web"
FILES = sorted((WEB / "test").glob("*.test.ts"))
BUNDLES = ("page.js", "theme.js")
LARGEST = 115_000  # bytes of both; the timeline draws its axes, gaps and calls itself


def test_no_script_imports_what_imports_it():
    imports = re.compile(r'from "(\.[^"]+)"')
    graph = {
        path: {(path.parent / name).resolve().with_suffix(".ts") for name in imports.findall(path.read_text())}
        for path in (WEB / "src").rglob("*.ts")
    }
    assert set().union(*graph.values()) <= set(graph)
    TopologicalSorter(graph).prepare()  # which finds circles


def build(*arguments):
    """Run the script that builds the bundles and the tests."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is absent: install Node.js 18 or newer")
    if not (WEB / "node_modules").is_dir():
        pytest.skip("web/node_modules is absent: 'make test' fetches it where npm can")
    command = [node, WEB / "build.mjs", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_there_are_tests_of_the_scripts():
    assert len(FILES) >= 3
    assert [path.name for path in FILES if "test(" not in path.read_text()] == [], "they prove nothing"


def test_scripts_of_the_page():
    done = build("--test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[1]) >= len(FILES)


def test_a_bundle_that_its_sources_do_not_give_is_refused(tmp_path):
    name = BUNDLES[0]
    for each in BUNDLES:
        (tmp_path / each).write_text(read_bundle(each), encoding="utf-8")
    assert build("--check", tmp_path).stderr == ""
    (tmp_path / name).write_text(read_bundle(name).replace('"use strict";', ""), encoding="utf-8")
    done = build("--check", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        f"{name} in tcprof/render/html/assets is not what web/src gives: run 'make web' and commit it.\n"
    )


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_leaves_no_globals_and_cannot_end_its_element(name):
    text = read_bundle(name)
    header, body = text.split("\n", 1)
    assert "tcprof, Apache-2.0. Generated from web/src by 'make web'" in header
    assert body.startswith('"use strict";(()=>{')
    assert body.endswith("})();\n")
    assert "</script" not in text


def test_scripts_of_a_page_beside_plotly_are_small():
    assert sum(len(read_bundle(name).encode()) for name in BUNDLES) <= LARGEST


def read_bundle(name):
    return (files("tcprof.render.html") / "assets" / name).read_text(encoding="utf-8")
