"""The page of a comparison as text: what it says of two sides and of more, and hostile names as text."""

import pytest
from builders import FIXTURES
from comparison_inputs import compare_hostile, read_steps, render_page, tell, texts_of
from report_inputs import HOSTILE, make_comparison
from test_page import Page

import tcprof
from tcprof.cli.output import find_reports, origin_of
from tcprof.comparison import Side, compare
from tcprof.comparison.gate import Gate, judge_condition, parse_condition
from tcprof.findings.compared import judge_comparison
from tcprof.render.formats._tables import brief_columns
from tcprof.render.html import PageOptions
from tcprof.render.html import page as pages
from tcprof.views.comparison import view_comparison
from tcprof.views.comparison.changes import list_kernel_changes, list_quantities, list_range_changes
from tcprof.views.comparison.sides import list_sides
from tcprof.views.comparison.waterfall import list_parts
from tcprof.views.document import Chapter, Medium, Section, Summary

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.fixture(scope="module")
def page(steps):
    return Page(render_page([steps]))


@pytest.fixture(scope="module")
def page_of_several(several):
    return Page(render_page(several))


def plain(shown):
    """The page's text in one line, with its unbreakable spaces as others."""
    return " ".join(shown.text.replace("\N{NO-BREAK SPACE}", " ").split())


def ids(shown):
    return [attributes["id"] for _, attributes in shown.elements if "id" in attributes]


class TestTwoSides:
    def test_the_headline_is_a_short_sentence_and_the_sides_come_first(self):
        base, new = (tcprof.read(FIXTURES / f"transformer_{name}.sqlite").analysis for name in ("eager", "compiled"))
        found = judge_comparison(compare(Side("eager", (base,)), Side("compiled", (new,))))
        document = view_comparison([found])
        (summary,) = (part for part in document.shown_on(Medium.PAGE) if isinstance(part, Summary))
        times = "Median step time 10.4 ms → 8.21 ms."
        assert summary.verdict[:2] == ("compiled is faster: 0.792x the step time (0.780x to 0.805x).", times)
        assert " ".join(summary.verdict) == " ".join(found.gpus[0].sentences), "and it says the same"
        sections = [part for part in document.shown_on(Medium.PAGE) if isinstance(part, Section)]
        first = next(section for section in sections if section.chapter != Chapter.VERDICT)
        assert first.parts[0].name == "sides-0"
        assert [row.name for row in first.parts[0].rows] == ["eager", "compiled"]

    def test_the_sides_have_the_times_that_the_verdict_is_on(self):
        """Of five steps four have a next one, which is enough for an interval of the step time, and no fewer."""
        base, new = (tcprof.read(FIXTURES / f"mlp_{name}.sqlite").analysis for name in ("fp32", "fp16"))
        comparison = compare(Side("fp32", (base,)), Side("fp16", (new,)))
        (table,) = list_sides([comparison])
        assert (table.headings[0].title, [row.cells[0].text for row in table.rows]) == (
            "Step time",
            ["3.65 ms", "2.10 ms"],
        )
        said = " ".join(judge_comparison(comparison).gpus[0].sentences)
        assert "Median step time 3.65 ms → 2.10 ms." in said

    def test_a_rate_has_its_unit_on_the_page_and_in_its_row_s_name_in_the_terminal(self):
        table = list_quantities(
            tcprof.compare(FIXTURES / "mlp_fp32.sqlite", FIXTURES / "mlp_fp16.sqlite").comparison, 0
        )
        ((place, row),) = [each for each in enumerate(table.rows) if each[1].name == "Tensor FLOP/s"]
        assert row.cells[1].text == "66.0 TFLOP/s"
        assert brief_columns(table)[1].texts[place] == "66.0 T"

    def test_parts_of_the_change_with_their_sum_last(self, page, steps):
        for table in list_parts(steps, 0).values():
            assert table.total
            assert table.rows[-1].name == "sum"
            for row in texts_of(table):
                assert row in page.rows
        assert any("ampere" not in row[0] and row[0].startswith("replaced kernels: ") for row in page.rows)

    def test_kernels_with_what_became_of_them(self, steps):
        rows = {row.name: row for row in list_kernel_changes(steps, 0).rows}
        renamed = rows["ampere_sgemm_128x64 → nvjet_sm90_hsh_128x128_64x4"]
        assert renamed.cells[0].text == "renamed"
        assert renamed.cells[1].text.startswith("-2")
        assert (rows["add"].cells[0].text, rows["cast"].cells[0].text) == ("same", "new")
        assert rows["cast"].cells[2].text == "–"
        assert rows["cast"].cells[2].sort == ""
        assert float(rows["cast"].cells[3].sort) == pytest.approx(20_000, rel=0.05)

    def test_ranges_as_a_tree_and_what_shows_nothing(self, steps):
        table = list_range_changes(steps, steps.rows, 0)
        assert [(row.depth, row.name) for row in table.rows] == [(0, "whole capture"), (1, "step"), (2, "forward")]
        known = set(steps.rows["quantity"][steps.rows[["base", "new"]].notna().any(axis=1)])
        assert "mfu_pct" not in known  # what no range has is no column
        of_step = steps.rows[(steps.rows["path"] == "step") & steps.rows["quantity"].isin(known)]
        verdicts = of_step.set_index("quantity")["verdict"]
        assert {"~", "lower"} <= set(verdicts)
        marks = {
            heading.columns[0]: cell.mark for heading, cell in zip(table.headings, table.rows[1].cells, strict=True)
        }
        verdicts = verdicts.drop("step_ns")  # of the step alone
        assert marks == {f"{name}_base": "~" * (each == "~") for name, each in verdicts.items()}
        assert f"{table.rows[1].cells[3].text} ~" in Page(render_page([steps])).text

    def test_each_gpu_has_its_part_and_every_id_is_its_own(self, tmp_path):
        base, new = (read_steps(tmp_path, f"{name}.sqlite", gpus=(0, 1)) for name in ("a", "b"))
        shown = Page(render_page([compare(base, new)]))
        assert len(ids(shown)) == len(set(ids(shown)))
        assert {"steps-0", "steps-1", "waterfall-time_ns-1-0", "waterfall-time_ns-1-1"} <= set(ids(shown))
        assert shown.text.count("GPU 1, NVIDIA H200") >= 2


class TestGate:
    def test_conditions_with_their_verdicts(self, steps):
        gate = Gate((judge_condition(parse_condition("time > +5%"), steps.rows, steps.step_path),))
        assert gate.verdict == "pass"
        shown = plain(Page(render_page([steps], gate=gate)))
        assert shown.index("Gate passed") < shown.index("pass time > +5%") < shown.index("opt is ")


class TestMoreSides:
    def test_one_row_a_side(self, page_of_several, several):
        (table,) = list_sides(several)
        assert [row.name for row in table.rows] == ["slow", "middle", "fast"]
        for row in table.rows:
            assert [row.name, *(cell.text for cell in row.cells)] in page_of_several.rows

    def test_every_id_is_its_own(self, page_of_several):
        assert len(ids(page_of_several)) == len(set(ids(page_of_several)))
        assert {"steps-0", "waterfall-time_ns-1-0", "waterfall-time_ns-2-0"} <= set(ids(page_of_several))

    def test_a_verdict_for_each(self, page_of_several, several):
        for each in several:
            assert judge_comparison(each).gpus[0].sentences[0] in plain(page_of_several)


class TestFaultsAndWarnings:
    def test_faults_stand_first_and_name_the_side(self, steps):
        findings = tell(steps, base=("Lost a.", "Lost b."), new=("Lost c.",))
        shown = plain(Page(render_page([steps], findings=[findings])))
        assert "base: Lost a. base: Lost b. new: Lost c." in shown
        assert shown.index("Lost c.") < shown.index("Tensor Active")
        one = Page(render_page([steps], findings=[tell(steps, new=("Lost c.",))]))
        assert sum(each.get("role") == "alert" for _, each in one.elements) == 1
        assert "base: Lost" not in one.text


class TestReportsAndBaselines:
    def test_a_report_that_lies_beside_is_linked_and_the_other_has_its_command(self, steps, tmp_path):
        (tmp_path / "base.sqlite").touch()
        origin = origin_of(tmp_path / "base.sqlite")
        (tmp_path / "base.html").write_text(f'<meta name="tcprof-recording" content="{origin}">')
        (tmp_path / "opt.html").write_text('<meta name="tcprof-recording" content="of another">')
        page = tmp_path / "comparison.html"
        reports = [find_reports(page, tmp_path / f"{name}.sqlite", [f"{name}.sqlite"]) for name in ("base", "opt")]
        assert reports == [("base.html",), ("",)]
        pages.write_page(view_comparison([judge_comparison(steps)], reports=reports), page)
        shown = Page(page.read_text(encoding="utf-8"))
        assert "base.html" in [each["href"] for tag, each in shown.elements if tag == "a"]
        assert "tcprof report opt.sqlite" in shown.text
        assert "tcprof report base.sqlite" not in shown.text

    def test_each_other_side_may_be_the_baseline(self, page, page_of_several):
        assert "tcprof compare opt.sqlite base.sqlite -o comparison.html" in page.text
        for command in ("compare middle slow fast", "compare fast slow middle"):
            assert f"tcprof {command} -o comparison.html" in page_of_several.text

    def test_names_are_quoted_for_a_shell(self, tmp_path):
        shown = Page(render_page([make_comparison(file="a b;rm.sqlite")]))
        assert "tcprof report 'a b;rm.sqlite'" in shown.text


class TestHostileNames:
    def test_names_are_text(self, tmp_path):
        shown = Page(render_page(compare_hostile(tmp_path), PageOptions(title=HOSTILE[1])))
        assert not [tag for tag, _ in shown.elements if tag == "img"]
        assert {each["href"][1:] for tag, each in shown.elements if tag == "a"} <= set(ids(shown))
        for name in HOSTILE[:2]:
            assert name in shown.text
        assert '{{ 7 * 7 }} <!-- & "quotes"' in shown.text
        assert "\u202e" not in shown.text
        figures = [script for script in shown.scripts if script.startswith("{")]
        assert len(figures) >= 4
        for script in figures:
            assert not set("<>&\u2028\u2029") & set(script)
            assert "\u202e" not in script
