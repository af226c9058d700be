"""How often a gate fails a build in which nothing changed: 1,000 comparisons of a program with itself.

    python benchmarks/gates.py
    python benchmarks/gates.py --recordings FOLDER --again FOLDER OTHER --write docs/ci.md

Halves are of recordings in ``fixtures/``, or in a folder: the steps from one to another one and the rest, on as many
ways as there are. Repeats are synthetic, with the variation between runs that tcprof assumes: see
``benchmarks/comparison.py``, which also has what real repeats showed. Real repeats are recordings of one name in two
folders, or a file and another one. A build fails on a change in either direction.

Pairs are of synthetic programs of 5 to 20 steps, with 1 or 3 recordings a side: 400 without and 400 with a change,
which is from half to twice the time. Where the verdict or a row of a table is sure, the gate has to fail.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy import FIXTURES, Rows, table, write
from synthetic_programs import PROGRAMS, make_recording, make_steps

import tcprof
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison, Side, compare
from tcprof.comparison.gate import Condition, judge_condition, parse_condition
from tcprof.comparison.matching.sides import find_renamings, list_path_keys, rename_paths
from tcprof.comparison.statistics.rows import MEDIAN, list_rows, sure_statistics
from tcprof.findings.compared.verdict import decisive, is_shown, time_row
from tcprof.frames import quantity_of

QUANTITIES = ("step_time", "time", "kernel_time", "tensor_active", "host_time")
HALVES, REPEATS = 500, 752  # comparisons at most of halves, and of synthetic repeats
FEWEST_STEPS = 10  # of a recording that is halved
SHAPES = ((5, 1), (6, 3), (12, 1), (20, 3))  # steps, and recordings a side
PAIRS = 400
CLAIMS = {
    "pairs": ("count", "d"),
    "gate fails, %": ("false_pct", ".1f"),
    "verdict is sure": ("sure", "d"),
    "its gate fails": ("failed", "d"),
    "other sure rows": ("rows", "d"),
    "their gates fail": ("rows_failed", "d"),
}


def parse(text: str) -> Condition:
    """Parse a condition on a quantity."""
    condition = parse_condition(text)
    assert isinstance(condition, Condition)
    return condition


CONDITIONS = {name: [parse(f"{name} {bound}") for bound in ("> +0%", "< -0%")] for name in QUANTITIES}
MARGINS = {name: [parse(f"{name} {bound}") for bound in ("> +3%", "< -3%")] for name in QUANTITIES}


def judge(rows: pd.DataFrame, path: str, conditions: list[Condition]) -> str:
    """What the gate says of a change in either direction; empty where the recording lacks the figure."""
    judgements = [judge_condition(condition, rows, path) for condition in conditions]
    if all(judgement.verdict == "inconclusive" and np.isnan(judgement.median.low) for judgement in judgements):
        return ""
    return "fail" if any(judgement.verdict == "fail" for judgement in judgements) else "pass"


def judge_both(rows: pd.DataFrame, path: str, name: str) -> tuple[str, str]:
    """What the gates on any change, and on one of over 3 %, say of a quantity."""
    return judge(rows, path, CONDITIONS[name]), judge(rows, path, MARGINS[name])


def halve(analysis: Analysis, ways: int) -> Iterator[tuple[Analysis, Analysis]]:
    """A recording's steps in two halves, one of them without a gap."""
    places = analysis.steps.loc[analysis.steps["counted"], "range"].to_numpy()
    for first in np.unique(np.linspace(0, len(places) // 2, ways).astype(int)):
        inner = np.zeros(len(places), dtype=bool)
        inner[first : first + len(places) // 2] = True
        one, other = (
            replace(
                analysis, instances=analysis.instances.assign(left_out=~analysis.instances["range"].isin(places[part]))
            )
            for part in (inner, ~inner)
        )
        yield one, other


def of_halves(files: list[Path]) -> Iterator[tuple[str, str, str, str]]:
    """Kind of comparison, quantity, and what both gates say, for each pair of halves."""
    analyses: list[Analysis] = [tcprof.read(file).analysis for file in files]
    long_enough = [analysis for analysis in analyses if analysis.steps["counted"].sum() >= FEWEST_STEPS]
    comparisons: list[Comparison] = [compare(analysis, analysis) for analysis in long_enough]
    kept = [comparison for comparison in comparisons if comparison.step_path]
    for comparison in kept:
        analysis, path = comparison.base.recordings[0], comparison.step_path
        for base, new in halve(analysis, -(-HALVES // len(kept))):
            renamings = find_renamings((base,), (new,), {})
            places = list_path_keys([rename_paths(base.ranges, renamings[0])])
            rows = list_rows((base,), (new,), places, renamings)
            rows = rows[rows["path"] == path]
            for name in QUANTITIES:
                yield "halves", name, *judge_both(rows, path, name)


def of_real_repeats(pairs: list[tuple[Path, Path]]) -> Iterator[tuple[str, str, str, str]]:
    """The same of programs that were recorded twice, one run a side, of each path that repeats."""
    for files in pairs:
        base, new = ((tcprof.read(file).analysis,) for file in files)
        renamings = find_renamings(base, new, {})
        places = list_path_keys(
            [rename_paths(one.ranges, renaming) for (one,), renaming in zip((base, new), renamings, strict=True)]
        )
        for path, of_path in list_rows(base, new, places, renamings).groupby("path"):
            for name in QUANTITIES:
                yield "real repeats, 1 a side", name, *judge_both(of_path, str(path), name)


def find_pairs(one: Path, other: Path) -> list[tuple[Path, Path]]:
    """Recordings of one name in two folders, or two files."""
    if one.is_file():
        return [(one, other)]
    return [(file, other / file.name) for file in sorted(one.glob("*.sqlite")) if (other / file.name).exists()]


def of_repeats() -> Iterator[tuple[str, str, str, str]]:
    """The same of synthetic repeats, one and three a side."""
    each = REPEATS // len(PROGRAMS) // 2
    for number, program in enumerate(PROGRAMS):
        for count in (1, 3):
            generator = np.random.default_rng([7, number, count])
            base, new = (tuple(make_recording(program, generator, 1.0, each) for _ in range(count)) for _ in range(2))
            rows = list_rows(base, new, list_path_keys([base[0].ranges]), find_renamings(base, new, {}))
            for path, of_path in rows.groupby("path"):
                for name in QUANTITIES:
                    yield f"repeats, {count} a side", name, *judge_both(of_path, str(path), name)


def of_pairs() -> Rows:
    """How often the verdict on pairs of programs is sure, and other rows are, and whether gates then fail."""
    rows: Rows = []
    for number, changed in enumerate((False, True)):
        counts = dict.fromkeys(("count", "sure", "failed", "rows", "rows_failed", "false"), 0)
        for pair in range(PAIRS):
            generator = np.random.default_rng([11, number, pair])
            shift = float(np.exp2(generator.uniform(-1, 1))) if changed else 1.0
            count, repeats = SHAPES[pair % len(SHAPES)]
            program = PROGRAMS[pair // len(SHAPES) % len(PROGRAMS)]
            base, new = (
                Side(name, tuple(make_steps(program, generator, factor, count) for _ in range(repeats)))
                for name, factor in (("base", 1.0), ("new", shift))
            )
            for name, value in _judge_pair(compare(base, new)).items():
                counts[name] += value
        share = 100 * counts["false"] / counts["count"]
        rows.append((("changed" if changed else "unchanged",), {**counts, "false_pct": share}))
    return rows


def _judge_pair(comparison: Comparison) -> dict[str, int]:
    """What the verdict and the rows of the steps claim, and whether a gate within what they claim fails."""
    rows, path = comparison.rows, comparison.step_path
    sure = is_shown(decisive(time_row(comparison, 0)))
    either = [judge_condition(each, rows, path).verdict == "fail" for each in CONDITIONS["step_time"]]
    claims = [row for _, row in rows[rows["path"] == path].iterrows() if sure_statistics(row)]
    gates = [judge_condition(parse(text), rows, path).verdict for row in claims for text in _within(row)]
    return {
        "count": 1,
        "sure": sure,
        "failed": sure and any(either),
        "rows": len(gates),
        "rows_failed": gates.count("fail"),
        "false": any(either),
    }


def _within(row: pd.Series) -> Iterator[str]:
    """Conditions half as far from no change as the near end of an interval that is sure."""
    prefix, quantity = ("" if MEDIAN in sure_statistics(row) else "mean_"), quantity_of(row["quantity"])
    ends, operator = ("low", ">") if row[f"{prefix}verdict"] == "higher" else ("high", "<")
    if not np.isnan(ratio := row[f"{prefix}ratio_{ends}"]):
        yield f"{quantity.gate_name} {operator} {50 * (ratio - 1):+.9f}%"
    if quantity.in_points:
        yield f"{quantity.gate_name} {operator} {row[f'{prefix}difference_{ends}'] / 2:+.9f}pt"


def summarize(found: pd.DataFrame) -> Rows:
    """The rate of false failures of each kind and quantity."""
    rows: Rows = []
    for (kind, name), part in found[found["any"] != ""].groupby(["kind", "quantity"], sort=False):
        figures = {column: 100 * (part[column] == "fail").mean() for column in ("any", "margin")}
        rows.append(((str(kind), f"`{name}`"), {"count": len(part), **figures}))
    return rows


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, nargs="*", default=[], help="more recordings, or folders of them")
    parser.add_argument(
        "--again", type=Path, nargs=2, action="append", default=[], help="folders, or files, of the same programs"
    )
    parser.add_argument("--write", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    folders = [FIXTURES, FIXTURES / "findings", *options.recordings]
    files = sorted(file for folder in folders for file in ([folder] if folder.is_file() else folder.glob("*.sqlite")))
    pairs = [pair for one, other in options.again for pair in find_pairs(one, other)]
    verdicts = [*of_halves(files), *of_real_repeats(pairs), *of_repeats()]
    found = pd.DataFrame(verdicts, columns=["kind", "quantity", "any", "margin"])
    columns = {"comparisons": ("count", "d"), "any change, %": ("any", ".1f"), "over 3 %, %": ("margin", ".1f")}
    text = table(("of", "figure"), columns, summarize(found))
    print(text)
    of_claims = table(("pairs",), CLAIMS, of_pairs())
    print(of_claims)
    if options.write:
        write(options.write, "gates", text)
        write(options.write, "verdicts and gates", of_claims)


if __name__ == "__main__":
    main()
