"""Figures that the fit cannot tell, or that are a pool's, say so wherever they are shown."""

from pathlib import Path

import pytest
from tcprof.report.text.comparison import list_kernels as list_changes
from tcprof.report.text.kernels import list_kernels

import tcprof
from tcprof.analysis.kernels import classes
from tcprof.report.wording import format_fitted
from tcprof.units import format_pct

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize(
    ("fit", "shown"),
    [("resolved", "11.5 %"), ("pooled", "11.5 % pooled"), ("unresolved", "–"), ("not sampled", "–"), ("", "11.5 %")],
)
def test_a_fitted_figure(fit: str, shown: str) -> None:
    assert format_fitted(11.5, fit, format_pct) == shown


def test_what_is_pooled_says_so_in_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MOST_CLASSES", 25)
    monkeypatch.setattr(classes, "MOST_POOLS", 0)
    analysis = tcprof.read(FIXTURES / "mlp_fp16.sqlite")
    assert (analysis.kernels["fit"] == "pooled").any()
    for rows, by_path in ((analysis.kernels, False), (analysis.kernels_by_path, True)):
        (listing,) = list_kernels(analysis, rows, by_path)
        marks = [row[-1] for row in listing.rows if row[-1]]
        assert sum(mark.endswith("pooled") for mark in marks) == (rows["fit"] == "pooled").sum() > 0
    changes = list_changes(tcprof.compare(analysis, analysis), 0, 0)
    assert any(cell.endswith("pooled") for row in changes.rows for cell in row)
