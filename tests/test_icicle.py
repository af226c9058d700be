"""The mean step in parts: they are the time account's to the nanosecond, and names are text."""

from types import SimpleNamespace

import numpy as np
import pytest
from builders import FIXTURES, MS, TraceBuilder
from report_inputs import HOSTILE, make_analysis, make_empty, read_hostile
from slow import first_of

import tcprof
from tcprof import units
from tcprof.analysis.gaps import list_gaps
from tcprof.analysis.mean_step import measure_mean_step
from tcprof.analysis.time.account import TIME_CLASSES
from tcprof.views.recording.icicle import KINDS, Block, Tree, list_icicles

pytestmark = pytest.mark.usefixtures("shared_reads")


@first_of(3)("file", ["llama", "transformer_eager", "jax_mlp", "net_amp", "wmma", "gan_fp16"])
def test_parts_are_those_of_the_time_account(file):
    report = tcprof.read(FIXTURES / f"{file}.sqlite")
    mean = measure_mean_step(report.analysis, 0)
    account = report.timeline
    rows = account[account["path_id"].isin(mean.paths) if mean.paths else account["depth"] == 0]
    found = mean.parts.groupby("time_class")["time_ns"].sum().reindex(range(len(TIME_CLASSES)), fill_value=0.0)
    expected = [rows[f"{name}_ns"].sum() / max(mean.count, 1) for name in TIME_CLASSES]
    assert found.tolist() == pytest.approx(expected, abs=0.5)
    assert found.sum() == pytest.approx(mean.length_ns)


def test_kernels_have_their_launches_of_an_step():
    report = tcprof.read(FIXTURES / "transformer_eager.sqlite")
    parts = measure_mean_step(report.analysis, 0).parts
    steady = report.steps[~report.steps["warm_up"]]
    launched = report.kernel_instances[report.kernel_instances["step"].isin(steady.index)]
    expected = launched.groupby("kernel").size() / len(steady)
    found = parts[parts["kernel"] >= 0].groupby("kernel")["launch_count"].sum()
    assert found.to_dict() == pytest.approx(expected[found.index].to_dict())


def draw(analysis):
    return list_icicles(analysis, list_gaps(analysis).gaps)


def bars(icicle, tree=0):
    """Kind, name, parent, time and link of each bar."""
    packed = icicle.data["trees"][tree]
    text = packed["texts"]
    (side,) = packed["sides"]
    named = ([text[number] for number in column] for column in (side["name"], packed["link"]))
    kinds = [KINDS[kind] for kind in packed["kind"]]
    return list(zip(kinds, *named, packed["parent"], side["time"], strict=True))


@pytest.mark.parametrize("tree", [0, 1])
def test_what_a_bar_consists_of_is_no_longer_than_it(tree):
    (icicle,) = draw(tcprof.read(FIXTURES / "llama.sqlite").analysis)
    assert icicle.trees == ("Modules", "Ranges")
    found = bars(icicle, tree)
    inside = np.zeros(len(found))
    for number, (_, _, _, parent, time) in enumerate(found):
        assert parent < number
        inside[max(parent, 0)] += time if parent >= 0 else 0
    for (kind, name, _, _, time), within in zip(found, inside, strict=True):
        assert within <= time + len(found), (kind, name)
    assert inside[0] == pytest.approx(found[0][4], rel=0.01)
    links = {link.split("=")[0] for _, _, link, _, _ in found if link}
    assert links == ({"range", "kernel", "gap"} if tree == 1 else {"range", "kernel", "gap", "module"})


@pytest.mark.parametrize("file", ["jax_mlp", "llama", "mnist_amp", "transformer_eager"])
def test_the_whole_is_the_mean_step_with_the_time_to_the_next(file):
    """What the bar of a step above it is of: else one is idle and the other is not."""
    report = tcprof.read(FIXTURES / f"{file}.sqlite")
    (icicle,) = draw(report.analysis)
    step = report.step_summary.iloc[0]
    assert icicle.data["unit"] == "of the step", "as the bar above it says"
    for tree in range(len(icicle.trees)):
        assert bars(icicle, tree)[0][4] == pytest.approx(step["total_ns"] / step["step_count"], abs=1)
        active = icicle.data["trees"][tree]["sides"][0]["active"][0]
        assert active == pytest.approx(step["tensor_active_mean_pct"], abs=1e-3, nan_ok=True)


def test_bars_of_ranges_have_the_tensor_active_of_their_table():
    report = tcprof.read(FIXTURES / "llama.sqlite")
    packed = draw(report.analysis)[0].data["trees"][1]
    forward = packed["texts"].index("forward")
    (side,) = packed["sides"]
    active = side["active"][side["name"].index(forward)]
    (row,) = report.ranges[report.ranges["path"] == "step / forward"].to_dict("records")
    assert active == pytest.approx(row["tensor_active_mean_pct"], abs=1e-3)


def test_epochs_are_one():
    (icicle,) = draw(tcprof.read(FIXTURES / "net_amp.sqlite").analysis)
    outer = [name for _, name, _, parent, _ in bars(icicle) if parent == 0]
    assert len(outer) == len(set(outer))
    assert "forward" in outer


@first_of(2)("file", ["llama", "mnist_amp", "resnet", "gan_fp16"])
def test_idle_time_selects_the_longest_gap_that_it_tells_of(file):
    report = tcprof.read(FIXTURES / f"{file}.sqlite")
    (icicle,), checked = draw(report.analysis), 0
    length = (report.gaps["end_ns"] - report.gaps["start_ns"]).set_axis(report.gaps["number"])
    for tree in range(len(icicle.trees)):
        for kind, name, link, _, _ in bars(icicle, tree):
            longest = name.rpartition("longest ")[2]
            if kind == "idle" and link.startswith("gap=") and longest != name:
                assert units.format_ns(length[int(link.removeprefix("gap="))]) == longest
                checked += 1
    assert checked > 1


def test_idle_time_is_as_many_gaps_as_were_recorded(tmp_path):
    """Steps of ten kernels with gaps of 1 ms but one of 3 ms: a bar of 12 ms is not one gap."""
    builder = TraceBuilder().gpu().recorded(1_000 * MS)
    for start in builder.steps(6, 100 * MS, 60 * MS):
        for number in range(10):
            begin = start + 10 + 5 * MS * number + (2 * MS if number > 5 else 0)
            builder.kernel(f"k{number}", begin, begin + 4 * MS, launched=start + 1 + number)
    (icicle,) = draw(tcprof.read(builder.write(tmp_path)).analysis)
    idle = [(name, time) for kind, name, _, _, time in bars(icicle) if kind == "idle"]
    assert [name for name, _ in idle] == ["Idle: 9 gaps, longest 3.00 ms", "between steps"]
    assert idle[0][1] == 11 * MS
    links = [link for kind, _, link, _, _ in bars(icicle) if kind == "idle"]
    assert links == ["gap=6", "gap=10"]
    packed = icicle.data["trees"][0]
    start = packed["start"][packed["kind"].index(KINDS.index("idle"))]
    assert start == max(packed["start"]), "it is nowhere between the kernels"


def test_a_gap_in_nearly_every_step_is_one():
    """One in each of 511 steps and two in one of them are 1.002 gaps on average."""
    tree, gap = (
        Tree(),
        SimpleNamespace(time_ns=1e6, launch_count=0, start_ns=0, gap_count=1.002, longest_ns=2e6, longest_at_ns=0),
    )
    tree.add((Block("idle", "Idle"),), gap, 0.0)
    assert tree.name_of(0) == "Idle: 1 gap, longest 2.00 ms"


def test_without_work_there_is_none():
    assert draw(make_empty()) == ()
    assert len(draw(make_analysis())) == 1


def test_names_are_one_line(tmp_path):
    found = [name for icicle in draw(read_hostile(tmp_path)) for _, name, *_ in bars(icicle)]
    assert HOSTILE[0] in found
    assert not [name for name in found if "\n" in name or "\x1b" in name]


def test_no_time_between_steps_is_no_bar():
    """A side whose steps follow each other at once: its bar of no time had no Tensor Active, a division by zero."""
    tree = Tree()
    tree.add_between(Block("range", "step"), 0.0, 5.0)
    assert not tree.blocks
