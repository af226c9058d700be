"""Twenty programs as users write them: are their steps, first advice and price right?

    python benchmarks/programs.py record FOLDER [--gpus 4] [--only NAME,NAME]
    python benchmarks/programs.py judge FOLDER

``record`` runs each program of benchmarks/programs as found and with its remedy, unprofiled and recorded, one a GPU,
and keeps redacted recordings and ``truth.json``. ``judge`` prints the table from these files, without a GPU.
"""

import argparse
import json
import lzma
import os
import queue
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")
VARIANTS = {"found": [], "fixed": ["--fixed"]}
STAGGER_S = 5.0  # nsys tries the metrics of a GPU while others record
LEAVING_S = 2.5  # from a program's last line to the end of sampling
_LINE = re.compile(r"^\w+ (?P<role>\w+): (?P<count>\d+) steps, (?P<ms>[\d.]+) ms a step$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """What is right for a program.

    Attributes:
        role: The role whose time the remedy shortens.
        remedy: What an option of the winning advice matches: its rule, action, title or code.
        arguments: Of the program.
        samples: How many times the samples of a step the remedy's step has.
        merged: Steps that tcprof may also take for one: roles whose sequence begins with the first.
    """

    role: str
    remedy: str
    arguments: tuple[str, ...] = ()
    samples: int = 1
    merged: tuple[str, ...] = ()


CASES = {
    "slow_loader": Case("train", r"cpu-work|num_workers"),
    "foreach_off": Case("train", r"unfused-optimizer|fused=True"),
    "clip_loop": Case("train", r"_foreach_|clip_grad_norm_"),
    "eager_attention": Case("train", r"attention-in-parts|scaled_dot_product_attention"),
    "channels_first": Case("train", r"layout-changes|channels_last"),
    "odd_vocabulary": Case("train", r"unaligned-shapes|multiple of 8"),
    "pageable": Case("train", r"exposed-copies|pin_memory|pageable"),
    "empty_cache": Case("train", r"empty_cache|cudaMalloc|allocat"),
    "cell_loop": Case("train", r"nn\.GRU\b|nn\.LSTM\b|whole sequence"),
    "mask_indexing": Case("train", r"synchronizing-calls|nonzero|boolean"),
    "gan": Case("train", r"synchronizing-calls|\.item\(\)"),
    "accumulate": Case("accumulate", r"fusion|torch\.compile", ("--steps", "12")),
    "ppo": Case("rollout", r"cpu-work"),
    "diffusion": Case("denoise", r"launch-bound|graph"),
    "gnn": Case("train", r"launch-bound|graph", merged=("train", "test")),
    "lbfgs": Case("step", r"fp32-matmul|set_float32_matmul_precision"),
    "bert_trainer": Case("train", r"fp32-matmul|tf32-matmul|bf16|bfloat16"),
    "beam_search": Case("decode", r"launch-bound|small-grid|batch", samples=4),
    "lightning_anomaly": Case("train", r"synchronizing-calls|anomaly"),
    "flax_cnn": Case("train", r"tf32-matmul|fp32-matmul|bfloat16"),
}


# --- On the machine with GPUs


class Recorder:
    """Runs programs on the GPUs of this machine, one at a time on each."""

    def __init__(self, folder: Path, tools: list[str], deadline_s: float) -> None:
        self.folder, self.tools, self.deadline = folder, tools, time.monotonic() + deadline_s
        self.truth: dict[str, dict[str, dict[str, dict[str, list[float]]]]] = {}
        self.starts, self.tails = threading.Lock(), []
        self.tasks: queue.SimpleQueue[tuple[str, str, bool]] = queue.SimpleQueue()

    def work(self, gpu: int, cores: str) -> None:
        """Take one task after the other, until none or no time is left."""
        prefix = ["taskset", "-c", cores]
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        while time.monotonic() < self.deadline:
            try:
                name, variant, recorded = self.tasks.get_nowait()
            except queue.Empty:
                return
            begin = time.monotonic()
            program = [str(PROGRAMS / f"{name}.py"), *VARIANTS[variant], *CASES[name].arguments]
            if recorded:
                self._record(name, variant, gpu, prefix, program, environment)
            else:
                command = [*prefix, sys.executable, *program]
                run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                self._keep(name, variant, "alone", run.stdout, run.stderr)
            print(f"gpu {gpu}: {name} {variant} {'recorded' if recorded else 'alone'} {time.monotonic() - begin:.1f} s")

    def _record(
        self, name: str, variant: str, gpu: int, prefix: list[str], program: list[str], environment: dict[str, str]
    ) -> None:
        """Record a program; return when the GPU is free, and let nsys and tcprof complete their files beside."""
        work = Path("/tmp") / f"programs-{name}-{variant}"
        work.mkdir(exist_ok=True)
        with self.starts:
            time.sleep(STAGGER_S)
        options = ["--gpus", str(gpu), "--frequency", "10000", "--redact", "--force", "-o", str(work / "run")]
        command = [*prefix, *self.tools, "profile", *options, *program]
        with (work / "errors").open("w+") as errors:
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if _LINE.match(line):
                time.sleep(LEAVING_S)
                break
        tail = threading.Thread(target=self._complete, args=(name, variant, work, process, lines))
        tail.start()
        self.tails.append(tail)

    def _complete(self, name: str, variant: str, work: Path, process: subprocess.Popen[str], lines: list[str]) -> None:
        output = "".join(lines) + process.stdout.read()
        process.wait()
        self._keep(name, variant, "recorded", output, (work / "errors").read_text())
        for path in work.glob("*redacted*.sqlite"):
            packed = lzma.compress(path.read_bytes(), preset=2)
            (self.folder / f"{name}.{variant}.sqlite.xz").write_bytes(packed)

    def _keep(self, name: str, variant: str, run: str, output: str, errors: str) -> None:
        """Keep the times that the program printed, and its last words if it printed none."""
        roles = {line["role"]: [int(line["count"]), float(line["ms"])] for line in _LINE.finditer(output)}
        if not roles:
            print(f"{name} {variant} {run} printed no times:\n{output[-1500:]}\n{errors[-1500:]}", flush=True)
        self.truth.setdefault(name, {}).setdefault(variant, {})[run] = roles


def record(folder: Path, gpus: int, names: list[str], deadline_s: float) -> None:
    """Run and record programs, as found and with the remedy."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder, [sys.executable, "-m", "tcprof"], deadline_s)
    for name in names:
        for variant in VARIANTS:
            for recorded in (False, True):
                recorder.tasks.put((name, variant, recorded))
    each = (os.cpu_count() or gpus) // gpus
    workers = [
        threading.Thread(target=recorder.work, args=(gpu, f"{gpu * each}-{(gpu + 1) * each - 1}"))
        for gpu in range(gpus)
    ]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    for thread in recorder.tails:
        thread.join()
    listing = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    truth = {"card": (listing.stdout.splitlines() or [""])[0], "programs": recorder.truth}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def main() -> None:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument(
        "--deadline", type=float, default=3600, metavar="SECONDS", help="begin no program after this time"
    )
    options = parser.parse_args()
    if options.what == "record":
        record(options.folder, options.gpus, options.only.split(","), options.deadline)


if __name__ == "__main__":
    main()
