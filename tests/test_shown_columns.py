"""Which columns a page shows before its reader has chosen."""

import pytest
from builders import FIXTURES

import tcprof
from tcprof.views.document import Section
from tcprof.views.recording.report import view_report
from tcprof.views.tables import Table

pytestmark = pytest.mark.usefixtures("shared_reads")


def test_a_page_shows_at_most_eight_columns_at_first():
    analysis = tcprof.read(FIXTURES / "llama.sqlite")
    sections = [part for part in view_report(analysis, analysis.findings).parts if isinstance(part, Section)]
    shown = {
        part.name: sum(heading.shown for heading in part.headings)
        for section in sections
        for part in section.parts
        if isinstance(part, Table) and part.search
    }
    assert {name: shown[name] for name in ("modules-0", "ranges-0", "kernels-0")} == {
        "modules-0": 7,
        "ranges-0": 7,
        "kernels-0": 8,
    }
