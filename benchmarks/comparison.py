"""What 'tcprof compare' claims where nothing differs, and how often it finds a shift.

    python benchmarks/comparison.py                            synthetic recordings
    python benchmarks/comparison.py --recordings FOLDER        repeated recordings, called NAME_1, NAME_2 or NAME-1 ...
    python benchmarks/comparison.py --write docs/statistics.md

A synthetic program is the path of a recording, and its steps are the path's instances, so that one comparison
holds 1000 pairs. Runs differ by what ``tcprof/comparison/statistics/estimates.py`` assumes, and steps of a run
depend on those before. ``docs/statistics.md`` says what the tables' columns mean.
"""

import argparse
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy import FIXTURES, table, write
from synthetic_programs import PROGRAMS, Program, make_recording

import tcprof
from tcprof.analysis import Analysis
from tcprof.comparison import Side, compare
from tcprof.comparison.statistics import estimates

PAIRS = 1000
SIDES = (1, 3, 5)
SPREADS = (0.005, 0.01, 0.02)  # true deviations of runs, where estimates.WORK is assumed
SHIFTS = (1.02, 1.05, 1.10, 1.50, 3.00)
CLAIMS = ("higher", "lower")
STATISTICS = ("median", "mean", "either")
TIMES = ("host_ns", "gpu_window_ns", "kernel_ns", "tensor_active_mean_pct")


def compare_runs(
    program: Program, recordings: int, shift: float, seed: int, pairs: int = PAIRS, spread: float = estimates.WORK
) -> pd.DataFrame:
    """The rows of pairs of sides, one of which takes so many times as long as the other."""
    generator = np.random.default_rng(seed)
    sides = [
        Side(name, tuple(make_recording(program, generator, factor, pairs, spread) for _ in range(recordings)))
        for name, factor in (("base", 1.0), ("new", shift))
    ]
    rows = compare(sides[0], sides[1]).rows
    return rows[rows["quantity"].isin(TIMES) & (rows["verdict"] != "")]


def claimed_pct(
    program: Program, recordings: int, shift: float, seed: int, pairs: int = PAIRS, statistic: str = "median"
) -> dict[str, float]:
    """How many of the pairs are claimed to differ, in percent, for each quantity.

    Args:
        program: The kind of program.
        recordings: How many a side.
        shift: How many times as long the new side takes.
        seed: Of chance.
        pairs: Number of pairs.
        statistic: Which claims count: median, mean, or either of both.
    """
    rows = compare_runs(program, recordings, shift, seed, pairs)
    claims = {"median": rows["verdict"].isin(CLAIMS), "mean": rows["mean_verdict"].isin(CLAIMS)}
    claimed = claims[statistic] if statistic in claims else claims["median"] | claims["mean"]
    return (100 * claimed).groupby(rows["quantity"]).mean().to_dict()


def spread_rows() -> "Rows":
    """Where runs really differ by more than is assumed: what one recording a side claims, and what survives that."""
    found: Rows = []
    program = PROGRAMS[0]
    for number, spread in enumerate(SPREADS):
        rows = compare_runs(program, 1, 1.0, seed=500 + number, spread=spread)
        rows = rows[rows["quantity"] == "gpu_window_ns"]
        survives = rows["survives_spread_pct"].fillna(0) > 100 * spread
        figures = {"claimed": 100 * rows["verdict"].isin(CLAIMS).mean(), "survives": 100 * survives.mean()}
        found.append(((f"{100 * spread:.1f} %",), figures))
    return found


Rows = list[tuple[Sequence[str], dict[str, float]]]


def synthetic_rows() -> tuple[Rows, Rows]:
    """False positives, and the power, of each program and number of recordings."""
    false: Rows = []
    power: Rows = []
    for (number, program), count in itertools.product(enumerate(PROGRAMS), SIDES):
        seed = 100 * number + count
        label = (program.name, str(count))
        for statistic in STATISTICS:
            false.append(((*label, statistic), claimed_pct(program, count, 1.0, seed, statistic=statistic)))
        if program.every or program.tail:
            continue
        found = {f"{shift:.2f}": claimed_pct(program, count, shift, seed)["gpu_window_ns"] for shift in SHIFTS}
        power.append((label, found))
    return false, power


def read_programs(folder: Path) -> dict[str, list[Analysis]]:
    """The recordings of each program, told by their names."""
    found: dict[str, list[Analysis]] = {}
    for path in sorted(folder.glob("*.sqlite")):
        match = re.fullmatch(r"(.+)[_-]\d+", path.name.split(".")[0])
        if match:
            found.setdefault(match[1], []).append(tcprof.read(path).analysis)
    return {name: recordings for name, recordings in found.items() if len(recordings) > 1}


def splits(name: str, recordings: Sequence[Analysis]) -> Iterator[tuple[str, Side, Side]]:
    """What is compared with what: each two recordings, two with the others, and the fixture of that name with each."""
    for base, new in itertools.combinations(recordings, 2):
        yield "one a side", Side("base", (base,)), Side("new", (new,))
    for base in itertools.combinations(recordings, 2) if len(recordings) >= 4 else ():
        others = tuple(each for each in recordings if not any(each is one for one in base))
        yield "two against the others", Side("base", base), Side("new", others)
    fixture = FIXTURES / f"{name}.sqlite"
    if fixture.exists():
        base = Side("base", (tcprof.read(fixture).analysis,))
        for new in recordings:
            yield "fixture against one", base, Side("new", (new,))


def compare_splits(name: str, recordings: Sequence[Analysis]) -> pd.DataFrame:
    """The rows of all comparisons of recordings of one program, with ``design`` and ``main`` (whether steps)."""
    parts = []
    for design, base, new in splits(name, recordings):
        comparison = compare(base, new)
        main = comparison.rows["path"] == comparison.step_path
        parts.append(comparison.rows.assign(design=design, main=main))
    return pd.concat(parts, ignore_index=True)


def recorded_rows(programs: dict[str, list[Analysis]]) -> tuple[Rows, Rows]:
    """False positives by design and quantity; and how much the recordings of each program differ."""
    rows = pd.concat([compare_splits(name, recordings) for name, recordings in programs.items()])
    judged = rows[rows["verdict"] != ""]
    claims: Rows = []
    for (design, quantity), of_quantity in judged.groupby(["design", "quantity"], sort=False):
        claimed, main = of_quantity["verdict"].isin(CLAIMS), of_quantity["main"]
        figures = {"all": len(claimed), "claimed": claimed.sum(), "claimed_pct": 100 * claimed.mean()}
        figures |= {"steps": main.sum(), "claimed_steps": (claimed & main).sum()}
        claims.append(((str(design), f"`{quantity}`"), figures))
    spreads: Rows = []
    for name, recordings in programs.items():
        steady = [each.steps[each.steps["counted"] & (each.steps["gpu"] == 0)] for each in recordings]
        medians = pd.DataFrame([each[list(TIMES)].median() for each in steady])
        figures = (medians.max() / medians.min()).to_dict() | {"recordings": len(recordings)}
        steady = recordings[0].steps[~recordings[0].steps["warm_up"]]
        figures["window_ms"], figures["kernel_ms"] = steady[["gpu_window_ns", "kernel_ns"]].median() * 1e-6
        spreads.append(((name,), figures))
    return claims, spreads


FALSE = {f"`{name}`": (name, ".1f") for name in TIMES}
SURVIVED = {"claimed": ("claimed", ".1f"), "said to survive it": ("survives", ".1f")}
POWER = {f"{shift:.2f}x": (f"{shift:.2f}", ".0f") for shift in SHIFTS}
CLAIMED = {
    "judged": ("all", "d"),
    "claimed": ("claimed", "d"),
    "%": ("claimed_pct", ".1f"),
    "of steps": ("steps", "d"),
    "claimed of these": ("claimed_steps", "d"),
}
SPREAD = {
    "recordings": ("recordings", "d"),
    "GPU window, ms": ("window_ms", ".2f"),
    "kernels, ms": ("kernel_ms", ".2f"),
    **{f"`{name}`": (name, ".3f") for name in TIMES},
}


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, help="a folder of repeated recordings")
    parser.add_argument("--write", type=Path, help="put the tables into this page, between its markers")
    options = parser.parse_args()
    if options.recordings:
        programs = read_programs(options.recordings)
        if not programs:
            raise SystemExit("no program was recorded there more than once")
        claims, spreads = recorded_rows(programs)
        tables = {
            "spread": table(("program",), SPREAD, spreads),
            "recordings": table(("recordings", "quantity"), CLAIMED, claims),
        }
    else:
        false, power = synthetic_rows()
        labels = ("program", "recordings a side")
        tables = {
            "false positives": table((*labels, "of"), FALSE, false),
            "spreads": table(("run-to-run variation",), SURVIVED, spread_rows()),
            "power": table(labels, POWER, power),
        }
    for label, text in tables.items():
        print(f"{label}:\n\n{text}")
        if options.write:
            write(options.write, label, text)


if __name__ == "__main__":
    main()
