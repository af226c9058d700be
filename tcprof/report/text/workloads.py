"""The list of ``tcprof workloads``, for the terminal and as JSON."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tcprof.render.json_document import render_document
from tcprof.untrusted import printable
from tcprof.workloads import Workload


def render_workloads(folder: Path, workloads: Sequence[Workload], width: int) -> str:
    """The scripts for a terminal: name, what it does, what it shows, command. Commands stay whole, to be copied."""
    margin = "  "
    fill = textwrap.TextWrapper(width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False).fill
    parts = [f"{printable(str(folder))}:"]
    for workload in workloads:
        texts = [fill(printable(text)) for text in (workload.summary, workload.point) if text]
        parts.append("\n".join([printable(workload.name), *texts, f"{margin}$ {printable(workload.command)}"]))
    return "\n\n".join(parts)


def render_workloads_json(folder: Path, workloads: Sequence[Workload]) -> str:
    """The scripts as JSON."""
    return render_document("workloads", folder=str(folder), workloads=[asdict(workload) for workload in workloads])
