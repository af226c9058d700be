"""The page of a job in Chromium: each cell of its heat map is a rank in a step."""

from itertools import product

import pytest
from builders import FIXTURES, MS, TraceBuilder
from jobs import make_job

from tcprof.identity import Identity, Rank
from tcprof.ranks.job import join_ranks
from tcprof.ranks.store import read_job
from tcprof.render.html.page import write_page
from tcprof.sources.nsys_sqlite.export import write_identity
from tcprof.units import format_ns
from tcprof.views.job import view_compared_jobs, view_job

pytestmark = pytest.mark.browser

INPUT = FIXTURES / "jobs" / "input"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("job") / "job.html"
    write_page(view_job(join_ranks(read_job(INPUT))), path)
    return path


def say_cell(opened, row, column):
    """What the page says of the cell that arrow keys lead to from the first."""
    canvas = opened.locator(".heatmap canvas")
    canvas.focus()
    for key, count in (("ArrowUp", 99), ("ArrowLeft", 99), ("ArrowDown", row), ("ArrowRight", column)):
        for _ in range(count):
            canvas.press(key)
    return opened.locator("[data-cell]").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_short_names_leave_room_for_figures(visit, page, width):
    heads = visit(page, width=width).locator(".explorer th.number button")
    assert heads.count() >= (2 if width < 500 else 8)
    assert all(heads.evaluate_all("all => all.map((each) => each.scrollWidth <= each.clientWidth + 1)"))


def test_a_cell_says_the_figures_of_its_rank_and_step(visit, page, check_silent):
    opened = visit(page)
    opened.select_option("[data-order]", "rank")
    steps = join_ranks(read_job(INPUT)).rank_steps.set_index(["rank", "step"])
    for rank, step in ((0, 3), (1, 7)):
        text = say_cell(opened, rank, step)
        assert text.startswith(f"Rank {rank}, step {step}: ")
        row = steps.loc[(rank, step)]
        for name, title in (("own_ns", "Own time"), ("step_time_ns", "Step time"), ("wait_ns", "Waiting")):
            assert f"{title} {format_ns(row[name])}" in text
    check_silent(opened, page)


def test_the_rank_that_holds_the_others_up_is_first_and_darkest(visit, page):
    opened = visit(page)
    assert say_cell(opened, 0, 10).startswith("Rank 1, step 10")
    color = """([row, column]) => {
      const canvas = document.querySelector(".heatmap canvas");
      const width = (canvas.width - 56) / 39;
      return Array.from(canvas.getContext("2d").getImageData(56 + (column + 0.5) * width, (row + 0.5) * 20, 1, 1).data);
    }"""
    slow, other = (opened.evaluate(color, [row, 20]) for row in (0, 1))
    assert slow[1] < other[1] - 50  # less green: redder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, page, axe, scheme):
    assert [each for each in axe(visit(page, scheme=scheme)) if each[1] != "minor"] == []


def test_ranks_stand_near_their_figures_on_a_wide_screen(visit, page):
    heads = visit(page, width=1920).locator(".explorer thead th")
    assert [round(heads.nth(place).bounding_box()["width"]) < 500 for place in (0, 1)] == [True, True]
    box = heads.page.locator(".explorer .table-box").bounding_box()
    assert heads.last.bounding_box()["x"] + heads.last.bounding_box()["width"] == pytest.approx(
        box["x"] + box["width"], abs=20
    )


def test_a_click_opens_the_page_of_a_rank(visit, run, tmp_path):
    files = make_job(tmp_path, [[1000] * 8, [1500] * 8])
    report, job = tmp_path / "r1.html", tmp_path / "job.html"
    assert run("report", files[1], "-o", report).status == 0
    assert run("ranks", tmp_path, "-o", job).status == 0
    opened = visit(job)
    opened.locator(".heatmap canvas").click(position={"x": 300, "y": 10})
    opened.wait_for_url(f"{report.as_uri()}#gpu=0&step=*")


@pytest.mark.parametrize("name", ["job.sqlite", "job.tcprof"])
def test_a_click_opens_the_gpu_and_step_where_a_report_has_several_ranks(visit, run, tmp_path, name):
    builder = TraceBuilder().gpu(0).gpu(1)
    for gpu, start in product((0, 1), range(0, 40 * MS, 5 * MS)):
        builder.range("step", start, start + 4 * MS, process=gpu + 1)
        builder.kernel("gemm", start, start + (3 + gpu) * MS, launched=start, process=gpu + 1, device=gpu)
    report = builder.write(tmp_path, "job.sqlite")
    write_identity(report, Identity(ranks=(Rank(0, 2, process=2), Rank(1, 2, process=1))))
    assert run("report", report, "-o", tmp_path / "job.html").status == 0
    assert run("save", report, "-o", tmp_path / "job.tcprof").status == 0
    assert run("ranks", tmp_path / name, "-o", tmp_path / "ranks.html").status == 0
    opened = visit(tmp_path / "ranks.html")
    opened.select_option("[data-order]", "rank")
    opened.locator(".heatmap canvas").click(position={"x": 10, "y": 10})
    opened.wait_for_url("**/job.html#*")
    opened.locator(".panel-kind", has_text="on GPU 1").wait_for()


def test_names_from_recordings_are_text(visit, tmp_path):
    job = join_ranks(read_job(INPUT))
    hostile = "<script>document.title = 'taken'</script>"
    object.__setattr__(job.recordings[0], "program", hostile)
    path = tmp_path / "job.html"
    write_page(view_job(job), path)
    opened = visit(path)
    assert opened.locator("h1").inner_text() == f"2 ranks of {hostile}"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_of_two_jobs_is_silent_and_axe_finds_nothing_serious(
    visit, axe, check_silent, tmp_path, width, scheme
):
    path = tmp_path / "jobs.html"
    jobs = [join_ranks(read_job(FIXTURES / "jobs" / name)) for name in ("base", "more-work")]
    write_page(view_compared_jobs((jobs[0], jobs[1]), ("base", "more-work")), path)
    opened = visit(path, width, scheme)
    check_silent(opened, path)
    assert [each for each in axe(opened) if each[1] != "minor"] == []
