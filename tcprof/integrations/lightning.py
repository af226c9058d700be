"""A callback for Lightning's ``Trainer``."""

import os
from typing import Any

try:
    from lightning.pytorch import Callback
except ModuleNotFoundError:  # its older name
    from pytorch_lightning import Callback

from tcprof.integrations import EVALUATION, Capture


class TcprofCallback(Callback):  # type: ignore[misc]  # Lightning has types of its own, or is not here
    """Names a Trainer's steps, and has some of them recorded: see ``tcprof.integrations.Capture``.

    A step is a batch. Batches of validation and of a test are of the kind ``evaluation``.
    """

    def __init__(self, first: int = 10, count: int = 20, trace: str | os.PathLike[str] | None = None) -> None:
        self.capture = Capture(first, count, trace)

    def on_train_batch_start(self, trainer: Any, *_: Any) -> None:
        """A step begins."""
        self.capture.begin()

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """A step ends."""
        self.capture.end()

    def on_validation_batch_start(self, trainer: Any, *_: Any) -> None:
        """A batch of validation begins; the sanity check before training counts as well."""
        self.capture.begin(EVALUATION)

    def on_validation_batch_end(self, trainer: Any, *_: Any) -> None:
        """It ends."""
        self.capture.end(EVALUATION)

    on_test_batch_start, on_test_batch_end = on_validation_batch_start, on_validation_batch_end

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """The trainer is done."""
        self.capture.close()
