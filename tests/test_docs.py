"""The documentation says what is: its commands run, every command has a page, links lead somewhere."""

import csv
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

import tcprof
from tcprof.cli import COMMANDS

pytestmark = pytest.mark.usefixtures("shared_reads")


ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "fixtures" / "README.md", *(ROOT / "docs").rglob("*.md")])


def console_commands(page: Path) -> list[str]:
    """The commands behind a prompt in a page's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def runnable() -> list[str]:
    """Commands that need no GPU, no installation and no file of the reader's own."""
    found = {command for page in PAGES for command in console_commands(page)}
    return sorted(command for command in found if command.startswith("tcprof") and "fixtures/" in command)


def test_there_are_commands_to_run():
    assert len(runnable()) >= 8


# By default one of each command; the README's own are run for their output.
FEW = list({command.split()[1]: command for command in reversed(runnable())}.values())


@pytest.mark.slow
@pytest.mark.parametrize("command", [*FEW])
def test_documented_commands_run(command, tmp_path, run, monkeypatch):
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / "workloads").symlink_to(ROOT / "workloads")
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(command)[1:])
    assert done.status == 0, done.err


def written_commands() -> list[str]:
    """All commands of tcprof in blocks of shell, workflows and consoles, without what follows or surrounds them."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```(?:console|sh|bash|yaml)\n(.*?)```", page.read_text(), flags=re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                command = re.search(r"(?:^|[\s/])(tcprof [a-z].*)", line)
                if command and not line.lstrip().startswith("#"):
                    found.append(_until_operator(shlex.split(command[1], comments=True)))
    return sorted(set(found))


def _until_operator(words: list[str]) -> str:
    ends = [place for place, word in enumerate(words) if word in ("|", "||", ">", "&&")]
    return shlex.join(words[: min(ends, default=len(words))])


# What these need: a GPU, a file of the reader's own, or a job.
NOT_RUN = [command for command in written_commands() if command not in runnable()]
RECORDING = [command for command in NOT_RUN if command.startswith("tcprof profile")]
OTHERS = [command for command in NOT_RUN if command not in RECORDING]


@pytest.mark.slow
@pytest.mark.parametrize("command", [*RECORDING[:4]])
def test_documented_recordings_are_prepared(command, tmp_path, run, monkeypatch):
    """They need a GPU: here what they would run is printed."""
    (tmp_path / "workloads").symlink_to(ROOT / "workloads")
    for name in ("train.py", "serve.py", "generate.py", "simulation.py"):
        (tmp_path / name).touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").touch()
    (tmp_path / "solver").write_text("#!/bin/sh\n")
    (tmp_path / "solver").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    done = run("profile", "--dry-run", *shlex.split(command)[2:])
    assert (done.status, "nsys" in done.out) == (0, True), done.err


@pytest.mark.parametrize("command", OTHERS)
def test_other_documented_commands_are_understood(command):
    words = shlex.split(command)[1:]
    import_module(f"tcprof.cli.{COMMANDS[words[0]]}")
    context = typer.Context(typer.main.get_command(tcprof.cli.app), info_name="tcprof")
    while hasattr(context.command, "commands") and words:
        name = words.pop(0)
        context = typer.Context(context.command.commands[name], parent=context, info_name=name)
    context.command.make_parser(context).parse_args(words)


def documented_python() -> list[object]:
    """The blocks of Python that use tcprof, each with what the page shows below it, if anything."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page.read_text(), flags=re.DOTALL)
        for number, (block, shown) in enumerate(blocks):
            if "import tcprof" in block:
                found.append(pytest.param(block, shown, id=f"{page.name}-{number}"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("block", "shown"), documented_python())
def test_documented_python_prints_what_is_shown(block, shown, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    exec(compile(block, "documentation", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert printed == shown or not shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_and_every_option_of_it_is_there(command, run):
    page = (ROOT / "docs" / f"{command}.md").read_text()
    assert page.startswith(f"# tcprof {command}\n")
    assert f"docs/{command}.md" in (ROOT / "README.md").read_text()
    others = {"--help", "--output", "--epochs", "--nproc-per-node"}
    options = set(re.findall(r"(--[a-z-]+)", run(command, "--help").out)) - others
    documented = page + (ROOT / "docs" / "ranges.md").read_text()
    assert sorted(option for option in options if option not in documented) == []


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_in_a_list_of_the_site():
    docs = ROOT / "docs"
    lists = re.findall(r"```\{toctree\}\n(?::[^\n]*\n)*\n(.*?)```", (docs / "index.md").read_text(), flags=re.DOTALL)
    listed = [line.partition("<")[2].rstrip(">") or line for each in lists for line in each.split("\n") if line]
    assert sorted(listed) == sorted(
        page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md") if page.name != "index.md"
    )


def test_metrics_page_is_up_to_date():
    code = "import runpy; print(runpy.run_path('docs/generate_metrics.py')['render'](), end='')"
    generated = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "docs" / "metrics.md").read_text() == generated, "run: python docs/generate_metrics.py"


TRANSCRIPT = re.compile(
    r"<!-- tcprof (?P<command>[^|\n]*?)(?: \| head -n (?P<lines>\d+))? -->\n```text\n(?P<shown>.*?)```", re.DOTALL
)
TRANSCRIPTS = [page for page in PAGES if TRANSCRIPT.search(page.read_text())]


@pytest.mark.golden
@pytest.mark.parametrize("page", TRANSCRIPTS, ids=lambda page: page.name)
def test_transcripts_show_what_the_commands_print(page, run, monkeypatch, pytestconfig):
    """All that a command prints, or its first lines and an ellipsis; ``--update-golden`` writes them anew."""
    monkeypatch.chdir(ROOT)

    def print_anew(found: re.Match[str]) -> str:
        done = run(*shlex.split(found["command"]))
        assert done.status == 0, done.err
        printed = done.out
        if found["lines"]:
            printed = "".join(printed.splitlines(keepends=True)[: int(found["lines"])]) + "…\n"
        return found[0].removesuffix(f"{found['shown']}```") + f"{printed}```"

    text = page.read_text(encoding="utf-8")
    printed = TRANSCRIPT.sub(print_anew, text)
    if pytestconfig.getoption("--update-golden"):
        page.write_text(printed, encoding="utf-8")
        return
    assert text == printed, "pytest -m golden --update-golden writes the transcripts anew"


def test_the_demo_has_a_transcript():
    demo = re.search(r"tcprof (compare fixtures.*?) -o", (ROOT / "Makefile").read_text())
    assert demo is not None
    assert demo[1] in [found["command"] for found in TRANSCRIPT.finditer((ROOT / "docs" / "compare.md").read_text())]


def test_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert [found["command"].split()[0] for found in TRANSCRIPT.finditer(text)] == ["show", "advise", "compare"]


def test_there_are_ten_recipes():
    assert len(re.findall(r"^### \d+\. ", (ROOT / "docs" / "python.md").read_text(), flags=re.MULTILINE)) == 10
    recipes = [each for each in documented_python() if str(each.id).startswith("python.md") and each.values[1]]
    assert len(recipes) == 10


def test_public_names_are_complete():
    assert dir(tcprof) == sorted(tcprof.__all__)
    assert all(getattr(tcprof, name).__doc__ for name in tcprof.__all__ if name != "__version__")
    assert tcprof.__version__ in (ROOT / "CHANGELOG.md").read_text()


# What docs/lessons.md says in words holds in the figures of its runs and recordings.

FIXTURES = ROOT / "fixtures"


@pytest.fixture(scope="module")
def runs():
    with (FIXTURES / "runs.csv").open(newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_the_tables_are_those_of_the_fixtures():
    code = (
        "import runpy, pathlib; page = runpy.run_path('docs/generate_lessons.py'); print(page['render']("
        "pathlib.Path('docs/lessons.md').read_text()), end='')"
    )
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "lessons.md").read_text() == made, "run: make lessons"


def test_what_a_graph_hides_is_a_dash_and_no_zero():
    (row,) = re.findall(r"^\| `jax_mlp.py` \|.*$", (ROOT / "docs" / "lessons.md").read_text(), re.MULTILINE)
    assert row.endswith("| 64.6 % | 99.8 % | – |")


def test_every_run_of_the_gallery_is_there_and_in_the_lessons(runs):
    page = (ROOT / "docs" / "lessons.md").read_text()
    named = set(re.findall(r"[a-z]\w+", " ".join(re.findall(r"<!-- (?:runs|printed|rates|ranges): ([^>]*) -->", page))))
    assert named == set(runs)
    assert all((ROOT / "workloads" / run["command"].split()[0]).exists() for run in runs.values())
