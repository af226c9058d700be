"""The plugin of pytest, in sessions of its own: what a check requires, its baseline, and what is reported."""

import subprocess
import sys

import pytest
from builders import FIXTURES

from tcprof.comparison.gate import Condition, FindingCondition, parse_requirement
from tcprof.errors import UsageError

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("shared_reads")
SLOW, FAST = FIXTURES / "mlp_fp32.sqlite", FIXTURES / "mlp_fp16.sqlite"


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs a test with the given body, in which ``tcprof`` is the fixture."""
    monkeypatch.delenv("TCPROF_STORE", raising=False)

    def run(body: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_speed=f"def test_step(tcprof):\n    {body}\n")
        store = f"--tcprof-store=sqlite:///{pytester.path / 'history.db'}"
        return pytester.runpytest_inprocess(
            "-p", "tcprof.pytest_plugin", "-p", "no:cacheprovider", "-W", "ignore", store, *options
        )

    return run


@pytest.mark.parametrize(
    ("text", "operator", "bound", "scale"),
    [
        ("tensor_active > 40", "<=", 40, "absolute"),
        ("time <= baseline + 3 %", ">", 1.03, "relative"),
        ("time <= baseline+3%", ">", 1.03, "relative"),
        ("tensor_active >= baseline - 2 pt", "<", -2, "points"),
        ("step_time <= baseline", ">", 1, "relative"),
        ("time[step / forward] < 30ms", ">=", 30e6, "absolute"),
    ],
)
def test_a_requirement_is_the_reverse_of_a_condition(text, operator, bound, scale):
    found = parse_requirement(text)
    assert isinstance(found, Condition)
    assert (found.text, found.operator, found.bound, found.scale) == (text, operator, pytest.approx(bound), scale)


def test_requirements_about_findings():
    found = parse_requirement("no finding fp32-matmul", ["fp32-matmul"])
    assert isinstance(found, FindingCondition)
    assert found.name == "fp32-matmul"
    with pytest.raises(UsageError, match="Write 'no finding fp32-matmul'"):
        parse_requirement("finding fp32-matmul", ["fp32-matmul"])


@pytest.mark.parametrize(
    "text", ["speed > 4", "time <= baseline + 3", "time = 4ms", "no finding nothing", "baseline < 3"]
)
def test_a_wrong_requirement_says_where(text):
    with pytest.raises(UsageError):
        parse_requirement(text)


def test_what_holds_passes_and_is_reported(session):
    result = session(f"tcprof.check({str(FAST)!r}, 'tensor_active > 1', 'no finding fp32-matmul')")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= tcprof =*", "test_speed.py::test_step: pass: tensor_active > 1*95 % interval*"])


def test_what_does_not_hold_fails_with_figures(session):
    result = session(f"tcprof.check({str(FAST)!r}, 'tensor_active > 99')")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Gate failed*", "*fail: tensor_active > 99*95 % interval*"])
    assert "Traceback" not in result.stdout.str()


def test_the_first_run_passes_without_a_baseline_and_becomes_it(session):
    check = "tcprof.check({!r}, 'time <= baseline + 30 %')"
    updated = session(check.format(str(FAST)), "--tcprof-update")
    updated.assert_outcomes(passed=1)
    updated.stdout.fnmatch_lines(["*time <= baseline + 30 %*--tcprof-update*", "*1 added to the store*"])
    slower = session(check.format(str(SLOW)))
    slower.assert_outcomes(failed=1)
    slower.stdout.fnmatch_lines(["*fail: time <= baseline + 30 %*"])
    session(check.format(str(SLOW)).replace("30", "900")).assert_outcomes(passed=1)


def test_what_the_interval_leaves_open_passes_unless_strict(session):
    session(f"tcprof.check({str(FAST)!r}, 'time <= baseline')", "--tcprof-update").assert_outcomes(passed=1)
    other = FIXTURES / "mlp_fp16_4097.sqlite"
    loose = session(f"tcprof.check({str(other)!r}, 'host_time <= baseline + 1 %')")
    loose.assert_outcomes(passed=1)
    loose.stdout.fnmatch_lines(["*inconclusive: host_time*"])
    session(f"tcprof.check({str(other)!r}, 'host_time <= baseline + 1 %', strict=True)").assert_outcomes(failed=1)


def test_without_a_gpu_it_is_skipped_aloud(session, monkeypatch):
    import tcprof

    def refuse(*_, **__):
        raise tcprof.MachineError("This machine is not ready to record:\n  gpu: none", hint="'tcprof doctor'")

    monkeypatch.setattr(tcprof, "profile", refuse)
    result = session("tcprof.record('train.py')")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*skipped, nothing can be recorded here: This machine is not ready to record:*"])


def test_loading_the_plugin_loads_nothing_heavy(tmp_path):
    code = (
        "import sys, pytest; before = set(sys.modules); import tcprof.pytest_plugin; "
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pandas", "sqlalchemy", "plotly", "typer", "scipy"} & set(eval(done.stdout))


def test_a_failed_check_does_not_become_the_baseline(session, pytester):
    session(f"tcprof.check({str(FAST)!r}, 'tensor_active > 99')", "--tcprof-update").assert_outcomes(failed=1)
    assert not (pytester.path / "history.db").exists()
