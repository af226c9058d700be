"""Where the time went, for the terminal and for Markdown: time classes, the ledger, and the iterations."""

import re

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.timeline import TIME_CLASSES
from tcprof.findings.words import TIME_NAMES
from tcprof.report.text.tables import Listing, bare_pct, gpu_title, path_labels

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
        headers = ("range", "window", *(re.sub(r" |(?<=-)", "\n", TIME_NAMES[name], count=1) for name in shown))
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
        f"{units.format_pct(share)} of the {account}: {entry}. To fix this: {remedy}."
        for account, entry, share, remedy in zip(
            wanted["account"], wanted["entry"], wanted["share_pct"], wanted["remedy"], strict=True
        )
    )


def describe_iterations(iterations: pd.DataFrame, name: str) -> list[str]:
    """What an iteration takes, in a line for each GPU: medians without warm-up.

    Args:
        iterations: See ``tcprof.frames.ITERATIONS``.
        name: What they are called, see ``tcprof.findings.notes.name_iterations``.
    """
    lines = []
    for gpu, of_gpu in iterations.groupby("gpu", sort=True):
        rest = of_gpu[~of_gpu["warm_up"]]
        where = f"GPU {gpu}: " if iterations["gpu"].nunique() > 1 else ""
        lines.append(
            f"{where}{units.format_count(len(rest))} iterations of {name}, medians: host time "
            f"{units.format_ns(rest['host_ns'].median())}, gpu window "
            f"{units.format_ns(rest['gpu_window_ns'].median())}, kernels "
            f"{units.format_ns(rest['kernel_ns'].median())}, Tensor Active "
            f"{units.format_pct(rest['tensor_active_mean_pct'].median())}."
        )
    return lines or ["No range iterates: none of the program's with 5 instances holds most of the GPU's work."]
