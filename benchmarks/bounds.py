r"""What bounds each kernel of a program, and its bytes: by tcprof, and by Nsight Compute.

    P=avg.pct_of_peak_sustained_elapsed
    ncu --clock-control none --cache-control none --profile-from-start off --csv --log-file ncu.csv \
        --metrics sm__throughput.$P,gpu__compute_memory_throughput.$P,gpu__time_duration.sum,\
    dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum \
        python workloads/transformer.py --steps 1
    tcprof profile -o transformer workloads/transformer.py --steps 6
    python benchmarks/bounds.py transformer.nsys-rep ncu.csv

Kernels are matched by name and launch geometry; the share that agrees is of the time of the kernels found in both.
Nsight Compute's bound is what its speed-of-light rules say. It runs a kernel several times and alone, so that the
caches hold something else than in the program: bytes of the L2 cache can be compared, those of the memory differ.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from reference import DURATION, match_key, read_launches

import tcprof

COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
OF_SPEED_OF_LIGHT = 60.0  # %: what is below, of compute and of memory, Nsight Compute's rules call latency
# Nsight Compute has two pipelines: what computes, and memory with its caches.
PIPELINES = {
    **dict.fromkeys(("memory", "L1 cache", "L2 cache"), "memory"),
    **dict.fromkeys(("tensor", "fp32", "issue"), "compute"),
    **dict.fromkeys(("latency", "small grid"), "latency"),
}
BYTES = {
    "L2 cache": ("l2_bytes", "lts__t_bytes.sum"),
    "memory, read": ("dram_read_bytes", "dram__bytes_read.sum"),
    "memory, written": ("dram_write_bytes", "dram__bytes_write.sum"),
}
LONG_NS = 20_000  # shorter kernels share too many samples with others
SHOWN = 10


def speed_of_light(compute_pct: float, memory_pct: float) -> str:
    """What Nsight Compute's rules say of a kernel by its two throughputs."""
    highest = "compute" if compute_pct > memory_pct else "memory"
    return highest if max(compute_pct, memory_pct) >= OF_SPEED_OF_LIGHT else "latency"


def compare(recording: Path, ncu: Path) -> pd.DataFrame:
    """A row for each kernel of the recording: its bound, and Nsight Compute's word and figures where it has them."""
    launches = read_launches(ncu)
    keys = [launches["name"].map(match_key), launches["launch_geometry"]]
    counted = [metric for _, metric in BYTES.values() if metric in launches]
    known = launches.groupby(keys)[[COMPUTE, MEMORY, DURATION, *counted]].mean()
    kernels = tcprof.read(recording).kernels
    keys = [kernels["name"].astype(str).map(match_key), kernels["launch_geometry"].astype(str)]
    found = known.reindex(pd.MultiIndex.from_arrays(keys)).set_index(kernels.index)
    ours = [column for column, _ in BYTES.values()]
    frame = kernels[["name", "launch_geometry", "total_ns", "launch_count", "bound", *ours]].join(found)
    said = [speed_of_light(*row) for row in found[[COMPUTE, MEMORY]].to_numpy()]
    frame["ncu"] = np.where(found[COMPUTE].notna(), said, "")
    frame["agrees"] = frame["bound"].astype(str).map(PIPELINES) == frame["ncu"]
    return frame


def describe(frame: pd.DataFrame) -> str:
    """How much of the kernel time agrees, and the kernels that matter most of those which do not."""
    time, found = frame["total_ns"], frame["ncu"] != ""
    if not found.any():
        raise SystemExit("no kernel of the recording is in the output of ncu; are both of the same program?")
    lines = [
        f"{100 * time[found].sum() / time.sum():.1f} % of the kernel time has kernels that ncu measured "
        f"({found.sum()} of {len(frame)}); the bound agrees for "
        f"{100 * time[frame['agrees']].sum() / time[found].sum():.1f} % of it"
    ]
    others = frame[found & ~frame["agrees"]].nlargest(SHOWN, "total_ns")
    lines += [
        f"{100 * row.total_ns / time.sum():5.1f} %  {row.total_ns / row.launch_count / 1000:7.1f} us  "
        f"{row.bound or '–'}; ncu: {row.ncu} ({compute:.0f}, {memory:.0f})  {row.name[:60]}"
        for row, (compute, memory) in zip(
            others.itertuples(index=False), others[[COMPUTE, MEMORY]].to_numpy(), strict=True
        )
    ]
    return "\n".join(lines)


def describe_bytes(frame: pd.DataFrame) -> str:
    """Bytes of the longer kernels over Nsight Compute's, and the share of them where a launch is within 3 %."""
    long = frame[frame["total_ns"] / frame["launch_count"] > LONG_NS]
    lines = []
    for label, (column, metric) in BYTES.items():
        if metric not in long:
            continue
        both = long[long[column].notna() & long[metric].notna()]
        counted = both[metric] * both["launch_count"]
        near = (both[column] / counted - 1).abs() <= 0.03
        lines.append(
            f"{label}: {both[column].sum() / counted.sum():.3f} of ncu's bytes; "
            f"within 3 % for {100 * counted[near].sum() / counted.sum():.0f} % of them"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path, help="a report of nsys, or its export")
    parser.add_argument("ncu", type=Path, help="output of ncu --csv")
    options = parser.parse_args()
    compared = compare(options.recording, options.ncu)
    print(describe(compared))
    print(describe_bytes(compared))
