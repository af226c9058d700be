"""The annotation's steps, each of which begins with the call of a model: which calls are parts of one step."""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import Texts
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.steps.roles import INSTANCE
from tcprof.annotate.steps import DOMAIN, FORWARD, INFERENCE, STEP
from tcprof.arrays import Bools, Ints, find_named, pick_rows
from tcprof.frames import DEVICE_TO_HOST, HOST_TO_DEVICE

_CALL = f"{INFERENCE} "


def join_called_models(ranges: pd.DataFrame, launches: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Extend the annotation's steps over the calls that are parts of them, those of other models as steps inside.

    A step of training begins with the calls before it, one of calls ends with the last of them. Where another kind of
    step follows, it begins when the results of the one before have been read: what the CPU then does is for it.
    """
    names = ranges["name"]
    is_ours = (ranges["domain"] == DOMAIN).to_numpy()
    is_call = find_named(names, lambda text: text.startswith(_CALL))
    is_step = is_ours & ranges["start_end"].to_numpy() & (is_call | (names == STEP).to_numpy())
    if not (is_step & is_call).any():
        return ranges
    steps = np.flatnonzero(is_step)
    start, end = (ranges[column].to_numpy(copy=True) for column in ("start_ns", "end_ns"))
    is_kept = np.ones(len(ranges), dtype=bool)
    for owner, places in ranges.iloc[steps].groupby(["process", "thread"]).indices.items():
        rows = steps[places]
        rows = rows[np.argsort(start[rows], kind="stable")]
        texts = names.iloc[rows].astype(str).to_numpy(dtype=object)
        inner = ranges[is_ours & ~is_step & _belong_to(ranges, owner)]
        step = np.searchsorted(start[rows], inner["start_ns"], side="right") - 1
        inner = inner.assign(name=inner["name"].astype(str), step=step)[step >= 0]
        returned = start[rows].copy()
        np.maximum.at(returned, inner["step"], inner["end_ns"])
        is_silent, is_apart, read_ns = _look_after(returned, start[rows], launches, activities, owner)
        trained = inner[(texts == STEP)[inner["step"]]]
        is_part = _are_parts(texts, {*trained["name"].unique()})
        is_repeated = _are_repeated(texts, is_silent, is_apart, _count_calls(trained))
        is_kept[rows[is_repeated]] = False
        heads = np.flatnonzero(~(is_part | is_repeated))
        tails = np.append(heads[1:], len(rows)) - 1
        first, last = rows[heads], rows[tails]
        trains = texts[tails] == STEP
        begin, finish = start[first], end[last]
        turns = np.flatnonzero((texts[heads[1:]] != texts[heads[:-1]]) & (read_ns[tails[:-1]] > 0))
        finish[turns] = begin[turns + 1] = read_ns[tails[turns]]
        outer = np.where(trains, last, first)
        start[outer], end[outer] = begin, finish
        end[rows] = np.minimum(end[rows], np.repeat(finish, np.diff(heads, append=len(rows))))
    return pick_rows(ranges.assign(start_ns=start, end_ns=end), is_kept).reset_index(drop=True)


def _belong_to(frame: pd.DataFrame, owner: tuple[int, int]) -> Bools:
    return np.asarray((frame["process"] == owner[0]) & (frame["thread"] == owner[1]))


def _look_after(
    returned: Ints, start: Ints, launches: pd.DataFrame, activities: pd.DataFrame, owner: tuple[int, int]
) -> tuple[Bools, Bools, Ints]:
    """Look at what a thread does from the return of a step's calls to the next step.

    Whether it launches nothing; whether it copies to the GPU; and when its last copy from the GPU ends, 0 for none.
    """
    following = np.append(start[1:], np.iinfo(np.int64).max)
    is_owned = _belong_to(launches, owner)
    time, name = launches["start_ns"].to_numpy(), activities["name"]
    launch = launches_of(launches, activities)
    is_of_thread = np.append(is_owned, False)[launch]
    is_input, is_result = (is_of_thread & (name == one).to_numpy() for one in (HOST_TO_DEVICE, DEVICE_TO_HOST))
    read_ns = np.append(0, np.sort(activities["end_ns"].to_numpy()[is_result]))
    read_ns = read_ns[np.searchsorted(read_ns, following) - 1]
    count = [
        np.searchsorted(times, following) - np.searchsorted(times, returned)
        for times in (np.sort(time[is_owned]), np.sort(time[launch[is_input]]))
    ]
    return count[0] == 0, count[1] > 0, np.where(read_ns > returned, read_ns, 0)


def _count_calls(trained: pd.DataFrame) -> dict[str, int]:
    """Count the calls of each model in one forward pass of the training, at most."""
    forward = trained[trained["name"] == FORWARD].sort_values("start_ns")
    row = np.searchsorted(forward["start_ns"], trained["start_ns"], side="right") - 1
    is_inside = (row >= 0) & (np.append(forward["end_ns"], 0)[row] > trained["start_ns"])
    counts = trained[is_inside].groupby([row[is_inside], _name_models(trained["name"][is_inside])]).size()
    return dict(counts.groupby(level=1).max())


def _name_models(names: pd.Series) -> pd.Series:
    return names.str.removeprefix(_CALL).str.replace(INSTANCE, "", regex=True)


def _are_repeated(texts: Texts, is_silent: Bools, is_apart: Bools, most: dict[str, int]) -> Bools:
    """Tell which of a thread's steps call the model of the one before and belong to it.

    Those with nothing launched since, where every second call is one, as with and without a condition; and as many as
    the training calls in one forward pass, where nothing was copied to the GPU since.
    """
    models = _name_models(pd.Series(texts))
    again = np.append(False, models[1:].to_numpy() == models[:-1].to_numpy()) & (models != STEP).to_numpy()
    is_second = again & np.append(False, is_silent[:-1])
    is_third = is_second & np.append(False, is_second[:-1])
    seconds, thirds, calls = (pd.Series(flags).groupby(models) for flags in (is_second, is_third, again))
    in_pairs = (2 * seconds.transform("sum") >= calls.transform("size") - 1) & ~thirds.transform("any")
    follows = again & np.append(False, ~is_apart[:-1])
    position = pd.Series(follows).groupby(np.cumsum(~follows)).cumcount()
    return np.asarray((is_second & in_pairs) | (follows & (position % models.map(most).fillna(1) > 0)))


def _are_parts(texts: Texts, trained: set[str]) -> Bools:
    """Tell which of a thread's steps, by their names, belong to the one before.

    That is so where a call of one model is followed by this one each time, and this one follows it most times. A model
    that is trained, too, acts or is tested by turns: its calls are no part of training.
    """
    names, code = np.unique(texts.astype(str), return_inverse=True)
    before, after = code[:-1], code[1:]
    follows = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(follows, (before, after), 1)
    is_part = (follows > 1) & (follows == follows.sum(axis=1)[:, None]) & (2 * follows > np.bincount(code))
    is_training = names == STEP
    is_part[is_training] = False
    np.fill_diagonal(is_part, False)  # the same model again is another step
    is_part[[text.removeprefix(_CALL) in trained for text in names], is_training] = False
    is_part[:, code[0]] &= is_training[code[0]]  # what the program calls first begins its steps
    np.fill_diagonal(is_part, is_part.any(axis=0) & ~is_training)  # such as the value of the last state
    return np.append(False, is_part[before, after])
