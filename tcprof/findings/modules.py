"""What is said of modules: what their figures are over, how much is in none, and what the samples do not resolve."""

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.analysis.kernels.summary import RESOLVED_POINTS, RESOLVED_SHARE, is_resolved
from tcprof.analysis.modules.tree import ALL, PHASES
from tcprof.annotate.steps import BACKWARD
from tcprof.findings.notes import name_iterations
from tcprof.frames import IN_NO_MODULE

UNRESOLVED = "~"
_ACTIVE = ("tensor_active_pct", "tensor_active_low_pct", "tensor_active_high_pct")
_ABOUT_UNRESOLVED = (
    f"{UNRESOLVED} marks what the samples do not resolve: its 95 % interval reaches more than {RESOLVED_POINTS:g} "
    f"points, and more than {100 * RESOLVED_SHARE:g} % of the value, to one side. JSON has the intervals."
)
_WITHOUT_OPS = (
    "The backward pass is in no module: it can be brought there where PyTorch's ops were recorded too, with "
    "'tcprof profile --annotate ops'."
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
            said.append(_WITHOUT_OPS)
    sampled = analysis.modules[analysis.modules[_ACTIVE[0]].notna()]
    if not are_resolved(sampled).all():
        said.append(_ABOUT_UNRESOLVED)
    return tuple(dict.fromkeys(said))


def are_resolved(rows: pd.DataFrame, side: str = "") -> "pd.Series[bool]":
    """Whether the samples tell the Tensor Active of each row; of a side of a comparison, whose columns begin so."""
    percent, low, high = (rows[f"{side}{name}"] for name in _ACTIVE)
    return is_resolved(percent, np.maximum(percent - low, high - percent))
