r"""Bytes, instructions and tensor cycles of ranges: fitted by tcprof, over what Nsight Compute counts in the ranges.

    ncu --replay-mode app-range --cache-control none --clock-control none --csv --page raw --log-file ncu.csv \
        --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,\
    sm__pipe_tensor_cycles_active.sum,sm__inst_executed_pipe_fma.sum \
        python benchmarks/mark_ranges.py forward,backward,optimizer names.txt workloads/transformer.py --steps 6
    tcprof profile --annotate off --capture-range cudaProfilerApi -o transformer workloads/transformer.py --steps 6
    python benchmarks/range_counts.py transformer.nsys-rep ncu.csv names.txt

Nsight Compute runs the program once for these five and changes nothing in a range: kernels follow each other with what
is in the caches, while its replay of kernels runs each alone. Only at a range's ends it waits for the GPU.
"""

import argparse
from io import StringIO
from pathlib import Path

import pandas as pd

import tcprof

COUNTERS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "tensor_cycles": "sm__pipe_tensor_cycles_active.sum",
    "fma_instruction_count": "sm__inst_executed_pipe_fma.sum",
}
UNITS = {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # others count as they are
ALL = "all"


def read_counted(csv: Path, names: Path) -> pd.DataFrame:
    """Nsight Compute's sums by a range's name, in the order of the program."""
    lines = csv.read_text(encoding="utf-8").splitlines()
    header = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    frame = pd.read_csv(StringIO("\n".join(lines[header:])), dtype=str)
    units, rows = frame.iloc[0], frame.iloc[1:]
    counts = pd.DataFrame(
        {
            column: rows[counter].str.replace(",", "").astype(float) * UNITS.get(units[counter], 1)
            for column, counter in COUNTERS.items()
        }
    )
    return counts.groupby(names.read_text(encoding="utf-8").splitlines(), sort=False).sum()


def read_fitted(recording: Path) -> pd.DataFrame:
    """Sums over the launches of the ranges of a name, but not of ranges in them."""
    analysis = tcprof.read(recording)
    launched = analysis.kernel_instances[analysis.kernel_instances["range"] >= 0]
    names = analysis.nvtx_ranges["name"].astype(str).to_numpy()
    return launched.groupby(names[launched["range"].to_numpy()])[list(COUNTERS)].sum()


def table(fitted: pd.DataFrame, counted: pd.DataFrame) -> str:
    """Fitted over counted, as Markdown."""
    fitted = fitted.reindex(counted.index)
    fitted.loc[ALL], counted.loc[ALL] = fitted.sum(), counted.sum()
    lines = ["| range | " + " | ".join(f"{column}, 10⁶ | ratio" for column in COUNTERS) + " |"]
    lines.append("|---|" + "---:|---:|" * len(COUNTERS))
    for name, row in counted.iterrows():
        cells = (
            f"{row[column] / 1e6:,.1f} | {fitted.loc[name, column] / row[column]:.3f}" if row[column] else "0 | –"
            for column in COUNTERS
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, help="a report of nsys, or its export")
    parser.add_argument("ncu", type=Path, help="output of ncu --csv --page raw")
    parser.add_argument("names", type=Path, help="what mark_ranges.py wrote")
    options = parser.parse_args()
    print(table(read_fitted(options.recording), read_counted(options.ncu, options.names)))
