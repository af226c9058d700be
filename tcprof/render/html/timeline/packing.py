"""Arrays of whole numbers in a page: as planes of bytes, compressed, in letters that a script element may hold.

``web/src/timeline/unpack.ts`` undoes it with what browsers have: ``atob``, ``DecompressionStream`` and typed arrays.
"""

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.gaps import CAUSES, Gaps, find_paths
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.views.paths import module_names

_LEVEL = 6  # higher ones take three times as long for 2 % less


class ArrayStore:
    """Collects arrays; each has a number, by which the header of the packed data refers to it."""

    def __init__(self) -> None:
        self._entries: list[dict[str, int]] = []
        self._planes: list[bytes] = []
        self._size = 0

    def add(self, values: Ints, ascending: bool = False) -> int:
        """Store whole numbers, exactly, and return the number of the array; of ascending ones the small differences.

        Numbers are stored from their smallest on, over what divides them all, in as few bytes as they need, and all
        first bytes come before all second bytes: most planes are then nearly constant.
        """
        base = int(values[0] if ascending else values.min()) if len(values) else 0
        offsets = np.diff(values, prepend=values[:1]) if ascending else values - base
        factor = int(np.gcd.reduce(offsets)) or 1
        offsets = offsets // factor
        width = max(1, (int(offsets.max(initial=0)).bit_length() + 7) // 8)
        octets = offsets.astype("<u8").view(np.uint8).reshape(len(offsets), 8)
        self._planes += [np.ascontiguousarray(octets[:, place]).tobytes() for place in range(width)]
        entry = {"at": self._size, "length": len(values), "bytes": width, "base": base, "factor": factor}
        entry["ascending"] = int(ascending)
        self._entries.append(entry)
        self._size += width * len(values)
        return len(self._entries) - 1

    def pack(self, header: dict[str, Any]) -> str:
        """Pack all as base64: length of the header (4 bytes), the header as JSON, and the arrays' bytes, deflated."""
        text = json.dumps({**header, "arrays": self._entries}, allow_nan=False, ensure_ascii=False)
        head = text.encode("utf-8", errors="replace")
        packer = zlib.compressobj(_LEVEL)
        parts = [packer.compress(part) for part in (len(head).to_bytes(4, "little"), head, *self._planes)]
        return base64.b64encode(b"".join([*parts, packer.flush()])).decode("ascii")


MOST_EXACT = 200_000  # bars of a GPU: of more, times are coarser, and instances have no more figures
GRAIN_NS = 32  # to which the page of many bars has their times, and those of samples: the pointer tells 100 ns
_COARSE_NS = 1024  # the same of launches
_MOST_GAPS, _MOST_SUMS = 20_000, 100  # of a GPU: of more gaps the page has the longest
_OF_INSTANCES = ("kernel_ns", "tensor_flop", "dram_bytes")
_OF_PATHS = (
    *("instance_count", "slow_count", "kernel_count", "gpu_window_ns", "kernel_ns", "host_ns"),
    *("tensor_active_mean_pct", "tensor_active_low_pct", "tensor_active_high_pct", "tensor_flop", "dram_bytes"),
)
_OF_KERNELS = (
    *("launch_count", "total_ns", "tensor_active_pct", "tensor_flop", "dram_read_bytes", "dram_write_bytes"),
    *("tensor_peak_pct", "fma_tflops", "cycles_per_launch", "step_launch_count", "kernel_ns"),
)
_OF_MODULES = (
    *("kernel_count", "kernel_ns", "share_pct", "lost_ns"),
    *("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct", "tensor_flop", "dram_bytes"),
)
Header = dict[str, Any]


def coarsen(times: Ints, count: int) -> Ints:
    """Round times as a page with so many bars has them; those that are equal stay so, and none pass each other."""
    return times if count <= MOST_EXACT else (times + GRAIN_NS // 2) // GRAIN_NS * GRAIN_NS


def add_launches(store: ArrayStore, work: pd.DataFrame) -> Header:
    """Add when each activity was launched, in order: steps behind the first launch, as differences."""
    launched = work["launched_ns"].to_numpy(np.int64)
    is_known = launched >= 0
    first = int(launched[is_known].min()) if is_known.any() else 0
    step = 1 if len(launched) <= MOST_EXACT else _COARSE_NS
    steps = np.where(is_known, (launched - first) // step + 1, 0)
    return {"first": first, "step": step, "changes": store.add(np.diff(steps, prepend=0))}


def add_gaps(store: ArrayStore, analysis: Analysis, gpu: int, every: Gaps, bars: int) -> Header | None:
    """Add the gaps of a GPU, the longest if they are many, and the sums of all; None where it has none."""
    gaps, sums = rows_of_gpu(every.gaps, gpu), rows_of_gpu(every.gap_sums, gpu)
    if sums.empty:
        return None
    length = gaps["end_ns"] - gaps["start_ns"]
    gaps = gaps[length >= length.nlargest(_MOST_GAPS).min()] if len(gaps) > _MOST_GAPS else gaps
    start, end = (coarsen(gaps[name].to_numpy(), bars) for name in ("start_ns", "end_ns"))
    path_id = find_paths(analysis.instances, gaps["range"].to_numpy())
    count = rows_of_gpu(analysis.step_summary, gpu)["step_count"].sum() or 1
    part = np.rint(100 * count * gaps["saving_ns"] / (gaps["end_ns"] - gaps["start_ns"]))
    arrays = {
        "length": end - start,
        "step": gaps["step"] + 1,
        "path": path_id + 1,
        "counted": part,
        "number": gaps["number"],
        "launches": gaps["launch_count"],
        "between": gaps["between_steps"],
        "cause": _find(gaps["cause"], CAUSES),
        "wait": _find(gaps["wait"], list_waits(every)),
        "waited": gaps["wait_ns"],
    }
    added = {name: store.add(np.asarray(values, dtype=np.int64)) for name, values in arrays.items()}
    start_of = store.add(start, ascending=True)
    return {"start": start_of, **added, "steps": int(count), "sums": _list_sums(sums)}


def _list_sums(sums: pd.DataFrame) -> list[Header]:
    """List sums for a table, the smallest ones as one."""
    columns = ["gap_count", "longest_ns", "longest_gap", "saving_ns", "share_pct"]
    texts = ["cause", "path", "wait", "short"]
    first, rest = sums.iloc[:_MOST_SUMS], sums.iloc[_MOST_SUMS:]
    rows = [
        {**{name: row[name] for name in texts}, **{name: float(row[name]) for name in columns}}
        for row in first.to_dict("records")
    ]
    longest = rest.nlargest(1, "longest_ns")[["longest_ns", "longest_gap"]].astype(float).to_dict("records")
    last = {**rest[columns].sum().astype(float).to_dict(), **(longest[0] if longest else {})}
    return [*rows, *[{"cause": None, "path": "", "wait": "", "short": False, **last}][: len(rest)]]


def list_waits(every: Gaps) -> list[str]:
    """List what the CPU waited for before gaps ended."""
    return ["", *sorted(set(every.gaps["wait"]) - {""})]


def _find(values: "pd.Series[str]", names: Sequence[str]) -> Ints:
    """Find the place of each value among the names."""
    return np.asarray(pd.Index(names).get_indexer(values), dtype=np.int64)


def add_instances(store: ArrayStore, analysis: Analysis, gpu: int, host: pd.DataFrame) -> Header:
    """Add figures of the instances on a GPU, one for each bar on the CPU; none where the page has too many."""
    if len(host) > MOST_EXACT or (host["merged"] > 1).any():
        return {}
    instances = analysis.instances[analysis.instances["gpu"] == gpu].set_index("range")
    figures = instances.loc[host["range"], list(_OF_INSTANCES)]
    return {name: _add_floats(store, figures[name].to_numpy(np.float64)) for name in _OF_INSTANCES}


def add_windows(store: ArrayStore, host: pd.DataFrame, windows: pd.DataFrame) -> Header:
    """Add the bar on the CPU of each bar on the GPU, in order, as the difference to the one before; -1 for none."""
    is_single = not ((host["merged"] > 1).any() or (windows["merged"] > 1).any())
    bars = pd.Index(host["range"]).get_indexer(windows["range"]) if is_single else np.full(len(windows), -1)
    return {"changes": store.add(np.diff(bars.astype(np.int64), prepend=0))}


def add_totals(store: ArrayStore, analysis: Analysis, gpu: int) -> Header:
    """Add figures of paths, kernels and modules on a GPU over all of their instances, and the modules' names."""
    paths = analysis.ranges[(analysis.ranges["gpu"] == gpu) & (analysis.ranges["path_id"] >= 0)]
    kernels = _add_means(analysis, analysis.kernels[analysis.kernels["gpu"] == gpu])
    names = np.array(module_names(analysis.modules), dtype=object)
    is_whole = ((analysis.modules["gpu"] == gpu) & (analysis.modules["phase"] == "all")).to_numpy()
    modules = analysis.modules[is_whole & (analysis.modules["module_id"] >= 0).to_numpy()]
    return {
        "paths": _add_rows(store, paths, paths["path_id"].to_numpy(np.int64), _OF_PATHS),
        "kernels": _add_rows(store, kernels, kernels.index.to_numpy(np.int64), _OF_KERNELS),
        "modules": {
            **_add_rows(store, modules, modules["module_id"].to_numpy(np.int64), _OF_MODULES),
            "names": names[modules.index].tolist(),
            "parents": modules["parent_id"].tolist(),
            "own": _add_own_kernels(store, analysis, gpu),
            "steps": int(modules["step_count"].max()) if len(modules) else 0,
        },
    }


def _add_means(analysis: Analysis, kernels: pd.DataFrame) -> pd.DataFrame:
    """Add the mean cycles of a kernel's launch, and its launches and time in the mean step."""
    launched = analysis.kernel_instances
    counted = launched[are_counted(launched, analysis.steps)]
    sums = counted.groupby("kernel")["duration_ns"].agg(["size", "sum"]).reindex(kernels.index, fill_value=0)
    sm_count = analysis.gpus.set_index("gpu")["sm_count"].reindex(kernels["gpu"]).to_numpy()
    steps = kernels["gpu"].map(analysis.step_summary.set_index("gpu")["step_count"]).fillna(1)
    return kernels.assign(
        cycles_per_launch=kernels["sm_cycles"] / sm_count / kernels["launch_count"],
        step_launch_count=sums["size"] / steps,
        kernel_ns=sums["sum"] / steps,
    )


def _add_own_kernels(store: ArrayStore, analysis: Analysis, gpu: int) -> Header:
    """Add the kernels of each module and phase on a GPU that belong to no module within it, over the modules' base."""
    launched = analysis.kernel_instances
    counts = (launched["gpu"] == gpu) & (launched["module"] >= 0) & are_counted(launched, analysis.steps)
    launches = launched[counts]
    module = analysis.modules["module_id"].to_numpy()[launches["module"].to_numpy()]
    phase = analysis.modules["phase"].to_numpy(object)[launches["module"].to_numpy()]
    columns = launches[["kernel", "duration_ns", "tensor_active_ns"]].assign(module=module, phase=phase)
    by = columns[module >= 0].groupby(["module", "phase", "kernel"])
    sums = by.agg(count=("duration_ns", "size"), ns=("duration_ns", "sum"))
    sums = sums.assign(active_ns=by["tensor_active_ns"].sum(min_count=1)).reset_index()
    exact = {name: store.add(sums[name].to_numpy(np.int64)) for name in ("module", "kernel", "count")}
    exact["phases"] = sums["phase"].tolist()
    return {**exact, **{name: _add_floats(store, sums[name].to_numpy(np.float64)) for name in ("ns", "active_ns")}}


def _add_rows(store: ArrayStore, frame: pd.DataFrame, ids: "np.ndarray[Any, Any]", columns: tuple[str, ...]) -> Header:
    figures = {name: _add_floats(store, frame[name].to_numpy(np.float64)) for name in columns}
    return {"ids": store.add(ids), "figures": figures}


def _add_floats(store: ArrayStore, values: Floats) -> int:
    """Add numbers to seven digits, as the bits of single precision; unknown is NaN."""
    return store.add(values.astype(np.float32).view(np.uint32).astype(np.int64))
