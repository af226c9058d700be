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
from tcprof.analysis.gaps import CAUSES, Gaps, find_paths, find_savings
from tcprof.analysis.steps.marked_steps import are_counted
from tcprof.arrays import Floats, Ints, rows_of_gpu
from tcprof.views.paths import module_names
from tcprof.views.recording.inspector import list_kernel_facts, list_module_facts, list_path_facts

_LEVEL = 6  # higher ones take three times as long for 2 % less


Header = dict[str, Any]
Reference = dict[str, int]  # to an array, where the header has it


class ArrayStore:
    """Collects arrays, to which the header of the packed data refers."""

    def __init__(self) -> None:
        self._entries: list[Header] = []
        self._planes: list[bytes] = []
        self._size = 0

    def add(self, values: Ints, kind: str = "u4", *, differences: bool = False, **read: float) -> Reference:
        """Store whole numbers, exactly.

        Numbers are stored from their smallest on, over what divides them all, in as few bytes as they need, and all
        first bytes come before all second bytes: most planes are then nearly constant.

        Args:
            kind: The type of the array that the page has of it, as numpy's codes; "bits" for those of single precision.
            differences: Whether to store what each number adds to the one before, which is less for times in order.
            read: How the page reads it: ``scale``, by which it multiplies; ``unknown``, which stands for NaN; and
                ``behind``, the number of the array to which it adds it.
        """
        base = int(values[0] if differences else values.min()) if len(values) else 0
        offsets = np.diff(values, prepend=values[:1]) if differences else values - base
        least = int(offsets.min(initial=0))
        factor = int(np.gcd.reduce(offsets - least)) or 1
        offsets = (offsets - least) // factor
        width = max(1, (int(offsets.max(initial=0)).bit_length() + 7) // 8)
        octets = offsets.astype("<u8").view(np.uint8).reshape(len(offsets), 8)
        self._planes += [np.ascontiguousarray(octets[:, place]).tobytes() for place in range(width)]
        entry = {"at": self._size, "length": len(values), "bytes": width, "base": base, "factor": factor}
        self._entries.append({**entry, "least": least if differences else None, "type": kind, **read})
        self._size += width * len(values)
        return {"array": len(self._entries) - 1}

    def add_spans(self, start: Ints, end: Ints, differences: bool = True) -> dict[str, Reference]:
        """Store when something begins and ends, in ns, of which the page makes seconds."""
        first = self.add(start, "f8", differences=differences, scale=1e-9)
        return {"start": first, "end": self.add(end - start, "f8", scale=1e-9, behind=first["array"])}

    def add_rounded(self, values: Floats, step: float, kind: str = "f4", differences: bool = False) -> Reference:
        """Store numbers to a step; unknown is NaN."""
        steps = np.rint(np.nan_to_num(values) / step).astype(np.int64)
        unknown = int(steps.min(initial=0)) - 1
        steps[np.isnan(values)] = unknown
        return self.add(steps, kind, differences=differences, scale=step, unknown=unknown)

    def add_floats(self, values: Floats) -> Reference:
        """Store numbers to seven digits, as the bits of single precision; unknown is NaN."""
        return self.add(values.astype(np.float32).view(np.uint32).astype(np.int64), "bits")

    def pack(self, header: Header) -> str:
        """Pack all as base64: length of the header (4 bytes), the header as JSON, and the arrays' bytes, deflated."""
        text = json.dumps({**header, "arrays": self._entries}, allow_nan=False, ensure_ascii=False)
        head = text.encode("utf-8", errors="replace")
        packer = zlib.compressobj(_LEVEL)
        parts = [packer.compress(part) for part in (len(head).to_bytes(4, "little"), head, *self._planes)]
        return base64.b64encode(b"".join([*parts, packer.flush()])).decode("ascii")


MOST_EXACT = 200_000  # bars of a GPU: of more, times are coarser, and instances have no more figures
GRAIN_NS = 32  # to which the page of many bars has their times, and those of samples: the pointer tells 100 ns
_COARSE_NS = 1024  # the same of launches
_MOST_GAPS = 20_000  # of a GPU: of more the page has the longest
_OF_INSTANCES = ("kernel_ns", "tensor_flop", "dram_bytes")


def coarsen(times: Ints, count: int) -> Ints:
    """Round times as a page with so many bars has them; those that are equal stay so, and none pass each other."""
    return times if count <= MOST_EXACT else (times + GRAIN_NS // 2) // GRAIN_NS * GRAIN_NS


def add_launches(store: ArrayStore, work: pd.DataFrame) -> Reference:
    """Add when each activity was launched, in seconds; NaN where that is unknown."""
    launched = work["launched_ns"].to_numpy(np.float64)
    step = 1 if len(launched) <= MOST_EXACT else _COARSE_NS
    return store.add_rounded(
        np.where(launched < 0, np.nan, 1e-9 * (launched - step // 2)), step * 1e-9, "f8", differences=True
    )


def add_gaps(store: ArrayStore, analysis: Analysis, gpu: int, every: Gaps, bars: int) -> Header | None:
    """Add the gaps of a GPU, of many the longest, and the number of the longest that costs most; None without any."""
    gaps, sums = rows_of_gpu(every.gaps, gpu), rows_of_gpu(every.gap_sums, gpu)
    if sums.empty:
        return None
    length = gaps["end_ns"] - gaps["start_ns"]
    gaps = gaps[length >= length.nlargest(_MOST_GAPS).min()] if len(gaps) > _MOST_GAPS else gaps
    start, end = (coarsen(gaps[name].to_numpy(), bars) for name in ("start_ns", "end_ns"))
    arrays = {
        "step": gaps["step"],
        "path": find_paths(analysis.instances, gaps["range"].to_numpy()),
        "number": gaps["number"],
        "launches": gaps["launch_count"],
        "between": gaps["between_steps"],
        "cause": _find(gaps["cause"], CAUSES),
        "wait": _find(gaps["wait"], list_waits(every)),
    }
    return {
        **store.add_spans(start, end),
        **{name: store.add(np.asarray(values, dtype=np.int64), "i4") for name, values in arrays.items()},
        "waited": store.add_rounded(1e-9 * gaps["wait_ns"].to_numpy(np.float64), 1e-9),
        "saves": store.add_rounded(1e-9 * find_savings(gaps, sums).to_numpy(np.float64), 1e-9),
        "costliest": int(sums.loc[(sums["longest_gap"] > 0) & (sums["saving_ns"] > 0), "longest_gap"].head(1).sum()),
    }


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
    figures = instances.loc[host["range"]]
    return {name: store.add_floats(figures[name].to_numpy(np.float64)) for name in _OF_INSTANCES}


def add_windows(store: ArrayStore, host: pd.DataFrame, windows: pd.DataFrame) -> Reference:
    """Add the bar on the CPU of each bar on the GPU, in order; -1 for none."""
    is_single = not ((host["merged"] > 1).any() or (windows["merged"] > 1).any())
    bars = pd.Index(host["range"]).get_indexer(windows["range"]) if is_single else np.full(len(windows), -1)
    return store.add(bars.astype(np.int64), "i4", differences=True)


def add_totals(store: ArrayStore, analysis: Analysis, gpu: int) -> Header:
    """Add what is said of paths, kernels and modules on a GPU over all of their instances, and its mean step."""
    steps = rows_of_gpu(analysis.step_summary, gpu)
    mean_step_ns = float(steps["total_ns"].iloc[0] / steps["step_count"].iloc[0]) if len(steps) else np.nan
    of_all, of_each = list_kernel_facts(analysis, gpu, mean_step_ns)
    of_modules, folded = list_module_facts(analysis, gpu)
    kernels = analysis.kernels
    modules = rows_of_gpu(analysis.modules.assign(name=module_names(analysis.modules)), gpu)
    whole = modules[(modules["phase"] == "all") & (modules["module_id"] >= 0)].set_index("module_id")
    by_id = whole.reindex(range(int(whole.index.max()) + 1 if len(whole) else 0))
    return {
        "meanStep": None if np.isnan(mean_step_ns) else 1e-9 * mean_step_ns,
        "paths": list_path_facts(analysis, gpu),
        "kernels": {
            "all": of_all,
            "each": of_each,
            "flop": store.add_floats((kernels["tensor_flop"] / kernels["launch_count"]).to_numpy(np.float64)),
        },
        "modules": {
            "facts": of_modules,
            "folded": folded,
            "names": by_id["name"].fillna("").tolist(),
            "parents": by_id["parent_id"].fillna(-1).astype(int).tolist(),
            "own": _add_own_kernels(store, analysis, gpu),
            "steps": max(int(whole["step_count"].max()), 1) if len(whole) else 1,
        },
    }


def _add_own_kernels(store: ArrayStore, analysis: Analysis, gpu: int) -> Header:
    """Add the kernels of each module and phase on a GPU that belong to no module within it, over the modules' base."""
    launched = analysis.kernel_instances
    counts = (launched["gpu"] == gpu) & (launched["module"] >= 0) & are_counted(launched, analysis.steps)
    launches = launched[counts]
    module = analysis.modules["module_id"].to_numpy()[launches["module"].to_numpy()]
    phase = analysis.modules["phase"].to_numpy(object)[launches["module"].to_numpy()]
    columns = launches[["kernel", "duration_ns", "tensor_active_ns"]].assign(module=module, phase=phase)
    by = columns[module >= 0].groupby(["module", "phase", "kernel"])
    sums = by.agg(count=("duration_ns", "size"), seconds=("duration_ns", "sum"))
    sums = sums.assign(activeSeconds=by["tensor_active_ns"].sum(min_count=1)).reset_index()
    exact = {name: store.add(sums[name].to_numpy(np.int64)) for name in ("module", "kernel", "count")}
    times = {name: store.add_floats(1e-9 * sums[name].to_numpy(np.float64)) for name in ("seconds", "activeSeconds")}
    return {**exact, **times, "phase": sums["phase"].tolist()}
