"""Programs as users write them: are their steps, first advice and price right?

    python benchmarks/programs.py record FOLDER [--gpus 4] [--only NAME,NAME]
    python benchmarks/programs.py judge FOLDER

``record`` runs each program of benchmarks/programs as found and with its remedy, unprofiled and recorded, one a GPU,
and keeps redacted recordings and ``truth.json``. ``judge`` prints the table from these files, without a GPU.
"""

import argparse
import contextlib
import itertools
import json
import os
import queue
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

PROGRAMS = Path(__file__).with_name("programs")
VARIANTS = {"found": [], "fixed": ["--fixed"]}
STAGGER_S = 5.0  # nsys tries the metrics of a GPU while others record
WARM_UP = 6  # steps of a role that the programs leave out of their median
LEAVING_S = 2.5  # from a program's last line to the end of sampling
_LINE = re.compile(r"^\w+ (?P<role>\w+): (?P<count>\d+) steps, (?P<ms>[\d.]+) ms a step$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """What is right for a program.

    Attributes:
        role: The role whose time the remedy shortens.
        remedy: What an option of the winning advice matches: its rule, action, title or code; empty if none is planted.
        arguments: Of the program.
        samples: How many times the samples of a step the remedy's step has.
        also: Numbers of steps of each role that are as right, such as those of whole iterations.
    """

    role: str
    remedy: str
    arguments: tuple[str, ...] = ()
    samples: int = 1
    also: tuple[tuple[int, ...], ...] = ()


CASES = {
    "slow_loader": Case("train", r"num_workers"),
    "foreach_off": Case("train", r"unfused-optimizer|fused=True\)$"),
    "clip_loop": Case("train", r"_foreach_|clip_grad_norm_"),
    "eager_attention": Case("train", r"attention-in-parts|scaled_dot_product_attention"),
    "channels_first": Case("train", r"layout-changes|channels_last"),
    "odd_vocabulary": Case("train", r"unaligned-shapes|multiple of 8"),
    "pageable": Case("train", r"exposed-copies|pin_memory|pageable"),
    "empty_cache": Case("train", r"cpu-work"),  # gc.collect() takes 146 of 198 ms, empty_cache() about 40
    "cell_loop": Case("train", r"nn\.GRU\b|nn\.LSTM\b|whole sequence"),
    "mask_indexing": Case("train", r"synchronizing-calls|nonzero|boolean"),
    "gan": Case("train", r"synchronizing-calls|\.item\(\)"),
    "accumulate": Case("accumulate", r"torch\.compile\(model\)", ("--steps", "12"), also=((12, 4), (48, 4))),
    "ppo": Case("rollout", r"cpu-work"),
    "diffusion": Case("denoise", r"CUDA graphs"),
    "gnn": Case("train", r"CUDA graphs", also=((30,), (30, 4), (30, 3))),
    "lbfgs": Case("step", r"fp32-matmul|set_float32_matmul_precision"),
    "bert_trainer": Case("train", r"tf32-matmul|bf16|bfloat16"),
    "beam_search": Case("decode", r"twice the batch", samples=4, also=((60, 4),)),
    "lightning_anomaly": Case("train", r"synchronizing-calls|anomaly"),
    "flax_cnn": Case("train", r"tf32-matmul|bfloat16"),
    # Written when the first twenty had been used for repairs
    "unet": Case("train", r"bf16|bfloat16|autocast", ("--steps", "60")),
    "small_gpt": Case("train", r"torch\.compile", ("--steps", "60")),
    "seq2seq": Case("train", "", ("--steps", "60")),
    "two_encoders": Case("train", r"fp32-matmul|tf32|set_float32_matmul_precision", ("--steps", "60")),
    "dqn": Case("train", r"exposed-copies|pageable|cpu-work|on the GPU", ("--steps", "300")),
    "vae": Case("train", r"CUDA graphs|reduce-overhead", ("--steps", "2000")),
    "generate": Case("decode", "", ("--steps", "50")),
    "experts": Case("train", r"synchronizing-calls|nonzero|boolean", ("--steps", "60")),
    "neural_ode": Case("train", r"torch\.compile", ("--steps", "60")),
    "instances": Case("train", "", ("--steps", "40")),
    "step_metrics": Case("train", r"synchronizing-calls|\.cpu\(\)|cpu-work", ("--steps", "100")),
    "host_noise": Case("train", r"exposed-copies|pageable|cpu-work|on the GPU", ("--steps", "80")),
    "serve_one": Case("call", r"CUDA graphs", ("--steps", "500")),
    "lora": Case("train", r"bf16|bfloat16|autocast|tf32", ("--steps", "60")),
    # Written when these had been used for repairs, too
    "recommender": Case("train", r"sparse", ("--steps", "100")),
    "guidance": Case("denoise", r"twice the batch", ("--steps", "400")),
    "speech": Case("train", r"synchronizing-calls|results on the GPU|loop-over-tensors", ("--steps", "60")),
    "contrast": Case("train", r"loop-over-tensors|_foreach_", ("--steps", "200")),
    "sampled_graph": Case("train", r"cpu-work", ("--steps", "100")),
    "weights": Case("train", r"attention-in-parts|scaled_dot_product_attention", ("--steps", "60")),
    # Written when these had been recorded, but not yet judged
    "float_mask": Case("train", r"is_causal|mask", ("--steps", "100")),
    "boxes": Case("detect", r"synchronizing-calls|tolist|on the GPU", ("--steps", "100")),
    "timers": Case("train", r"synchronizing-calls|clip_grad_norm_|loop-over-tensors", ("--steps", "60")),
    "no_cache": Case("write", r"use_cache|cache", ("--steps", "8")),
    "words": Case("train", r"cpu-work|num_workers", ("--steps", "100")),
    "triplet": Case("train", r"twice the batch|CUDA graphs", ("--steps", "100")),
    "prefetch": Case("train", r"pageable|pin_memory", ("--steps", "100")),
    "physics": Case("train", r"CUDA graphs", ("--steps", "400")),
    "characters": Case("write", r"synchronizing-calls|results on the GPU", ("--steps", "20")),
    "dice": Case("train", r"synchronizing-calls|boolean|one_hot|fusion", ("--steps", "60")),
    # Written by someone who had read neither the findings nor the advice
    "vocoder": Case("synthesize", r"weight_norm|parametriz", ("--steps", "900")),
    "windows": Case("train", r"checkpoint|recomput", ("--steps", "120")),
    "captions": Case(
        "decode",
        r"\bonce\b.{0,60}(encod|image|result|output)|(encod|image|result|output|input)\w*.{0,60}\bonce\b"
        r"|same (image|input|result|output)|reuse (its|the|their) (result|output)|repeated",
        ("--steps", "900"),
    ),
    "molecules": Case("train", r"float32|fp64|FP64|float64|double", ("--steps", "320")),
    "dictation": Case(
        "decode", r"\bcast|\bconver(t|sion)|\.to\(torch\.bfloat16\)|\.bfloat16\(\)|\.half\(\)", ("--steps", "576")
    ),
    "walker": Case(
        "train",
        r"exposed-copies|pageable|cpu-work|np\.stack|torch\.stack|(one|single) copy|at once|small copies",
        ("--steps", "650"),
    ),
    "proteins": Case("train", r"\bjit\b", ("--steps", "180")),
    "nerf": Case("train", r"fp32-matmul|[tT][fF]32|set_float32_matmul_precision", ("--steps", "350")),
    "style": Case("train", "", ("--steps", "800")),
    "kriging": Case("train", "", ("--steps", "250")),
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
        environment |= {"PROGRAM_STEPS": str(work / "steps")}
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
            trim(path)
            if (work / "steps").is_file():
                captured = count_captured(path, (work / "steps").read_text())
                self.truth[name][variant]["captured"] = captured
            shutil.move(path, self.folder / f"{name}.{variant}.sqlite")

    def _keep(self, name: str, variant: str, run: str, output: str, errors: str) -> None:
        """Keep the times that the program printed, and its last words if it printed none."""
        roles = {line["role"]: [int(line["count"]), float(line["ms"])] for line in _LINE.finditer(output)}
        if not roles:
            print(f"{name} {variant} {run} printed no times:\n{output[-1500:]}\n{errors[-1500:]}", flush=True)
        self.truth.setdefault(name, {}).setdefault(variant, {})[run] = roles


def trim(path: Path) -> None:
    """Drop the samples of when the program had not begun or had ended its work on the GPU: most of the file."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as export:
        tables = {name for (name,) in export.execute("SELECT name FROM sqlite_master")}
        if {"GPU_METRICS", "CUPTI_ACTIVITY_KIND_KERNEL"} <= tables:
            begin, end = export.execute("SELECT MIN(start), MAX(end) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
            around = (begin - 50_000_000, end + 50_000_000)
            export.execute("DELETE FROM GPU_METRICS WHERE timestamp NOT BETWEEN ? AND ?", around)
            export.execute("VACUUM")


def count_captured(path: Path, log: str) -> dict[str, list[float]]:
    """Find of each role the steps in a recording of a part of the program: how many, their mean time in ms, first ones.

    First ones are in no mean, unless there are no others.

    Args:
        log: A line for each step, when it began and its role; and one for the end.
    """
    with contextlib.closing(sqlite3.connect(path)) as export:
        (epoch_ns,) = export.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
        first_ns, last_ns = export.execute("SELECT MIN(start), MAX(end) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()
    marks = [(int(ns) - epoch_ns, *role) for ns, *role in map(str.split, log.splitlines())]
    steps = pd.DataFrame(
        [(role, begin, end) for (begin, role), (end, *_) in itertools.pairwise(marks)], columns=["role", "begin", "end"]
    )
    steps["is_first"] = steps.groupby("role").cumcount() < WARM_UP
    inside = steps[((steps["begin"] + steps["end"]) / 2).between(first_ns, last_ns)]
    times = (inside["end"] - inside["begin"]).where(
        ~inside["is_first"] | inside.groupby("role")["is_first"].transform("all")
    )
    return {
        role: [len(rows), round(float(times[rows.index].mean()) / 1e6, 3), int(rows["is_first"].sum())]
        for role, rows in inside.groupby("role", sort=False)
    }


def record(folder: Path, gpus: int, names: list[str], deadline_s: float, *, with_fixed: bool) -> None:
    """Run and record programs, as found and with the remedy."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder, [sys.executable, "-m", "tcprof"], deadline_s)
    for name in names:
        for variant in VARIANTS if CASES[name].remedy else ("found",):
            for recorded in (False, True) if variant == "found" or with_fixed else (False,):
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


# --- Anywhere

COLUMNS = (
    *(
        "program",
        "steps of each role",
        "time covered",
        "mean / median",
        "estimated / true step",
        "saved",
        "first advice",
        "the remedy is",
    ),
    *("predicted", "inside", "with the remedy: steps", "advised again"),
)


@dataclass(frozen=True)
class Verdict:
    """What tcprof makes of one recording, beside the truth.

    Attributes:
        counts: Number of steps of each role, largest first.
        steps_right: Whether these are the program's.
        covered_pct: Share of the role's time, without its first steps, that figures cover.
        mean_to_median: Of the step times that figures cover.
        estimate: The unprofiled step that savings are relative to, by the true one; NaN where steps are wrong.
        advice: Rule and likely saving of the first advice.
        rank: Position of the remedy among the advice, from 1; 0 if it is missing.
        gain: Low, likely and high of the remedy, in percent; empty without a price.
        saved_pct: What the remedy saved unprofiled.
    """

    counts: list[int]
    steps_right: bool
    covered_pct: float
    mean_to_median: float
    estimate: float
    advice: str
    rank: int
    gain: tuple[float, ...]
    saved_pct: float

    @property
    def inside(self) -> bool:
        """Whether the saving lies within the predicted interval, to whole percents."""
        return bool(self.gain) and self.gain[0] - 0.5 <= self.saved_pct <= self.gain[2] + 0.5

    @property
    def factor(self) -> float:
        """Likely and true saving, the larger one by the smaller one."""
        low, high = sorted([self.gain[1] if self.gain else float("nan"), self.saved_pct])
        return high / max(low, 0.5) if self.gain and self.saved_pct == self.saved_pct else float("nan")


def judge_recording(path: Path, name: str, runs: dict[str, dict[str, dict[str, list[float]]]], variant: str) -> Verdict:
    """Compare what tcprof says of a recording with what the program is."""
    import tcprof

    report, case, recorded = tcprof.read(path), CASES[name], runs[variant].get("captured") or runs[variant]["recorded"]
    steps = report.steps
    role = "role" if "role" in steps else "kind"
    ran = steps[steps["gpu_window_ns"] > 0]  # the last ones may have been launched, but not run
    counts = sorted(ran.groupby(role, observed=True).size(), reverse=True)
    truths = [[int(number) for number, *_ in recorded.values()], *case.also]
    is_part = "captured" in runs[variant]
    right = any(_equal(counts, sorted(true, reverse=True), is_part=is_part) for true in truths)
    counted = steps[steps["counted"]]
    times = counted["step_ns"].dropna() / 1e6
    headline = steps.merge(counted[["path", role]].drop_duplicates())
    near = [name for name, (number, *_) in recorded.items() if abs(number - len(headline)) <= max(1, 0.1 * number)]
    totals = {name: _time_steady(*recorded[name]) for name in recorded}
    total = min((totals[name] for name in near), default=sum(totals.values()))
    estimates = [option.gain.step_ns / 1e6 for each in report.advice for option in each.options if option.gain.step_ns]
    true = [runs[variant]["alone"][name][1] for name in near if right]
    estimate = estimates[0] / true[0] if estimates and true else float("nan")
    covered = min(100.0, 100 * float(times.sum()) / total)
    rank, gain = _find_remedy(report.advice, case)
    gain = () if case.samples > 1 else gain  # a price of twice the batch is none of four times the batch
    first = [_name_first(each) for each in report.advice]
    saved = float("nan")
    if case.remedy and "fixed" in runs:
        found, fixed = (runs[side]["alone"][case.role][1] for side in VARIANTS)
        saved = 100 * (1 - fixed / case.samples / found)
    mean = times.mean() / times.median()
    return Verdict(counts, right, covered, mean, estimate, (first or ["nothing"])[0], rank, gain, saved)


def _time_steady(number: float, step_ms: float, first: float | None = None) -> float:
    """Return the time of a role's steps without the first ones; of a part of a program, without the last one."""
    return step_ms * (number - min(WARM_UP, number / 3) if first is None else number - first - 1)


def _equal(counts: list[int], true: list[int], *, is_part: bool) -> bool:
    """Whether there are as many roles, and each has its steps but for one; of a part, but for those at its ends.

    It begins and ends within steps, and the last ones have no ranges.
    """
    return len(counts) == len(true) and all(
        abs(a - b) <= (max(2, 0.05 * b) if is_part else 1) for a, b in zip(counts, true, strict=True)
    )


def _find_remedy(advice: Iterable[Any], case: Case) -> tuple[int, tuple[float, ...]]:
    """Position and price of the first advice that names the remedy, unless it is said to save nothing."""
    for rank, each in enumerate(advice if case.remedy else (), 1):
        for option in (one for one in each.options if not one.gain.is_futile):
            texts = [each.rule, each.action, each.sentence, option.title, *option.code]
            if any(re.search(case.remedy, text) for text in texts):
                gain = _percent(option.gain)
                return rank, gain if gain[1] == gain[1] else ()
    return 0, ()


def _name_first(advice: Any) -> str:
    """Name the rule of advice and its largest likely saving, if it has one."""
    likely = [option.gain.likely_pct for option in advice.options if option.gain.is_known]
    return f"{advice.rule} {max(likely):.0f} %" if likely else str(advice.rule)


def _percent(gain: Any) -> tuple[float, ...]:
    if gain is None or gain.likely_pct is None:
        return (float("nan"),) * 3
    return gain.low_pct, gain.likely_pct, gain.high_pct


def judge(folder: Path, names: list[str]) -> None:
    """Print a row for each program, misses included, and the sums."""
    truth = json.loads((folder / "truth.json").read_text())
    print(f"On an {truth['card']}:\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    found, fixed = [], []
    for name in names:
        runs = truth["programs"][name]
        found.append(judge_recording(folder / f"{name}.found.sqlite", name, runs, "found"))
        remedied = folder / f"{name}.fixed.sqlite"
        if remedied.is_file():
            fixed.append(judge_recording(remedied, name, runs, "fixed"))
        print(_row(name, found[-1], fixed[-1] if remedied.is_file() else None), flush=True)
    print(f"\n{_sum(found, fixed)}")


def _row(name: str, found: Verdict, fixed: Verdict | None) -> str:
    cells = [
        f"{name}",
        _steps(found),
        f"{found.covered_pct:.0f} %",
        f"{found.mean_to_median:.2f}",
        "–" if found.estimate != found.estimate else f"{found.estimate:.2f}",
        "–" if found.saved_pct != found.saved_pct else f"{found.saved_pct:.0f} %",
        found.advice,
        _describe_rank(name, found),
        f"{found.gain[1]:.0f} % ({found.gain[0]:.0f} to {found.gain[2]:.0f})" if found.gain else "–",
        ("yes" if found.inside else "**no**") if found.factor == found.factor else "–",
        "–" if fixed is None else _steps(fixed),
        "–" if fixed is None else f"**{fixed.gain[1]:.0f} %**" if _advised_again(fixed) else "no",
    ]
    return f"| {' | '.join(cells)} |"


def _describe_rank(name: str, found: Verdict) -> str:
    if not CASES[name].remedy:
        return "–"
    return "first" if found.rank == 1 else f"**number {found.rank}**" if found.rank else "**missing**"


def _steps(verdict: Verdict) -> str:
    counts = " + ".join(map(str, verdict.counts)) or "none"
    return counts if verdict.steps_right else f"**{counts}**"


def _advised_again(fixed: Verdict) -> bool:
    """Whether a program that has the remedy is advised to use it, for 5 % or more."""
    return bool(fixed.gain) and fixed.gain[1] >= 5


def _sum(found: list[Verdict], fixed: list[Verdict]) -> str:
    both, prices = found + fixed, [each for each in found if each.gain and each.saved_pct == each.saved_pct]
    useful = [each for each in found if each.saved_pct >= 5]
    parts = [
        f"steps are right in {sum(each.steps_right for each in both)} of {len(both)} recordings",
        f"figures cover 95 % of the time in {sum(each.covered_pct >= 95 for each in both)}",
        f"the mean is within 1.2x of the median in {sum(1 / 1.2 <= each.mean_to_median <= 1.2 for each in both)}",
        f"its estimate unprofiled within 1.2x in {sum(1 / 1.2 <= each.estimate <= 1.2 for each in both)} of "
        f"{sum(each.estimate == each.estimate for each in both)}",
        f"of {len(useful)} remedies that save 5 % or more, {sum(each.rank == 1 for each in useful)} come first",
        f"{sum(each.rank == 0 for each in useful)} are missing",
        f"{sum(each.inside for each in prices)} of {len(prices)} prices include what was saved",
        f"their median factor is {statistics.median([each.factor for each in prices] or [1]):.2f}",
        f"{sum(map(_advised_again, fixed))} programs are advised what they have",
    ]
    return "; ".join(parts) + "."


def main() -> None:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "judge"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--deadline", type=float, default=3600, help="seconds after which no program begins")
    parser.add_argument("--found", action="store_true", help="do not record the programs with their remedy")
    options = parser.parse_args()
    if options.what == "record":
        record(options.folder, options.gpus, options.only.split(","), options.deadline, with_fixed=not options.found)
    else:
        judge(options.folder, options.only.split(","))


if __name__ == "__main__":
    main()
