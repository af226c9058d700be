"""The mean steps of two sides as icicles: figures of the comparison's JSON, and sentences for what cannot be drawn."""

import pytest
from builders import FIXTURES
from comparison_inputs import read_steps, render_page
from slow import first

import tcprof
from tcprof.comparison import Side, compare
from tcprof.comparison.waterfall import IDLE, TIME, TOTAL
from tcprof.findings.compared import judge_comparison
from tcprof.views.comparison import icicle as notes
from tcprof.views.comparison import view_comparison
from tcprof.views.comparison.icicle import compare_icicles
from tcprof.views.recording.icicle import KINDS

pytestmark = pytest.mark.usefixtures("shared_reads")
SIDES = ("base", "new")


def read(name):
    return tcprof.read(FIXTURES / f"{name}.sqlite").analysis


def draw(base, new, gpu=0, **options):
    found = compare(Side("old", (base,)), Side("fresh", (new,)), **options)
    return found, compare_icicles(found, gpu, "icicles", "tables")


def blocks(icicle, side):
    """Kind, path, time and Tensor Active of each block of a side, by name."""
    (data,) = icicle.data["trees"]
    own = data["sides"][side]
    names = (data["texts"][name] for name in own["name"])
    links = (data["texts"][link] for link in data["link"])
    return list(zip((KINDS[kind] for kind in data["kind"]), names, links, own["time"], own["active"], strict=True))


@pytest.mark.parametrize(
    ("base", "new"), first(1, [("transformer_eager", "transformer_compiled"), ("gan_fp32", "gan_fp16")])
)
def test_the_whole_and_its_idle_time_are_those_of_the_parts_of_time(base, new):
    comparison, icicle = draw(read(base), read(new))
    data = view_comparison([judge_comparison(comparison)]).data
    parts = data["waterfall"][data["waterfall"]["quantity"] == TIME].set_index("part")
    figures = {(each["side"], each["gpu"]): each["tensor_active_pct"] for each in data["sides"]}
    for side, role in enumerate(SIDES):
        found = blocks(icicle, side)
        assert found[0][3] == pytest.approx(parts.loc[TOTAL, role], abs=0.5)
        assert found[0][4] == pytest.approx(figures[role, 0], abs=0.001)
        idle = sum(time for kind, name, _, time, _ in found if kind == "idle" and name != "between steps")
        assert idle == pytest.approx(parts.loc[IDLE, role], abs=0.001 * found[0][3]), (
            "but for what is too short to draw"
        )


@pytest.mark.slow
def test_modules_have_the_figures_of_their_table():
    comparison, icicle = draw(read("llama"), read("llama"))
    data = view_comparison([judge_comparison(comparison)]).data["modules"]
    rows = data[data["phase"] == "all"].set_index("module")
    found = [each for each in blocks(icicle, 1) if each[0] == "module"]
    assert {"Llama", "Llama.layers.*", "Llama.layers.*.attention.q_proj"} <= {link for _, _, link, _, _ in found}
    for _, _, path, time, active in found:
        assert time == pytest.approx(rows.loc[path, "new_ns"], abs=0.5)
        if active is not None:
            assert active == pytest.approx(rows.loc[path, "new_tensor_active_pct"], abs=0.001)
    assert (icicle.data["table"], icicle.data["by"]) == ("tables", "module")


def test_ranges_are_matched_by_their_names_and_by_those_given(tmp_path):
    sides = [read_steps(tmp_path, f"{name}.sqlite", ranges=(name,)) for name in ("forward", "fwd")]
    _, apart = draw(*sides)
    assert [(link, time > 0) for kind, _, link, time, _ in blocks(apart, 1) if kind == "range"] == [
        ("step", True),
        ("step / forward", False),
        ("step / fwd", True),
    ]
    assert apart.notes[0] == notes._UNMATCHED.format(what="range")
    _, joined = draw(*sides, mapping={"forward": "fwd"})
    for side in (0, 1):
        assert [(link, time > 0) for kind, _, link, time, _ in blocks(joined, side) if kind == "range"] == [
            ("step", True),
            ("step / fwd", True),
        ]
    assert notes._UNMATCHED.format(what="range") not in joined.notes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "new", "note"),
    [
        ("matmul", "known_work", notes._UNMATCHED),
        ("matmul", "known_work", notes._WHOLE),
        ("llama", "transformer_eager", notes._ONE_SIDED),
        ("gan_fp32", "gan_fp16", notes._INCONCLUSIVE),
    ],
)
def test_what_cannot_be_told_is_a_sentence(base, new, note):
    _, icicle = draw(read(base), read(new))
    assert note.format(what="range", unit="step") in icicle.notes
    assert all(min(side["time"]) >= 0 and side["time"][0] > 0 for side in icicle.data["trees"][0]["sides"])


@pytest.mark.slow
def test_a_gpu_on_which_one_side_has_no_work_has_a_sentence(tmp_path):
    sides = [read_steps(tmp_path, f"{gpu}.sqlite", gpus=(0, 1), busy=(gpu,)) for gpu in (0, 1)]
    comparison, icicle = draw(*sides)
    assert icicle is None
    assert notes.ABSENT.format(unit="step") in render_page([comparison])
