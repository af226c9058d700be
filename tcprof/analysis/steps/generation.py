"""Text generation: which kinds of calls of a model read prompts, and which make a token each."""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.annotate.steps import INFERENCE

PREFILL, DECODE = "prefill", "decode"
_SEVERAL = 2.0  # decode steps that follow each other, in the mean


def name_phases(iterations: pd.DataFrame, paths: "pd.Series[str]", kernel_ns: "pd.Series[float]") -> "pd.Series[str]":
    """Prefill or decode for each GPU and kind that is known to be one, by these as the index.

    Known are the calls of a model that calls itself again and again, which ``tcprof.annotate`` marks: decode steps
    follow each other, prefill comes alone before them, and has more ``kernel_ns`` an iteration.
    """
    known, found = set(paths), {}
    steps = {f"{INFERENCE} {root}" for root in (path.rpartition(SEPARATOR)[2] for path in known)}
    marked = {path for path in steps & known if path + SEPARATOR + path.removeprefix(f"{INFERENCE} ") in known}
    for gpu, calls in iterations[iterations["path"].isin(marked)].groupby("gpu"):
        kind = calls.sort_values("number")["kind"].to_numpy()
        first = np.flatnonzero(np.append(True, np.diff(kind) != 0))
        run = pd.DataFrame({"kind": kind[first], "length": np.diff(np.append(first, len(kind)))})
        run["next"] = run["kind"].shift(-1)
        length = run.groupby("kind")["length"].mean()
        decode = {each for each in length.index if length[each] >= _SEVERAL}
        for each in set(length.index) - decode:
            after = run["next"][run["kind"] == each].dropna()
            if len(after) and after.isin(decode).all() and all(kernel_ns[gpu, each] > kernel_ns[gpu, n] for n in after):
                found[gpu, each] = PREFILL
                found |= dict.fromkeys(((gpu, int(n)) for n in after), DECODE)
    index = pd.MultiIndex.from_tuples([*found], names=["gpu", "kind"]) if found else kernel_ns.index[:0]
    return pd.Series([*found.values()], index, dtype=object)
