"""Work that a GPU's samples show and the trace does not: another process, or graphs that were not recorded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import open_times
from tcprof.analysis.kernels.names import read_names
from tcprof.analysis.samples.sampling import samples_by_gpu
from tcprof.arrays import Bools, Floats, Ints, pick_rows, rows_of_gpu
from tcprof.chips import NO_MATRIX
from tcprof.frames import KERNEL_KINDS

NEAR_NS = 5_000  # the engine stays active so close to an activity
LEAST_PCT = 1.0  # what an idle GPU reads, and Tensor Active that may be all but 0
LEAST_OF_SAMPLE = 0.1  # of a sample: less may be the engine's own
NOTABLE_SHARE = 0.01  # of the time traced: recordings of one program alone have up to 0.4 %
NOTABLE_IDLE_SHARE, FEWEST_SAMPLES = 0.05, 4  # of the idle time; alone they have 0.8 %, or fewer samples that show it
LEAST_OF_QUIET = 0.15  # of the tensor pipes: index arithmetic in element-wise kernels takes up to 0.061 of them
MOST_OF_KERNEL = 0.5  # of a kernel's samples: in more, what they show may be the kernel's own
HARDLY = 0.1  # of the time that a GPU was busy: less traced work than that says nothing of it
DOUBT = 2.0  # beside launches there may be so many times what ran while nothing was traced

# Where idle time is, or what tells it: unknown for a GPU whose work was not traced.
_IDLE = {
    "timeline": ["idle_ns"],
    "step_summary": ["idle_ns"],
    "kinds": ["gpu_idle_pct"],
    "steps": ["busy_ns", "idle_pct"],
    "ranges": ["busy_ns"],
    "instances": ["busy_ns"],
}


@dataclass(frozen=True)
class Quiet:
    """Samples of kernels that have no matrix instruction, as their names tell, far from all other kernels."""

    ns: float  # the time of these samples
    shown_ns: float  # that of those that show the tensor pipes active all the same
    samples: int  # how many show it
    tensor_ns: float  # the time of full tensor activity in them

    @property
    def is_notable(self) -> bool:
        """Tell whether something else must have run: alone no program has a sample that shows it."""
        return self.samples >= FEWEST_SAMPLES


@dataclass(frozen=True)
class Untraced:
    """What ran on a GPU while nothing was traced, or no tensor work."""

    busy_ns: float  # how long the GPU was busy with it while nothing was traced
    idle_ns: float  # how long nothing was traced
    traced_ns: float  # how long traced work ran
    whole_ns: float  # the time that was looked at
    samples: int  # how many samples show it
    tensor_ns: float  # the time of full tensor activity in it
    quiet: Quiet  # what was seen beside kernels without matrix instructions

    @property
    def in_pauses(self) -> bool:
        """Tell whether pauses show more than those of programs alone on a GPU do."""
        of_idle = self.busy_ns > NOTABLE_IDLE_SHARE * self.idle_ns and self.samples >= FEWEST_SAMPLES
        return self.busy_ns > NOTABLE_SHARE * self.whole_ns or of_idle

    @property
    def is_all(self) -> bool:
        """Tell whether the trace shows none, or next to none, of what the GPU did."""
        return self.in_pauses and self.traced_ns < HARDLY * (self.traced_ns + self.busy_ns)

    @property
    def is_notable(self) -> bool:
        """Tell whether this is more than what programs alone on a GPU show."""
        return self.in_pauses or self.quiet.is_notable

    def doubt(self, duration: Floats) -> Floats:
        """Estimate how much of what launches seem to do on the tensor pipes may be untraced, as ns of full activity."""
        time, tensor_ns = self.idle_ns + self.quiet.ns, self.tensor_ns + self.quiet.tensor_ns
        rate = min(DOUBT * tensor_ns / time, 1.0) if self.is_notable and time else 0.0
        return rate * duration


def find_untraced_by_gpu(samples: pd.DataFrame, activities: pd.DataFrame) -> dict[int, Untraced]:
    """Find what each sampled GPU did beyond its traced work, see ``find_untraced``."""
    untraced = find_hardly_traced(samples, activities)
    for gpu, sampled in samples_by_gpu(samples).items():
        if gpu not in untraced and len(work := rows_of_gpu(activities, gpu)):
            untraced[gpu] = find_untraced(sampled, work)
    return dict(sorted(untraced.items()))


def find_hardly_traced(samples: pd.DataFrame, activities: pd.DataFrame) -> dict[int, Untraced]:
    """Find the GPUs that worked although the trace shows next to nothing of it, while work of any GPU was traced."""
    by_gpu: dict[int, Untraced] = {}
    whole = _ends_of(activities if len(activities) else samples)
    for gpu, sampled in samples_by_gpu(samples).items():
        work = rows_of_gpu(activities, gpu)
        active_ns = float((_busy_pct(sampled) / 100 * (sampled["end_ns"] - sampled["start_ns"])).sum())
        if float((work["end_ns"] - work["start_ns"]).sum()) < HARDLY * active_ns:
            untraced = find_untraced(sampled, work, whole)
            by_gpu |= {gpu: untraced} if untraced.is_all else {}
    return by_gpu


def hide_idle(frames: Mapping[str, pd.DataFrame], gpus: Collection[int]) -> dict[str, pd.DataFrame]:
    """Set the idle and busy time of these GPUs unknown; returns the frames that have it, by name."""
    hidden: dict[str, pd.DataFrame] = {}
    for name in _IDLE.keys() & frames.keys() if gpus else ():
        is_unknown = frames[name]["gpu"].isin([*gpus])
        hidden[name] = frames[name].assign(**{column: frames[name][column].mask(is_unknown) for column in _IDLE[name]})
    return hidden


def _busy_pct(samples: pd.DataFrame) -> pd.Series:
    """Measure how much of each sample the GPU was busy, by whatever was sampled."""
    busy = samples["gr_active_pct"].fillna(samples["sm_active_pct"])
    return busy.fillna(samples["tensor_active_pct"]).fillna(0)


def _ends_of(rows: pd.DataFrame) -> tuple[int, int]:
    """Return when the first begins and the last ends; 0 without rows."""
    return (int(rows["start_ns"].min()), int(rows["end_ns"].max())) if len(rows) else (0, 0)


def find_untraced(samples: pd.DataFrame, activities: pd.DataFrame, inside: tuple[int, int] | None = None) -> Untraced:
    """Find what samples of a GPU show beyond all its traced work, ``inside`` from first activity to last by default."""
    first, last = inside or _ends_of(activities)
    rows, traced, beyond = find_busy_beyond(samples, activities, (first, last))
    begin, finish = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    length = (finish - begin).astype(np.float64)
    tensor, is_busy, free = rows["tensor_active_pct"].fillna(0).to_numpy(), beyond > 0, length - traced
    # What a sample shows of the tensor pipes beside traced work may be that work's.
    is_apart = is_busy & (2 * traced < length)
    share = float(beyond[is_busy].sum() / beyond[is_apart].sum()) if is_apart.any() else 0.0
    tensor_ns = share * float((tensor / 100 * np.minimum(length, free))[is_apart].sum())
    family = read_names(activities["name"].cat.categories)["family"].to_numpy()
    of_name = np.append(family == NO_MATRIX, False)  # the last: without a name
    is_quiet = (activities["kind"] == "kernel").to_numpy() & of_name[activities["name"].cat.codes.to_numpy()]
    quiet = _find_beside_quiet(begin, finish, tensor, activities, is_quiet)
    start, end = (activities[name].to_numpy() for name in ("start_ns", "end_ns"))
    traced_ns = float(open_times(start, end).covered(begin, finish).sum())
    busy_ns, idle_ns = float(beyond[is_busy].sum()), float(free.sum())
    return Untraced(busy_ns, idle_ns, traced_ns, float(last - first), int(is_busy.sum()), tensor_ns, quiet)


def find_busy_beyond(
    samples: pd.DataFrame, activities: pd.DataFrame, inside: tuple[int, int] | None = None
) -> tuple[pd.DataFrame, Floats, Floats]:
    """Find in each sample how long the GPU was busy beyond its traced work.

    Args:
        inside: From when to when; by default from the first activity to the last.

    Returns:
        The samples of that time, how long each is near traced work, and how much longer the GPU
        was busy, in ns; 0 where that may be the engine's own.
    """
    start, end = activities["start_ns"].to_numpy(), activities["end_ns"].to_numpy()
    near = open_times(start - NEAR_NS, np.maximum(end, start + 1) + NEAR_NS)
    first, last = inside or _ends_of(activities)
    rows = pick_rows(samples, ((samples["start_ns"] >= first) & (samples["end_ns"] <= last)).to_numpy())
    begin, finish = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    length, traced = (finish - begin).astype(np.float64), near.covered(begin, finish)
    active = _busy_pct(rows).to_numpy()
    tensor = rows["tensor_active_pct"].fillna(0).to_numpy()
    beyond = (active - LEAST_PCT) / 100 * length - traced
    beyond = np.where((tensor > LEAST_PCT) & (traced == 0), np.maximum(beyond, length / 2), beyond)
    return rows, traced, np.where(beyond > LEAST_OF_SAMPLE * length, beyond, 0.0)


def _find_beside_quiet(begin: Ints, finish: Ints, tensor: Floats, activities: pd.DataFrame, is_quiet: Bools) -> Quiet:
    """Find the tensor activity, in percent, of samples under quiet kernels, which have none of their own."""
    start, end = (activities[column].to_numpy() for column in ("start_ns", "end_ns"))
    name = code = activities["name"].cat.codes.to_numpy(np.int64)
    loud = activities["kind"].isin(KERNEL_KINDS).to_numpy() & ~is_quiet
    margin = NEAR_NS + int((finish - begin).max(initial=0)) // 2
    loud_time = open_times(start[loud] - margin, end[loud] + margin)
    order = np.argsort(start[is_quiet], kind="stable")
    start, end, name = (values[is_quiet][order] for values in (start, end, name))
    under = open_times(start, end).covered(begin, finish)
    rows = np.flatnonzero(2 * under > finish - begin)
    rows = rows[loud_time.covered(begin[rows], finish[rows]) == 0]
    length = (finish - begin)[rows].astype(np.float64)
    tensor_ns = tensor[rows] / 100 * length
    busy = tensor_ns - (length - under[rows]) > LEAST_OF_QUIET * length
    of_kernel = name[np.maximum(np.searchsorted(start, begin[rows] + (finish - begin)[rows] // 2) - 1, 0)]
    is_tensor = np.bincount(of_kernel, busy) > MOST_OF_KERNEL * np.bincount(of_kernel)
    if is_tensor.any():
        is_tensor_kernel = np.isin(code, np.flatnonzero(is_tensor))
        return _find_beside_quiet(begin, finish, tensor, activities, is_quiet & ~is_tensor_kernel)
    return Quiet(float(length.sum()), float(length[busy].sum()), int(busy.sum()), float(tensor_ns[busy].sum()))
