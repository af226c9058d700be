"""The pages as text: rows and sentences, hostile names as text, nothing from elsewhere, and whole files only."""

import dataclasses
import math
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from plotly.offline import get_plotlyjs
from report_inputs import HOSTILE, make_analysis, make_comparison, make_empty, make_samples

from tcprof.comparison import compare
from tcprof.errors import OutputError
from tcprof.frames import SAMPLES
from tcprof.report import page
from tcprof.report.comparison_summary import compare_in_words, main_path
from tcprof.report.summary import summarize
from tcprof.report.tables import MOST_ROWS, list_range_tables

VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, texts of table rows, and all text outside scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text += data
            if {"td", "th"} & set(self.open):
                self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.rows[-1][-1] = self.rows[-1][-1].strip()

    def first_column(self):
        return [row[0] for row in self.rows]


@pytest.fixture(scope="module")
def report():
    return Page(page.render_report(make_analysis()))


class TestReport:
    def test_rows_in_the_order_of_a_tree(self, report):
        assert report.first_column() == ["Range", "whole capture", "step", "step / forward", "step / backward"]

    def test_cells(self, report):
        step = report.rows[2]
        assert step[1:6] == ["6", "21", "19.0 ms", "17.0 ms", "10.0 ms"]
        assert step[6] == "14.5 %13.5 … 15.5 %"
        assert step[10:13] == ["–"] * 3
        assert step[13] == "100.0 %"

    def test_unknown_is_a_dash(self, report):
        assert report.rows[4][6:8] == ["–", "–"]

    def test_title_language_and_viewport(self, report):
        attributes = [attributes for _, attributes in report.elements]
        assert ("html", {"lang": "en"}) in report.elements
        assert any(each.get("name") == "viewport" for each in attributes)
        assert "run.sqlite – tcprof" in report.text

    def test_headings_can_be_sorted_by_keyboard(self, report):
        sortable = [each for tag, each in report.elements if tag == "th" and "aria-sort" in each]
        assert len(sortable) == 13
        assert all(each["scope"] == "col" for each in sortable)
        assert sum(tag == "button" for tag, _ in report.elements) == 13

    def test_plotly_is_there_once_and_nothing_is_fetched(self, report):
        assert sum(get_plotlyjs().strip() in script for script in report.scripts) == 1
        fetched = [
            value
            for tag, attributes in report.elements
            for name, value in attributes.items()
            if name in ("src", "href", "srcset", "action") and not value.startswith(("#", "data:"))
        ]
        assert fetched == []
        policies = [each["content"] for _, each in report.elements if "http-equiv" in each]
        assert policies[0].startswith("default-src 'none'")

    def test_provenance(self, report):
        for text in ("NVIDIA H200 (GH100), 132 SMs", "2025.3.2", "3.20.3", "580.1", "2026-11-20T16:28:30Z", "20 kHz"):
            assert text in report.text

    def test_size_beside_the_bundle(self):
        samples = SAMPLES.concat([make_samples(np.arange(200_000) % 97, gpu=gpu) for gpu in (0, 1)])
        text = page.render_report(make_analysis(samples=samples, gpus=(0, 1), instances=3000))
        assert len(text.encode()) - len(get_plotlyjs().encode()) < 3_000_000

    @pytest.mark.parametrize("window", ["gpu", "host", "busy"])
    def test_says_which_window(self, window):
        assert f"{window} windows:" in page.render_report(make_analysis(window=window))

    def test_warnings(self):
        text = Page(page.render_report(make_analysis(warnings=("Half of it <is> missing.",)))).text
        assert "Half of it <is> missing." in text


class TestFaults:
    def test_none(self, report):
        assert not any(each.get("role") == "alert" for _, each in report.elements)

    def test_stand_between_the_header_and_the_figures(self):
        text = page.render_report(make_analysis(faults=("Lost <b>it</b>: --frequency 10000.",), warnings=("Odd.",)))
        assert text.index("</header>") < text.index('role="alert"') < text.index('id="figures"')
        shown = Page(text).text
        assert shown.index("Do not trust the figures of this page") < shown.index("Lost <b>it</b>: --frequency 10000.")
        assert shown.index("Lost") < shown.index("The Tensor Cores were active") < shown.index("Odd.")
        assert shown.count("Lost") == 1

    def test_each_recording_of_a_comparison_is_named(self):
        base, new = make_analysis(faults=("Lost a.", "Lost b.")), make_analysis(faults=("Lost c.",), file="new.sqlite")
        shown = " ".join(Page(page.render_comparison(compare(base, new))).text.split())
        assert "Baseline: Lost a. Baseline: Lost b. New: Lost c." in shown
        assert shown.index("Lost c.") < shown.index("took")
        one = Page(page.render_comparison(compare(make_analysis(), new)))
        assert sum(each.get("role") == "alert" for _, each in one.elements) == 1
        assert "Baseline: Lost" not in one.text


class TestIncomplete:
    def test_nothing_at_all(self):
        shown = Page(page.render_report(make_empty()))
        assert "Whether the Tensor Cores worked is unknown" in shown.text
        assert "There is nothing to draw" in shown.text
        assert "GPU metrics were not recorded." in shown.text
        assert shown.first_column() == ["Range", "whole capture"]

    def test_no_samples(self):
        ranges = make_analysis().ranges.assign(tensor_active_mean_pct=math.nan, coverage_pct=0.0)
        shown = page.render_report(make_analysis(samples=SAMPLES.empty(), tensor_source="none", ranges=ranges))
        assert "The GPU was busy for 51.3 % of the 19.5 ms from its first activity to its last." in shown

    def test_no_ranges(self):
        shown = Page(page.render_report(make_analysis(names=())))
        assert shown.first_column() == ["Range", "whole capture"]
        assert "The highest mean" not in shown.text

    def test_many_paths_are_cut_and_counted(self):
        analysis = make_analysis(names=[f"range {number}" for number in range(MOST_ROWS + 500)])
        table = list_range_tables(analysis)[0]
        assert len(table.rows) == MOST_ROWS
        assert table.hidden == 502
        assert table.rows[0].name == "whole capture"
        assert "502 more paths are not in this table" in page.render_report(analysis)


class TestVerdict:
    def test_exact(self):
        assert summarize(make_analysis())[0].verdict == (
            "The Tensor Cores were active in 2.0 % of their cycles over the 20.0 ms sampled.",
            "The highest mean of a range is 27.0 % (95 % interval 26.0 % to 28.0 %), in “step / forward” over its 6 "
            "instances.",
            "The GPU was busy for 50.0 % of that time.",
        )

    def test_rounded_samples_leave_room_on_both_sides(self):
        samples = make_samples([0.0, 1.0, 20.0, 3.0])  # each may be 0.5 lower or higher; 0 is 0, and 1 is all above 0
        verdict = summarize(make_analysis(tensor_source="rounded", samples=samples))[0].verdict
        assert verdict[0].endswith("over the 200 µs sampled; samples are rounded, so between 5.5 % and 6.4 %.")

    def test_none_active(self):
        ranges = make_analysis().ranges
        idle = ranges.assign(tensor_active_mean_pct=ranges["tensor_active_mean_pct"] * 0)
        verdict = summarize(make_analysis(ranges=idle))[0].verdict
        assert verdict[1] == "No range had any Tensor Active."

    def test_too_little_covered(self):
        ranges = make_analysis().ranges.assign(tensor_active_mean_pct=math.nan, coverage_pct=31.0)
        verdict = summarize(make_analysis(ranges=ranges))[0].verdict
        assert verdict[0].endswith("is unknown: only 31.0 % of the capture is covered by samples.")

    def test_each_gpu(self):
        titles = [summary.title for summary in summarize(make_analysis(gpus=(0, 2)))]
        assert titles == ["GPU 0, NVIDIA H200", "GPU 2, NVIDIA H200"]


class TestComparison:
    def test_verdict_is_about_the_iterations_and_claims_no_significance(self):
        comparison = make_comparison()
        assert main_path(comparison, 0) == ("", "step")
        ((_, sentences),) = compare_in_words(comparison)
        assert sentences == (
            "“step” took 3.00 ms → 3.00 ms (1.00x) on the CPU per instance, and 3.00 ms → 3.00 ms (1.00x) from first "
            "to last activity on the GPU.",
            "Its Tensor Active went from 2.5 % to 2.0 % (-0.50 points).",
            "Medians over 6 and 5 instances.",
        )
        assert "no test of significance" in page.render_comparison(comparison)

    def test_few_instances_compare_the_capture(self):
        comparison = make_comparison(instances=4)
        assert main_path(comparison, 0) == ("", "")
        assert compare_in_words(comparison)[0][1][0].startswith("The whole capture took 20.0 ms → 20.0 ms (1.00x)")

    def test_rows(self):
        shown = Page(page.render_comparison(make_comparison()))
        assert shown.first_column()[:6] == [
            "Range",
            "whole capture",
            "step",
            "step / forward",
            "step / backward",
            "step / extra only in new",
        ]
        assert shown.rows[2][1] == "1.00x3.00 ms → 3.00 ms"
        assert shown.rows[5][1].startswith("––")

    def test_warnings_of_both(self):
        comparison = make_comparison(warnings=("New is odd.",))
        comparison = dataclasses.replace(comparison, warnings=("Different GPUs.",))
        text = Page(page.render_comparison(comparison)).text
        assert text.index("Different GPUs.") < text.index("New is odd.")

    def test_unknown_on_one_side(self):
        text = page.render_comparison(compare(make_analysis(), make_empty(), force=True))
        assert "Its Tensor Active was 2.0 % in the baseline and is unknown in the new recording." in text
        assert "Baseline: Tensor Active comes from exact tensor cycles. New: The recording has no samples" in text

    def test_with_nothing(self):
        text = page.render_comparison(compare(make_empty(), make_empty()))
        assert "Its Tensor Active is unknown in both." in text
        assert "No path has five instances in both recordings." in text


class TestHostileNames:
    @pytest.mark.parametrize("kind", ["report", "comparison"])
    def test_names_are_text(self, kind):
        analysis = make_analysis(names=HOSTILE, file=HOSTILE[0], faults=HOSTILE, warnings=HOSTILE)
        shown = Page(
            page.render_report(analysis, title=HOSTILE[1])
            if kind == "report"
            else page.render_comparison(
                make_comparison(names=HOSTILE, faults=HOSTILE, warnings=HOSTILE, file=HOSTILE[0])
            )
        )
        assert not [tag for tag, _ in shown.elements if tag == "img"]
        assert [each["href"] for tag, each in shown.elements if tag == "a"] == ["#figures"]
        assert HOSTILE[0] in shown.text
        names = shown.first_column()
        assert any("<b>bold</b>" in name for name in names)
        assert any('{{ 7 * 7 }} <!-- & "quotes"' in name for name in names)
        figures = [script for script in shown.scripts if script.startswith("{")]
        assert figures
        for script in figures:
            assert not set("<>&\u2028\u2029") & set(script)


class TestWriting:
    def test_file_is_the_page(self, tmp_path: Path):
        path = tmp_path / "report.html"
        page.write_report(make_analysis(), path, title="My run")
        assert "<h1><bdi>My run</bdi></h1>" in path.read_text(encoding="utf-8")
        page.write_comparison(make_comparison(), path)
        assert "base.sqlite → new.sqlite" in path.read_text(encoding="utf-8")
        assert list(tmp_path.iterdir()) == [path]

    def test_no_folder(self, tmp_path: Path):
        with pytest.raises(OutputError, match=r"absent.*report\.html"):
            page.write_report(make_analysis(), tmp_path / "absent" / "report.html")

    def test_failure_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = tmp_path / "report.html"
        path.write_text("old")

        def full(*_args: object, **_kwargs: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(OutputError, match="No space left on device"):
            page.write_report(make_analysis(), path)
        monkeypatch.undo()
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]
