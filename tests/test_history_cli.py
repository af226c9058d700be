"""``tcprof history`` as its user meets it, and runs of a store wherever a recording is named."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from builders import FIXTURES
from commands import Run
from slow import first_of

from tcprof.history.store import open_store

FP16, FP32 = FIXTURES / "mlp_fp16.sqlite", FIXTURES / "mlp_fp32.sqlite"
pytestmark = pytest.mark.usefixtures("shared_reads")
COMMANDS = ("add", "list", "show", "export", "rm")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with two commits on main; the commands run in a folder of it."""
    for variable in ("TCPROF_STORE", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"):
        monkeypatch.delenv(variable, raising=False)
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "A")
        monkeypatch.setenv(f"{name}_EMAIL", "a@example.com")
        monkeypatch.setenv(f"{name}_DATE", "2026-03-04T05:06:07+02:00")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for message in ("one", "two"):
        git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", message)
    folder = tmp_path / "inner"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def add(run: Run, *args: object) -> dict[str, object]:
    done = run("history", "add", *args, "--program", "mlp", "--keep", "--format", "json")
    assert done.status == 0, done.err
    return json.loads(done.out)


def test_a_run_has_the_commit_branch_and_time_of_git(project, run):
    done = run("history", "add", FP32, "--program", "mlp", "--label", "first", "--config", "batch=8")
    assert (done.status, done.err) == (0, "")
    assert re.search(r"mlp_fp32\.sqlite .* 1\n$", done.out)
    assert (project / ".tcprof" / "history.db").exists()
    assert git(project, "status", "--porcelain") == ""
    (found,) = json.loads(run("history", "list", "--format", "json").out)["runs"]
    assert (found["commit"], found["branch"], found["label"]) == (git(project, "rev-parse", "HEAD"), "main", "first")
    assert (found["commit_utc"], found["config"]) == ("2026-03-04T03:06:07Z", "batch=8")
    assert run("history", "add", FP32, "--program", "mlp").status == 0
    assert len(open_store().runs()) == 1


def test_a_recording_without_a_program_makes_no_store(project, run):
    done = run("history", "add", FP32)
    assert (done.status, "--program NAME" in done.err) == (2, True)
    assert not (project / ".tcprof").exists()


def test_a_commit_is_given(project, run):
    first = git(project, "rev-parse", "HEAD~1")
    git(project, "checkout", "--quiet", "--orphan", "side")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "three")
    done = run("history", "add", FP32, "--program", "mlp", "--commit", first[:8])
    assert "--branch" in done.err  # it is not of the one that is checked out
    unknown = run("history", "add", FP16, "--program", "mlp", "--commit", "feedbeef", "--branch", "b")
    assert unknown.err.startswith("note: feedbeef ")
    runs = open_store().runs().set_index("file")
    assert runs.loc["mlp_fp32.sqlite", ["commit", "branch"]].tolist() == [first, ""]
    assert runs.loc["mlp_fp16.sqlite", ["commit", "branch", "commit_utc"]].tolist() == ["feedbeef", "b", ""]
    option = run("history", "add", FP16, "--program", "mlp", "--commit", "--output=x")
    assert option.err.startswith("note: --output=x ")
    assert not (project / "inner" / "x").exists()


def test_without_git_the_store_lies_in_the_folder(tmp_path, run, monkeypatch):
    monkeypatch.delenv("TCPROF_STORE", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    done = run("history", "add", FP32, "--program", "mlp")
    assert (done.status, "--branch" in done.err) == (0, True)
    assert (tmp_path / ".tcprof" / "history.db").exists()


@pytest.mark.usefixtures("project")
def test_runs_are_named_wherever_a_recording_is(run):
    add(run, FP32)
    add(run, FP16, "--commit-time", "2026-03-05T00:00:00Z")
    shown = run("show", "main@latest")
    assert shown.out == run("show", FP16).out
    assert run("show", "main@-2").out == run("show", FP32).out
    commit = open_store().runs()["commit"].iloc[0]
    compared = json.loads(run("compare", "main@-2", FP16, "--format", "json").out)
    expected = json.loads(run("compare", f"main@-2={FP32}", FP16, "--format", "json").out)
    assert compared["rows"] == expected["rows"]
    both = run("compare", "main@-5..", f"commit:{commit[:6]}")  # the same two
    assert (both.status, "same recording" in both.err) == (2, True)
    labelled = run("compare", "before=main@-2", "main@latest:mlp")
    assert (labelled.status, "before" in labelled.out) == (0, True)


@pytest.mark.usefixtures("project")
@first_of(1)("name", ["main@-9", "commit:abcdef", "main@latest:other"])
def test_a_run_that_is_not_there_is_said(run, name):
    add(run, FP32)
    done = run("show", name)
    assert done.status == 3
    assert not re.search("defect|Traceback", done.err)


@pytest.mark.usefixtures("project")
def test_runs_of_several_programs_are_distinguished(run):
    add(run, FP32)
    run("history", "add", FP16, "--program", "other", "--keep")
    done = run("show", "main@latest")
    assert (done.status, "several programs: mlp, other" in done.err) == (3, True)
    assert run("show", "main@latest:mlp").out == run("show", FP32).out


@pytest.mark.usefixtures("project")
def test_an_analysis_that_was_not_kept_is_said(run):
    run("history", "add", FP32, "--program", "mlp")
    done = run("compare", "main@latest", FP16)
    assert done.status == 3
    assert "--keep" in done.err


@pytest.mark.usefixtures("project")
@first_of(1)("output", ["text", "json", "markdown", "junit"])
def test_a_first_run_passes_and_says_so(run, output):
    gate = ("--fail-if", "time > +5%", "--strict", "--format", output)
    for known in (False, True):  # without a store, and without a run of the branch
        done = run("compare", "main@latest", FP16, *gate)
        assert done.status == 0, done.err
        assert ("no baseline yet" in done.out) == (output != "json")
        assert re.search("There is no store|has no run of main", " ".join(done.out.split()))
        if not known:
            add(run, FP32, "--branch", "dev")
    assert ("It has runs of dev" in done.out) == (output != "junit")
    assert run("compare", FP16, "main@latest").status == 3  # what is new must be there


def test_the_conditions_of_a_project_are_judged_against_the_store(project, run):
    add(run, FP16)
    toml = project / "pyproject.toml"
    toml.write_text('[tool.tcprof.gate]\nfail-if = ["time > +5%"]\n')
    done = run("compare", "main@latest", FP32, "--gate", toml)
    assert (done.status, "Gate failed" in done.out) == (1, True)


@pytest.mark.usefixtures("project")
def test_a_run_is_shown_exported_and_removed(run):
    add(run, FP32)
    for width in ("main@latest", "1"):
        shown = run("history", "show", width)
        assert max(map(len, shown.out.splitlines())) <= 80
        assert re.search(r"Step time +3\.65 ms", shown.out)
    figures = json.loads(run("history", "show", "1", "--format", "json").out)["figures"]
    exported = json.loads(run("history", "export", "--format", "json").out)
    assert [each["value"] for each in exported["points"]] == [each["value"] for each in figures]
    assert run("history", "export", "--format", "csv").out.count("\n") == 1 + len(figures)
    assert run("history", "rm", "7").status == 2
    assert run("history", "rm", "1").status == 0
    assert json.loads(run("history", "list", "--format", "json").out)["runs"] == []
    assert run("history", "show", "1").status == 2


@pytest.mark.usefixtures("project")
def test_wrong_use_is_explained(run):
    for args, said in (
        (["list"], "There is no store"),
        (["add", FP32], "does not name its program"),
        (["add", FP32, "--config", "batch"], "is not KEY=VALUE"),
        (["add", FP32, "--config", "a=1", "--config", "a=2"], "gives a twice"),
        (["add", FP32, "--commit-time", "yesterday"], "is not a time"),
        (["list", "--store", "mysql://x/y"], "cannot use this mysql:// address"),
    ):
        done = run("history", *args)
        assert (done.status in (2, 3), said in " ".join(done.err.split())) == (True, True), done.err


def test_help_explains_the_group_and_its_commands(run):
    text = run("history").out
    assert text == run("history", "--help").out == run("help", "history").out
    page = (Path(__file__).parent.parent / "docs" / "history.md").read_text()
    for command in COMMANDS:
        assert re.search(rf"^│ {command} ", text, re.MULTILINE)
        said = run("help", "history", command).out
        assert "Example" in said
        assert max(map(len, said.splitlines())) <= 80
        assert [option for option in re.findall(r"(--[a-z-]+)", said) if option not in page + "--help"] == []
    assert run("history", "add").err.endswith("See: tcprof help history add\n")


def test_what_cannot_be_read_makes_no_store(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TCPROF_STORE", raising=False)
    assert run("history", "add", "absent.sqlite").status == 3
    assert list(tmp_path.iterdir()) == []
    done = run("compare", "main@latest", FIXTURES / "mlp_fp16.sqlite")
    assert done.status == 0
    assert (done.out + done.err).count("Nothing to compare with") == 1
