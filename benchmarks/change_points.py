"""How soon steps of a series are found, and how often one is claimed where there is none, beside Otava and asv.

    python benchmarks/change_points.py
    python benchmarks/change_points.py --otava /tmp/otava/bin/python --asv /tmp/asv/bin/python --write docs/history.md

Each of the others needs an environment of its own: ``python -m venv /tmp/otava; /tmp/otava/bin/pip install
apache-otava``, and likewise ``asv``. ``docs/history.md`` says what the series and the tables are.
"""

import argparse
import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from accuracy import FIXTURES, Rows, table, write

import tcprof
from tcprof.arrays import Floats
from tcprof.history.change_points import find_trends

KINDS = ("independent", "autocorrelation 0.5", "5 % of outliers")
STEPS = (0.01, 0.02, 0.03, 0.05)
AFTER = (3, 5, 10, 20)
SERIES, LENGTH, AT, AROUND = 400, 200, 60, 5
NOISES = (0.02, 0.004)
SHORT = (12, 16, 24, 40)  # recordings of short series
STEADY = 2000  # series without a step, for a rate of some per cent with an error of half a per cent
SPELLS, SPELL = (3, 4, 5, 8), 0.3  # recordings of a spell, and by how much they take longer
OTAVA = """
from otava.analysis import compute_change_points
def find(values): return [int(each.index) for each in compute_change_points(values)[0]]
"""
ASV = """
from asv.step_detect import detect_steps
def find(values): return [step[0] for step in detect_steps(values)[1:]]
"""
LOOP = "import json, sys\nprint(json.dumps([find(each) for each in json.load(sys.stdin)]))"
Finder = Callable[[list[Floats]], list[list[int]]]


def make_series(number: int, kind: str, step: float, noise: float, length: int = LENGTH) -> Floats:
    """A series with a step at AT; each number has its own noise, whatever the step is."""
    generator = np.random.default_rng([number, KINDS.index(kind)])
    error = generator.standard_normal(length)
    if kind == KINDS[1]:
        for i in range(1, length):
            error[i] = 0.5 * error[i - 1] + np.sqrt(0.75) * error[i]
    values = np.exp(noise * error)
    if kind == KINDS[2]:
        slow = generator.random(length) < 0.05
        values *= np.where(slow, 1 + noise * generator.uniform(5, 20, length), 1)
    values[AT:] *= 1 + step
    return values


def find_own(series: list[Floats]) -> list[list[int]]:
    """What tcprof finds in each series by itself."""
    return [[change.index for change in find_trends([(each, None, ())])[0].changes] for each in series]


def finder_in(python: Path, code: str) -> Finder:
    """What another program finds, in its own environment."""

    def find(series: list[Floats]) -> list[list[int]]:
        given = json.dumps([each.tolist() for each in series])
        run = subprocess.run([python, "-I", "-c", code + LOOP], input=given, capture_output=True, text=True, check=True)
        found: list[list[int]] = json.loads(run.stdout)
        return found

    return find


def measure(find: Finder, kind: str, noise: float) -> dict[str, float]:
    """False alarms a series without a step; and the share of steps, in %, found within 5 recordings of their place."""
    steady = find([make_series(number, kind, 0, noise) for number in range(SERIES)])
    figures = {"false": sum(map(len, steady)) / SERIES}
    each = SERIES // len(STEPS)
    for place, step in enumerate(STEPS):
        series = [make_series(SERIES + place * each + number, kind, step, noise) for number in range(each)]
        for after in AFTER:
            found = find([values[: AT + after] for values in series])
            hits = [any(abs(index - AT) <= AROUND for index in indices) for indices in found]
            figures[f"{step} {after}"] = 100 * float(np.mean(hits))
    return figures


def compare(finders: dict[str, Finder], noise: float) -> str:
    """A row for each kind and program; of each step what is found after 3, 5, 10 and 20 points."""
    lines = ["| noise | program | false alarms | " + " | ".join(f"{100 * step:g} %" for step in STEPS) + " |"]
    lines.append("| --- | --- |" + " ---: |" * (1 + len(STEPS)))
    for kind in KINDS:
        for name, find in finders.items():
            figures = measure(find, kind, noise)
            cells = [" / ".join(f"{figures[f'{step} {after}']:.0f}" for after in AFTER) for step in STEPS]
            lines.append(f"| {kind} | {name} | {figures['false']:.3f} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def measure_false() -> Rows:
    """False alarms a series without a step, with their standard error, of series that no other table has."""
    rows: Rows = []
    for kind in KINDS:
        series = [make_series(70_000 + number, kind, 0, NOISES[0]) for number in range(STEADY)]
        count = np.array([len(found) for found in find_own(series)])
        rows.append(((kind,), {"false": count.mean(), "error": count.std(ddof=1) / np.sqrt(STEADY)}))
    return rows


def measure_spells() -> Rows:
    """The share of spells, in %, whose both ends are found where they are, in series of 60 recordings."""
    rows: Rows = []
    for first in (10, 30):
        shares = {}
        for count in SPELLS:
            series = [make_series(30_000 + number, KINDS[0], 0, NOISES[0], 60) for number in range(SERIES)]
            for values in series:
                values[first : first + count] *= 1 + SPELL
            shares[str(count)] = 100 * float(np.mean([found == [first, first + count] for found in find_own(series)]))
        rows.append(((str(first),), shares))
    return rows


def measure_short() -> Rows:
    """False alarms a series of few recordings, of 4 times as many series as elsewhere."""
    numbers = range(10_000, 10_000 + 4 * SERIES)
    return [
        (
            (kind,),
            {
                str(length): sum(map(len, find_own([make_series(each, kind, 0, 0.02, length) for each in numbers])))
                / len(numbers)
                for length in SHORT
            },
        )
        for kind in KINDS
    ]


def measure_noise() -> Rows:
    """How much runs of the fixtures' programs differed an hour apart, by the share of a step that kernels take."""
    times = [
        {row["name"]: float(row["time_per_step_ms"] or "nan") for row in csv.DictReader((FIXTURES / name).open())}
        for name in ("runs.csv", "runs_again.csv")
    ]
    found: dict[str, list[float]] = {}
    for name in times[1]:
        if (FIXTURES / f"{name}.sqlite").exists():
            steps = tcprof.read(FIXTURES / f"{name}.sqlite").steps
            share = (steps["kernel_ns"] / steps["gpu_window_ns"])[steps["counted"]].median()
            kind = "90 % and more" if share >= 0.9 else "less"
            found.setdefault(kind, []).append(float(np.log(times[1][name] / times[0][name])) / np.sqrt(2))
    return [
        ((kind,), {"programs": len(all_of), "deviation": 100 * float(np.sqrt(np.mean(np.square(all_of))))})
        for kind, all_of in sorted(found.items())
    ]


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--otava", type=Path, help="the Python in whose environment Otava is")
    parser.add_argument("--asv", type=Path, help="the Python in whose environment asv is")
    parser.add_argument("--noise", type=float, nargs="*", help="deviations of a recording, relative")
    parser.add_argument("--write", type=Path, help="put the tables into this page, between its markers")
    options = parser.parse_args()
    finders: dict[str, Finder] = {"tcprof": find_own}
    for name, python, code in (("Otava", options.otava, OTAVA), ("asv", options.asv, ASV)):
        if python is not None:
            finders[name] = finder_in(python, code)
    deviations = {"programs": ("programs", "d"), "deviation of a run, %": ("deviation", ".2f")}
    tables = {"noise": table(("kernels' share of a step",), deviations, measure_noise())}
    errors = {"false alarms": ("false", ".3f"), "standard error": ("error", ".3f")}
    tables["false"] = table(("noise",), errors, measure_false())
    shares = {str(count): (str(count), ".0f") for count in SPELLS}
    tables["spells"] = table(("recordings before it",), shares, measure_spells())
    tables["short"] = table(("noise",), {str(length): (str(length), ".3f") for length in SHORT}, measure_short())
    for noise in options.noise or NOISES:
        tables[f"noise of {100 * noise:g} %"] = compare(finders, noise)
    for label, text in tables.items():
        print(f"{label}:\n\n{text}")
        if options.write:
            write(options.write, label, text)


if __name__ == "__main__":
    main()
