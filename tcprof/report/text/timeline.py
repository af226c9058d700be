"""Where the time went, for the terminal and for Markdown: time classes, the ledger, and the iterations."""

import re

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.timeline import TIME_CLASSES
from tcprof.report.text.tables import Listing, bare_pct, gpu_title, path_labels, printable

NAMES = {
    "tensor_kernel": "tensor kernel",
    "memory_bound": "memory-bound",
    "issue_bound": "issue-bound",
    "other_kernel": "other kernel",
    "unresolved_kernel": "unresolved",
    "graph": "CUDA graph",
    "communication": "NCCL",
    "copy": "copy or set",
    "idle": "idle",
}
SELDOM = ("unresolved_kernel", "graph", "communication", "issue_bound", "memory_bound")  # shown where there are any
NOTABLE_PCT = 1.0  # entries of the ledger below this are not worth a remedy
MEANING = "% of the gpu windows; every nanosecond is in one column, the first that applies."


def shown_classes(rows: pd.DataFrame) -> list[str]:
    """The time classes that occur, and those that everyone looks for.

    Args:
        rows: Rows of ``tcprof.frames.TIMELINE``.
    """
    return [name for name in TIME_CLASSES if name not in SELDOM or (rows[f"{name}_ns"] > 0).any()]


def list_timeline(analysis: Analysis, rows: pd.DataFrame) -> list[Listing]:
    """The share of each time class in each path, one listing for each GPU; classes that never occur have no column.

    Args:
        analysis: What the rows belong to.
        rows: Rows of ``analysis.timeline``.
    """
    listings = []
    shown = shown_classes(rows)
    for gpu, of_gpu in rows.groupby("gpu", sort=True):
        window = of_gpu["window_ns"].where(of_gpu["window_ns"] > 0)
        columns = [[bare_pct(value) for value in 100 * of_gpu[f"{name}_ns"] / window] for name in shown]
        cells = zip(path_labels(of_gpu), map(units.format_ns, window), *columns, strict=True)
        headers = ("range", "window", *(re.sub(r" |(?<=-)", "\n", NAMES[name], count=1) for name in shown))
        listings.append(Listing(gpu_title(analysis, int(str(gpu))), headers, list(cells)))
    return listings


def list_ledger(analysis: Analysis, gpu: int | None) -> list[Listing]:
    """What the figures rest on: each account by what became of its parts."""
    rows = analysis.ledger if gpu is None else analysis.ledger[analysis.ledger["gpu"] == gpu]
    listings = []
    for number, of_gpu in rows.groupby("gpu", sort=True):
        cells: list[tuple[str, ...]] = []
        for account, of_account in of_gpu.groupby("account", sort=False):
            cells.append((str(account), units.format_seconds(of_account["seconds"].sum()), ""))
            parts = zip(of_account["entry"], of_account["seconds"], of_account["share_pct"], strict=True)
            cells += [(f"  {name}", units.format_seconds(value), bare_pct(share)) for name, value, share in parts]
        title = gpu_title(analysis, int(str(number)))
        listings.append(Listing(title, ("ledger", "time", "%"), cells))
    return listings


def list_remedies(ledger: pd.DataFrame) -> tuple[str, ...]:
    """What would record better, for the parts of the ledger that matter."""
    wanted = ledger[(ledger["remedy"] != "") & (ledger["share_pct"] >= NOTABLE_PCT)]
    return tuple(
        f"{units.format_pct(share)} of the {account}: {entry}. To mend it: {remedy}."
        for account, entry, share, remedy in zip(
            wanted["account"], wanted["entry"], wanted["share_pct"], wanted["remedy"], strict=True
        )
    )


def describe_iterations(iterations: pd.DataFrame) -> list[str]:
    """The iterations in a line for each GPU: how many, which are warm-up, and what one takes."""
    lines = []
    for gpu, of_gpu in iterations.groupby("gpu", sort=True):
        warm_up = int(of_gpu["warm_up"].sum())
        rest = of_gpu[~of_gpu["warm_up"]]
        paths = sorted({printable(path) for path in of_gpu["path"]})
        name = f"“{paths[0]}”" + (f" and {len(paths) - 1} like it" if len(paths) > 1 else "")
        where = f"GPU {gpu}: " if iterations["gpu"].nunique() > 1 else ""
        first = f", the first {warm_up} of them warm-up and left out here" if warm_up else ""
        lines.append(
            f"{where}{units.format_count(len(of_gpu))} iterations of {name}{first}: median host time "
            f"{units.format_ns(rest['host_ns'].median())}, gpu window "
            f"{units.format_ns(rest['gpu_window_ns'].median())}, kernels "
            f"{units.format_ns(rest['kernel_ns'].median())}, Tensor Active "
            f"{units.format_pct(rest['tensor_active_mean_pct'].median())}."
        )
    return lines or ["No range iterates: none of the program's with 5 instances holds most of the GPU's work."]


def describe_clocks(clocks: pd.DataFrame) -> list[str]:
    """Whether samples and trace agree on the time."""
    lines = []
    for gpu, offset, correlation in zip(clocks["gpu"], clocks["offset_ns"], clocks["correlation"], strict=True):
        where = f"GPU {gpu}: " if len(clocks) > 1 else ""
        if offset != offset:
            lines.append(f"{where}Clock check: not possible, the GPU was hardly ever idle.")
        else:
            apart = units.format_ns(abs(offset)) if offset else f"less than {units.format_ns(1000)}"
            lines.append(
                f"{where}Clock check: samples and trace are {apart} apart (correlation of GR "
                f"Active with the time under kernels {correlation:.3f})."
            )
    return lines
