"""The table of modules, ranges and kernels: what one looks for in it, with how many clicks, and its figures."""

import io
import json

import pandas as pd
import pytest
from builders import FIXTURES
from explorer import ROWS, group, whole_names
from report_inputs import Pages, make_analysis, write_page

import tcprof
from tcprof.analysis.modules.tree import ALL
from tcprof.untrusted import one_line

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_reads")]
RECORDINGS = ("llama", "resnet", "gan_fp16", "transformer_eager")
ANALYSES = {name: FIXTURES / f"{name}.sqlite" for name in RECORDINGS}


@pytest.fixture(scope="module")
def pages(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    names = [f"range {number}" for number in range(9_990)]
    return Pages(
        folder,
        pages,
        many=lambda path: write_page(make_analysis(names=names), path),
        **{
            name: lambda path, file=file: write_page(tcprof.read(file).analysis, path)
            for name, file in ANALYSES.items()
        },
    )


class Clicks:
    def __init__(self, opened):
        self.opened, self.count = opened, 0

    def __call__(self, found):
        found.click()
        self.count += 1


def slowest_backward_kernel(analysis):
    """The kernel without Tensor Cores in which the backward pass of the slowest module, or else range, is longest.

    From the outermost on, each time the slowest of what has such kernels: a module in it, or its own kernels.
    """
    launched, modules = analysis.kernel_instances, analysis.modules
    plain = ~analysis.kernels["tensor_kernel"].to_numpy()[launched["kernel"]]
    if not len(modules):
        ranges = analysis.ranges[analysis.ranges["path"].str.endswith("backward")]
        path = ranges.loc[ranges["gpu_window_ns"].idxmax(), "path_id"]
        found = launched[(launched["path_id"] == path).to_numpy() & plain]
        return int(found.groupby("kernel")["duration_ns"].sum().idxmax())
    of = modules.iloc[launched["module"]].reset_index(drop=True)
    wanted = (launched["module"].to_numpy() >= 0) & plain & (of["phase"] == "backward").to_numpy()
    with_some = set(of.loc[wanted, "module_id"])
    whole = modules[(modules["phase"] == ALL) & (modules["module_id"] >= 0)].set_index("module_id")
    for module in reversed(whole.index):  # what lies in another one comes after it
        with_some |= {whole["parent_id"][module]} if module in with_some else set()
    at = -1
    while True:
        inside = whole[(whole["parent_id"] == at) & whole.index.isin(with_some)]["kernel_ns"]
        mine = launched[wanted & (of["module_id"] == at).to_numpy()]
        own = whole["own_kernel_ns"].get(at, 0) if len(mine) else -1
        if inside.max() > own:
            at = inside.idxmax()
            continue
        return int(mine.groupby("kernel")["duration_ns"].sum().idxmax())


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_slowest_layers_backward_kernel_without_tensor_cores_is_found_in_few_clicks(visit, pages, name):
    analysis = tcprof.read(ANALYSES[name])
    opened = visit(pages / f"{name}.html")
    click = Clicks(opened)
    click(opened.locator("[data-phase=backward]"))
    click(opened.locator("[data-no-tensor]"))
    kinds = opened.locator(ROWS).evaluate_all("rows => rows.map(row => row.dataset.kind || '')")
    first = kinds.index("kernel")
    click(opened.locator(ROWS).nth(first))
    assert click.count <= 4
    kernel = analysis.kernels.iloc[slowest_backward_kernel(analysis)]
    assert opened.locator(".panel-kind").text_content() == "Kernel"
    assert whole_names(opened)[first] == one_line(f"{kernel['name']} {kernel['launch_geometry']}", 600)
    assert not kernel["tensor_kernel"]


def saved(opened, by):
    group(opened, by)
    with opened.expect_download() as download:
        opened.locator("[data-save]").click()
    return pd.read_csv(io.BytesIO(download.value.path().read_bytes()))


def read_json(run, command, path):
    limit = ["--limit", "0"] if command != "ranges" else ["--all"]
    return pd.DataFrame(json.loads(run(command, path, *limit, "--format", "json").out)["rows"])


def assert_columns(table, frame, derived):
    """Holds that each column of a table is the frame's, or what is derived of it; none is left out."""
    for name in table.columns[1:]:
        wanted = derived.get(name, frame.get(name))
        assert wanted is not None, f"nothing is known of {name}"
        found, wanted = table[name].tolist(), list(wanted)
        if any(isinstance(each, str) for each in wanted):
            assert [each if isinstance(each, str) else "" for each in found] == wanted, name
        else:
            assert found == pytest.approx([float(each) for each in wanted], rel=1e-6, nan_ok=True), name


def lost(time, active):
    return time * (1 - active / 100)


@pytest.mark.parametrize("name", ["llama"])
def test_every_column_is_what_json_has(visit, run, pages, name):
    opened = visit(pages / f"{name}.html")
    numbers = {"dtype": float}
    frame = read_json(run, "kernels", ANALYSES[name]).fillna({"path": ""})
    table = saved(opened, "kernel")
    full = [one_line(" ".join(each), 600) for each in zip(frame["name"], frame["launch_geometry"], strict=True)]
    frame = frame.set_index(pd.Index(full)).loc[table.iloc[:, 0]].reset_index(drop=True)
    frame[[c for c in frame if c.endswith(("_pct", "_ns"))]] = frame.filter(regex="_pct$|_ns$").astype(**numbers)
    decided = frame["fit"].isin(["unresolved", "lower bound"])
    verdict = frame["name_verdict"].replace("agrees", "yes")
    verdict = verdict.where(frame["fit"] != "pooled", verdict + ", pooled")
    assert_columns(
        table,
        frame,
        {
            "lost_time_ns": lost(frame["total_ns"], frame["tensor_active_pct"]),
            "path": frame["path"].map(one_line),
            "precision": frame["precision"].str.upper(),
            "name_verdict": frame["fit"].where(decided, verdict),
        },
    )

    frame = read_json(run, "ranges", ANALYSES[name])
    times = read_json(run, "timeline", ANALYSES[name]).set_index("path_id")
    table = saved(opened, "range")
    assert len(table) == len(frame)
    key = frame["path"].replace("", "whole capture")
    frame = frame.set_index(key).loc[table.iloc[:, 0]].reset_index(drop=True)
    frame[frame.columns[11:]] = frame[frame.columns[11:]].astype(float)
    window = frame["gpu_window_ns"].where(frame["gpu_window_ns"] > 0)
    of_class = {
        column: times.loc[frame["path_id"], column].to_numpy(float) for column in times if column.endswith("_ns")
    }
    whole = times.loc[frame["path_id"], "window_ns"].replace(0, float("nan")).to_numpy(float)
    shares = {column.replace("_ns", "_pct"): 100 * value / whole for column, value in of_class.items()}
    derived = {
        "gpu_window_ns": window,
        "share_pct": 100 * window / window.max(),
        "lost_time_ns": lost(window, frame["tensor_active_mean_pct"]),
    }
    assert_columns(table, frame, {**of_class, **shares, **derived, "kernel_ns": frame["kernel_ns"]})

    if name in ("llama", "resnet"):
        rows = read_json(run, "modules", ANALYSES[name])
        rows[rows.columns[8:]] = rows[rows.columns[8:]].astype(float)
        table = saved(opened, "module")
        rows["module"] = rows["module"].replace("", "all kernels")
        phases = {phase: of_phase.set_index("module") for phase, of_phase in rows.groupby("phase")}
        table = table[table.iloc[:, 0].isin(phases["all"].index)].reset_index(drop=True)
        assert set(table.iloc[:, 0]) == set(phases["all"].index), "each of those that are alike, too"
        names, steps = table.iloc[:, 0], rows["step_count"].iloc[0]
        frame = phases["all"].loc[names].reset_index()
        per_step = {c: frame[c] / steps for c in ("kernel_ns", "useful_flop", "tensor_flop", "lost_ns", "kernel_count")}
        active, kernel_ns = "tensor_active_pct", "kernel_ns"
        by_phase = {
            f"{phase}_{column}": (phases[phase][column].reindex(names) / (steps if column == kernel_ns else 1)).tolist()
            for phase in ("forward", "backward")
            for column in (active, kernel_ns)
        }
        derived = {"lost_time_ns": lost(per_step[kernel_ns], frame[active])}
        assert_columns(table, frame, {**per_step, **by_phase, **derived})
    assert opened.messages == []


SCROLL = """async box => {
    const frames = [];
    let last = performance.now();
    for (let i = 0; i < 60; i++) {
        box.scrollTop += 900;
        await new Promise(done => requestAnimationFrame(done));
        frames.push(performance.now() - last);
        last = performance.now();
    }
    return box.scrollTop;
}"""


def test_ten_thousand_rows_are_scrolled_with_few_in_the_page(visit, pages):
    opened = visit(pages / "many.html")
    assert opened.locator(".explorer table").get_attribute("aria-rowcount") == "9993"
    box = opened.locator(".explorer .table-box")
    box.scroll_into_view_if_needed()
    assert box.evaluate(SCROLL) > 50_000
    rows = opened.locator(ROWS)
    assert rows.count() < 80
    first = int(rows.first.get_attribute("data-place"))
    assert [int(place) for place in rows.evaluate_all("rows => rows.map(row => row.dataset.place)")] == list(
        range(first, first + rows.count())
    )
    head, middle = opened.locator(".explorer thead th").first.bounding_box(), box.bounding_box()
    tops = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().top)")
    assert min(tops) < head["y"] + head["height"]
    assert max(tops) > middle["y"] + middle["height"] - 24, "no gap is seen"
    opened.keyboard.press("Escape")
    assert opened.messages == []


def test_alike_modules_are_opened_and_ranked(visit, pages):
    opened = visit(pages / "llama.html")
    opened.locator(ROWS, has_text="each of these 4").click()
    layers = [name for name in whole_names(opened) if name.count(".") == 2 and ".layers." in name and "–" not in name]
    modules = tcprof.read(ANALYSES["llama"]).modules
    whole = modules[modules["phase"] == ALL].set_index("module")["kernel_ns"]
    assert len(layers) == 4
    assert whole.loc[layers].is_monotonic_decreasing


def test_class_and_precision_are_asked_for_and_everything_comes_back(visit, pages):
    opened = visit(pages / "transformer_eager.html")
    kernels = tcprof.read(ANALYSES["transformer_eager"]).kernels
    group(opened, "kernel")
    opened.locator("[data-choose=precision]").select_option("fp32")
    shown = opened.locator(f"{ROWS}[data-kind=kernel]").evaluate_all("rows => rows.map(row => +row.dataset.item)")
    assert set(shown) <= set(kernels.index[kernels["precision"] == "fp32"])
    assert shown
    opened.locator("[data-choose=class]").select_option("Memory-bound")
    fewer = opened.locator(f"{ROWS}[data-kind=kernel]").evaluate_all("rows => rows.map(row => +row.dataset.item)")
    assert set(fewer) < set(shown)
    opened.locator("[data-all]").click()
    assert opened.locator(".explorer table").get_attribute("aria-rowcount") == str(1 + len(kernels))
    assert opened.messages == []
