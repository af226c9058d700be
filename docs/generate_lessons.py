"""Fill the tables of lessons.md from the fixtures: ``python docs/generate_lessons.py``.

Four kinds of block stand between ``<!-- KIND: NAME -->`` and ``<!-- /KIND -->``: ``runs``, a table of several runs;
``rates``, each product's rate; ``ranges``, the ranges of a recording; ``printed``, what a run printed. The names are
those of ``fixtures/record.py``. Times, memory and results are what the workload printed when nothing watched it
(``fixtures/runs.csv``); Tensor Active and the tensor kernels' share are of the recording, over its steps.
"""

import csv
import re
from pathlib import Path

import tcprof
from tcprof import units

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "lessons.md"
HEAD = ("run", "time per step", "throughput", "peak memory", "Tensor Active", "peak", "tensor kernels")
_BLOCK = re.compile(r"(<!-- (runs|rates|ranges|printed): ([^>]*?) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


def render(page: str) -> str:
    """The page with its blocks filled anew."""
    with (ROOT / "fixtures" / "runs.csv").open(newline="", encoding="utf-8") as file:
        runs = {row["name"]: row for row in csv.DictReader(file)}
    makers = {"runs": _table, "rates": _rates, "ranges": _ranges, "printed": _printed}
    return _BLOCK.sub(lambda b: f"{b[1]}{makers[b[2]](*(runs[name] for name in b[3].split()))}\n{b[4]}", page)


def _table(*runs: dict[str, str]) -> str:
    """The figures of some runs, a row each."""
    return _markdown(HEAD, [_row(run) for run in runs])


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, tuple("---" for _ in head), *rows))


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
    busy = steps[steps["kernel_ns"] > 0]  # of these the share may be unknown, and then it is of all of them together
    tensor_ns = (busy["tensor_kernel_share_pct"] / 100 * busy["kernel_ns"]).sum(skipna=False)
    return (
        units.format_pct(100 * steps["tensor_active_s"].sum() / sampled_s if sampled_s else None),
        units.format_pct(steps["tensor_active_peak_pct"].max()),
        units.format_pct(100 * tensor_ns / busy["kernel_ns"].sum() if len(busy) else None),
    )


def _rates(run: dict[str, str]) -> str:
    """The rate of each product by the clock, of the run, and by tensor cycles, of the recording."""
    clock = dict(re.findall(r"^ *(\d+ +\w+) +[\d.]+ +(\S+)", run["result"], re.MULTILINE))
    by_clock = {" ".join(reversed(name.split())): rate for name, rate in clock.items()}
    ranges = tcprof.read(ROOT / "fixtures" / f"{run['name']}.sqlite").ranges
    head = ("product", "by the clock", "by tensor cycles", "of the chip's peak", "Tensor Active")
    rows = []
    for path, rate, peak, active in zip(
        *(ranges[name] for name in ("path", "tensor_tflops", "tensor_peak_pct", "tensor_active_mean_pct")), strict=True
    ):
        if path in by_clock:
            told = units.format_flops(float(by_clock[path]))
            rows.append((path, told, units.format_flops(rate), units.format_pct(peak), units.format_pct(active)))
    return _markdown(head, rows)


def _ranges(run: dict[str, str]) -> str:
    """The recorded steps and the ranges in them: instances, times per instance, and Tensor Active."""
    ranges = tcprof.read(ROOT / "fixtures" / f"{run['name']}.sqlite").ranges
    rows = []
    for row in ranges[ranges["path"].str.contains(r"(?:^| / )step(?: / |$)")].to_dict("records"):
        times = (
            units.format_ns(row[name] / row["instance_count"]) for name in ("host_ns", "gpu_window_ns", "kernel_ns")
        )
        active = units.format_pct(row["tensor_active_mean_pct"])
        rows.append((row["path"], units.format_count(row["instance_count"]), *times, active))
    head = ("range", "instances", "on the CPU", "on the GPU, first to last", "kernels", "Tensor Active")
    return _markdown(head, rows)


def _printed(run: dict[str, str]) -> str:
    """What a run printed beside its time and its memory."""
    return f"```text\n$ {run['command']}\n{run['result']}\n```"


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
