"""Capture in loops: what it names, which steps it has recorded, and what it leaves behind."""

import json
from typing import Any

import pytest

import tcprof
from tcprof import annotate

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'tcprof[workloads]'")
from tcprof.integrations import EVALUATION, TRAINING, Capture  # noqa: E402

pytestmark = pytest.mark.torch

WHY = "make test-integrations installs it, and runs these"


class Log(list[str]):
    """Ranges that write down what is opened and closed."""

    def start(self, name: str) -> str:
        self.append(f"<{name}")
        return name

    def end(self, name: str) -> None:
        self.append(f"{name}>")


@pytest.fixture
def log(monkeypatch):
    """What happens, with a capture as on a machine with a GPU."""
    happened = Log()
    monkeypatch.setattr(annotate.steps, "open_ranges", lambda: happened)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: happened.append("wait"))
    monkeypatch.setattr(torch.cuda.profiler, "start", lambda: happened.append("RECORD"))
    monkeypatch.setattr(torch.cuda.profiler, "stop", lambda: happened.append("STOP"))
    return happened


def in_words(log: Log) -> str:
    return " ".join(log).replace("<step step>", "step").replace("<evaluation evaluation>", "evaluation")


def test_a_loop_names_its_steps_and_some_are_recorded(log):
    with Capture(first=1, count=2) as capture:
        for number in range(4):
            with capture.step():
                pass
            if number == 1:
                with capture.step(EVALUATION):
                    pass
    assert in_words(log) == "step wait RECORD step evaluation step wait STOP step"


def test_a_capture_ends_with_the_loop_and_with_an_error(log):
    with pytest.raises(ZeroDivisionError), Capture(first=0) as capture, capture.step():
        raise ZeroDivisionError
    assert in_words(log) == "wait RECORD step wait STOP"


def test_nothing_is_named_twice_where_the_program_is_annotated(log, monkeypatch):
    monkeypatch.setattr(annotate, "is_on", lambda: True)
    with Capture(first=0, count=1) as capture, capture.step():
        pass
    assert in_words(log) == "wait RECORD wait STOP"


@pytest.mark.parametrize("wrong", [{"first": -1}, {"count": 0}])
def test_steps_that_cannot_be(wrong):
    with pytest.raises(ValueError, match="first must be 0 or more, count 1 or more"):
        Capture(**wrong)


def test_without_nsys_the_steps_are_a_trace_and_an_analysis(tmp_path, monkeypatch):
    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    run(Capture(first=1, count=3, trace=tmp_path / "run.json"))
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert sum(each["name"] == TRAINING and each["cat"] == "user_annotation" for each in events if "cat" in each) == 3
    assert tcprof.read(tmp_path / "run.tcprof").recording.file == "run.json"


def run(capture: Capture) -> None:
    model = torch.nn.Linear(8, 8)
    with capture:
        for _ in range(6):
            with capture.step():
                model(torch.ones(2, 8)).sum().backward()


class Numbers(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    """Eight examples of a line."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": torch.tensor([float(index)]), "labels": torch.tensor([2.0 * index])}


class Line(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def forward(self, x: Any, labels: Any) -> dict[str, Any]:
        return {"loss": ((self.line(x) - labels) ** 2).mean()}


@pytest.mark.filterwarnings("default")
def test_accelerate(log):
    accelerate = pytest.importorskip("accelerate", reason=WHY)
    accelerator = accelerate.Accelerator(cpu=True)
    model = Line()
    model, optimizer, batches = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), 0.01), torch.utils.data.DataLoader(Numbers(), batch_size=2)
    )
    with Capture(first=2, count=1) as capture:
        for batch in batches:
            with capture.step():
                accelerator.backward(model(**batch)["loss"])
                optimizer.step()
                optimizer.zero_grad()
    assert in_words(log) == "step step wait RECORD step wait STOP step"


def test_kinds_are_the_names_that_annotation_gives():
    assert (TRAINING, EVALUATION) == (annotate.steps.STEP, "evaluation")
    assert "tcprof.integrations" not in dir(tcprof)
