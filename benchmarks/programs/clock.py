"""The options and the clock of the programs in this folder: ``--steps N``, ``--fixed``, and ``--tiny`` for a CPU."""

import argparse
import os
import statistics
import time
from pathlib import Path
from sys import argv

_parser = argparse.ArgumentParser()
_parser.add_argument("--steps", type=int, default=30)
_parser.add_argument("--fixed", action="store_true", help="with the remedy")
_parser.add_argument("--tiny", action="store_true", help="small sizes, on the CPU")
options = _parser.parse_args()
FIXED, STEPS, WARM_UP = options.fixed, options.steps, 6
DEVICE = "cpu" if options.tiny else "cuda"


def size(full: int, tiny: int) -> int:
    """Choose a size: the program's own, or one for a CPU."""
    return tiny if options.tiny else full


class Clock:
    """The time from the begin of each step to the next one's, by role: on the GPU's clock, or the host's."""

    def __init__(self, on_gpu: bool = DEVICE == "cuda") -> None:
        self.on_gpu, self.marks, self.moments = on_gpu, [], []

    def begin(self, role: str = "train") -> None:
        """Mark the begin of a step."""
        self.moments.append(time.time_ns())
        if self.on_gpu:
            import torch

            mark = torch.cuda.Event(enable_timing=True)
            mark.record()
        else:
            mark = time.perf_counter()
        self.marks.append((role, mark))

    def stop(self) -> None:
        """Print how often each role occurred, and its median time without the first ones."""
        self.begin("")
        if self.on_gpu:
            self.marks[-1][1].synchronize()
        for role in dict.fromkeys(role for role, _ in self.marks[:-1]):
            times = [
                begin.elapsed_time(end) if self.on_gpu else 1e3 * (end - begin)
                for (name, begin), (_, end) in zip(self.marks, self.marks[1:])
                if name == role
            ]
            median = statistics.median(times[min(WARM_UP, len(times) // 3) :])
            print(f"{Path(argv[0]).stem} {role}: {len(times)} steps, {median:.3f} ms a step", flush=True)
        if path := os.environ.get("PROGRAM_STEPS"):
            lines = [f"{moment} {role}\n" for (role, _), moment in zip(self.marks, self.moments)]
            Path(path).write_text("".join(lines))
