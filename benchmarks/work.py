"""Bytes and instructions of kernels whose work is known: fitted, by arithmetic, and by Nsight Compute.

    python benchmarks/work.py            (prints the table of docs/accuracy.md)

The fixture is ``workloads/known_work.py`` on an H200; the reference is Nsight Compute's count of the second launch of
each kernel, with ``--cache-control none --clock-control none``.
"""

from pathlib import Path

import pandas as pd
from bounds import speed_of_light

import tcprof

FIXTURES = Path(__file__).parent.parent / "fixtures"
COUNTS = ("dram_read_bytes", "dram_write_bytes", "fma_instruction_count", "tensor_cycles")
SIZE = 4096
VECTOR, WIDE, HALF = 4 * 16 * SIZE**2, 4 * (2 * SIZE) ** 2, 2 * (2 * SIZE) ** 2  # bytes
# What must be read and written at least, and FMA instructions, of the kernels whose arithmetic is that simple.
ARITHMETIC: dict[str, tuple[int | None, int | None, float | None]] = {
    "fp32": (None, 4 * SIZE**2, SIZE**3 / 32),
    "tf32": (None, 4 * SIZE**2, None),
    "fp64": (None, 8 * SIZE**2, None),
    "fp16": (None, 2 * SIZE**2, None),
    "bf16": (None, 2 * SIZE**2, None),
    "saxpy": (2 * VECTOR, VECTOR, None),
    "exp": (VECTOR, VECTOR, None),
    "softmax": (WIDE, WIDE, None),
    "softmax bf16": (HALF, HALF, None),
    "layer_norm": (None, WIDE, None),
    "sum": (WIDE, None, None),
    "gelu": (WIDE, WIDE, None),
    "transpose": (WIDE, WIDE, None),
    "skinny": (HALF, None, None),
    "embedding": (None, 16 * SIZE * 2 * SIZE * 4, None),
}


def compare() -> pd.DataFrame:
    """A row for each range: means per launch as fitted, what arithmetic says, and Nsight Compute's counts."""
    analysis = tcprof.read(FIXTURES / "known_work.sqlite")
    names = analysis.nvtx_ranges["name"].astype(str).to_numpy()
    launched = analysis.kernel_instances[analysis.kernel_instances["range"] >= 0]
    by = launched.groupby(names[launched["range"].to_numpy()])
    fitted = by[["duration_ns", *COUNTS]].mean()
    bound = analysis.kernels["bound"].to_numpy()[launched["kernel"].to_numpy()]
    fitted["bound"] = pd.Series(bound).groupby(names[launched["range"].to_numpy()]).first()
    expected = pd.DataFrame.from_dict(ARITHMETIC, orient="index", columns=COUNTS[:3]).astype(float)
    reference = pd.read_csv(FIXTURES / "reference" / "known_work.counters.csv", index_col="range")
    return (
        fitted.join(expected.add_prefix("expected_"))
        .join(reference[[*COUNTS, "compute_pct", "memory_pct"]].add_prefix("ncu_"))
        .loc[reference.index.to_list()]
    )


def table() -> str:
    """The comparison as Markdown: the fitted value over the other, where there is one."""
    lines = [
        "| kernel | time | bytes read: arithmetic | ncu | bytes written: arithmetic | ncu | FMA: ncu | tensor: ncu "
        "| bound by | ncu |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    for name, row in compare().iterrows():
        cells = [f"{row['duration_ns'] / 1000:.0f} µs"]
        for count in COUNTS:
            others = ("expected", "ncu") if count.startswith("dram") else ("ncu",)
            cells += [_ratio(row[count], row.get(f"{other}_{count}")) for other in others]
        cells += [row["bound"], _speed_of_light(row["ncu_compute_pct"], row["ncu_memory_pct"])]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _speed_of_light(compute: float, memory: float) -> str:
    """What Nsight Compute's rules say, with both throughputs in percent."""
    return f"{speed_of_light(compute, memory)} ({compute:.0f}, {memory:.0f})"


def _ratio(value: float, other: float | None) -> str:
    return f"{value / other:.3f}" if other is not None and other > 0 else "–"


if __name__ == "__main__":
    print(table(), end="")
