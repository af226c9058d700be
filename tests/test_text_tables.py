"""Tables in the terminal: a row is a line, names keep what tells them apart, and what there is no space for is said."""

import itertools
import re

import pytest
from builders import FIXTURES, small_trace
from hypothesis import given
from hypothesis import strategies as st

from tcprof.render.formats import Style
from tcprof.render.formats._tables import shorten, width_of
from tcprof.render.formats.text import fill, render_table
from tcprof.views.tables import Cell, Heading, Row, Table

pytestmark = pytest.mark.usefixtures("shared_reads")

COMMANDS = {
    "show": ["show", FIXTURES / "transformer_tf32.sqlite"],
    "ranges": ["ranges", FIXTURES / "net_amp.sqlite"],
    "kernels": ["kernels", FIXTURES / "convnet_channels_last.sqlite", "--limit", 0],
    "kernels by path": ["kernels", FIXTURES / "mnist_amp.sqlite", "--by", "path"],
    "timeline": ["timeline", FIXTURES / "transformer_compiled.sqlite"],
    "compare": ["compare", FIXTURES / "mlp_fp32.sqlite", FIXTURES / "mlp_fp16.sqlite"],
    "sides": ["compare", *(FIXTURES / f"mlp_{name}.sqlite" for name in ("fp32", "tf32", "fp16"))],
}


@pytest.mark.parametrize(
    ("text", "room", "shortened"),
    [
        ("forward", 7, "forward"),
        ("multi_tensor_apply_kernel<FusedAdamMathFunctor>", 30, "multi_ten…usedAdamMathFunctor>"),
        ("x" * 50, 12, "xxx…xxxxxxxx"),
        ("注意力机制模型层归一化的名字", 13, "注意…化的名字"),
        ("sgemm_nn_align1 → cutlass_tensorop_s1688gemm_align4", 36, "sgemm_nn_align1 → cutla…8gemm_align4"),
        ("FP32 matmuls → FP16 tensor kernels", 20, "FP…atmuls → FP…rnels"),
    ],
)
def test_a_long_name_loses_its_middle(text, room, shortened):
    assert shorten(text, room) == shortened


def test_kernels_of_one_name_have_their_grid():
    names = [f"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize{tile}x8_stage3_ffma" for tile in (32, 32, 64)]
    grids = ["8x4x1 128x1x1", "16x4x1 128x1x1", "8x4x1 128x1x1"]
    rows = (Row(name, CELLS, tag=grid) for name, grid in zip(names, grids, strict=True))
    shown = [line.split()[:2] for line in render_table(table_of(*rows), Style(60)).splitlines()[2:5]]
    assert [line[1] for line in shown] == ["8x4x1", "16x4x1", "1.00"]


@pytest.mark.parametrize(
    "value", ["5.2 %", "1.24 ms", "90 µs", "3 s", "762 TFLOP/s", "+37.5 points", "4.0 MiB", "20 kHz"]
)
def test_a_value_and_its_unit_stay_in_one_line(value):
    text = f"It is {value}, then {value}: or ({value}) of 12 steps in 3 epochs and {value}"
    for width in range(16, 60):
        lines = fill(text, width).splitlines()
        assert sum(line.count(value) for line in lines) == 4
        assert " ".join(lines) == text
    assert "12\nsteps" in fill(text, text.index(" steps"))  # what is counted is no unit


@given(st.text(max_size=60), st.integers(8, 40))
def test_no_name_is_wider_than_its_space(name, room):
    shortened = shorten(name, room)
    assert width_of(shortened) <= room
    assert shortened == name or (width_of(name) > room and "…" in shortened)


def table_of(*rows: Row, spare: tuple[int, ...] = (0, 1, 2)) -> Table:
    titles = ("Time", "Median", "Instances")
    headings = tuple(Heading(title, spare=order) for title, order in zip(titles, spare, strict=True))
    return Table("t", "", "Range", headings, rows)


CELLS = (Cell("1.00 ms"), Cell("10.0 µs"), Cell("12"))


LONG = "a_name_of_thirty_letters_in_all"


def test_the_columns_that_matter_least_leave_first_and_it_is_said():
    table = table_of(Row(LONG, CELLS))
    assert "Left out" not in render_table(table, Style(61))
    shown = render_table(table, Style(56)).splitlines()
    assert shown[0].split() == ["Range", "Time", "Median"]
    assert shown[3:] == ["Columns hidden to fit: Instances. --wide shows all", "  columns."]
    narrow = render_table(table_of(Row(LONG, CELLS), spare=(0, 2, 1)), Style(56)).splitlines()
    assert narrow[0].split() == ["Range", "Time", "Instances"]
    both = render_table(table_of(Row("  ".join([LONG] * 2), CELLS)), Style(40))
    assert both.splitlines()[0].split() == ["Range", "Time", "Median"]
    stays = render_table(table_of(Row(LONG, CELLS), spare=(0, 0, 0)), Style(50)).splitlines()
    assert stays[0].split() == ["Range", "Time", "Median", "Instances"]
    assert max(map(len, stays)) <= 50, "then names give way"


def test_wide_characters_keep_columns_aligned():
    table = table_of(Row("注意力", CELLS), Row("forward", CELLS), Row("モデル" * 30, CELLS))
    lines = render_table(table, Style(80)).splitlines()
    assert len({width_of(line) for line in lines[2:5]}) == 1
    assert "…" in lines[4]


def test_paragraphs_break_between_words_and_count_columns():
    words = ["注意力", "--warm-up", "/a/path/" + "x" * 50, "模型", "forward"] * 6
    lines = fill(" ".join(words), 40, margin="  ").splitlines()
    assert " ".join(lines).split() == words
    assert all(width_of(line) <= 40 or len(line.split()) == 1 for line in lines)
    assert fill("name  \x1b[31m", 40) == "name  �[31m"


# What fits the usual width has room in a wider one, but for columns that come back there.
WIDTHS = [(command, width) for width in (60, 80, 120, 200) for command in COMMANDS]
ALIKE = [(command, width) for command, width in WIDTHS if (width > 80 and command != "ranges") or command == "sides"]


@pytest.mark.parametrize(("command", "width"), [*(each for each in WIDTHS if each not in ALIKE)])
def test_tables_fit_the_width_in_lines_of_one_row(command, width, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run(*COMMANDS[command]).out.splitlines()
    assert max(map(width_of, lines)) <= width
    rules = [place for place, line in enumerate(lines) if line.startswith("──")]
    assert rules
    for rule in rules:
        head = lines[max(place for place in range(rule) if not lines[place]) + 1 : rule]
        assert 1 <= len(head) <= 3
        below = itertools.takewhile(
            lambda line: line and not re.match(r"Columns hidden|HFU is|\d+ (more|library)", line), lines[rule + 1 :]
        )
        rows = [line for line in below if command != "kernels by path" or line.startswith("  ")]
        assert all(re.search(r"  +\S*[\d–~]", line) for line in rows), "figures stand in each line"


@pytest.mark.parametrize(("columns", "width"), [("100", 100), ("nonsense", 120)])
def test_a_pipe_has_as_many_columns_as_the_environment_says(columns, width, run, tmp_path, monkeypatch):
    path = small_trace(tmp_path, f"{'long-' * 20}.sqlite")
    monkeypatch.delenv("COLUMNS")
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    notes = [line for line in run("ranges", path, "--notes").out.splitlines() if " " in line]
    assert width - 25 < max(map(len, notes[1:])) <= width
