"""What recording costs the program: steps a second alone, under plain nsys, under tcprof, and with its annotation.

    python benchmarks/overhead.py [--rounds 5] workloads/mnist_amp.py ...

It needs a GPU. Plain nsys has the options that tcprof gives it, but nsys's own metric set, so that the difference is
what tcprof adds.
The ways take turns, so that a GPU that warms up or a busy host is not taken for one of them.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tcprof.nsys.report import ReportFiles
from tcprof.record.command import RecordOptions
from tcprof.record.plan import Plan, plan_recording
from tcprof.record.program import annotated

LEVELS = ("modules", "ops", "shapes")


def main() -> None:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each way; default: %(default)s")
    parser.add_argument("scripts", nargs="*", default=["workloads/mnist_amp.py"], help="they print their time per step")
    options = parser.parse_args()
    print("| script | way | steps/s, median | lowest to highest | of alone |")
    print("|---|---|---|---|---|")
    for script in options.scripts:
        rates = measure(script.split(), options.rounds)
        alone = statistics.median(rates["alone"])
        for way, found in rates.items():
            middle = statistics.median(found)
            spread = f"{min(found):.1f} to {max(found):.1f}"
            print(f"| {script} | {way} | {middle:.1f} | {spread} | {100 * middle / alone:.1f} % |", flush=True)


def measure(script: list[str], rounds: int) -> dict[str, list[float]]:
    """Steps a second of each way, one number a round."""
    program = (sys.executable, *script)
    off = RecordOptions(annotate="off")
    with tempfile.TemporaryDirectory() as folder, plan_recording(program, off) as plan:
        commands = make_commands(plan, ReportFiles.named(Path(folder) / "run.nsys-rep"))
        run(commands["alone"])  # fills the caches of files and of compiled kernels
        rates: dict[str, list[float]] = {way: [] for way in commands}
        for _ in range(rounds):
            for way, command in commands.items():
                rates[way].append(run(command))
        return rates


def make_commands(plan: Plan, report: ReportFiles) -> dict[str, list[str]]:
    """Each way, and its command."""
    annotated_plans = {level: replace(plan, program=annotated(plan.program, level)) for level in LEVELS}
    return {
        "alone": list(plan.program),
        "plain nsys": replace(plan, metric_set=None).build_command(report),
        "tcprof, without annotation": plan.build_command(report),
        **{f"tcprof, {level}": each.build_command(report) for level, each in annotated_plans.items()},
    }


def run(command: list[str]) -> float:
    """Steps a second, from the time per step that the script prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    match = re.search(r"time per step: ([\d.]+) ms", done.stdout)
    if match is None:
        raise SystemExit(f"{command} printed no time per step:\n{done.stdout}")
    return 1e3 / float(match[1])


if __name__ == "__main__":
    main()
