"""What text commands take on a saved analysis, beside its recording: a table of ``speed.py``."""

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from large_contents import Size
from large_recording import write_recording
from processes import run

from tcprof.saved.contents import VARIABLE

LLAMA = Path(__file__).parent.parent / "fixtures" / "llama.sqlite"
TCPROF = (sys.executable, "-m", "tcprof")
REPEATED = 7
SAVED = {
    "10 M metric rows": Size(10_000_000, kernels=10_000, ranges=2_000, gpus=2, seconds=60),
    "1 M kernels and ranges": Size(9_000_000, kernels=1_000_000, ranges=1_000_000, paths=1_000, depth=8),
}
IMPORTS = """
from pathlib import Path
from typing import Annotated, Literal
import pandas, pyarrow.parquet, typer
app = typer.Typer(add_completion=False, rich_markup_mode=None)
@app.command()
def command(path: Path, window: Annotated[Literal["gpu", "host"], typer.Option()] = "gpu", limit: int = 20): ...
app(["x"], standalone_mode=False)
"""


def measure_saved(sizes: Mapping[str, Size], folder: Path) -> str:
    """Text commands on a recording, and on what was saved of it."""
    names = ("show", "advise", "ranges", "kernels", "kernels --by path", "timeline", "show --format json", "modules")
    rows: dict[str, list[str]] = {}
    for name in ("the Llama fixture", *sizes):
        recording, saved = LLAMA, folder / "saved.tcprof"
        if name in sizes:
            recording = folder / "saved.sqlite"
            write_recording(recording, sizes[name])
        first, saving = (
            run([*TCPROF, *each, "--no-cache"], folder)
            for each in (["show", recording], ["save", recording, "-o", saved])
        )
        whole, part = (path.stat().st_size / 1e6 for path in (recording, saved))
        cells = {
            "the export; saved": f"{whole:,.1f} MB; {part:,.2f} MB, {100 * part / whole:.1f} %",
            "`show` of the recording": f"{first.cpu_s:.2f} s, {first.peak_mb:,.0f} MB",
            "`save`": f"{saving.cpu_s:.2f} s, {saving.peak_mb:,.0f} MB",
            "imports alone": _repeat([sys.executable, "-c", IMPORTS], folder),
        }
        for command in names if recording == LLAMA else names[:-1]:  # the others name no modules
            option, *others = command.split()
            cells[f"`{command}`, saved"] = _repeat([*TCPROF, option, saved, *others], folder)
        for row, cell in cells.items():
            rows.setdefault(row, []).append(cell)
        saved.unlink()
    os.environ[VARIABLE] = ""
    rows = {row: [*cells, *["–"] * (1 + len(sizes) - len(cells))] for row, cells in rows.items()}
    lines = [f"| | {' | '.join(['the Llama fixture', *sizes])} |", "|---|" + "---:|" * (1 + len(sizes))]
    return "\n".join([*lines, *(f"| {' | '.join([row, *cells])} |" for row, cells in rows.items())])


def _repeat(command: Sequence[str | Path], folder: Path) -> str:
    """CPU seconds of a process, the least and the median, and its memory."""
    costs = [run(command, folder) for _ in range(REPEATED)]
    seconds = [cost.cpu_s for cost in costs]
    memory = max(cost.peak_mb for cost in costs)
    return f"{min(seconds):.2f} s, {statistics.median(seconds):.2f} s, {memory:,.0f} MB"
