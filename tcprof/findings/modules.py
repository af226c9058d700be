"""What is said of modules: what their figures are over, how much is in none, and what the samples do not resolve."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.summary import RESOLVED_POINTS, RESOLVED_SHARE, is_resolved
from tcprof.analysis.modules.tree import ALL, PHASES
from tcprof.annotate.steps import BACKWARD, RECOMPUTE
from tcprof.arrays import rows_of_gpu
from tcprof.findings.cautions import find_contradictions
from tcprof.findings.notes import name_iterations, name_peak
from tcprof.findings.words import WINDOW_NAMES
from tcprof.frames import IN_NO_MODULE, OPS_DOMAIN, RANGES
from tcprof.untrusted import one_line

UNRESOLVED = "~"
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_ABOUT_UNRESOLVED = (
    f"{UNRESOLVED} marks what the samples do not resolve: its 95 % interval reaches more than {RESOLVED_POINTS:g} "
    f"points, and more than {100 * RESOLVED_SHARE:g} % of the value, to one side. JSON has the intervals."
)
_ALIKE = 2.0  # percent by which executed FLOP may differ from useful ones without a reason that is worth telling
_AGAIN = "{share} of what these executed was computed again, by activation checkpointing. "
_MORE_EXECUTED = (
    "{again}What {else_}was executed beyond the useful FLOP may be padding to whole tiles, products of FP32 made of "
    "several in TF32 or BF16, or recomputation that no range tells."
)
_LESS_EXECUTED = (
    "Over 100 % may be kernels that skip what is masked, since useful FLOP count attention without its mask, or "
    "algorithms that need fewer FLOP, as some of convolutions do."
)
_WITHOUT_OPS = (
    "The backward pass is in no module: it can be brought there where PyTorch's ops were recorded too, with "
    "'tcprof profile --annotate ops'."
)
_OPS_OF_NO_MODULE = (
    "The backward pass is in no module, although PyTorch's ops were recorded: those whose gradients it computes ran "
    "outside of modules, or on threads on which none was named, as nn.DataParallel's replicas in older recordings."
)


def describe_modules(analysis: Analysis) -> str:
    """What the figures of modules are over."""
    name = name_iterations(analysis)
    if not name:
        return "Sums over all kernels of the recording."
    return f"Means per iteration of {name}: of the kernels that it launched, in each module with all modules in it."


def describe_homes(analysis: Analysis) -> tuple[str, ...]:
    """How much of the kernel time is in modules, for each GPU, what the rest was, and what marks mean."""
    said = []
    for gpu, rows in analysis.modules.groupby("gpu"):
        whole = rows[rows["depth"] == 0].set_index("phase")["share_pct"]
        outside = rows[rows["module"].isin([IN_NO_MODULE.format(phase=phase) for phase in PHASES])]
        rest = outside[outside["phase"] == ALL].set_index("name")["share_pct"].sort_values(ascending=False)
        of_gpu = f"GPU {gpu}: " if analysis.modules["gpu"].nunique() > 1 else ""
        inside = units.format_pct(max(100 - rest.sum(), 0))
        phases = [f"{phase} {units.format_pct(whole[phase])}" for phase in PHASES if whole.get(phase, 0) > 0]
        others = [f"{name} {units.format_pct(share)}" for name, share in rest.items()]
        said.append(
            f"{of_gpu}{inside} of the kernel time is in a module{'; ' if others else ''}{', '.join(others)}. "
            f"By phase: {', '.join(phases)}."
        )
        if rest.get(IN_NO_MODULE.format(phase=BACKWARD), 0) > whole.get(BACKWARD, 0) / 2 > 0:
            has_ops = (analysis.paths["domain"] == OPS_DOMAIN).any()
            said.append(_OPS_OF_NO_MODULE if has_ops else _WITHOUT_OPS)
    sampled = analysis.modules[analysis.modules[_ACTIVE[0]].notna()]
    if not are_resolved(sampled).all():
        said.append(_ABOUT_UNRESOLVED)
    return tuple(dict.fromkeys(said))


def has_useful(analysis: Analysis) -> bool:
    """Whether the sizes of the ops' operands were recorded."""
    return bool(analysis.kernel_instances["useful_flop"].notna().any())


def describe_useful(analysis: Analysis) -> tuple[str, ...]:
    """What the operands' sizes ask for, beside what was executed, for each GPU; and where it is not known."""
    if not has_useful(analysis):
        return ()
    said = []
    for gpu, rows in analysis.modules[analysis.modules["depth"] == 0].groupby("gpu"):
        of_gpu = f"GPU {gpu}: " if analysis.modules["gpu"].nunique() > 1 else ""
        whole = rows.set_index("phase").loc[ALL]
        steps, share = max(int(whole["iteration_count"]), 1), whole["useful_pct"]
        if pd.isna(whole["useful_flop"]):
            said.append(f"{of_gpu}{_describe_unknown(analysis, int(str(gpu)))}")
            continue
        on_tensor = units.format_count(share / 100 * whole["tensor_flop"] / steps)
        beside = f", of which {on_tensor} on the Tensor Cores, {units.format_pct(share)} of what these executed"
        flop = units.format_count(whole["useful_flop"] / steps)
        said.append(f"{of_gpu}Useful FLOP, by the operands' sizes: {flop}{'' if pd.isna(share) else beside}.")
        if share < 100 - _ALIKE:
            again = rows.set_index("phase")["tensor_flop"].get(RECOMPUTE, np.nan) / whole["tensor_flop"]
            computed = _AGAIN.format(share=units.format_pct(100 * again)) if again > 0 else ""
            said.append(_MORE_EXECUTED.format(again=computed, else_="else " if computed else ""))
        if share > 100 + _ALIKE and not find_contradictions(analysis):  # else the executed FLOP are too low
            said.append(_LESS_EXECUTED)
    return (*dict.fromkeys(said), *describe_utilization(analysis))


def describe_utilization(analysis: Analysis) -> tuple[str, ...]:
    """MFU and HFU of each GPU where they are known: of the iterations, where nothing iterates of the capture."""
    gpus = analysis.ranges["gpu"].unique().tolist()
    of_gpu = {gpu: f"GPU {gpu}: " if len(gpus) > 1 else "" for gpu in gpus}
    return tuple(f"{of_gpu[gpu]}{text}" for gpu in gpus for text in _describe_utilization(analysis, gpu))


def _describe_utilization(analysis: Analysis, gpu: int) -> tuple[str, ...]:
    of_gpu = analysis.ranges[analysis.ranges["gpu"] == gpu]
    paths = set(analysis.iterations["path"][analysis.iterations["gpu"] == gpu])
    rows = of_gpu[of_gpu["path"].isin(paths) if paths else of_gpu["depth"] == 0].to_dict("records")
    if len(rows) != 1 or pd.isna(rows[0]["mfu_pct"]):
        return ()
    row, column = rows[0], RANGES["hfu_pct"]
    executed = column.format(row["hfu_pct"])
    hardware = units.at_least(executed) if column.is_lower_bound(row) else executed
    name = name_iterations(analysis) or "the whole capture"
    share, peak = units.format_pct(row["mfu_pct"]), name_peak(analysis)
    return (f"MFU is {share}, HFU {hardware}: of {peak}, over the {WINDOW_NAMES[analysis.window]} of {name}.",)


def _describe_unknown(analysis: Analysis, gpu: int) -> str:
    """Why useful FLOP are not known, with the kernel that took most time without them."""
    launched = rows_of_gpu(analysis.kernel_instances[["gpu", "kernel", "duration_ns", "useful_flop"]], gpu)
    untold = launched[launched["useful_flop"].isna()].groupby("kernel")["duration_ns"].sum()
    most = one_line(str(analysis.kernels["name"].iloc[untold.idxmax()]), 60)
    return (
        f"Useful FLOP are unknown where tensor kernels ran in no op with sizes, or in one whose sizes do not tell; "
        f"in the whole recording, most of that time is {most}."
    )


def are_resolved(rows: pd.DataFrame, side: str = "") -> "pd.Series[bool]":
    """Whether the samples tell the Tensor Active of each row; of a side of a comparison, whose columns begin so."""
    percent, low, high = (rows[f"{side}{name}"] for name in _ACTIVE)
    return is_resolved(percent, np.maximum(percent - low, high - percent))
