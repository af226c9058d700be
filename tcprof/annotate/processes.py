"""What a process of a recorded program is to its launcher, for the recording: which rank of which job."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

PROCESSES = "TCPROF_PROCESSES"  # the folder that each process writes to; 'tcprof profile' reads it, and removes it
VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_SIZE",
    "PMI_RANK",
    "MPI_LOCALRANKID",
    "PMI_SIZE",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_STEP_NUM_TASKS",
    "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
)  # as tcprof.identity reads them
TORCH_VERSION = "torch_version"


def describe_process(torch: Any) -> None:
    """Write down what the launcher set for this process, and its PyTorch's version, if it is recorded."""
    folder = os.environ.get(PROCESSES)
    if not folder:
        return
    known = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    known[TORCH_VERSION] = str(getattr(torch, "__version__", ""))
    with contextlib.suppress(OSError), Path(folder, str(os.getpid())).open("x", encoding="utf-8") as file:
        json.dump(known, file)
