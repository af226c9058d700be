"""Why a rank takes longer than the usual ones of its group: in which part of a step, in which modules, and by what."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.frames import RANKS
from tcprof.untrusted import one_line

_EXPLAINS = 0.5  # of a longer compute time: what explains this much of it is its cause
_NOTABLE = 0.005  # of FLOP, of launches or of a step: less goes unmentioned
_PLACES = 2  # named of those with most of the difference
_REASONS = {
    "copy": "its copies take longer",
    "input": "its GPU waits for input",
    "transfer": "its transfers take longer once all ranks have arrived: a slower link",
}
_OTHER_WORK = "another program runs on its GPU, or work that was not traced"
_CLASSES = {"tensor_kernel": "matrix", "memory_bound": "memory-bound"}


@dataclass(frozen=True)
class _Places:
    """Time in ns of each place, as rows, on each rank; and the median over the usual ranks."""

    times: pd.DataFrame
    usual: "pd.Series[float]"

    def differences(self, rank: float) -> "pd.Series[float]":
        """How much longer than usual each place takes on a rank, in ns, longest first; positive ones."""
        more = (self.times[rank] - self.usual).sort_values(ascending=False)
        return more[more > 0]

    def ratios(self, rank: float) -> dict[str, float]:
        """How much longer than usual each takes."""
        ratio = self.times[rank] / self.usual
        return {str(name): float(value) for name, value in ratio.items() if np.isfinite(value)}


class Causes:
    """The ranks of one group beside the median of those that do not stand out, arranged once for all that do."""

    def __init__(self, ranks: pd.DataFrame, parts: pd.DataFrame) -> None:
        """Take the judged ranks of a group, and the parts of a job, also those of other groups."""
        self._ranks = ranks.assign(starved_ns=ranks["idle_ns"] + ranks["between_ns"] - ranks["input_ns"])
        self._usual = self._ranks[~self._ranks["straggler"]]
        self._others = self._usual.median(numeric_only=True)
        self._parts = parts[parts["rank"].isin(ranks["rank"])]
        self._kernels = self._parts[self._parts["kernel"] != ""]

    @cached_property
    def _by_module(self) -> "_Places":
        return self._arrange(self._kernels, "module")

    @cached_property
    def _by_kernel(self) -> "_Places":
        return self._arrange(self._kernels, "kernel")

    @cached_property
    def _by_class(self) -> "_Places":
        return self._arrange(self._kernels, "time_class")

    @cached_property
    def _idle_by_path(self) -> "_Places":
        return self._arrange(self._parts[self._parts["time_class"] == "idle"], "path")

    @cached_property
    def _launches(self) -> "pd.Series[float]":
        counts = self._kernels.groupby("rank")["launch_count"].sum()
        return counts.reindex(self._ranks["rank"].unique(), fill_value=0)  # a rank may have none

    @cached_property
    def _paths(self) -> list[str]:
        return [str(path) for path in self._parts["path"].unique()]

    def _arrange(self, parts: pd.DataFrame, key: str) -> "_Places":
        times = parts.pivot_table(index=key, columns="rank", values="time_ns", aggfunc="sum", fill_value=0.0)
        times = times.reindex(columns=self._ranks["rank"].unique(), fill_value=0.0)  # a rank may have none
        return _Places(times, times[self._usual["rank"]].median(axis=1))

    def explain(self, rank: int) -> str:
        """One sentence on why a rank stands out: why its own time is longer than that of the others, or its compute."""
        own, others = self._ranks[self._ranks["rank"] == rank].iloc[0], self._others
        if own["compute_excess_ns"] > 0:
            return self._explain_compute(own, others)
        more = {
            name: float(own[f"{name}_ns"] - others[f"{name}_ns"]) for name in ("compute", "copy", "input", "starved")
        }
        more["transfer"] = float(
            (own["communication_ns"] - own["wait_ns"]) - (others["communication_ns"] - others["wait_ns"])
        )
        largest = max(more, key=lambda name: more[name])
        if largest == "compute":
            reason = self._explain_compute(own, others)
        elif largest == "starved":  # of launches
            is_other = own["untraced_ns"] - others["untraced_ns"] >= _EXPLAINS * more["starved"]
            reason = f"{_OTHER_WORK}, while its own work is not running" if is_other else self._explain_cpu(own)
        else:
            reason = _REASONS[largest]
        return f"{reason} ({units.format_signed_ns(more[largest])} a step)"

    def _explain_compute(self, own: "pd.Series[float]", others: "pd.Series[float]") -> str:
        rank, longer = own["rank"], own["compute_ns"] / others["compute_ns"] - 1
        where = _name_places(self._by_module.differences(rank), self._by_kernel.differences(rank))
        more_launches = self._launches[rank] / self._launches.reindex(self._usual["rank"]).median() - 1
        flop = [row["tensor_tflops"] * row["step_time_ns"] for row in (own, others)]
        more_flop = flop[0] / flop[1] - 1 if flop[1] > 0 else np.nan
        slower_clock = others["clock_hz"] / own["clock_hz"] - 1
        if max(more_launches, np.nan_to_num(more_flop)) >= _EXPLAINS * longer:
            amounts = [
                f"{units.format_pct(100 * more)} more {what}"
                for what, more in (("FLOP", more_flop), ("kernel launches", more_launches))
                if more >= _NOTABLE
            ]
            return f"it has more work: {', '.join(amounts)}{where}"
        if slower_clock >= _EXPLAINS * longer:
            return f"its SM clock is {_describe_clock(own)}, that of the others {_describe_clock(others)}"
        by_class = self._by_class.ratios(rank)
        slowest = max(by_class, key=lambda name: by_class[name], default="")
        beside = f", {_CLASSES[slowest]} kernels most" if slowest in _CLASSES else ""
        clock = " at the same clock" if np.isfinite(slower_clock) else ""
        # Beside its kernels other work cannot be seen; between them it can.
        least_ns = max(_EXPLAINS * own["idle_ns"], _NOTABLE * own["step_time_ns"])
        is_other = own["untraced_ns"] - others["untraced_ns"] >= least_ns
        why = _OTHER_WORK if is_other else "look for another program on its GPU, or a GPU that is slower"
        return f"the same kernels take {units.format_pct(100 * longer)} longer{clock}{beside}{where}: {why}"

    def _explain_cpu(self, own: "pd.Series[float]") -> str:
        idle = self._idle_by_path.differences(own["rank"])
        place = str(idle.index[0]) if len(idle) else ""
        if not place:
            return "its GPU waits for the CPU"
        reason = f"its GPU waits for the CPU, mostly in {one_line(place)}"
        if any(path.startswith(f"{place}{SEPARATOR}") for path in self._paths):
            reason += " outside of the ranges in it: for input, or for what else the program does there"
        return reason


def _describe_clock(row: "pd.Series[float]") -> str:
    power = f" at {RANKS['power_w'].format(row['power_w'])}" if row["power_w"] > 0 else ""
    return f"{units.format_hz(row['clock_hz'])}{power}"


def _name_places(modules: "pd.Series[float]", kernels: "pd.Series[float]") -> str:
    """Where most of a difference is: modules where they are known, else kernels."""
    named = modules[modules.index != ""]
    chosen, what = (named, "modules") if named.sum() > modules.sum() / 2 else (kernels, "kernels")
    shown = [
        f"{one_line(str(name))[:60]} {units.format_signed_ns(more)}" for name, more in chosen.head(_PLACES).items()
    ]
    if not shown:
        return ""
    is_most = chosen.head(_PLACES).sum() >= _EXPLAINS * chosen.sum()
    return f", mostly in {' and '.join(shown)}" if is_most else f", spread over its {what}, most in {shown[0]}"
