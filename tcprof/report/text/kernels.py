"""The table of kernels for the terminal and for Markdown."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.names import short_name
from tcprof.analysis.kernels.summary import POOLED, UNDECIDED
from tcprof.findings import why_no_kernels
from tcprof.report.text.tables import Listing, bare_pct, gpu_title
from tcprof.report.wording import SOURCE_MEANINGS
from tcprof.untrusted import printable


def describe_fit(analysis: Analysis) -> str:
    """What the figures of kernels are taken from, or why there are none."""
    missing = why_no_kernels(analysis)
    if missing:
        return f"{missing}."
    if analysis.tensor_source == "none":
        return "Estimated from kernel names: the recording has no samples of the tensor pipe."
    source = SOURCE_MEANINGS[analysis.tensor_source]
    return f"Tensor Active over each kernel's own time, fitted from {source}."


def list_kernels(analysis: Analysis, rows: pd.DataFrame, by_path: bool) -> list[Listing]:
    """Kernels, one listing for each GPU.

    Args:
        analysis: What the rows belong to.
        rows: Rows of ``analysis.kernels`` or ``analysis.kernels_by_path``.
        by_path: Whether the rows have a path each, which is then shown.
    """
    listings = []
    for gpu, of_gpu in rows.groupby("gpu", sort=True):
        active = of_gpu["tensor_active_pct"]
        half = np.maximum(of_gpu["tensor_active_high_pct"] - active, active - of_gpu["tensor_active_low_pct"])
        cells = zip(
            map(short_name, of_gpu["name"]),
            map(units.format_count, of_gpu["launch_count"]),
            map(units.format_ns, of_gpu["median_ns"]),
            map(bare_pct, of_gpu["share_pct"]),
            map(bare_pct, active),
            map(bare_pct, half),
            map(_bare_flops, of_gpu["tensor_tflops"]),
            [_mark(*row) for row in zip(of_gpu["fit"], of_gpu["name_verdict"], strict=True)],
            strict=True,
        )
        listed = _under_paths(list(cells), of_gpu["path"]) if by_path else list(cells)
        headers = (
            "kernel",
            "runs",
            "median",
            "time\n%",
            "Tensor\nActive %",
            "95 %\n±",
            "FLOP/s",
            "counter\nand name",
        )
        listings.append(Listing(gpu_title(analysis, int(str(gpu))), headers, listed))
    return listings


def _under_paths(cells: list[tuple[str, ...]], paths: pd.Series) -> list[tuple[str, ...]]:
    """The kernels of each path below a row with its name; the path of the kernel that took longest comes first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for path, row in zip(paths, cells, strict=True):
        found.setdefault(path, []).append((f"  {row[0]}", *row[1:]))
    empty = ("",) * (len(cells[0]) - 1) if cells else ()
    return [line for path, rows in found.items() for line in ((printable(path) or "(no range)", *empty), *rows)]


def _bare_flops(tflops: float) -> str:
    """A rate whose unit stands in the header: "762 T"."""
    return units.format_flops(tflops).removesuffix("FLOP/s").rstrip()


def _mark(fit: str, verdict: str) -> str:
    """What the fit cannot tell, or else what counter and name say; beside it that the figure is a pool's."""
    if fit in UNDECIDED:
        return fit
    return ", ".join([verdict] * (verdict != "neither") + [POOLED] * (fit == POOLED))
