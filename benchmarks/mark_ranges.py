"""Run a workload for Nsight Compute's range replay: NVTX ranges of some names become ranges of the CUDA profiler's API.

    python benchmarks/mark_ranges.py forward,backward,optimizer names.txt workloads/transformer.py --steps 6

The script's own capture range only says from where on they count. The names are written to a file, one a line and in
the order of Nsight Compute's rows, which have none; ``range_counts.py`` reads both.
"""

import runpy
import sys
from pathlib import Path
from types import TracebackType
from typing import TextIO

import nvtx
import torch

_start, _stop, _annotate = torch.cuda.profiler.start, torch.cuda.profiler.stop, nvtx.annotate


class Marks:
    """Takes the place of the functions that a workload calls.

    Args:
        names: Names of the ranges.
        file: Where the names of the ranges that were opened are written.
    """

    def __init__(self, names: set[str], file: TextIO) -> None:
        self.names, self.file = names, file
        self.is_counting = False

    def start(self) -> None:
        """In place of cudaProfilerStart."""
        self.is_counting = True

    def stop(self) -> None:
        """In place of cudaProfilerStop."""
        self.is_counting = False

    def annotate(self, message: str) -> "Range":
        """In place of ``nvtx.annotate``."""
        return Range(self, message)


class Range:
    """An NVTX range, and around it a range of the CUDA profiler's API if its name was asked for."""

    def __init__(self, marks: Marks, name: str) -> None:
        self.marks, self.name = marks, name
        self.range = _annotate(name)

    @property
    def is_marked(self) -> bool:
        """Whether Nsight Compute is to count it."""
        return self.marks.is_counting and self.name in self.marks.names

    def __enter__(self) -> None:
        if self.is_marked:
            torch.cuda.synchronize()
            _start()
            print(self.name, file=self.marks.file, flush=True)
        self.range.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.range.__exit__(kind, error, traceback)
        if self.is_marked:
            torch.cuda.synchronize()
            _stop()


def main() -> None:
    """Run the script."""
    names, file, *sys.argv = sys.argv[1:]
    with Path(file).open("w", encoding="utf-8") as opened:
        marks = Marks(set(names.split(",")), opened)
        torch.cuda.profiler.start, torch.cuda.profiler.stop = marks.start, marks.stop
        nvtx.annotate = marks.annotate
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
