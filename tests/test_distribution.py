"""What is published has all that it needs: the source distribution what its tests read, the wheel what tcprof reads."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

import tcprof

ROOT = Path(__file__).parent.parent
NOT_NEEDED = (".ci/", ".gitignore")  # of those who have the repository


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the source distribution, unpacked, and the wheel."""
    pytest.importorskip("hatchling", reason="needs hatchling: pip install hatchling")
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    return folder


@pytest.fixture(scope="module")
def unpacked(built):
    (folder,) = (built / "unpacked").iterdir()
    return folder


def test_how_to_cite_it_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["title"], cited["version"]) == ("tcprof", tcprof.__version__)


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem
)
def test_forms_for_issues_ask_for_a_saved_analysis_and_never_for_a_report(form):
    known = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert known["name"]
    text = " ".join(form.read_text(encoding="utf-8").split())
    assert "Never attach a report" in text
    assert "tcprof save RECORDING" in text


WORKFLOWS = {path.stem: path for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def test_workflows_run_what_the_makefile_has_on_the_pythons_that_are_declared():
    texts = {name: path.read_text(encoding="utf-8") for name, path in WORKFLOWS.items()}
    assert set(texts) == {"test", "docs", "release"}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {target for text in texts.values() for target in re.findall(r"run: make ([a-z-]+)", text)} <= targets
    jobs = {name: yaml.safe_load(text)["jobs"] for name, text in texts.items()}
    declared = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lowest = jobs["test"]["all"]["steps"][1]["with"]["python-version"]
    assert [lowest, *jobs["test"]["python"]["strategy"]["matrix"]["python"]] == declared
    assert jobs["release"]["publish"]["permissions"] == {"id-token": "write"}


@pytest.mark.slow
def test_the_source_distribution_has_every_file_of_the_repository(unpacked):
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout of the repository")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = [name for name in listed.split("\0") if (ROOT / name).is_file()]
    missing = [name for name in tracked if not name.startswith(NOT_NEEDED) and not (unpacked / name).is_file()]
    assert not missing, "\n".join(["", *missing])


@pytest.mark.slow
def test_its_tests_find_what_they_read(unpacked):
    """All are found, and those run that read fixtures, docs, benchmarks, workloads and the Makefile."""
    pytest_in = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    reading = [f"tests/test_{name}.py" for name in ("docs", "cli_workloads", "layers", "names")]
    for arguments in (["--collect-only"], reading):
        done = subprocess.run([*pytest_in, *arguments], cwd=unpacked, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.slow
def test_the_wheel_has_all_that_a_command_needs(built, tmp_path):
    with_wheel = tmp_path / "installed"
    (wheel,) = built.glob("*.whl")
    shutil.unpack_archive(wheel, with_wheel, "zip")
    environment = {**os.environ, "PYTHONPATH": str(with_wheel)}
    fixture = ROOT / "fixtures" / "mlp_fp16.sqlite"
    for command in (
        ["help", "MFU"],
        ["ranges", fixture],
        ["report", fixture, "-o", tmp_path / "page.html"],
        ["workloads"],
    ):
        run = [sys.executable, "-m", "tcprof", *map(str, command)]
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert str(with_wheel / "tcprof" / "_workloads") in done.stdout
    assert (tmp_path / "page.html").stat().st_size > 500_000
