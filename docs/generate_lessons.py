"""Fill the tables of lessons.md from the fixtures: ``python docs/generate_lessons.py``.

A table stands between ``<!-- runs: NAME ... -->`` and ``<!-- /runs -->``, what one run printed between
``<!-- printed: NAME -->`` and ``<!-- /printed -->``; the names are those of ``fixtures/record.py``. Times, memory and
results are what the workload printed when nothing watched it (``fixtures/runs.csv``); Tensor Active and the tensor
kernels' share are of the recording, over its steps.
"""

import csv
import re
from pathlib import Path

import tcprof
from tcprof import units

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "lessons.md"
HEAD = ("run", "time per step", "throughput", "peak memory", "Tensor Active", "peak", "tensor kernels")
_BLOCK = re.compile(r"(<!-- runs: ([^>]*?) -->\n).*?(<!-- /runs -->)", re.DOTALL)
_RATES = re.compile(r"(<!-- rates: ([^>]*?) -->\n).*?(<!-- /rates -->)", re.DOTALL)
_RESULTS = re.compile(r"(<!-- printed: ([^>]*?) -->\n).*?(<!-- /printed -->)", re.DOTALL)


def render(page: str) -> str:
    """The page with its tables filled anew."""
    with (ROOT / "fixtures" / "runs.csv").open(newline="", encoding="utf-8") as file:
        runs = {row["name"]: row for row in csv.DictReader(file)}
    page = _BLOCK.sub(lambda block: f"{block[1]}{_table([runs[name] for name in block[2].split()])}\n{block[3]}", page)
    page = _RESULTS.sub(lambda block: f"{block[1]}{_printed(runs[block[2].strip()])}\n{block[3]}", page)
    return _RATES.sub(lambda block: f"{block[1]}{_rates(runs[block[2].strip()])}\n{block[3]}", page)


def _table(runs: list[dict[str, str]]) -> str:
    """The figures of some runs, a row each."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(_row(run) for run in runs)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(run: dict[str, str]) -> tuple[str, ...]:
    milliseconds, memory = run["time_per_step_ms"], run["peak_memory_mib"]
    return (
        f"`{run['command']}`",
        units.format_ns(1e6 * float(milliseconds)) if milliseconds else units.UNKNOWN,
        run["throughput"] or units.UNKNOWN,
        units.format_bytes(2**20 * float(memory)) if memory else units.UNKNOWN,
        *_measure(ROOT / "fixtures" / f"{run['name']}.sqlite"),
    )


def _measure(export: Path) -> tuple[str, str, str]:
    """Tensor Active over the steps of a recording, its peak, and the tensor kernels' share of the kernels' time."""
    if not export.exists():
        return (units.UNKNOWN,) * 3
    ranges = tcprof.read(export).ranges
    steps = ranges[ranges["name"] == "step"]
    steps = steps if len(steps) else ranges[ranges["depth"] == 1]
    sampled_s = (steps["window_ns"] * steps["coverage_pct"] / 100).sum() * 1e-9
    kernels_ns = steps["kernel_ns"].sum()
    return (
        units.format_pct(100 * steps["tensor_active_s"].sum() / sampled_s if sampled_s else None),
        units.format_pct(steps["tensor_active_peak_pct"].max()),
        units.format_pct(
            (steps["tensor_kernel_share_pct"] * steps["kernel_ns"]).sum() / kernels_ns if kernels_ns else None
        ),
    )


def _rates(run: dict[str, str]) -> str:
    """The rate of each product by the clock, of the run, and by tensor cycles, of the recording."""
    clock = dict(re.findall(r"^ *(\d+ +\w+) +[\d.]+ +(\S+)", run["result"], re.MULTILINE))
    by_clock = {" ".join(reversed(name.split())): rate for name, rate in clock.items()}
    ranges = tcprof.read(ROOT / "fixtures" / f"{run['name']}.sqlite").ranges
    head = ("product", "by the clock", "by tensor cycles", "of the chip's peak", "Tensor Active")
    rows = [head, tuple("---" for _ in head)]
    for path, rate, peak, active in zip(
        *(ranges[name] for name in ("path", "tensor_tflops", "tensor_peak_pct", "tensor_active_mean_pct")), strict=True
    ):
        if path in by_clock:
            told = units.format_flops(float(by_clock[path]))
            rows.append((path, told, units.format_flops(rate), units.format_pct(peak), units.format_pct(active)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _printed(run: dict[str, str]) -> str:
    """What a run printed beside its time and its memory."""
    return f"```text\n$ {run['command']}\n{run['result']}\n```"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
