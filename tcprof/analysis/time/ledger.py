"""The ledger: all GPU time attributed or listed by cause, and the fitted against the sampled tensor-active time."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import StepFunction
from tcprof.analysis.kernels.launches import KernelFit, tensor_counts
from tcprof.analysis.kernels.summary import FROM_NAMES, NOT_SAMPLED, POOLED, RESOLVED, UNRESOLVED
from tcprof.analysis.ranges.projection import CAUSES, REMEDIES, Attribution
from tcprof.arrays import Floats, pick_rows, rows_of_gpu
from tcprof.frames import KERNEL_KINDS, LEDGER

ACTIVITY_TIME, KERNEL_TIME, TENSOR_TIME = "activity time", "kernel time", "sampled tensor-active time"
FITTED, NOT_FITTED, NO_KERNEL = "fitted to kernels", "under kernels, but not fitted", "under no kernel"
UNEXPLAINED = "given to kernels beyond what they usually count"
NOT_TRACED = "sampled before or after the trace"
_MORE_SAMPLES = "record more iterations, or with a higher --frequency"
_VARIES = "their work varies, or other work ran beside them: record with the GPU to yourself"
_STATES = {
    RESOLVED: "",
    POOLED: "record more iterations: these kernels were launched too rarely to be told apart",
    UNRESOLVED: _MORE_SAMPLES,
    NOT_SAMPLED: "record GPU metrics over the whole run: 'tcprof profile SCRIPT'",
    FROM_NAMES: "record with 'tcprof profile SCRIPT', which samples GPU metrics",
}
_ROUNDING = 1e-9  # of a sum: less is left between two equal sums by the arithmetic, and differs between CPUs

_Entry = tuple[str, str, float, str]


def keep_ledger(
    activities: pd.DataFrame,
    attribution: Attribution,
    samples: pd.DataFrame,
    kernel_fit: KernelFit,
    kernels: pd.DataFrame,
) -> pd.DataFrame:
    """What became of each GPU's activity time, kernel time and tensor-active time: each adds up to all of it."""
    rows = []
    for gpu in sorted({*activities["gpu"].unique().tolist(), *samples["gpu"].unique().tolist()}):
        mine = (activities["gpu"] == gpu).to_numpy()
        entries = [
            *_activity_time(pick_rows(activities, mine), attribution.cause.codes[mine]),
            *_kernel_time(kernels[kernels["gpu"] == gpu]),
            *_tensor_time(rows_of_gpu(samples, gpu), pick_rows(activities, mine), kernel_fit, gpu),
        ]
        rows += [(gpu, account, entry, seconds, np.nan, remedy) for account, entry, seconds, remedy in entries]
    frame = pd.DataFrame(rows, columns=LEDGER.names)
    total = frame.groupby(["gpu", "account"])["seconds"].transform("sum")
    return LEDGER.conform(frame.assign(share_pct=100 * frame["seconds"] / total.where(total > 0)))


def _activity_time(activities: pd.DataFrame, cause: np.ndarray) -> Iterator[_Entry]:
    """Durations by range: attributed, and the rest by cause."""
    duration = (activities["end_ns"] - activities["start_ns"]).to_numpy()
    seconds = np.bincount(cause, duration, minlength=len(CAUSES)) * 1e-9
    for text, value in zip(CAUSES, seconds.tolist(), strict=True):
        if value > 0 or not text:
            yield ACTIVITY_TIME, text or "in a range", value, REMEDIES.get(text, "")


def _kernel_time(kernels: pd.DataFrame) -> Iterator[_Entry]:
    """Durations of kernels by how well the fit resolves them."""
    seconds = kernels.groupby("fit")["total_ns"].sum() * 1e-9
    for state, remedy in _STATES.items():
        if state in seconds.index:
            yield KERNEL_TIME, state, float(seconds[state]), remedy


def _tensor_time(samples: pd.DataFrame, activities: pd.DataFrame, kernel_fit: KernelFit, gpu: int) -> Iterator[_Entry]:
    """The sampled tensor-active time by where it is: fitted, under kernels only, under none, or not traced."""
    counted = kernel_fit.gpus[gpu].counted if gpu in kernel_fit.gpus else None
    if counted is None:
        return
    known = pick_rows(samples, samples["tensor_active_pct"].notna().to_numpy())
    amount = tensor_counts(known)[0]
    traced = (known["end_ns"] > activities["start_ns"].min()) & (known["start_ns"] < activities["end_ns"].max())
    total, inside = float(amount.sum()), float(amount[traced].sum())
    # A fit that resolves little may give launches more than was sampled: no more than all of it is fitted.
    under_kernels = min(counted.sampled, inside)
    fitted = min(float((counted.per_launch * _sampled_share(known, activities)).sum()), under_kernels)
    active_ns = known["tensor_active_pct"].to_numpy() / 100 * (known["end_ns"] - known["start_ns"]).to_numpy()
    seconds = float(active_ns.sum()) * 1e-9 / total if total > 0 else 0.0
    unexplained = min(counted.unexplained, fitted) if kernel_fit.gpus[gpu].in_cycles else 0.0
    yield TENSOR_TIME, FITTED, (fitted - unexplained) * seconds, ""
    yield TENSOR_TIME, UNEXPLAINED, unexplained * seconds, _VARIES
    yield TENSOR_TIME, NOT_FITTED, _rest(under_kernels, fitted) * seconds, _MORE_SAMPLES
    yield TENSOR_TIME, NO_KERNEL, _rest(inside, under_kernels) * seconds, "trace its process: --trace=cuda,nvtx"
    yield TENSOR_TIME, NOT_TRACED, _rest(total, inside) * seconds, ""


def _rest(whole: float, part: float) -> float:
    """What the part leaves of the whole; 0 where it is the whole but for rounding."""
    rest = whole - part
    return rest if abs(rest) > _ROUNDING * whole else 0.0


def _sampled_share(samples: pd.DataFrame, activities: pd.DataFrame) -> Floats:
    """What part of each launch was sampled: less than all of it where samples are missing."""
    launches = pick_rows(activities, activities["kind"].isin(KERNEL_KINDS).to_numpy())
    start = launches["start_ns"].to_numpy()
    end = np.maximum(launches["end_ns"].to_numpy(), start + 1)
    sampled = StepFunction(samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy(), np.ones(len(samples)))
    covered: Floats = sampled.covered(start, end) / (end - start)
    return covered
