"""Every format keeps what ``tcprof.render.formats`` asks of one, and none takes the file names of another."""

import pytest

from tcprof.render.formats import FORMATS, PLAIN, load_format
from tcprof.views.document import Document, Notes

PARTS = {"faults", "warnings", "base", "gate", "doubt"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_says_what_it_holds_and_what_its_files_are_called(name: str) -> None:
    form = load_format(name)
    assert set(form.HAS) <= PARTS
    assert form.SUFFIXES
    assert all(suffix.startswith(".") for suffix in form.SUFFIXES)
    assert getattr(form, "NEEDS", "") in ("", "rows", "data", "gate")


def test_no_two_formats_share_a_file_name() -> None:
    suffixes = [suffix for name in FORMATS for suffix in load_format(name).SUFFIXES]
    assert len(suffixes) == len(set(suffixes))


@pytest.mark.parametrize("name", [name for name in FORMATS if not getattr(load_format(name), "NEEDS", "")])
def test_hostile_text_is_harmless(name: str) -> None:
    hostile = "a\x1b[31mb\u202ec"
    document = Document(kind="test", parts=(Notes((hostile,)),), faults=(hostile,))
    assert not {"\x1b", "\u202e"} & set(load_format(name).render(document, PLAIN))
