"""The pages as text: rows and sentences, hostile names as text, nothing from elsewhere, and whole files only."""

from html.parser import HTMLParser

import pytest
from builders import FIXTURES
from report_inputs import HOSTILE, make_analysis, make_empty, read_hostile, render_page

import tcprof
from tcprof.render.html import PageOptions, Theme
from tcprof.render.html.page import pack_bundle

pytestmark = pytest.mark.usefixtures("shared_reads")

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
            self.text += data.replace("\N{NO-BREAK SPACE}", " ")
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
    return Page(render_page(make_analysis()))


class TestReport:
    def test_rows_in_the_order_of_a_tree(self, report):
        ranges = ["Range (totals)", "whole capture", "step", "forward", "backward"]
        assert report.first_column()[: len(ranges)] == ranges

    def test_unknown_is_a_dash(self, report):
        assert [report.rows[4][place] for place in (2, 3)] == ["–"] * 2

    def test_columns_have_their_names_for_csv(self, report):
        columns = [each["data-columns"] for tag, each in report.elements if tag == "th" and "data-columns" in each]
        assert columns[0] == "gpu_window_ns share_pct"
        assert columns[1:3] == ["lost_time_ns", "tensor_active_mean_pct tensor_active_low_pct tensor_active_high_pct"]
        assert not [each for tag, each in report.elements if tag == "td" and "data-values" in each], (
            "no script reads it"
        )

    def test_plotly_is_there_once_where_figures_are_and_nothing_is_fetched(self, report):
        drawn = Page(render_page(tcprof.read(FIXTURES / "mlp_fp16.sqlite").analysis))
        assert [sum(pack_bundle() in each for each in page.scripts) for page in (report, drawn)] == [0, 1]
        fetched = [
            value
            for tag, attributes in report.elements
            for name, value in attributes.items()
            if name in ("src", "href", "srcset", "action") and not value.startswith(("#", "data:"))
        ]
        assert fetched == []
        policies = [each["content"] for _, each in report.elements if "http-equiv" in each]
        assert policies[0].startswith("default-src 'none'")

    def test_a_value_and_its_unit_stay_in_one_line(self):
        text = render_page(make_analysis())
        assert "<bdi>20\N{NO-BREAK SPACE}kHz</bdi>" in text
        assert "<bdi>20 kHz</bdi>" not in text

    def test_warnings(self):
        text = Page(render_page(make_analysis(), warnings=("Half of it <is> missing.",))).text
        assert "Half of it <is> missing." in text


class TestFaults:
    def test_none(self, report):
        assert not any(each.get("role") == "alert" for _, each in report.elements)

    def test_stand_between_the_header_and_the_figures(self):
        text = render_page(make_analysis(), faults=("Lost <b>it</b>: --frequency 10000.",), warnings=("Odd.",))
        assert text.index("</header>") < text.index('role="alert"') < text.index('id="figures"')
        shown = Page(text).text
        assert shown.index("Do not trust the figures of this page") < shown.index("Lost <b>it</b>: --frequency 10000.")
        assert shown.index("Lost") < shown.index("The Tensor Cores were busy") < shown.index("Odd.")
        assert shown.count("Lost <b>it</b>") == 1


class TestIncomplete:
    def test_nothing_at_all(self):
        shown = Page(render_page(make_empty(), warnings=("GPU metrics were not recorded.",)))
        assert "Whether the Tensor Cores worked is unknown" in shown.text
        assert "There is nothing to draw" in shown.text
        assert "GPU metrics were not recorded." in shown.text
        assert shown.first_column() == ["Range (totals)", "whole capture"]


class TestTheme:
    def test_dark_colors_are_for_those_who_ask(self):
        media = "screen and (prefers-color-scheme: dark)"
        shown = Page(render_page(make_analysis(), PageOptions(theme=Theme.AUTO)))
        assert [each["media"] for tag, each in shown.elements if each.get("id") == "dark-colors"] == [media]


class TestHostileNames:
    def test_names_are_text(self):
        analysis = make_analysis(names=HOSTILE, file=HOSTILE[0])
        shown = Page(render_page(analysis, PageOptions(title=HOSTILE[1]), HOSTILE, HOSTILE))
        assert not [tag for tag, _ in shown.elements if tag == "img"]
        assert all(each["href"].startswith("#") for tag, each in shown.elements if tag == "a")
        assert not [name for _, each in shown.elements for name in each if name.startswith("on")]
        assert HOSTILE[0] in shown.text
        names = shown.first_column()
        assert any("<b>bold</b>" in name for name in names)
        assert any('{{ 7 * 7 }} <!-- & "quotes"' in name for name in names)

    def test_figures_hold_no_character_that_ends_their_element(self, tmp_path):
        shown = Page(render_page(read_hostile(tmp_path)))
        figures = [script for script in shown.scripts if script.startswith("{")]
        assert len(figures) == 2, "the steps, and what one consists of"
        for script in figures:
            assert not set("<>&\u2028\u2029") & set(script)
