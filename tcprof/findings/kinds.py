"""What is said of kinds of iterations, where there are several: which one figures are of, and the others."""

from typing import Any

import pandas as pd

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.untrusted import one_line

_MOST_NAMED = 3


def list_kinds(analysis: Analysis, gpu: int) -> pd.DataFrame:
    """The kinds of iterations on a GPU; none where there are not several."""
    kinds = analysis.kinds[analysis.kinds["gpu"] == gpu]
    return kinds if len(kinds) > 1 else kinds[:0]


def name_kind(analysis: Analysis, gpu: int) -> str:
    """The kind that figures are of, as one line of untrusted text; empty where there is only one."""
    kinds = list_kinds(analysis, gpu)
    return one_line(str(kinds["name"].iloc[0]), 40) if len(kinds) else ""


def tell_kinds(analysis: Analysis, gpu: int) -> tuple[str, ...]:
    """A sentence on the kind that the verdict is about, and on the others; nothing where there is only one."""
    kinds = list_kinds(analysis, gpu)
    if kinds.empty:
        return ()
    first, *others = kinds.to_dict("records")
    parts = [f"“{one_line(each['name'], 40)}” ({_often(each)}{_lacked(first, each)})" for each in others[:_MOST_NAMED]]
    if more := others[_MOST_NAMED:]:
        share = units.format_pct(sum(each["share_pct"] for each in more if each["share_pct"] > 0))
        parts.append(f"{len(more)} more ({share})")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    about = f"This is about “{one_line(first['name'], 40)}”: {_often(first)} of all steps' time"
    return (f"{about}. Other kinds of steps: {listed}.",)


def _lacked(first: dict[str, Any], other: dict[str, Any]) -> str:
    has_tensor = not first["tensor_kernel_share_pct"] > 0 and other["tensor_kernel_share_pct"] > 0
    return ", with tensor kernels" * has_tensor


def _often(kind: dict[str, Any]) -> str:
    count = kind["iteration_count"]
    often = "only once" if count == 1 else f"{units.format_count(count)} steps"
    return f"{often}, {units.format_pct(kind['share_pct'])}"
