"""Trends of a store: which series are looked at, what is said of their steps, and what else changed there."""

import json
from io import StringIO

import numpy as np
import pytest
from builders import FIXTURES
from histories import IDLE, STEP_TIME, make_store

import tcprof
from tcprof.errors import InputError, UsageError
from tcprof.history import trends
from tcprof.history.run import Facts
from tcprof.history.store import open_store
from tcprof.history.trends import explain_step, find_commit, read_trends
from tcprof.render.formats import Style, load_format
from tcprof.views.document import Document
from tcprof.views.trends import figure_trend, view_trends


def noise(count: int, seed: int = 0) -> np.ndarray:
    return np.exp(0.01 * np.random.default_rng(seed).standard_normal(count))


def stepping(seed: int, before: float, after: float, counts=(40, 20)) -> list[float]:
    levels = np.repeat([before, after], counts)
    return (levels * noise(sum(counts), seed)).tolist()


def shown(document: Document, form: str = "text", width: int = 120) -> str:
    stream = StringIO()
    load_format(form).write(document, Style(width, False, False), stream)
    return stream.getvalue()


def view(store, confirm=False, **options) -> Document:
    return view_trends(read_trends(store, **options), lambda *sides: explain_step(store, *sides), confirm, None)


def test_a_change_is_told_with_its_commit_and_both_levels(tmp_path):
    drivers = ["570.1"] * 40 + ["580.2"] * 20
    values = {STEP_TIME: stepping(0, 14e6, 14.9e6), IDLE: stepping(1, 20, 24)}
    text = shown(view(make_store(tmp_path, values, driver_version=drivers)))
    commits, levels = "00000039 (2026-02-12) → 00000040 (2026-02-13)", "14.0 ms → 15.0 ms (+6.9 %)"
    assert text.startswith("Changed at 00000040 (2026-02-13)")
    assert all(part in text for part in (commits, levels, "570.1 → 580.2", "tcprof history add --keep"))


def test_too_few_recordings_have_no_level(tmp_path):
    for count, verdict, drawn in ((5, "too few", False), (30, "steady", True)):
        (tmp_path / verdict).mkdir()
        (trend,) = read_trends(make_store(tmp_path / verdict, {STEP_TIME: (14e6 * noise(count)).tolist()}))
        assert trend.trend.verdict == verdict
        document = view_trends([trend], lambda *_: (), False, None)
        assert verdict in shown(document).splitlines()[0].lower()
        levels = [point["level"] for point in json.loads(shown(document, "json"))["points"]]
        assert [level is not None for level in levels] == [drawn] * len(levels)
        assert ("level" in [trace["name"] for trace in figure_trend(trend, {}).data]) == drawn


def test_an_unconfirmed_step_says_what_to_record(tmp_path):
    store = make_store(tmp_path, {STEP_TIME: [*(14e6 * noise(30)).tolist(), 16e6]})
    text = " ".join(shown(view(store, confirm=True)).split())
    assert text.startswith("Unconfirmed")
    assert "00000030 (2026-02-03)" in text
    assert "tcprof profile --repeat 3 -o confirm train.py" in text


def test_an_accepted_level_is_the_baseline(tmp_path):
    store = make_store(tmp_path, {STEP_TIME: stepping(0, 14e6, 15e6), IDLE: (20 * noise(60, 3)).tolist()})
    store.accept(find_commit(store, "00000040"), "a larger model")
    text = shown(view(store))
    assert text.startswith("Steady")
    assert "20 recordings since then" in text
    assert text.count("→") == 2  # the step time's, and the commits': idle did not change there


def test_commits_are_found_by_how_they_begin(tmp_path):
    store = make_store(tmp_path, {STEP_TIME: [1.0] * 4}, ["abcd11", "abcd22", "ffff00", "ffff00"])
    assert find_commit(store, "abcd2") == "abcd22"
    assert find_commit(store, "ffff") == "ffff00"
    for wrong in ("abcd", "beef", "a"):
        with pytest.raises(UsageError, match="'tcprof history list'"):
            find_commit(store, wrong)


def test_series_of_other_facts_are_others(tmp_path):
    values = {STEP_TIME: stepping(0, 14e6, 15e6)}
    store = make_store(tmp_path, values, config=["batch=8"] * 59 + ["batch=16"])
    assert read_trends(store) == []
    assert view(store).if_empty


@pytest.mark.parametrize(
    ("checked_out", "branches", "chosen"),
    [
        ("topic", {"main": 9, "topic": 3}, "topic"),
        ("new", {"main": 3, "topic": 9}, "main"),
        ("", {"master": 3, "topic": 9}, "master"),
        ("new", {"one": 3, "other": 5}, "other"),
        ("", {"": 4}, ""),
    ],
)
def test_branches_are_not_mixed(tmp_path, monkeypatch, checked_out, branches, chosen):
    monkeypatch.setattr(trends, "current_branch", lambda: checked_out)
    columns = [name for name, count in branches.items() for _ in range(count)]
    store = make_store(tmp_path, {STEP_TIME: [1.0] * len(columns)}, branch=columns)
    (found,) = read_trends(store)
    assert found.points["branch"].tolist() == [chosen] * branches[chosen]
    heading = f"Series of train.py {f'on {chosen}' if chosen else 'without a branch'}, changed ones first"
    assert heading in shown(view(store))
    if len(branches) > 1:
        (other,) = set(branches) - {chosen}
        (found,) = read_trends(store, branch=other)
        assert set(found.points["branch"]) == {other}


def test_what_is_asked_for_and_is_not_there(tmp_path):
    store = make_store(tmp_path, {STEP_TIME: [1.0] * 4})
    for options in ({"branch": "none"}, {"program": "none"}, {"metrics": ["speed"]}):
        with pytest.raises(UsageError):
            read_trends(store, **options)
    assert [str(each.series["metric"]) for each in read_trends(store, metrics=["step_ns"])] == ["step_ns"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="tcprof history add"):
        read_trends(open_store(f"sqlite:///{tmp_path / 'empty' / 'history.db'}"))


def test_kept_analyses_say_what_changed(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'history.db'}")
    for commit, name in (("a" * 8, "mlp_fp32"), ("b" * 8, "mlp_fp16")):
        store.add([tcprof.read(FIXTURES / f"{name}.sqlite").analysis], Facts(commit=commit, program="mlp"), keep=True)
    runs = store.runs()
    lines = explain_step(store, runs[:1], runs[1:])
    assert any("after is faster: 0." in line for line in lines), lines
    assert explain_step(store, runs[:1].assign(kept=False), runs[1:]) == ()


def test_json_and_csv_have_every_point_with_its_level(tmp_path):
    document = view(make_store(tmp_path, {STEP_TIME: stepping(0, 14e6, 15e6)}))
    data = json.loads(shown(document, "json"))
    (series,) = data["series"]
    assert (series["verdict"], series["changes"][0]["commit"]) == ("changed", "00000040")
    assert len(data["points"]) == 60
    lines = shown(document, "csv").splitlines()
    assert len(lines) == 61
    assert lines[0].startswith(
        "series_id,metric,scope,subject,gpu,unit,run_id,ordered_utc,commit,value,low,high,n,level"
    )


def test_the_commands_on_a_store(tmp_path, run):
    make_store(tmp_path, {STEP_TIME: stepping(0, 14e6, 15e6)})
    store = ("--store", f"sqlite:///{tmp_path / 'history.db'}")
    before = run("history", "trend", *store)
    assert (before.status, before.out[:19]) == (0, "Changed at 00000040")
    assert run("history", "accept", "00000040", "--why", "a larger model", *store).status == 0
    after = run("history", "trend", "--metric", "step_ns", *store)
    assert after.out.startswith("Steady")
    page = tmp_path / "trend.json"
    assert run("history", "trend", "-o", str(page), *store).status == 0
    assert json.loads(page.read_text())["series"][0]["changes"][0]["accepted"]
    wrong = run("history", "trend", "--metric", "speed", *store)
    assert (wrong.status, ", step_ns" in wrong.err) == (2, True)
    none = run("history", "accept", "beef", "--why", "x", *store)
    assert (none.status, "'beef'" in none.err) == (2, True)
    assert run("history", "trend", "--store", f"sqlite:///{tmp_path / 'none.db'}").status == 3


def test_a_page_obeys_the_rules_of_outputs(tmp_path, run):
    make_store(tmp_path, {STEP_TIME: stepping(0, 14e6, 15e6)})
    store, page = ("--store", f"sqlite:///{tmp_path / 'history.db'}"), tmp_path / "trend.html"
    page.write_text("notes of somebody")
    refused = run("history", "trend", "-o", page, *store)
    assert (refused.status, page.read_text()) == (3, "notes of somebody")
    assert "--force" in refused.err
    done = run("history", "trend", "-o", page, "--force", *store)
    assert (done.status, done.out) == (0, f"{page}\n")
    assert done.err.startswith("Changed at 00000040")
    assert run("history", "trend", "-o", page, *store).status == 0  # its own may be replaced
    assert '<meta http-equiv="Content-Security-Policy"' in page.read_text()
