"""Figures of a recording in a run of MLflow or Weights & Biases."""

import re
from typing import Any

from tcprof.api.reading import Report
from tcprof.errors import UsageError
from tcprof.history.run import list_points

_NOT_IN_NAMES = re.compile(r"[^\w./ -]")  # MLflow refuses what is not one of these


def log(report: Report, run: Any, prefix: str = "tcprof") -> dict[str, float]:
    """Add a recording's figures to a run of an experiment tracker, as metrics, in one call.

    Args:
        report: What ``tcprof.read`` or ``tcprof.profile`` gave.
        run: What ``mlflow.start_run`` or ``wandb.init`` gives, or the module ``mlflow`` for its active run.
        prefix: What the metrics' names begin with, such as ``tcprof/step/train/step_ns``.

    Returns:
        The metrics, as they were added.

    Raises:
        UsageError: The run is none of these.
    """
    metrics = {}
    for row in list_points(report.analysis).to_dict("records"):
        gpu = f"gpu{row['gpu']}" if row["gpu"] else ""
        parts = (prefix, row["scope"], row["subject"], gpu, row["metric"])
        name = _NOT_IN_NAMES.sub("_", "/".join(filter(None, parts)))
        metrics[re.sub(r" */[/ ]*", "/", name)] = float(row["value"])
    if hasattr(run, "log_metrics"):
        run.log_metrics(metrics)
    elif run_id := getattr(getattr(run, "info", None), "run_id", ""):
        import mlflow

        mlflow.log_metrics(metrics, run_id=run_id)
    elif hasattr(run, "log"):
        run.log(metrics)
    else:
        raise UsageError(
            f"a {type(run).__name__} is not an MLflow or Weights & Biases run",
            "Pass what mlflow.start_run() or wandb.init() returned.",
        )
    return metrics
