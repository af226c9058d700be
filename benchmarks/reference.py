"""Reduce what Nsight Compute measured, or a recording at a high frequency, to a row for each kernel and geometry.

    python benchmarks/reference.py ncu.csv -o fixtures/reference/NAME.ncu.csv
    python benchmarks/reference.py --recording run.sqlite -o fixtures/reference/NAME.200khz.csv

The first reads the output of ``ncu --csv`` with the metrics below; the second takes the fitted figures of a recording,
and beside them the overlap mean, which needs no fit. Both write the same columns, so that the file's name alone tells
the source; ``accuracy.py`` reads both.
"""

import argparse
import re
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import tcprof
from tcprof.analysis import Analysis

CYCLES = "sm__pipe_tensor_cycles_active.sum"
PERCENT = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DURATION = "gpu__time_duration.sum"
ELAPSED = "sm__cycles_elapsed.avg"
COLUMNS = [
    "name",
    "launch_geometry",
    "launch_count",
    "duration_ns",
    "tensor_cycles_per_launch",
    "tensor_active_pct",
    "overlap_mean_pct",  # of a recording only
    "clock_ghz",
]
PIPES = 4  # tensor pipes of one SM

_CAST = re.compile(r"\([\w: ]+\)(?=-?\d)")  # nsys prints (int)4 where ncu prints 4
_NAMESPACE = re.compile(r"<unnamed>::|\b\w+::")  # ncu leaves out some of them


@dataclass(frozen=True)
class Case:
    """A recording and what it is held against.

    Attributes:
        recording: With tensor cycles.
        ncu: Reference by Nsight Compute.
        warm: The same with ``--cache-control none``, if there is one.
        fast: Reference at 200 kHz, if there is one.
    """

    recording: Path
    ncu: Path
    warm: Path | None
    fast: Path | None

    @property
    def name(self) -> str:
        """The recording's name."""
        return self.recording.stem


def find_cases(folder: Path) -> list[Case]:
    """The recordings of a folder that have a reference."""
    cases = []
    for recording in sorted(folder.glob("*.sqlite")):
        files = [folder / "reference" / f"{recording.stem}.{kind}.csv" for kind in ("ncu", "ncu-warm", "200khz")]
        ncu, warm, fast = (path if path.exists() else None for path in files)
        raw = folder.parent / "ncu" / f"{recording.stem}.csv"
        if ncu or raw.exists():
            cases.append(Case(recording, ncu or raw, warm, fast))
    return cases


def match_key(name: str) -> str:
    """What nsys and ncu both print of a demangled name."""
    return re.sub(r"\s+", "", _NAMESPACE.sub("", _CAST.sub("", name)))


def read_launches(path: Path) -> pd.DataFrame:
    """The output of ``ncu --csv``: a row for each launch, a column for each metric."""
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if line.startswith('"'))
    rows = pd.read_csv(StringIO(text), thousands=",", low_memory=False)
    units = set(rows.loc[rows["Metric Name"] == DURATION, "Metric Unit"])
    if units - {"ns", "nsecond"}:
        raise SystemExit(f"{path}: durations in {units}; run ncu with --print-units base")
    launches = rows.drop_duplicates("ID").set_index("ID")
    rows["Metric Value"] = pd.to_numeric(rows["Metric Value"], errors="coerce")  # some are words
    values = rows.drop_duplicates(["ID", "Metric Name"]).pivot(index="ID", columns="Metric Name", values="Metric Value")
    grid, block = (launches[f"{part} Size"].str.replace(r"[() ]", "", regex=True) for part in ("Grid", "Block"))
    values["name"] = launches["Kernel Name"]
    values["launch_geometry"] = (grid + " " + block).str.replace(",", "x")
    return values


def read_ncu(path: Path) -> pd.DataFrame:
    """The means of each kernel and launch geometry in the output of ``ncu --csv``."""
    values = read_launches(path)
    # Launches of one name and geometry may differ in size: a percentage is of all the time that they took.
    values[PERCENT] = values[PERCENT] * values[DURATION] if PERCENT in values else np.nan
    by = values.groupby(["name", "launch_geometry"], sort=False)
    mean = by.mean().reindex(columns=[CYCLES, PERCENT, DURATION, ELAPSED])
    frame = mean.assign(**{PERCENT: mean[PERCENT] / mean[DURATION]}).rename(
        columns={CYCLES: "tensor_cycles_per_launch", PERCENT: "tensor_active_pct", DURATION: "duration_ns"}
    )
    frame = frame.assign(launch_count=by.size(), clock_ghz=mean[ELAPSED] / mean[DURATION])
    return frame.reset_index().reindex(columns=COLUMNS).rename_axis(columns=None)


def read_recording(path: Path) -> pd.DataFrame:
    """The fitted figures of each kernel and launch geometry in a recording, and its overlap mean."""
    report = tcprof.read(path)
    samples, kernels = report.samples, report.kernels
    pipe_rate = samples["pipe_cycles"] / (samples["end_ns"] - samples["start_ns"])
    frame = kernels.assign(
        duration_ns=kernels["total_ns"] / kernels["launch_count"],
        overlap_mean_pct=overlap_mean(report.analysis, samples["tensor_active_pct"]),
        clock_ghz=overlap_mean(report.analysis, pipe_rate) / pipes(report.analysis),
    )
    return frame.reindex(columns=COLUMNS)


def pipes(analysis: Analysis) -> pd.Series:
    """The tensor pipes of the GPU of each kernel."""
    return PIPES * analysis.kernels["gpu"].map(analysis.gpus.set_index("gpu")["sm_count"])


def overlap_mean(analysis: Analysis, value: pd.Series) -> npt.NDArray[np.float64]:
    """The mean of samples over each kernel's launches, weighted by overlap: what needs no fit.

    Args:
        analysis: The recording.
        value: What is averaged, for each row of its samples.
    """
    sums = np.zeros((2, len(analysis.kernels)))
    for gpu, launched in analysis.kernel_instances.groupby("gpu"):
        mine = ((analysis.samples["gpu"] == gpu) & value.notna()).to_numpy()
        start, end = (analysis.samples[name].to_numpy()[mine] for name in ("start_ns", "end_ns"))
        activity = analysis.activities.iloc[launched["activity"].to_numpy()]
        low, high = activity["start_ns"].to_numpy(), activity["end_ns"].to_numpy()
        length = (end - start).astype(np.float64)
        knots = np.column_stack([start, end]).ravel() - start[0]
        for row, weight in enumerate((value.to_numpy()[mine] * length, length)):
            total = np.cumsum(weight)
            until = np.column_stack(
                [total - weight, total]
            ).ravel()  # the integral is linear in a sample, flat in a gap
            integral = np.interp(high - start[0], knots, until) - np.interp(low - start[0], knots, until)
            sums[row] += np.bincount(launched["kernel"], integral, minlength=sums.shape[1])
    return np.divide(sums[0], sums[1], out=np.full(sums.shape[1], np.nan), where=sums[1] > 0)


def load(path: Path) -> pd.DataFrame:
    """A reference that this script wrote, or the output of ncu; by match key and geometry."""
    with path.open() as file:
        frame = pd.read_csv(path) if file.readline().startswith("name,") else read_ncu(path)
    keys = [frame["name"].map(match_key), frame["launch_geometry"]]
    values = frame.drop(columns=["name", "launch_geometry", "launch_count"])
    sums = values.mul(frame["launch_count"], axis=0).groupby(keys).sum()
    counts = values.notna().mul(frame["launch_count"], axis=0).groupby(keys).sum()
    return sums / counts


def main() -> None:
    """Write the reference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ncu", type=Path, nargs="?", help="output of ncu --csv")
    parser.add_argument("--recording", type=Path, help="a recording of the same work, at a high frequency")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    if (options.ncu is None) == (options.recording is None):
        parser.error("give the output of ncu or a recording")
    frame = read_ncu(options.ncu) if options.ncu else read_recording(options.recording)
    frame.to_csv(options.output, index=False, float_format="%.9g")
    print(f"{len(frame)} kernels, {frame['launch_count'].sum():,} launches: {options.output}")


if __name__ == "__main__":
    main()
