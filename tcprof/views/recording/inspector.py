"""What a page's inspector says of paths, kernels and modules over all of their instances, by their ids on one GPU."""

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.folding import fold_layers
from tcprof.analysis.kernels.verdicts import could_be_tensor
from tcprof.analysis.modules.tree import ALL
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.arrays import rows_of_gpu
from tcprof.views.recording.kernels import describe_bound

Facts = dict[str, list[str]]  # by title, a text for each id; unknown is a dash


def list_path_facts(analysis: Analysis, gpu: int) -> Facts:
    """List the facts of each path on a GPU."""
    rows = rows_of_gpu(analysis.ranges, gpu).set_index("path_id").reindex(range(len(analysis.paths)))
    steady = rows["instance_count"] - rows["slow_count"]
    return {
        "Instances": _write(units.format_count, rows["instance_count"]),
        "GPU window, mean": _write(units.format_ns, rows["gpu_window_ns"] / steady),
        "GPU window, total": _write(units.format_ns, rows["gpu_window_ns"]),
        "Tensor Active, mean": _write_active(rows, "tensor_active_mean_pct"),
        "Tensor FLOP/s": _write(units.format_flops, 1e-3 * rows["tensor_flop"] / rows["gpu_window_ns"]),
        "Device memory traffic per instance": _write(units.format_bytes, rows["dram_bytes"] / steady),
        "Kernels": _write(units.format_count, rows["kernel_count"]),
    }


def list_kernel_facts(analysis: Analysis, gpu: int, mean_step_ns: float) -> tuple[Facts, Facts]:
    """List the facts of each kernel on a GPU: of all of its launches together, and what holds for each of them."""
    kernels = analysis.kernels
    rows = kernels.where(kernels["gpu"] == gpu)
    launched = analysis.kernel_instances[are_counted(analysis.kernel_instances, analysis.steps)]
    steps = kernels["gpu"].map(analysis.step_summary.set_index("gpu")["step_count"]).fillna(1)
    step_ns = launched.groupby("kernel")["duration_ns"].sum().reindex(kernels.index, fill_value=0) / steps
    count, sm_count = rows["launch_count"], kernels["gpu"].map(analysis.gpus.set_index("gpu")["sm_count"])
    of_all = {
        "Launches": _write(units.format_count, count),
        "Time, total": _write(units.format_ns, rows["total_ns"]),
        "Time, mean": _write(units.format_ns, rows["total_ns"] / count),
        "Time per step": _write(units.format_ns, step_ns),
        "Share of the step": _write(units.format_pct, 100 * step_ns / mean_step_ns),
    }
    rates = _write(units.format_flops, 1e-3 * rows["tensor_flop"] / rows["total_ns"])
    peaks = _write(units.format_pct, rows["tensor_peak_pct"].where(rows["tensor_peak_pct"] > 0))
    uses = kernels["tensor_kernel"].map({True: "yes", False: "no"})
    of_each = {
        "Cycles, mean": _write(units.format_count, rows["sm_cycles"] / sm_count / count),
        "Tensor Cores": uses.mask(could_be_tensor(kernels), units.UNKNOWN).tolist(),
        "Precision": kernels["precision"].str.upper().replace("", units.UNKNOWN).tolist(),
        "Bound by": [describe_bound(kernel) or units.UNKNOWN for kernel in kernels.to_dict("records")],
        "Tensor Active": _write_active(rows, "tensor_active_pct"),
        "Tensor FLOP/s": _beside(rates, " ({} of peak)", peaks),
        "Device memory traffic per launch": _write(
            units.format_bytes, (rows["dram_read_bytes"] + rows["dram_write_bytes"]) / count
        ),
    }
    return of_all, of_each


def list_module_facts(analysis: Analysis, gpu: int) -> tuple[Facts, list[tuple[int, ...]]]:
    """List the facts of each module on a GPU, and behind them of those that a table folds, with the ids of these."""
    modules = rows_of_gpu(analysis.modules, gpu)
    if modules.empty:
        return {}, []
    first, steps = int(modules["module_id"].max()) + 1, max(int(modules["step_count"].max()), 1)
    folded, members = fold_layers(modules)
    alike = {row: ids for row, ids in members.items() if len(ids) > 1}
    behind = folded["module_id"].map({row: first + place for place, row in enumerate(alike)})
    every = pd.concat([modules, folded.assign(module_id=behind).dropna(subset="module_id")])
    by_phase = {
        phase: rows.set_index("module_id").reindex(range(first + len(alike)))
        for phase, rows in every.groupby("phase", sort=False)
    }
    rows, per = by_phase.pop(ALL), " per step" if steps > 1 else ""
    is_split = sum(part["kernel_ns"].notna().astype(int) for part in by_phase.values()) > 1
    phases = {
        f"In {phase}": _beside(
            _write(units.format_ns, (part["kernel_ns"] / steps).where(is_split)),
            ", Tensor Active {}",
            _write(units.format_pct, part["tensor_active_pct"].where(is_split)),
        )
        for phase, part in by_phase.items()
    }
    facts = {
        f"Kernel time{per}": _write(units.format_ns, rows["kernel_ns"] / steps),
        "Share of all kernels' time": _write(units.format_pct, rows["share_pct"]),
        **phases,
        "Tensor Active while they ran": _write_active(rows, "tensor_active_pct"),
        f"Time above ideal{per}": _write(units.format_ns, rows["lost_ns"] / steps),
        "Tensor FLOP/s": _write(units.format_flops, 1e-3 * rows["tensor_flop"] / rows["kernel_ns"]),
        f"Device memory traffic{per}": _write(units.format_bytes, rows["dram_bytes"] / steps),
        f"Kernels{per}": _write(units.format_count, rows["kernel_count"] / steps),
    }
    return facts, list(alike.values())


def _write(write: Callable[[Any], str], values: Iterable[Any]) -> list[str]:
    return [write(value) for value in values]


def _write_active(rows: pd.DataFrame, name: str) -> list[str]:
    """Write Tensor Active with its 95 % interval."""
    ends = zip(rows["tensor_active_low_pct"], rows["tensor_active_high_pct"], strict=True)
    intervals = [units.format_pct_interval(low, high) for low, high in ends]
    return _beside(_write(units.format_pct, rows[name]), " (95 %: {})", intervals)


def _beside(texts: list[str], form: str, further: list[str]) -> list[str]:
    """Write something beside each text where it is known."""
    return [
        text + form.format(other) if other not in ("", units.UNKNOWN) else text
        for text, other in zip(texts, further, strict=True)
    ]
