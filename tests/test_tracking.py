"""Figures in experiment trackers: of MLflow and Weights & Biases by the calls that they document."""

import sys
from types import SimpleNamespace

import pytest
from builders import FIXTURES

import tcprof


class Wandb:
    """A run of wandb: ``Run.log(data, step=None, commit=None)``."""

    def __init__(self) -> None:
        self.logged: list[dict] = []

    def log(self, data, step=None, commit=None) -> None:
        self.logged.append(data)


class Mlflow:
    """The module mlflow: ``log_metrics(metrics, step=None, synchronous=None, run_id=None, ...)``."""

    def __init__(self) -> None:
        self.logged: list[tuple] = []

    def log_metrics(self, metrics, step=None, synchronous=None, run_id=None) -> None:
        self.logged.append((metrics, run_id))


@pytest.fixture(scope="module")
def analysis():
    return tcprof.read(FIXTURES / "mlp_fp16.sqlite")


def test_wandb_gets_all_figures_by_one_call(analysis):
    run = Wandb()
    metrics = tcprof.log(analysis, run)
    assert run.logged == [metrics]
    step = next(
        value for name, value in metrics.items() if name.startswith("tcprof/step/") and name.endswith("step_ns")
    )
    assert step == pytest.approx(analysis.kinds["step_time_ns"].iloc[0])


def test_mlflow_gets_them_in_the_run_that_is_given(analysis, monkeypatch):
    module = Mlflow()
    metrics = tcprof.log(analysis, module)
    monkeypatch.setitem(sys.modules, "mlflow", module)
    tcprof.log(analysis, SimpleNamespace(info=SimpleNamespace(run_id="abc")))
    assert module.logged == [(metrics, None), (metrics, "abc")]


def test_what_is_no_run_is_refused(analysis):
    with pytest.raises(tcprof.UsageError, match=r"wandb\.init"):
        tcprof.log(analysis, object())
