"""The verdict in two short sentences: over one time, and by the figures that stand beside it."""

import json
import re

import pytest
from builders import FIXTURES
from report_inputs import make_analysis, make_empty, summarize
from slow import first_of

import tcprof
from tcprof.units import format_ns, format_pct

pytestmark = pytest.mark.usefixtures("shared_reads")


@pytest.mark.parametrize(
    ("file", "most"),
    [
        ("llama", "The GPU was idle {idle} of the time: the run is CPU-bound, partly due to profiling overhead."),
        (
            "mnist_amp",
            "The GPU was idle {idle} of the time: the run is launch-bound, partly due to profiling overhead.",
        ),
        (
            "transformer_compiled",
            "Tensor kernels took 56.4 % of the time, non-tensor kernels 38.7 %, mostly memory-bound.",
        ),
        ("net_amp", "Copies and memsets took 41.4 % of the time."),
        (
            "transformer_eager",
            "Kernels that do not use the Tensor Cores took 50.1 % of the time, mostly memory-bound or issue-bound.",
        ),
    ],
)
def test_what_had_most_of_an_step(file, most):
    (summary,) = summarize(tcprof.read(FIXTURES / f"{file}.sqlite").analysis)
    shown = {each.title: each.value for each in summary.figures}
    assert summary.headline == (
        f"The Tensor Cores were busy {shown['Tensor Active']} of the step.",
        most.format(idle=shown["GPU idle"]),
    )
    assert [each.title for each in summary.figures[:3]] == ["Step time", "Tensor Active", "GPU idle"]
    assert sum(share.pct for share in summary.shares) == pytest.approx(100, abs=0.05)
    assert summary.shares[-1].text == shown["GPU idle"]
    assert "All figures here cover" in summary.measured


@pytest.mark.slow
def test_it_is_over_steps_whatever_the_windows_of_ranges():
    (host,), (gpu,) = (
        summarize(tcprof.read(FIXTURES / "llama.sqlite", window=each).analysis) for each in ("host", "gpu")
    )
    assert (host.line, host.headline) == (gpu.line, gpu.headline)


def test_nothing_is_known_of_nothing():
    (summary,) = summarize(make_empty())
    assert summary.headline == (
        "Whether the Tensor Cores worked is unknown: the recording has no samples of Tensor Active, and no GPU work.",
    )


@pytest.mark.parametrize(
    ("file", "where"),
    [
        ("llama", "“forward” 3.3 % (43.3 % of the step), “backward” 6.6 % (44.3 %), “optimizer” 0.001 % (6.1 %)."),
        (  # a step of 3.63 ms, of which 3.04 ms lie between its first and its last activity
            "mnist_amp",
            "“forward” 0.35 % (22.0 % of the step), “backward” 0.61 % (35.1 %), “optimizer” <0.001 % (19.0 %).",
        ),
        ("wmma", "“cuda cores” 0.0 % (85.2 % of the time), “tensor cores” 4.3 % (14.4 %)."),
        ("jax_mlp", ""),  # one range has it all
    ],
)
def test_where_they_were_busy_and_where_not(file, where):
    (summary,) = summarize(tcprof.read(FIXTURES / f"{file}.sqlite").analysis)
    assert summary.where.removeprefix("Tensor Active by range: ") == where


@first_of(1)("file", ["llama", "matmul", "transformer_eager"])
def test_the_first_line_has_the_same_figures_in_every_output(file, run, tmp_path):
    """Step time, Tensor Active, GPU idle and the number of steps, in text, Markdown, JSON and on the page."""
    path, page = FIXTURES / f"{file}.sqlite", tmp_path / "page.html"
    (line,) = json.loads(run("show", path, "--format", "json").out)["first_lines"]
    for command in ("show", "ranges", "kernels", "timeline", "advise", "modules"):
        done = run(command, path)
        if command == "modules" and done.status:  # where the recording names none
            continue
        assert line in done.out.splitlines()[:3]
        assert json.loads(run(command, path, "--format", "json").out)["first_lines"] == [line]
        assert line in run(command, path, "--format", "markdown").out.replace("\\", "")
    time, active, idle = re.findall(r"[<\d.]+ (?:%|[mnµ]?s\b)", line)
    run("report", path, "-o", page)
    shown = dict(re.findall(r'<dt>([^<]*)</dt><dd class="figure">([^<]*)<', page.read_text(encoding="utf-8")))
    shown = {title: value.replace("&lt;", "<") for title, value in shown.items()}
    assert (shown["Tensor Active"], shown["GPU idle"]) == (active, idle)
    steps = json.loads(run("ranges", path, "--format", "json").out)["step_summary"]
    if not steps:
        assert line.endswith("no steps")
        return
    (step,) = steps
    assert shown["Step time"] == time == format_ns(step["step_ns"])
    assert active == format_pct(step["tensor_active_mean_pct"])
    for base in re.findall(r"Savings are relative to [^<]*", page.read_text(encoding="utf-8")):
        assert not re.search(r"\d (?:%|[mnµ]?s\b)", base), "no line ends between a value and its unit"
    assert idle == format_pct(100 * step["idle_ns"] / step["total_ns"])
    assert line.endswith(f" {step['step_count']} steps")


def test_a_comparison_has_the_figures_of_its_recordings(run, tmp_path):
    """Step time, Tensor Active, GPU idle and the number of steps of each side; in JSON and on the page as well."""
    paths, page = [FIXTURES / f"transformer_{name}.sqlite" for name in ("eager", "compiled")], tmp_path / "page.html"
    run("compare", *paths, "-o", page)
    done = run("compare", *paths)
    markdown = run("compare", *paths, "--format", "markdown").out.replace("\\", "")
    document = json.loads(run("compare", *paths, "--format", "json").out)
    rows, sides = document["rows"], {each["side"]: each for each in document["sides"]}
    written = page.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    for path, side in zip(paths, ("base", "new"), strict=True):
        (line,) = json.loads(run("show", path, "--format", "json").out)["first_lines"]
        time, active, idle = re.findall(r"[<\d.]+ (?:%|[mnµ]?s\b)", line)
        (row,) = (each for each in done.out.splitlines() if each.startswith(f"{path.stem}  "))
        of_markdown = next(each for each in markdown.splitlines() if each.startswith(f"| {path.stem} |"))
        for text in (row, of_markdown):
            assert all(figure in text for figure in (time, active, idle))
            assert re.findall(r"\d+", text)[-1] == line.split()[-2]
        known = {each["quantity"]: each[side] for each in rows if each["path"] == "step"}
        assert (format_ns(known["step_ns"]), format_pct(known["tensor_active_mean_pct"])) == (time, active)
        figures = sides[side]
        assert [format_pct(figures[name]) for name in ("tensor_active_pct", "idle_pct")] == [active, idle]
        assert figures["step_count"] == int(line.split()[-2])
        assert all(figure in written for figure in (time, active, idle))


def test_what_rounding_allows_holds_the_mean_that_is_shown():
    """The mean is read where samples are shared among launches: here it is far from that of the samples as they are."""
    (summary,) = summarize(make_analysis(tensor_source="rounded"))
    (reading,) = [each for each in summary.figures if each.title == "Tensor Active"]
    low, high = (float(text) for text in reading.interval.removesuffix(" %").split("–"))
    assert low <= float(reading.value.removesuffix(" %")) <= high
