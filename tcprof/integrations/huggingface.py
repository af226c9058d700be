"""A callback for ``transformers.Trainer``."""

import os
from typing import Any

from transformers import TrainerCallback

from tcprof.integrations import EVALUATION, Capture


class TcprofCallback(TrainerCallback):  # type: ignore[misc]  # transformers has types of its own, or is not here
    """Names a Trainer's steps, and has some of them recorded: see ``tcprof.integrations.Capture``.

    Steps are those of the optimizer, each with all batches whose gradients are accumulated. An evaluation's batches are
    of the kind ``evaluation``.
    """

    def __init__(self, first: int = 10, count: int = 20, trace: str | os.PathLike[str] | None = None) -> None:
        self.capture = Capture(first, count, trace)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step begins."""
        self.capture.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step ends; an evaluation may follow."""
        self.capture.end()
        self._begin_evaluation(control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An evaluation may follow."""
        self._begin_evaluation(control)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A batch of an evaluation ends, and the next one begins."""
        self.capture.begin(EVALUATION)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An evaluation ends."""
        self.capture.end(EVALUATION)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training ends."""
        self.capture.close()

    def _begin_evaluation(self, control: Any) -> None:
        if control.should_evaluate:
            self.capture.begin(EVALUATION)
