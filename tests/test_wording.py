"""Figures that the fit cannot tell, or that are a pool's, say so wherever they are shown."""

import re

import pytest
from builders import FIXTURES
from commands import Golden
from user_sentences import ROOT, list_sentences, modules, render_catalogue

import tcprof
from tcprof.analysis.kernels import classes
from tcprof.views.comparison.changes import list_kernel_changes
from tcprof.views.recording.kernels import fitted_cell, list_kernels


@pytest.mark.parametrize(
    ("fit", "shown"),
    [("resolved", "11.5 %"), ("pooled", "11.5 % pooled"), ("unresolved", "–"), ("not sampled", "–"), ("", "11.5 %")],
)
def test_a_fitted_figure(fit: str, shown: str) -> None:
    assert fitted_cell(11.5, fit).text == shown


def test_what_is_pooled_says_so_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MOST_CLASSES", 25)
    monkeypatch.setattr(classes, "MOST_POOLS", 0)
    analysis = tcprof.read(FIXTURES / "mlp_fp16.sqlite")
    assert (analysis.kernels["fit"] == "pooled").any()
    for rows, by_path in ((analysis.kernels, False), (analysis.kernels_by_path, True)):
        (table,) = list_kernels(analysis, rows, by_path)
        place = [heading.title for heading in table.headings].index("Counter and name")
        marks = [row.cells[place].text for row in table.rows if row.cells]
        assert sum(mark.endswith("pooled") for mark in marks) == (rows["fit"] == "pooled").sum() > 0
    changes = list_kernel_changes(tcprof.compare(analysis, analysis), 0)
    assert any(cell.text.endswith("pooled") for row in changes.rows for cell in row.cells)


# What a native reader stumbles about; of the time of a fit "told apart" is fine.
FORBIDDEN = re.compile(
    r"\b(?:is|are) told\b(?! apart)|\b(?:that )?is said\b|\bof which\b.*\b(?:is|are) one\b|\bas far as\b|\bidled\b"
    r"|\blikely to win\b|\bwins nothing\b|\bthe run alone\b|\bcannot be told\b|\b[Mm]atrix products?\b"
    r"|\bwork between the products\b"
)


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_sentence_stumbles(module):
    assert [each for each in list_sentences(module) if FORBIDDEN.search(each[1])] == []


def test_the_catalogue_of_sentences_is_up_to_date(golden: Golden) -> None:
    golden("sentences.txt", render_catalogue())
