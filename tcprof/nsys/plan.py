"""Decide how to record on this machine: which nsys, which metrics, which command line."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tcprof.errors import NsysError
from tcprof.nsys.capabilities import read_capabilities
from tcprof.nsys.command import RecordOptions, build_profile_command, resolve_program
from tcprof.nsys.locate import Nsys, find_nsys
from tcprof.nsys.record import write_metric_set


@dataclass(frozen=True)
class Plan:
    """A recording that is ready to run.

    Attributes:
        nsys: The nsys that will record.
        argv: Its command line.
        notes: What will be recorded less well than it could be, and why.
    """

    nsys: Nsys
    argv: list[str]
    notes: tuple[str, ...]


@contextmanager
def plan_recording(program: Sequence[str], options: RecordOptions, nsys: Path | None = None) -> Iterator[Plan]:
    """Plan a recording with the best metrics that are to be had here: tensor cycles, else percentages, else none.

    The metric set is a temporary file that lasts as long as the context.

    Args:
        program: The program and its arguments; a Python script gets its interpreter.
        options: How to record; its metric set is chosen here.
        nsys: The nsys to use; None looks for one.

    Raises:
        NsysError: There is no nsys that runs.
        UsageError: An option has no meaning.
    """
    found = find_nsys(nsys)
    capabilities = read_capabilities(found)
    notes = []
    with tempfile.TemporaryDirectory(prefix="tcprof-") as folder:
        metric_set = None
        if capabilities.supported_gpus:
            try:
                metric_set = write_metric_set(found, capabilities, Path(folder))
            except NsysError as error:
                notes.append(f"Rounded percentages are recorded, not tensor cycles: {error}")
        else:
            reasons = "; ".join(f"{gpu.name}: {gpu.reason}" for gpu in capabilities.gpus if gpu.reason)
            notes.append(f"No GPU metrics are recorded: nsys can sample no GPU here ({reasons or 'it finds none'}).")
        chosen = replace(options, metric_set=metric_set)
        yield Plan(found, build_profile_command(found, capabilities, chosen, resolve_program(program)), tuple(notes))
