"""The annotation of programs that hold no range: what it opens, and that it never harms the program."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from forked import run_forked

import tcprof

pytestmark = pytest.mark.torch

pytest.importorskip("torch", reason="the annotation needs torch: pip install 'tcprof[workloads]'")

PACKAGE = Path(tcprof.__file__).parent / "annotate"
USER_PYTHON = os.environ.get("USER_PYTHON", sys.executable)  # another one with torch: an older Python, say
PROGRAMS = Path(__file__).with_name("annotated_programs.py")
OLDEST_PYTHON = (3, 8)  # that PyTorch 2.3 runs on
NET = "Net(Net.layers.0(Net.layers.0.proj))"
TRAINED = f"forward({NET}) backward optimizer"


def run_python(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the user's Python in a process of its own, with the package to be found."""
    path = os.pathsep.join(filter(None, (environment.pop("PYTHONPATH", ""), str(PACKAGE.parents[1]))))
    return subprocess.run(
        [USER_PYTHON, *args],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        timeout=120,
    )


def outline(log: list[str]) -> str:
    """Ranges as one line: ``outer(inner inner)``; marks are left out."""
    text = ""
    for line in log:
        kind, _, name = line.strip().partition(" ")
        text += {">": f" {name}(", "[": f" {name}(", "-": ""}.get(kind, ")")
    return text.replace("()", "").replace("( ", "(").strip()


@pytest.fixture(scope="module")
def logs():
    done = run_python(str(PROGRAMS))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def outlines(logs):
    return {name: outline(log) for name, log in logs.items()}


class TestRanges:
    @pytest.mark.parametrize(
        ("program", "expected"),
        [
            ("inference", " ".join([f"inference Net(forward({NET}))"] * 2)),
            ("gradient_penalty", f"step(forward({NET} backward) backward optimizer)"),
            ("checkpointing_a_model", f"inference Net(forward({NET}) backward(recompute({NET})))"),
            ("wrapped", f"inference Net(forward({NET}))"),
        ],
    )
    def test_ranges_of_a_program(self, outlines, program, expected):
        assert outlines[program] == expected

    def test_a_step_of_training_holds_its_phases_and_the_loss(self, outlines):
        step = f"step(data forward({NET} MSELoss) backward optimizer)"
        assert outlines["training"] == f"{step} {step} data"  # at last the loader said that it is at its end

    @pytest.mark.parametrize(
        ("program", "called", "run_again"),
        [
            ("checkpointing", (0, 1), ((1,), (0,))),
            ("checkpointing_reentrant", (0, 1), ((1,), (0,))),
            ("checkpointing_nested", (1, 0, 1, 0), ((1,), (0,), (1,), (0,))),
            # The inner one with the outer, too.
            ("checkpointing_nested_reentrant", (1, 0, 1, 0), ((1, 0), (0,), (1, 0), (0,))),
        ],
    )
    def test_a_forward_pass_that_is_run_again_is_a_phase_within_the_backward_pass(
        self, outlines, program, called, run_again
    ):
        def layers(numbers: tuple[int, ...]) -> str:
            return " ".join(f"Checkpointed.layers.{number}(Checkpointed.layers.{number}.proj)" for number in numbers)

        backward = " ".join(f"recompute(Checkpointed({layers(numbers)}))" for numbers in run_again)
        expected = f"step(forward(Checkpointed({layers(called)})) backward({backward}) optimizer)"
        assert outlines[program] == expected

    def test_all_of_a_checkpointed_function_is_run_again_in_its_module(self, outlines):
        """Reentrant and not, to its end or stopped early, and with what a policy keeps."""
        step = "(forward(Parts(Parts.proj)) backward(recompute(Parts(Parts.proj))))"
        ranges = re.sub(r"#\d", "", outlines["checkpointing_parts"])
        assert ranges == f"inference Parts{step} step{step} step{step} step{step}"

    def test_validation_is_no_step_of_training(self, outlines):
        tried = f"inference Net(forward({NET})) data"
        assert outlines["validation"] == f"step(data {TRAINED}) data data {tried} {tried}"

    def test_a_step_holds_the_batches_whose_gradients_it_adds_up(self, outlines):
        batch = f"data forward({NET}) backward"
        step = f"step({batch} {batch} optimizer optimizer)"  # clipping gradients is the optimizer's work, too
        assert outlines["accumulation"] == f"{step} {step} data"

    def test_an_optimizer_ends_the_steps_that_gradients_ended(self, outlines):
        batch = f"forward({NET}) backward"
        accumulated = f"step({batch} {batch} optimizer)"
        assert outlines["by_hand_at_first"] == f"inference Net({batch}) step({batch}) {accumulated} {accumulated}"

    def test_a_model_that_is_not_trained_may_be_called_within_a_step(self, outlines):
        step = f"step(data forward({NET} {NET.replace('Net', 'Net#2')}) backward optimizer)"
        assert outlines["teacher"] == f"{step} {step} data"

    def test_each_thread_has_steps_of_its_own(self, outlines):
        steps = " ".join([f"inference Net(forward({NET}))"] * 2)
        assert outlines["threads"] == f"{steps} {steps.replace('Net', 'Net#2')}"


MARKED = (
    "import threading, torch, tcprof.annotate as a; log, made = [], []; nothing = lambda *_: None;"
    "R = dict(push=nothing, pop=nothing, start=nothing, end=nothing, mark=lambda _, name: log.append(name));"
    "a.open_ranges = type('R', (), R); a.start(); n = torch.nn.Linear(1, 1)"
)


class TestBackward:
    """Marks where the backward pass comes to the nodes of another module."""

    @pytest.mark.parametrize(
        ("program", "expected"),
        [
            ("training", ["MSELoss", "Net.layers.0", "Net.layers.0.proj"] * 2),
            ("accumulation", ["backward", "Net.layers.0", "Net.layers.0.proj"] * 4),
            (
                "two_models",
                [f"{net}.layers.0{part}" for _ in range(3) for net in ("Net", "Net#2") for part in ("", ".proj")],
            ),
            ("compiled", ["backward", "Net"]),
            ("inference", []),
        ],
    )
    def test_a_mark_names_the_module_that_made_the_nodes(self, logs, program, expected):
        assert [each for each in marks(logs[program]) if program != "two_models" or each != "backward"] == expected

    def test_a_checkpoint_goes_on_where_it_was_after_its_own_backward_pass(self, logs):
        layers = [["Checkpointed", f"Checkpointed.layers.{n}", f"Checkpointed.layers.{n}.proj"] for n in (1, 0)]
        assert marks(logs["checkpointing_reentrant"]) == ["backward", *layers[0], *layers[1], "Checkpointed"]

    @pytest.mark.parametrize("program", ["data_parallel", "gradient_penalty"])
    def test_nodes_that_other_threads_may_have_made_are_in_no_module(self, logs, program):
        """Each thread numbers its own from 0: replicas, and autograd where it makes a graph of the backward pass."""
        assert marks(logs[program]) == []

    def test_an_error_of_a_mark_is_not_the_programs(self):
        script = f"{MARKED}; a._installed[0]._backward._mark = 5; n(torch.ones(1)).backward(); print(log)"
        assert run_forked(script).stdout == "[]\n"


def marks(log: list[str]) -> list[str]:
    return [line.strip()[2:] for line in log if line.strip().startswith("- ")]


def calls(model: str, *, between: str = "", first: bool = True) -> str:
    """A step in which a model that generates is called, its range before its first call and after each."""
    net = NET.replace("Net", model)
    before = f"{model} " if first else ""
    return f"inference {model}({before}forward({net}) {between or model})"


class TestGenerating:
    def test_what_runs_between_the_calls_of_a_model_that_generates_is_its_own(self, outlines):
        generation = f"{calls('Generating')} {calls('Generating', first=False)}"
        called = f"inference Generating(forward({NET.replace('Net', 'Generating')}))"  # by the program
        assert outlines["generating"] == f"{generation} {generation} {called}"

    def test_in_the_call_of_a_module_it_is_a_part_of_that(self, outlines):
        called = NET.replace("Net", "Chat.net")
        assert outlines["generating_in_a_call"] == f"inference Chat(forward(Chat({called} {called})))"

    def test_what_fails_leaves_nothing_open(self, outlines):
        failed = "inference Failing(Failing forward(Failing) Failing)"
        assert outlines["generating_and_failing"] == f"{failed} {failed} inference Net(forward({NET}))"


class TestHarmlessness:
    def test_the_package_needs_nothing_else_of_tcprof_and_runs_in_old_pythons(self):
        for path in PACKAGE.rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tcprof"):
                    assert (node.module or "").startswith("tcprof.annotate"), path

    def test_startup_waits_for_torch_and_runs_the_users_own_sitecustomize(self, tmp_path):
        (tmp_path / "sitecustomize.py").write_text("print('mine')\n", encoding="utf-8")
        script = "import sys; print('torch' in sys.modules, 'tcprof' in sys.modules, 'tcprof.annotate' in sys.modules)"
        path = os.pathsep.join((str(PACKAGE / "startup"), str(tmp_path)))
        done = run_python("-c", script, PYTHONPATH=path)
        assert (done.stdout, done.stderr) == ("mine\nFalse False True\n", "")

    def test_an_error_of_the_annotation_is_told_once_and_the_program_goes_on(self):
        script = (
            "import tcprof.annotate as a; a.open_ranges = lambda: None; a.start(); import torch;"
            "n = torch.nn.Linear(1, 1); n(torch.ones(1)); n(torch.ones(1)); print('done')"
        )
        done = run_python("-c", script)
        assert (done.returncode, done.stdout) == (0, "done\n")
        assert done.stderr.count("tcprof: the annotation was switched off") == 1

    @pytest.mark.parametrize("code", ["raise SystemExit(7)", "import os; os._exit(7)", "import no_such_module"])
    def test_the_programs_status_is_its_own(self, tmp_path, code):
        plain = run_python("-c", code)
        annotated = run_python("-c", code, PYTHONPATH=str(PACKAGE / "startup"))
        assert (annotated.returncode, annotated.stdout) == (plain.returncode, plain.stdout)
        assert annotated.stderr == plain.stderr

    def test_the_context_annotates_what_is_within(self):
        script = (
            "import torch, tcprof, tcprof.annotate; log = []; nothing = lambda *_: None;"
            "R = dict(push=lambda _, name: log.append(name), pop=nothing, start=nothing, end=nothing, mark=None);"
            "tcprof.annotate.open_ranges = type('R', (), R); n = torch.nn.Linear(1, 1); x = torch.ones(1); n(x)\n"
            "with tcprof.annotate(): n(x)\n"
            "n(x); print(log)"
        )
        done = run_forked(script)
        assert done.stdout == "['Linear']\n", done.stderr

    def test_the_context_annotates_models_that_were_there_and_leaves_nothing_attached(self, tmp_path):
        script = """
import torch, tcprof, tcprof.annotate
log, nothing = [], lambda *_: None
tcprof.annotate.open_ranges = type("R", (), dict(
    push=lambda _, name: log.append(name), pop=nothing, start=nothing, end=nothing, mark=None))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(1, 1)
    def forward(self, x):
        return self.proj(x)
    def generate(self, x):
        return self(x)
    def sample(self, x):
        yield self(x)
net, own = Net(), (Net.generate, Net.sample)
hooks = [getattr(torch.nn.modules.module, f"_global_forward_{kind}hooks") for kind in ("", "pre_")]
for _ in range(2):
    with tcprof.annotate():
        net.generate(torch.ones(1))
        wrapped = Net.generate is not own[0], Net.sample is not own[1]
    print(log, wrapped, (Net.generate, Net.sample) == own, *map(len, hooks))
    log.clear()
"""
        (tmp_path / "program.py").write_text(script, encoding="utf-8")
        done = run_python(str(tmp_path / "program.py"), PYTHONPATH=str(PACKAGE.parents[1]))
        line = "['Net', 'Net', 'Net.proj', 'Net'] (True, False) True 0 0\n"  # what yields runs later
        assert (done.stdout, done.stderr) == (line * 2, "")
