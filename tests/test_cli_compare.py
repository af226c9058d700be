"""``tcprof compare`` as a user meets it."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from builders import AMP, FIXTURES, FP32, TraceBuilder
from slow import first

import tcprof
from tcprof.frames import COMPARISON, KERNEL_CHANGES, WATERFALL

pytestmark = pytest.mark.usefixtures("shared_reads")

EAGER, COMPILED = FIXTURES / "transformer_eager.sqlite", FIXTURES / "transformer_compiled.sqlite"


def steps(kernel_us: float, number: int = 20, seed: int = 0, name: str = "gemm", step: str = "step") -> TraceBuilder:
    """Steps that the GPU holds up: a kernel of so many µs fills each."""
    rng = np.random.default_rng(seed)
    builder, at = TraceBuilder().gpu(), 0
    for length in (1000 * kernel_us * rng.normal(1, 0.003, number)).astype(int).tolist():
        builder.range(step, at, at + length + 2_000).kernel(name, at + 1_000, at + 1_000 + length, launched=at + 10)
        at += length + 4_000
    return builder.samples([50] * (at // 10_000 + 1)).recorded(duration=at)


@pytest.fixture
def slower(tmp_path):
    """A baseline, and a recording whose steps take 1.2 times as long."""
    return steps(500).write(tmp_path, "base.sqlite"), steps(600, seed=1).write(tmp_path, "slow.sqlite")


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("compare.txt", [EAGER, COMPILED]),
        ("compare.md", [FP32, AMP, "--window", "busy", "--depth", "1", "--format", "markdown"]),
    ],
)
def test_output_is_as_before(name, args, run, golden):
    done = run("compare", *args)
    assert done.status == 0
    golden(name, done.out)
    if name.endswith("txt"):
        lines = done.out.splitlines()
        assert (max(map(len, lines)) <= 80, len(lines) <= 40, done.err) == (True, True, "")
        assert "--all" in lines[-1]
        assert len(run("compare", *args, "--all").out.splitlines()) > 2 * 40


def test_warnings_follow_the_verdict_and_precede_the_figures(run):
    outputs = {
        name: run("compare", EAGER, COMPILED, "--fail-if", "step_time > +5%", "--format", name)
        for name in ("text", "markdown", "json", "junit")
    }
    assert not any(done.err for done in outputs.values())
    text = " ".join(outputs["text"].out.split())
    assert re.match(r"transformer_compiled is faster: 0\.79.*warning: .*1\.87 GHz → 1\.80 GHz.*warning: .* Step ", text)
    verdict, gate, first, *_ = outputs["markdown"].out.split("\n\n")
    assert (verdict[:25], gate[:13], first[:9]) == ("**transformer\\_compiled i", "**Gate passed", "warning: ")
    tables = outputs["markdown"].out.split("\n| ")[2:]
    assert outputs["markdown"].out.count("<details>") == len([each for each in tables if "|---|" in each]) - 1 == 1
    assert len(outputs["text"].out.splitlines()) < 40, "with conditions, the kernels are only in JSON and on the page"
    assert list(json.loads(outputs["json"].out))[:5] == ["tcprof", "kind", "verdict", "faults", "warnings"]
    suite = ElementTree.fromstring(outputs["junit"].out).find("testsuite")
    assert suite is not None
    warnings = [each.get("value", "") for each in suite.iter("property") if each.get("name") == "warning"]
    assert [each.partition(" ")[0] for each in warnings] == ["GPU", "Run-to-run"]


@pytest.mark.slow
def test_a_side_is_called_by_its_label(run, tmp_path):
    out = run("compare", f"old={EAGER}", f"new code={COMPILED}").out
    assert re.search(r"new code .*0\.79", out)
    assert [line.split("  ")[0] for line in out.splitlines() if line.startswith(("old ", "new code "))][1:] == [
        "old",
        "new code",
    ]
    named = tmp_path / "a=b.sqlite"
    named.write_bytes(EAGER.read_bytes())
    assert "\na=b " in run("compare", named, COMPILED).out
    python = tcprof.compare(EAGER, COMPILED, labels=("old", "new code"))
    assert python.verdict[0].startswith("new code ")


def test_json_has_everything(run):
    document = json.loads(run("compare", EAGER, COMPILED, "--format", "json", "--fail-if", "time > +5%").out)
    assert document["kind"] == "comparison"
    assert document["step_path"] == "step"
    for name, schema in (("rows", COMPARISON), ("waterfall", WATERFALL), ("kernels", KERNEL_CHANGES)):
        assert list(document[name][0]) == list(schema.names)
    time = [row for row in document["waterfall"] if row["quantity"] == "time_ns"]
    assert sum(row["change"] for row in time[1:]) == pytest.approx(time[0]["change"], abs=1e-6)
    assert (document["gate"][0]["condition"], document["gate"][0]["verdict"]) == ("time > +5%", "pass")
    window = next(row for row in document["rows"] if (row["path"], row["quantity"]) == ("step", "gpu_window_ns"))
    assert window["verdict"] == "lower"
    assert window["ratio_low"] < window["ratio"] < window["ratio_high"] < 1


def test_several_sides_are_held_against_the_first(run):
    sides = [FIXTURES / f"mlp_{name}.sqlite" for name in ("fp32", "tf32", "fp16")]
    document = json.loads(run("compare", *sides, "--format", "json").out)
    files = [[side[0]["file"] for side in each["recordings"].values()] for each in document["comparisons"]]
    assert files == [["mlp_fp32.sqlite", "mlp_tf32.sqlite"], ["mlp_fp32.sqlite", "mlp_fp16.sqlite"]]
    assert len(list(csv.DictReader(io.StringIO(run("compare", *sides, "--format", "csv").out)))) > 100


GATES = (
    ("time > +5%", False, 1, "fail"),
    ("time > +30%", False, 0, "pass"),
    ("time > +20%", False, 5, "inconclusive"),
    ("time > +20%", True, 1, "inconclusive"),
    ("tensor_cycles > +1%", False, 5, "inconclusive"),
)


@pytest.mark.parametrize(
    ("condition", "strict", "status", "verdict", "output"), [*((*gate, "junit") for gate in GATES), (*GATES[0], "text")]
)
def test_the_gate(condition, strict, status, verdict, output, run, slower):
    done = run("compare", *slower, "--fail-if", condition, *["--strict"] * strict, "--format", output)
    assert done.status == status
    if output != "junit":
        assert verdict in done.out + done.err
        return
    suite = ElementTree.fromstring(done.out).find("testsuite")
    assert suite is not None
    told = {"fail": "failures", "pass": "tests", "inconclusive": "failures" if strict else "skipped"}
    assert suite.get(told[verdict]) == "1"


def test_conditions_in_a_file_are_those_of_the_command_line(run, slower, tmp_path):
    project, own = tmp_path / "pyproject.toml", tmp_path / "gate.toml"
    table = 'fail-if = ["time > +20%", "kernel_time > +50%"]\n'
    project.write_text(f"[project]\nname = 'x'\n[tool.tcprof.gate]\n{table}strict = true\n")
    own.write_text(table)
    options = ("--fail-if", "time > +20%", "--fail-if", "kernel_time > +50%")
    assert run("compare", *slower, "--gate", own) == run("compare", *slower, *options)
    strict = run("compare", *slower, "--gate", project)
    assert strict == run("compare", *slower, *options, "--strict")
    assert strict.status == 1
    more = json.loads(run("compare", *slower, "--gate", own, "--fail-if", "time > +5%", "--format", "json").out)
    assert [each["condition"] for each in more["gate"]] == ["time > +20%", "kernel_time > +50%", "time > +5%"]


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        (None, 3, "No such file"),
        ("fail-if = [", 3, "is not TOML"),
        ("fail-if = []", 2, "no list of conditions"),
        ("fail-if = 'time > +5%'", 2, "no list of conditions"),
        ("fail-if = ['time > +5%']\nfail = 1", 2, "a gate has no 'fail'"),
        ("fail-if = ['time > +5%']\nstrict = 1", 2, "strict must be true or false"),
        ("[tool.tcprof]\ngate = 1", 2, "no table [tool.tcprof.gate]"),
        ("fail-if = ['tiem > +5%']", 2, "gate.toml: condition: there is no quantity 'tiem'"),
    ],
)
def test_a_wrong_gate_file_is_told(text, status, told, run, tmp_path):
    path = tmp_path / ("pyproject.toml" if text and "[tool" in text else "gate.toml")
    if text is not None:
        path.write_text(text)
    done = run("compare", FP32, AMP, "--gate", path)
    assert (done.status, told in " ".join(done.err.split())) == (status, True)
    assert "Traceback" not in done.err


def test_a_wrong_condition_shows_where(run):
    done = run("compare", FP32, AMP, "--fail-if", "tensor_active[step / forward < 30")
    assert done.status == 2
    shown, caret = done.err.splitlines()[1:3]
    assert shown[caret.index("^")] == "["


def test_epochs_are_compared_together(run):
    rows = json.loads(run("compare", FP32, AMP, "--format", "json").out)["rows"]
    steady = next(row for row in rows if (row["path"], row["quantity"]) == ("epoch * / step", "kernel_ns"))
    counted = [int(tcprof.read(side).steps["counted"].sum()) for side in (FP32, AMP)]  # neither warm-up nor slow steps
    assert [steady["base_instance_count"], steady["new_instance_count"]] == counted
    assert min(counted) > 40  # of two epochs
    assert not any(row["path"].startswith("epoch 0 / ") for row in rows)


def test_bad_input_is_told_with_what_to_do(run, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    idle = TraceBuilder().gpu().range("step", 0, 9).write(tmp_path, "idle.sqlite")
    for args, status, told in (
        ([FP32], 2, "two sides"),
        ([FP32, tmp_path / "absent.sqlite"], 3, "absent.sqlite"),
        ([FP32, empty], 3, "folder without recordings"),
        ([FP32, AMP, "--format", "junit"], 2, "--fail-if"),
        ([FP32, AMP, AMP, "--fail-if", "time > +5%"], 2, "one side"),
        ([FP32, AMP, "-o", FP32], 3, "is the input"),
        ([FP32, AMP, "--open"], 2, "-o"),
        ([FP32, AMP, "--fail-if", "time[nothing] > +5%"], 2, "'nothing'"),
        ([FP32, idle], 3, "has no GPU work"),
    ):
        done = run("compare", *args)
        assert done.status == status
        assert told in " ".join(done.err.split())
        assert "Traceback" not in done.err
    assert run("compare", FP32, idle, "--allow-mismatch").status == 0


@pytest.mark.parametrize("strict", first(1, [True, False]))
def test_python_has_the_gate_of_the_command_line(run, slower, strict):
    conditions = ["time > +5%", "time > +20%", "kernel_time > +50%", "finding fp32-matmul"]
    options = [text for each in conditions for text in ("--fail-if", each)] + ["--strict"] * strict
    done = run("compare", *map(str, slower), *options, "--format", "json")
    gate = tcprof.compare(*slower).gate(conditions, strict)
    assert (done.status, gate.exit_status) == (1, 1)
    judged = [(each.condition.text, each.verdict, each.reason) for each in gate.judgements]
    assert judged == [(each["condition"], each["verdict"], each["reason"]) for each in json.loads(done.out)["gate"]]
    assert [verdict for _, verdict, _ in judged] == ["fail", "inconclusive", "pass", "pass"]
    unsure = tcprof.compare(*slower).gate("time > +20%", strict)
    assert (unsure.verdict, unsure.exit_status) == (("fail", 1) if strict else ("inconclusive", 5))
    with pytest.raises(tcprof.UsageError, match="no finding is called 'none'"):
        tcprof.compare(*slower).gate("finding none")
