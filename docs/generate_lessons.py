"""Fill the tables of lessons.md from the fixtures: ``python docs/generate_lessons.py``.

Five kinds of block stand between ``<!-- KIND: NAME -->`` and ``<!-- /KIND -->``: ``runs``, a table of several runs;
``rates``, each product's rate; ``ranges``, the ranges of a recording; ``printed``, what a run printed; ``measured``,
what a script of ``benchmarks/`` measured, from ``measured_NAME.csv``. The other names are those of
``fixtures/record.py``. Times, memory and results are what the workload printed when nothing watched it
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
_BLOCK = re.compile(r"(<!-- (runs|rates|ranges|printed|measured): ([^>]*?) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


def render(page: str) -> str:
    """The page with its blocks filled anew."""
    with (ROOT / "fixtures" / "runs.csv").open(newline="", encoding="utf-8") as file:
        runs = {row["name"]: row for row in csv.DictReader(file)}
    makers = {"runs": _table, "rates": _rates, "ranges": _ranges, "printed": _printed}
    measured = {"attention": _attention, "fp8": _fp8}

    def fill(block: re.Match[str]) -> str:
        if block[2] == "measured":
            with (ROOT / "docs" / f"measured_{block[3]}.csv").open(newline="", encoding="utf-8") as file:
                return measured[block[3]](list(csv.DictReader(file)))
        return makers[block[2]](*(runs[name] for name in block[3].split()))

    return _BLOCK.sub(lambda block: f"{block[1]}{fill(block)}\n{block[4]}", page)


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
        count = row["instance_count"] - row["slow_count"]
        times = (units.format_ns(row[name] / count) for name in ("host_ns", "gpu_window_ns", "kernel_ns"))
        active = units.format_pct(row["tensor_active_mean_pct"])
        rows.append((row["path"], units.format_count(count), *times, active))
    head = ("range", "instances", "on the CPU", "on the GPU, first to last", "kernels", "Tensor Active")
    return _markdown(head, rows)


def _printed(run: dict[str, str]) -> str:
    """What a run printed beside its time and its memory."""
    return f"```text\n$ {run['command']}\n{run['result']}\n```"


def _attention(rows: list[dict[str, str]]) -> str:
    """How many times as fast cuDNN's attention is as FlashAttention-2, where it is causal and in bfloat16."""
    shown = []
    for row in rows:
        if row["causal"] == "True" and row["dtype"] == "bf16" and row["heads"] == row["kv_heads"]:
            times = [[float(row[f"{name}_{way}_ns"]) for name in ("flash", "cudnn")] for way in ("forward", "backward")]
            cells = [cell for flash, cudnn in times for cell in (*map(units.format_ns, (flash, cudnn)), flash / cudnn)]
            told = (cell if isinstance(cell, str) else units.format_ratio(cell) for cell in cells)
            shown.append((int(row["head"]), int(row["length"]), int(row["batch"]), tuple(told)))
    head = ("head", "length", "batch", "forward: flash", "cuDNN", "gain", "backward: flash", "cuDNN", "gain")
    return _markdown(head, [(*map(str, row[:3]), *row[3]) for row in sorted(shown)])


def _fp8(rows: list[dict[str, str]]) -> str:
    """How many times as fast products in FP8 are as in bfloat16."""
    names = ("all_products", "training_compiled", "training_eager", "forward_product", "inference_compiled")
    shown = []
    for row in rows:
        cells = [" x ".join(row[name] for name in "mkn"), units.format_ns(float(row["bf16_forward_ns"]))]
        for name in names:
            plain = float(row["bf16_forward_ns" if name.startswith(("forward", "inference")) else "bf16_all_ns"])
            ratios = (plain / float(row[f"{way}_{name}_ns"] or "nan") for way in ("tensor", "row"))
            cells.append(", ".join(map(units.format_ratio, ratios)))
        shown.append(tuple(cells))
    head = (
        "m x k x n",
        "bfloat16",
        "3 products",
        "training, compiled",
        "training, eager",
        "1 product",
        "inference, compiled",
    )
    return _markdown(head, shown)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
