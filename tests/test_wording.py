"""Figures that the fit cannot tell, or that are a pool's, say so wherever they are shown."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import FIXTURES
from user_sentences import ROOT, list_sentences, modules, render_catalogue

import tcprof
from tcprof.analysis.kernels import classes
from tcprof.views.comparison.changes import list_kernel_changes
from tcprof.views.recording.kernels import fitted_cell, list_kernels


@pytest.mark.parametrize(
    ("fit", "shown"),
    [("resolved", "11.5 %"), ("pooled", "11.5 % pooled"), ("unresolved", "–"), ("not sampled", "–"), ("", "11.5 %")],
)
def test_a_fitted_figure(fit, shown):
    assert fitted_cell(11.5, fit).text == shown


def test_what_is_pooled_says_so_in_every_table(monkeypatch):
    monkeypatch.setattr(classes, "MOST_CLASSES", 25)
    monkeypatch.setattr(classes, "MOST_POOLS", 0)
    report = tcprof.read(FIXTURES / "mlp_fp16.sqlite")
    assert (report.kernels["fit"] == "pooled").any()
    for rows, by_path in ((report.kernels, False), (report.kernels_by_path, True)):
        (table,) = list_kernels(report.analysis, rows, by_path)
        place = [heading.title for heading in table.headings].index("Tensor Cores?")
        marks = [row.cells[place].text for row in table.rows if row.cells]
        assert sum(mark.endswith("pooled") for mark in marks) == (rows["fit"] == "pooled").sum() > 0
    changes = list_kernel_changes(tcprof.compare(report, report).comparison, 0)
    assert any(cell.text.endswith("pooled") for row in changes.rows for cell in row.cells)


# What a native reader stumbles over.
FORBIDDEN = re.compile(
    r"\b(?:is|are) told\b(?! apart)|\b(?:that )?is said\b|\bof which\b.*\b(?:is|are) one\b|\bas far as\b|\bidled\b"
    r"|\blikely to win\b|\bwins nothing\b|\bthe run alone\b|\bcannot be told\b|\b[Mm]atrix products?\b"
    r"|\bwork between the products\b"
    # Riddles on the first screens: who holds whom up, what is added to what, of what a share is.
    r"|\bholds? the others up\b|\brecording adds to it\b|\b[Aa]gainst it\b|\bone each\b|\b[Kk]ernels told apart\b"
    r"|\bLeft out at\b|\b[Ss]avings are of\b|\bparts that changed less\b|\bhelpers of\b|\bleft over by\b"
    r"|\b(?:is|are) gone\b|\bSynchronize less\b|\bFind what holds\b|\bLost to the peak\b"
    r"|\bmore recordings? per side decide\b|\bpasses over the optimizer|\bneeds a common clock\b|\bsince a side has\b"
    r"|\b(?:is|are) left out\b|\bwhat is left\b|\bnot known\b|\bin no (?:other )?figure\b|\ball the same\."
    r"|\bas it should\b|\bwas tried\b"
    r"|\b(?:operations|bytes|export) a second\b|\bin a cycle\b|\bonce more\b|\brecordings of its own\b"
    r"|\bto one side\b|\bThis holds unless\b|\bruns of one program differ by\b|\brenamed kernels\b|\btoo little for\b"
    # Word order and idioms of another language: "unknown where" is "unknown if", "X, less Y" is "X minus Y".
    r"|\bexists already\b|\bwhere (?:not|it has none|there is none|none is|none does)\b|\bunder (?:no kernel|kernels\b)"
    r"|\b(?:time|window|ns), less\b(?! than)|\bless (?:what|that|its)\b|\bworks long\b|\bof the SMs\.|\bwhole graphs\b"
    r"|\bthe one before\b|\bwhat was read\b|\bThose of the FMA pipe\b|\bPasses through\b|\bHow often two runs\b"
    r"|\bonly in the new\b|\bknows no (?:GPU|rank)\b|\bby itself\b|\bloses? most\b|\bof whatever\b|\b[Hh]atched is\b"
    r"|\bwith all modules in it\b|\bunknown likewise\b|\bas recorded;|\bloads ahead\b|\bwhole CUDA graphs\b"
    r"|\bsays? of each\b|\bare the first digits\b|\bnsys writes the report$|\{\} against \{\}|\band \{\} like it\b"
    r"|, of$|\bof one kind differ\b|\bdoes not say (?:them|it)\b|\bstands (?:below|above|beside)\b|\bis reduced where\b"
)


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_sentence_stumbles(module):
    assert [each for each in list_sentences(module) if FORBIDDEN.search(each[1])] == []


def test_the_catalogue_of_sentences_is_up_to_date(golden):
    golden("sentences.txt", render_catalogue())


MODULES = sorted((ROOT / "tcprof").rglob("*.py"))
# Participles, and words for anything, name nothing: rows, steps, gpu_rows, path_key, saving are names.
EMPTY_NAMES = {"found", "told", "said", "known", "shown", "won", "lacking", "each", "own", "mine", "others", "of_gpu"}
NOT_YET_UNIQUE = {"Table"}


BEGIN_WITH_A_VERB = {
    *(
        *(".", "analysis", "analysis/kernels", "analysis/modules", "analysis/ranges", "analysis/samples"),
        *("analysis/steps", "analysis/time", "api", "chips", "cli", "frames", "saved"),
    ),
    *("comparison", "comparison/matching", "comparison/statistics", "history", "ranks"),
    *("annotate", "nsys", "record", "redaction", "sources", "sources/kineto", "sources/nsys_sqlite"),
    *("render", "render/formats", "render/html", "render/html/timeline"),
    *("views", "views/comparison", "views/figures", "views/recording"),
}
NO_VERB = re.compile(r"(?:The|An?|What|How|Which|Whether|Where|When|Why|With|Its?|All|Any|Each|Those|This|Of|For|By)\b")


def list_bound_names(module: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def test_names_say_what_a_thing_is():
    assert [
        f"{module}:{line} {name}"
        for module in MODULES
        for line, name in list_bound_names(module)
        if name.strip("_").lower() in EMPTY_NAMES
    ] == []


def test_docstrings_begin_with_a_verb():
    assert [
        f"{module}:{node.lineno} {node.name}"
        for module in MODULES
        if module.parent.relative_to(ROOT / "tcprof").as_posix() in BEGIN_WITH_A_VERB
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and NO_VERB.match(ast.get_docstring(node) or "")
    ] == []


def test_class_names_are_unique():
    trees = [ast.parse(module.read_text(encoding="utf-8")) for module in MODULES]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} <= NOT_YET_UNIQUE
