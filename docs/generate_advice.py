"""Fill docs/advice.md: ``python docs/generate_advice.py [FOLDER]``.

The table of predictions is of pairs of recordings in which one thing was changed: of fixtures/, and with FOLDER of
those in it, whose figures are kept in ``advice_pairs.csv``, since the recordings are too large for the repository.
"""

import csv
import re
import statistics
import sys
from pathlib import Path

import tcprof
from tcprof import units
from tcprof.findings.pricing.step import measure_step

ROOT = Path(__file__).parent.parent
PAGE, KEPT = ROOT / "docs" / "advice.md", ROOT / "docs" / "advice_pairs.csv"
PAIRS = ROOT / "docs" / "advice_changes.csv"
COLUMNS = ("base", "new", "change", "low", "likely", "high", "recorded", "alone", "learnt", "why")
_BLOCK = re.compile(r"(<!-- pairs -->\n).*?(<!-- /pairs -->)", re.DOTALL)


def render(page: str) -> str:
    """The page with its table filled anew."""
    return _BLOCK.sub(lambda block: f"{block[1]}{render_pairs(read_rows(KEPT))}\n{block[2]}", page)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measure_pairs(folder: Path | None) -> list[dict[str, str]]:
    """Predicted and won gain of each pair; those whose recordings are not here as they were."""
    alone = {row["name"]: float(row["time_per_step_ms"] or "nan") for row in read_rows(ROOT / "fixtures" / "runs.csv")}
    if folder is not None and (folder / "runs.csv").exists():
        alone |= {row["name"]: float(row["time_per_step_ms"] or "nan") for row in read_rows(folder / "runs.csv")}
    kept = {(row["base"], row["new"]): row for row in read_rows(KEPT)} if KEPT.exists() else {}
    found = []
    for pair in read_rows(PAIRS):
        paths = [_find(pair[side], folder) for side in ("base", "new")]
        known = kept.get((pair["base"], pair["new"]))
        if paths[0] is None:
            found += [known] if known else []
            continue
        samples = float(pair["samples"] or 1)  # of the new one's step, for each of the first one's
        times = [_length(path) for path in paths]
        gain = _predict(paths[0], pair["rule"], pair["option"])
        runs = [alone.get(pair[side], float("nan")) for side in _SIDES]
        figures = {**gain, "recorded": _won(*times, samples), "alone": _won(*runs, samples)}
        texts = {name: f"{value:.2f}" if value == value else "" for name, value in figures.items()}
        found.append({**{name: pair[name] for name in ("base", "new", "change", "learnt", "why")}, **texts})
    return found


_SIDES = ("base", "new")


def _find(name: str, folder: Path | None) -> Path | None:
    folders = [ROOT / "fixtures", *([folder] if folder else [])]
    return next((path for each in folders if (path := each / f"{name}.sqlite").exists()), None)


def _length(path: Path | None) -> float:
    """Length of a step."""
    if path is None:
        return float("nan")
    analysis = tcprof.read(path).analysis
    steps = [measure_step(analysis, int(gpu)) for gpu in analysis.gpus["gpu"]]
    return max((step.length_ns for step in steps if step), default=float("nan"))


def _predict(path: Path, rule: str, option: str) -> dict[str, float]:
    """What is predicted for an option of a rule; no gain where the rule does not fire."""
    for advice in tcprof.read(path).advice:
        for each in advice.options:
            if advice.rule == rule and each.title == option:
                gain = each.gain
                return {"low": gain.low_pct, "likely": gain.likely_pct, "high": gain.high_pct}
    return {"low": float("nan"), "likely": float("nan"), "high": float("nan")}


def _won(base: float, new: float, samples: float) -> float:
    return 100 * (1 - new / base / samples)


def render_pairs(rows: list[dict[str, str]]) -> str:
    """The table, with how many are inside."""
    lines = [
        "| change | predicted: low | likely | high | saved | when recorded | inside | learnt from it |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    ]
    inside, new, ratios, notes = [], [], [], []
    for row in rows:
        low, likely, high, recorded, alone = (float(row[name] or "nan") for name in COLUMNS[3:8])
        won = alone if alone == alone else recorded
        told = likely == likely
        if told:
            inside.append(low <= won <= high)
            new += [inside[-1]] if not row["learnt"] else []
            ratios += [max(won / likely, likely / won)] if won > 0 and likely > 0 else []
        verdict = ("yes" if inside[-1] else "**no**") if told else "not advised"
        shown = [units.format_pct(each) for each in (low, likely, high, alone, recorded)]
        cells = [f"{row['change']}: `{row['base']}` to `{row['new']}`", *shown, verdict, row["learnt"]]
        lines.append(f"| {' | '.join(cells)} |")
        notes += [f"- `{row['base']}` to `{row['new']}`: {row['why']}"] if row["why"] else []
    median = f"{statistics.median(ratios):.2f}" if ratios else units.UNKNOWN
    summary = (
        f"{sum(inside)} of {len(inside)} predictions include what was saved; where a saving was predicted and made, "
        f"likely and saved differ by a median factor of {median}. Of the {len(new)} from which nothing was "
        f"learnt, {sum(new)} include it."
    )
    return "\n".join([*lines, "", summary, *(["", *notes] if notes else [])])


def main() -> None:
    """Measure the pairs, and write both files."""
    rows = measure_pairs(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
