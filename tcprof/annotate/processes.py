"""Write down which rank of which job a process of a recorded program is, and its process groups."""

from __future__ import annotations

import json
import os
import re
import sys
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
    "PMI_LOCAL_RANK",
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


GROUPS = "process_groups"
_DISTRIBUTED = "torch.distributed.distributed_c10d"
_WHOLE = ("default_pg", "undefined", "")  # of no use as names, if all ranks are in the group
_LONGEST = 4000


class Process:
    """Writes down what the launcher set for this process, its PyTorch's version, and its process groups."""

    def __init__(self, torch: Any) -> None:
        folder = os.environ.get(PROCESSES)
        self._path = Path(folder, str(os.getpid())) if folder else None
        self._facts = {name: os.environ[name] for name in VARIABLES if name in os.environ}
        self._facts[TORCH_VERSION] = str(getattr(torch, "__version__", ""))
        self._write("x")

    def note_groups(self) -> None:
        """Add the process groups that there are, if there are others than before."""
        if self._path is None or self._path.name != str(os.getpid()):
            return  # not recorded, or forked
        groups = describe_groups()
        if groups and groups != self._facts.get(GROUPS):
            self._facts[GROUPS] = groups
            self._write("w")

    def _write(self, mode: str) -> None:
        if self._path is None:
            return
        try:
            with self._path.open(mode, encoding="utf-8") as file:
                json.dump(self._facts, file)
        except OSError:  # of an earlier process of that number, or the folder is gone
            self._path = None


def describe_groups() -> str:
    """Describe the process groups that this process is in, such as "dp 0-6/2;tp 0-1"; empty where there are none.

    Those of a DeviceMesh have the names of its dimensions, others what the program calls them.
    """
    c10d = sys.modules.get(_DISTRIBUTED)
    if c10d is None or not c10d.is_initialized():
        return ""
    world, rank, texts = c10d._world, c10d.get_rank(), []
    for group, places in list(world.pg_group_ranks.items()):
        name = getattr(group, "group_desc", "") if rank in places else None
        if name is None or (name in _WHOLE and len(places) == c10d.get_world_size()):
            continue
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", name[5:] if name.startswith("mesh_") else name)[:40] or "undefined"
        texts.append(f"{name} {_as_ranges(sorted(places, key=places.__getitem__))}")
    kept = ""
    for text in sorted(set(texts), key=lambda one: (len(one), one)):  # should some be too many, the large ones
        longer = f"{kept};{text}" if kept else text
        kept = longer if len(longer) <= _LONGEST else kept
    return kept


def _as_ranges(ranks: list[int]) -> str:
    """Write ranks, in order, as first-last/stride."""
    texts, begin = [], 0
    while begin < len(ranks):
        end, stride = begin, ranks[begin + 1] - ranks[begin] if begin + 1 < len(ranks) else 0
        while stride > 0 and end + 1 < len(ranks) and ranks[end + 1] - ranks[end] == stride:
            end += 1
        if end - begin > 1 or (end > begin and stride == 1):
            texts.append(f"{ranks[begin]}-{ranks[end]}" + (f"/{stride}" if stride > 1 else ""))
        else:
            end = begin
            texts.append(str(ranks[begin]))
        begin = end + 1
    return ",".join(texts)
