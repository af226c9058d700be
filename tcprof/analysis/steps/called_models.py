"""Steps of programs that call several models in each: an actor and a critic, an encoder and a decoder, a teacher.

The annotation takes each call of a model that nothing trains for a step, since it cannot know what the program calls
next. Afterwards it shows: what always follows is a part of the same step.
"""

import numpy as np
import pandas as pd

from tcprof.analysis.ranges.nesting import Texts
from tcprof.analysis.steps.roles import find_named
from tcprof.annotate.steps import DOMAIN, INFERENCE, STEP
from tcprof.arrays import Bools

_CALL = f"{INFERENCE} "


def join_called_models(ranges: pd.DataFrame) -> pd.DataFrame:
    """Extend the annotation's steps over the calls of other models that belong to them: these lie inside.

    A step of training begins with the calls before it, one of calls ends with the last of them.
    """
    is_step = find_named(ranges["name"], lambda text: text == STEP or text.startswith(_CALL))
    is_ours = (ranges["domain"] == DOMAIN).to_numpy()
    steps = np.flatnonzero(is_ours & ranges["start_end"].to_numpy() & is_step)
    start, end = (ranges[column].to_numpy(copy=True) for column in ("start_ns", "end_ns"))
    for (process, thread), places in ranges.iloc[steps].groupby(["process", "thread"]).indices.items():
        rows = steps[places]
        rows = rows[np.argsort(start[rows], kind="stable")]
        texts = ranges["name"].iloc[rows].astype(str).to_numpy(dtype=object)
        if len({*texts}) > 1:
            on_thread = is_ours & (ranges["process"] == process).to_numpy() & (ranges["thread"] == thread).to_numpy()
            trained = _name_ranges_inside(ranges[on_thread], ranges.iloc[rows[texts == STEP]])
            heads = np.flatnonzero(~_are_parts(texts, trained))
            first, last = rows[heads], rows[np.append(heads[1:], len(rows)) - 1]
            trains = (ranges["name"].iloc[last] == STEP).to_numpy()
            begin = start[first]
            end[first[~trains]] = end[last[~trains]]
            start[last[trains]] = begin[trains]
    return ranges.assign(start_ns=start, end_ns=end)


def _name_ranges_inside(ranges: pd.DataFrame, steps: pd.DataFrame) -> set[str]:
    """Name the ranges that begin in steps, which are in order."""
    start, end = (np.append(-1, steps[name]) for name in ("start_ns", "end_ns"))
    begin = ranges["start_ns"].to_numpy()
    inside = begin < end[np.searchsorted(start, begin, side="right") - 1]
    return {*ranges["name"][inside].astype(str).unique()}


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
