"""The account of the GPU's time, and what it is made from; see ``tcprof.analysis.accounting``."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from tcprof.analysis.ranges.instances import Work
from tcprof.analysis.ranges.projection import Attribution, Hierarchy
from tcprof.frames import KERNEL_INSTANCES, KERNELS, LEDGER, TIMELINE


@dataclass(frozen=True)
class Account:
    """Where the GPU's time went; ``split_by_path`` makes the kernels with a row for each path."""

    kernel_instances: pd.DataFrame
    kernels: pd.DataFrame
    split_by_path: Callable[[], pd.DataFrame]
    timeline: pd.DataFrame
    ledger: pd.DataFrame


NO_ACCOUNT = Account(KERNEL_INSTANCES.empty(), KERNELS.empty(), KERNELS.empty, TIMELINE.empty(), LEDGER.empty())


@dataclass(frozen=True)
class Evidence:
    """What was recorded and which of it belongs together: what an account is made from.

    Attributes:
        instances: See ``tcprof.analysis.ranges.instances.list_instances``, with ``warm_up``; ``work`` has their
            activities.
        peak_tflops: The peak that FLOP are held against; None for that of each kernel's precision.
        window: What the windows of the ranges are: gpu, host or busy.
    """

    activities: pd.DataFrame
    samples: pd.DataFrame
    gpus: pd.DataFrame
    hierarchy: Hierarchy
    attribution: Attribution
    instances: pd.DataFrame
    work: Work
    peak_tflops: float | None = None
    window: str = "gpu"
