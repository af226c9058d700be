"""Which columns a page shows before its reader has chosen."""

import pytest
from builders import FIXTURES

import tcprof
from tcprof.views.document import Explorer, Medium, Section
from tcprof.views.recording.show import view_recording

pytestmark = pytest.mark.usefixtures("shared_reads")


def test_a_page_shows_at_most_eight_columns_at_first():
    report = tcprof.read(FIXTURES / "llama.sqlite")
    sections = [
        part
        for part in view_recording(report.analysis, report.findings, report.advice).shown_on(Medium.PAGE)
        if isinstance(part, Section)
    ]
    (explorer,) = (part for section in sections for part in section.parts if isinstance(part, Explorer))
    shown = {each.by: sum(heading.on_page for heading in each.table.headings) for each in explorer.groupings}
    assert {by: count for by, count in shown.items() if by != "gap"} == {"module": 8, "range": 8, "kernel": 8}
