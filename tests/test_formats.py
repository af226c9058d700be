"""Every format keeps what ``tcprof.render.formats`` asks of one, and none takes the file names of another."""

import html
import io
import re
from pathlib import Path

import pytest
from builders import small_trace
from commands import Run

from tcprof.render.formats import FORMATS, PLAIN, load_format
from tcprof.render.formats.markdown import escape
from tcprof.views.document import Document, Notes

pytestmark = pytest.mark.usefixtures("shared_reads")

# What the documents of commands have; a format that needs more cannot show them.
HAS = {
    **dict.fromkeys(("ranges", "kernels", "timeline", "show", "chips"), ("rows",)),
    "compare": ("rows", "gate"),
    **dict.fromkeys(("doctor", "workloads"), ()),
}
TAKES = {
    command: {name for name in FORMATS if getattr(load_format(name), "NEEDS", "") in ("", *has)}
    for command, has in HAS.items()
}
PARTS = {"faults", "warnings", "base", "gate", "doubt"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_it_holds_and_what_its_files_are_called(name: str) -> None:
    form = load_format(name)
    assert set(form.HAS) <= PARTS
    assert all(suffix.startswith(".") for suffix in form.SUFFIXES)
    assert getattr(form, "NEEDS", "") in ("", "rows", "gate")


def test_no_two_formats_share_a_file_name() -> None:
    suffixes = [suffix for name in FORMATS for suffix in load_format(name).SUFFIXES]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("name", [name for name in FORMATS if not getattr(load_format(name), "NEEDS", "")])
def test_hostile_text_is_harmless(name: str) -> None:
    hostile = "a\x1b[31mb\u202ec"
    document = Document(kind="test", parts=(Notes((hostile,)),), faults=(hostile,))
    written = io.StringIO()
    load_format(name).write(document, PLAIN, written)
    assert not {"\x1b", "\u202e"} & set(written.getvalue())


@pytest.mark.parametrize(("command", "takes"), TAKES.items())
def test_a_command_offers_the_formats_that_show_its_document_and_refuses_the_others(
    command: str, takes: set[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    offered = re.search(r"--format +([a-z|]+)", run(command, "--help").out)
    assert offered is not None
    assert set(offered[1].split("|")) == takes
    recordings = {"compare": ["a", "b"], "doctor": [], "workloads": [], "chips": []}.get(command, ["a"])
    for name in set(FORMATS) - takes:
        refused = run(command, *recordings, "--format", name)
        assert refused.status == 2
        assert f"'{name}' is not one of {', '.join(sorted(takes))}." in " ".join(refused.err.split())
        for suffix in load_format(name).SUFFIXES:
            refused = run(command, *recordings, "-o", tmp_path / f"x{suffix}")
            assert refused.status == 2
            assert "has the suffix of a format that this command does not write" in refused.err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("command", [command for command in TAKES if command not in ("compare", "doctor")])
def test_every_format_that_is_offered_shows_the_document(command: str, run: Run, tmp_path: Path) -> None:
    recordings = [] if command in ("chips", "workloads") else [small_trace(tmp_path)]
    for name in TAKES[command]:
        by_option = run(command, *recordings, "--format", name)
        form = load_format(name)
        named = [tmp_path / f"out{suffix}" for suffix in form.SUFFIXES]
        written = [run(command, *recordings, "-o", output).status for output in named]
        assert (by_option.status, written) == (0, [0] * len(named))
        assert {output.read_text() for output in named} <= {by_option.out + getattr(form, "SIGNATURE", "")}


LINKED = ("https://evil.test/x", "HTTP://evil.test", "ftp://evil.test", "(www.evil.test)", "WWW.evil.test"
          "a@evil.test", "@team", "#123", "org/repo#4", "gh-12", "!5", "3f2a9c1", "0123456789abcdef" * 2,
          "<https://evil.test>")  # fmt: skip


@pytest.mark.parametrize("text", LINKED)
def test_markdown_makes_no_link_of_a_name(text: str) -> None:
    escaped = escape(text)
    assert not re.search(r"://|(?i:www\.|gh-\d)|@\w|#\d|!\d|[0-9a-f]{7}", escaped.replace("\\", ""))
    shown = html.unescape(escaped.replace("\\", ""))
    assert shown.replace("\N{ZERO WIDTH SPACE}", "") == text
