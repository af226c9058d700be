"""The training scripts that come with tcprof."""

from collections.abc import Sequence
from pathlib import Path

from tcprof.views.document import Commands, Document, Notes
from tcprof.workloads import Workload


def view_workloads(folder: Path, workloads: Sequence[Workload]) -> Document:
    """The scripts of a folder: name, what each does and shows, and the command that records it."""
    items = tuple(
        (each.name, tuple(text for text in (each.summary, each.point) if text), each.command) for each in workloads
    )
    return Document(
        kind="workloads",
        parts=(Notes((f"{folder}:",)), Commands(items)),
        data={"folder": str(folder), "workloads": [vars(each) for each in workloads]},
    )
