"""Why a rank takes longer than the others of its group: in which part of a step, in which modules, and by what."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.untrusted import one_line

_EXPLAINS = 0.5  # of a longer compute time: what explains this much of it is its cause
_NOTABLE = 0.005  # of FLOP or launches: less goes unmentioned
_PLACES = 2  # named of those with most of the difference
_REASONS = {
    "copy": "its copies take longer",
    "input": "its GPU waits for input",
    "transfer": "its transfers take longer once all ranks have arrived: a slower link",
}
_CLASSES = {"tensor_kernel": "matrix", "memory_bound": "memory-bound"}


def explain(ranks: pd.DataFrame, parts: pd.DataFrame, rank: int) -> str:
    """One sentence on why a rank's own time is longer than the median of the others."""
    rows = ranks.assign(cpu_ns=ranks["idle_ns"] + ranks["between_ns"] - ranks["input_ns"])
    own, others = rows[rows["rank"] == rank].iloc[0], rows[rows["rank"] != rank].median(numeric_only=True)
    more = {name: float(own[f"{name}_ns"] - others[f"{name}_ns"]) for name in ("compute", "copy", "input", "cpu")}
    more["transfer"] = float(
        (own["communication_ns"] - own["wait_ns"]) - (others["communication_ns"] - others["wait_ns"])
    )
    largest = max(more, key=lambda name: more[name])
    if largest == "compute":
        reason = _explain_compute(own, others, parts[parts["rank"].isin(ranks["rank"])])
    elif largest == "cpu":
        reason = _explain_cpu(own, parts[parts["rank"].isin(ranks["rank"])])
    else:
        reason = _REASONS[largest]
    return f"{reason} ({units.format_signed_ns(more[largest])} a step)"


def _explain_compute(own: "pd.Series[float]", others: "pd.Series[float]", parts: pd.DataFrame) -> str:
    longer = own["compute_ns"] / others["compute_ns"] - 1
    kernels = parts[parts["kernel"] != ""]
    where = _places(_differences(kernels, own["rank"], ["module"]), _differences(kernels, own["rank"], ["kernel"]))
    launches = kernels.groupby("rank")["launch_count"].sum()
    more_launches = launches[own["rank"]] / launches.drop(own["rank"]).median() - 1
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
        return f"its SM clock is {_gigahertz(own)}, that of the others {_gigahertz(others)}"
    by_class = _ratios(kernels, own["rank"])
    slowest = max(by_class, key=lambda name: by_class[name], default="")
    beside = f", {_CLASSES[slowest]} kernels most" if slowest in _CLASSES else ""
    clock = " at the same clock" if np.isfinite(slower_clock) else ""
    return (
        f"the same kernels take {units.format_pct(100 * longer)} longer{clock}{beside}{where}: "
        "look for another program on its GPU, or a GPU that is slower"
    )


def _explain_cpu(own: "pd.Series[float]", parts: pd.DataFrame) -> str:
    idle = _differences(parts, own["rank"], ["path"], "idle")
    place = str(idle.index[0]) if len(idle) else ""
    if not place:
        return "its GPU waits for the CPU"
    reason = f"its GPU waits for the CPU, mostly in {one_line(place)}"
    if parts["path"].str.startswith(f"{place}{SEPARATOR}").any():
        reason += " outside of the ranges in it: for input, or for what else the program does there"
    return reason


def _gigahertz(row: "pd.Series[float]") -> str:
    return units.format_value(row["clock_hz"], "hz")


def _differences(
    parts: pd.DataFrame, rank: float, keys: list[str], time_class: str | None = None
) -> "pd.Series[float]":
    """How much longer than the median of the others each place takes on a rank, in ns, longest first; positive ones."""
    chosen = parts if time_class is None else parts[parts["time_class"] == time_class]
    times = chosen.pivot_table(index=keys, columns="rank", values="time_ns", aggfunc="sum", fill_value=0.0)
    times = times.reindex(columns=parts["rank"].unique(), fill_value=0.0)  # a rank may have none
    more = (times[rank] - times.drop(columns=rank).median(axis=1)).sort_values(ascending=False)
    return more[more > 0]


def _ratios(kernels: pd.DataFrame, rank: float) -> dict[str, float]:
    """How much longer each class of kernels takes than on the others."""
    times = kernels.pivot_table(index="time_class", columns="rank", values="time_ns", aggfunc="sum", fill_value=0.0)
    ratio = times[rank] / times.drop(columns=rank).median(axis=1)
    return {str(name): float(value) for name, value in ratio.items() if np.isfinite(value)}


def _places(modules: "pd.Series[float]", kernels: "pd.Series[float]") -> str:
    """Where most of a difference is: modules where they are known, else kernels."""
    named = modules[modules.index != ""]
    chosen = named if named.sum() > modules.sum() / 2 else kernels
    shown = [
        f"{one_line(str(name))[:60]} {units.format_signed_ns(more)}" for name, more in chosen.head(_PLACES).items()
    ]
    return f", mostly in {' and '.join(shown)}" if shown else ""
