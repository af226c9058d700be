"""Error of the fitted Tensor Active of kernels, against Nsight Compute and the same work recorded at 200 kHz.

    python benchmarks/accuracy.py                       the fixtures that have a reference
    python benchmarks/accuracy.py --recordings FOLDER   recordings of one's own
    python benchmarks/accuracy.py --write docs/accuracy.md

A recording NAME.sqlite has its references in ``reference/NAME.ncu.csv`` and ``reference/NAME.200khz.csv`` beside it
(``reference.py`` writes them), or the output of ``ncu --csv`` in ``../ncu/NAME.csv``. It must have tensor cycles. It is
analyzed twice: as it is, and as a copy without counters of cycles, in which whole percentages are left. Beside the fit
is the overlap mean: the samples' mean over a kernel's launches, weighted by overlap. Columns: ``docs/accuracy.md``.
"""

import argparse
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import reference
from reference import Case, find_cases

import tcprof
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.verdicts import UNRESOLVED

FIXTURES = Path(__file__).parent.parent / "fixtures"
TENSOR_KERNEL_PCT = 5.0  # kernels over which the references' own figures are compared
NO_INDEX_PCT = 20.0  # index arithmetic does not reach this
WIDER_POINTS = 2.0
EQUAL_POINTS = 0.001  # figures that differ by less are shown alike
LEAST_SHARE_PCT = 1.0  # of kernel time: kernels among which the worst is looked for


def read_modes(recording: Path) -> dict[str, Analysis]:
    """The recording analyzed from cycles, and from whole percentages."""
    with tempfile.TemporaryDirectory() as folder:
        rounded = Path(folder) / recording.name
        shutil.copyfile(recording, rounded)
        connection = sqlite3.connect(rounded)
        connection.execute("delete from TARGET_INFO_GPU_METRICS where metricName like '% [Sum]'")
        connection.commit()
        connection.close()
        found = {"cycles": tcprof.read(recording).analysis, "percentages": tcprof.read(rounded).analysis}
    if [analysis.tensor_source for analysis in found.values()] != ["cycles", "rounded"]:
        raise SystemExit(f"{recording} has no tensor cycles, or no percentages beside them")
    return found


def compare(case: Case) -> dict[str, pd.DataFrame]:
    """For each mode the frame of kernels, beside the overlap mean and what ``_references`` adds."""
    analyses = read_modes(case.recording)
    references = _references(case, analyses["cycles"])
    exact = _keyed(analyses["cycles"].kernels)["tensor_active_pct"].rename("exact_pct")
    references["strict_pct"] = references["own_pct"]
    found = {}
    for mode, analysis in analyses.items():
        mean = reference.overlap_mean(analysis, analysis.samples["tensor_active_pct"])
        frame = _keyed(analysis.kernels.assign(overlap_mean_pct=mean, sampled_cycles=_sampled_cycles(analysis)))
        found[mode] = frame.join(references)
        if mode != "cycles":  # these are of the same recording
            found[mode]["strict_pct"] = exact[~exact.index.duplicated()].reindex(frame.index)
    return found


def _keyed(kernels: pd.DataFrame) -> pd.DataFrame:
    """Kernels by match key and geometry."""
    return kernels.set_index([kernels["name"].map(reference.match_key), kernels["launch_geometry"].rename("geometry")])


def _references(case: Case, analysis: Analysis) -> pd.DataFrame:
    """What each kernel is held against, by match key and geometry.

    Returns:
        ncu_cycles per launch and ncu_pct, Nsight Compute's own; fast_pct, fitted at 200 kHz; in_situ_pct: ncu_cycles of
        the cycles that passed in situ, which are duration times clock. The clock is the overlap mean at 200 kHz, as
        samples at 20 kHz hold many kernels; without, it is fitted_ghz, the fit's. own_pct is always with that, which
        compares cycles only. clocked_pct is with the clock at 200 kHz, brought to the mean clock of this recording.
    """
    kernels = _keyed(analysis.kernels.assign(pipes=reference.pipes(analysis)))
    kernels = kernels[~kernels.index.duplicated()]
    ncu = reference.load(case.ncu).reindex(kernels.index)
    fast = reference.load(case.fast) if case.fast else pd.DataFrame(columns=reference.COLUMNS, dtype=float)
    fast = fast.reindex(kernels.index)
    cycles = ncu["tensor_cycles_per_launch"]
    pipe_ns = kernels["pipes"] * kernels["total_ns"] / kernels["launch_count"]
    fitted_ghz = 100 * kernels["tensor_cycles_per_launch"] / kernels["tensor_active_pct"] / pipe_ns
    own = (100 * cycles / fitted_ghz / pipe_ns).where(cycles > 0, cycles).clip(upper=100)
    in_situ = (100 * cycles / fast["clock_ghz"] / pipe_ns).where(cycles > 0, cycles).clip(upper=100)
    both = fitted_ghz.notna() & fast["clock_ghz"].notna()
    of_run = (fitted_ghz * kernels["total_ns"])[both].sum() / max(
        (fast["clock_ghz"] * kernels["total_ns"])[both].sum(), 1
    )
    columns = {
        "clocked_pct": in_situ / of_run if both.any() else np.nan,
        "ncu_cycles": cycles,
        "ncu_pct": ncu["tensor_active_pct"],
        "own_pct": own,
        "in_situ_pct": in_situ.fillna(own),
        "fast_pct": fast["tensor_active_pct"],
        "fitted_ghz": fitted_ghz,
    }
    return pd.DataFrame(columns)


def _sampled_cycles(analysis: Analysis) -> float:
    """The tensor cycles of all samples under at least one launch."""
    samples, total = analysis.samples, 0.0
    for gpu, launched in analysis.kernel_instances.groupby("gpu"):
        activity = analysis.activities.iloc[launched["activity"].to_numpy()]
        low, high = np.sort(activity["start_ns"].to_numpy()), np.sort(activity["end_ns"].to_numpy())
        mine = samples[samples["gpu"] == gpu]
        begun = np.searchsorted(low, mine["end_ns"].to_numpy(), side="left")
        over = np.searchsorted(high, mine["start_ns"].to_numpy(), side="right")
        total += mine["tensor_cycles"].to_numpy()[begun > over].sum()
    return total


def weighted_mean(value: pd.Series, weight: pd.Series) -> float:
    """The weighted mean of what is known; NaN where nothing is."""
    known = value.notna()
    return float(np.average(value[known], weights=weight[known])) if known.any() else np.nan


def _held(frame: pd.DataFrame, truth: str) -> pd.Series:
    """Which intervals contain a value."""
    low, high = (frame[f"tensor_active_{end}_pct"] for end in ("low", "high"))
    return (low - EQUAL_POINTS <= frame[truth]) & (frame[truth] <= high + EQUAL_POINTS)


def score(frame: pd.DataFrame) -> dict[str, float]:
    """The figures of one recording in one mode."""
    matched = frame[frame["in_situ_pct"].notna()]
    long = matched[matched["share_pct"] >= LEAST_SHARE_PCT]
    low, high, truth = (matched[f"{name}_pct"] for name in ("tensor_active_low", "tensor_active_high", "in_situ"))
    called = matched["tensor_kernel"].astype(bool)
    clocked = long[long["clocked_pct"] > TENSOR_KERNEL_PCT]
    found = {
        "kernels": len(matched),
        "matched_pct": 100 * matched["total_ns"].sum() / frame["total_ns"].sum(),
        "within_pct": 100 * ((low - WIDER_POINTS <= truth) & (truth <= high + WIDER_POINTS)).mean(),
        "half_width": ((high - low) / 2).median(),
        "strict_pct": 100 * _held(long, "strict_pct").mean(),
        "clocked": len(clocked),
        "clocked_pct": 100 * _held(clocked, "clocked_pct").mean(),
        "unresolved": int((long["fit"] == UNRESOLVED).sum()),
        "wrongly_called": int((called & (matched["ncu_cycles"] == 0)).sum()),
        "missed": int((~called & (truth > NO_INDEX_PCT)).sum()),
    }
    for name, column in (("fit", "tensor_active_pct"), ("mean", "overlap_mean_pct")):
        for against in ("in_situ", "fast", "ncu"):
            found[f"{name}_{against}"] = weighted_mean(
                (frame[column] - frame[f"{against}_pct"]).abs(), frame["total_ns"]
            )
        found[f"{name}_worst"] = (long[column] - long["in_situ_pct"]).abs().max()
    return found


def score_cycles(frame: pd.DataFrame) -> dict[str, float]:
    """The figures that need tensor cycles."""
    total = frame["tensor_cycles"].sum()
    share = 100 * frame["tensor_cycles"] / total
    error = 100 * (frame["tensor_cycles_per_launch"] / frame["ncu_cycles"] - 1).abs()
    large = frame[(share > 1) & frame["ncu_cycles"].notna()]
    held = (large["tensor_active_low_pct"] - 1e-9 <= large["own_pct"]) & (
        large["own_pct"] <= large["tensor_active_high_pct"] + 1e-9
    )
    return {
        "worst_over_5": error[share > 5].max(),
        "worst_over_1": error[share > 1].max(),
        "over_1": len(large),
        "held": int(held.sum()),
        "fitted_of_sampled": total / frame["sampled_cycles"].iloc[0],
        "to_none_pct": 100 * frame["tensor_cycles"][frame["ncu_cycles"] == 0].sum() / total,
    }


def score_references(case: Case, frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    """How the references' own figures differ from those in situ, over the tensor kernels."""
    tensor = frame[(frame["in_situ_pct"] > TENSOR_KERNEL_PCT) & ~frame.index.duplicated()]
    duration, weight = tensor["total_ns"] / tensor["launch_count"], tensor["total_ns"]
    found = {}
    for label, path, column in (
        ("ncu", case.ncu, "tensor_active_pct"),
        ("ncu, caches kept", case.warm, "tensor_active_pct"),
        ("200 kHz, fit", case.fast, "tensor_active_pct"),
        ("200 kHz, overlap mean", case.fast, "overlap_mean_pct"),
    ):
        if path:
            other = reference.load(path).reindex(tensor.index)
            found[label] = {
                "points": weighted_mean((other[column] - tensor["in_situ_pct"]).abs(), weight),
                "duration_pct": 100 * weighted_mean(other["duration_ns"] / duration - 1, weight),
                "clock_pct": 100 * weighted_mean(other["clock_ghz"] / tensor["fitted_ghz"] - 1, weight),
            }
    return found


POINTS = {
    "in situ: fit": ("fit_in_situ", ".2f"),
    "in situ: mean": ("mean_in_situ", ".2f"),
    "worst: fit": ("fit_worst", ".1f"),
    "worst: mean": ("mean_worst", ".1f"),
    "200 kHz: fit": ("fit_fast", ".2f"),
    "200 kHz: mean": ("mean_fast", ".2f"),
    "ncu: fit": ("fit_ncu", ".2f"),
    "ncu: mean": ("mean_ncu", ".2f"),
}
JUDGEMENTS = {
    "kernels": ("kernels", "d"),
    "of kernel time": ("matched_pct", ".1f"),
    "half width": ("half_width", ".2f"),
    "cycles held": ("strict_pct", ".0f"),
    "clocked": ("clocked", "d"),
    "held": ("clocked_pct", ".0f"),
    "unresolved": ("unresolved", "d"),
    "within": ("within_pct", ".0f"),
    "wrongly called": ("wrongly_called", "d"),
    "missed": ("missed", "d"),
}
CYCLES = {
    "worst over 5 %": ("worst_over_5", ".3f"),
    "worst over 1 %": ("worst_over_1", ".3f"),
    "kernels over 1 %": ("over_1", "d"),
    "held": ("held", "d"),
    "fitted / sampled": ("fitted_of_sampled", ".6f"),
    "to kernels with none": ("to_none_pct", ".3f"),
}
REFERENCES = {
    "own percent": ("points", ".2f"),
    "duration": ("duration_pct", "+.1f"),
    "clock": ("clock_pct", "+.1f"),
}
Rows = list[tuple[Sequence[str], dict[str, float]]]


def table(labels: Sequence[str], columns: dict[str, tuple[str, str]], rows: Rows) -> str:
    """A Markdown table: columns of labels, then figures."""
    lines = [[*labels, *columns], ["---"] * len(labels) + ["---:"] * len(columns)]
    for texts, figures in rows:
        values = ((figures[key], form) for key, form in columns.values())
        lines.append([*texts, *("–" if np.isnan(value) else format(value, form) for value, form in values)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def render(cases: list[Case]) -> str:
    """All tables."""
    scores: Rows = []
    cycles: Rows = []
    references: Rows = []
    for case in cases:
        frames = compare(case)
        scores += [((case.name, mode), score(frame)) for mode, frame in frames.items()]
        cycles.append(((case.name,), score_cycles(frames["cycles"])))
        found = score_references(case, frames["cycles"])
        references += [((case.name, label), figures) for label, figures in found.items()]
    by_mode = ("recording", "samples")
    return "\n".join(
        [
            "Error of Tensor Active, in points:\n",
            table(by_mode, POINTS, scores),
            "Intervals and judgements:\n",
            table(by_mode, JUDGEMENTS, scores),
            "Tensor cycles per launch, against Nsight Compute, in %:\n",
            table(("recording",), CYCLES, cycles),
            "The references' own figures, against those in situ:\n",
            table(("recording", "reference"), REFERENCES, references),
        ]
    )


def write(page: Path, label: str, text: str) -> None:
    """Put the tables between the page's markers of that label."""
    begin, end = f"<!-- {label} -->\n", f"<!-- /{label} -->"
    found, count = re.subn(f"{begin}.*?{end}", lambda _: f"{begin}{text}{end}", page.read_text(), flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{page} has no place marked {begin.strip()}")
    page.write_text(found)


def main() -> None:
    """Print or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", type=Path, help="a folder of recordings and references, not the fixtures")
    parser.add_argument("--write", type=Path, help="put the tables into this page, between its markers")
    options = parser.parse_args()
    cases = find_cases(options.recordings or FIXTURES)
    if not cases:
        raise SystemExit("no recording there has a reference")
    text = render(cases)
    print(text, end="")
    if options.write:
        write(options.write, "recordings" if options.recordings else "fixtures", text)


if __name__ == "__main__":
    main()
