"""Roles of steps: what a step is for, never what size it has, which kernels a library picked, or how long it took.

A role is the name of a range, the model that the annotation saw called in it, and the phase: training, which has a
backward pass or an optimizer, or evaluation, which has neither; prefill and decode where a model generates.
"""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from tcprof.analysis.kernels.names import OPTIMIZER, parse_name
from tcprof.analysis.kernels.patterns import count_threads
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.ranges.projection import Hierarchy
from tcprof.annotate.steps import DOMAIN, FORWARD, INFERENCE, NAMES
from tcprof.arrays import Bools, Floats, Ints, find_named
from tcprof.frames import OPS_DOMAIN

TRAINING, EVALUATION, PREFILL, DECODE = "training", "evaluation", "prefill", "decode"
_BACKWARD = re.compile(r"backward|bwd|bprop|dgrad|wgrad|_grad\b|Grad", re.IGNORECASE)  # in names of kernels and ranges
_OF_SEQUENCES = ("attention", "softmax")  # work of models that generate; its size grows with the cache
_LOSS = re.compile(r"Loss\d*$")  # modules that several models may be trained with
_NUMBER, INSTANCE = re.compile(r"\d+"), re.compile(r"#\d+\+?$")
_Texts = npt.NDArray[np.object_]


@dataclass(frozen=True)
class StepContents:
    """The steps of one GPU, in order, with what each holds."""

    steps: pd.DataFrame
    kernels: pd.DataFrame  # those in steps, see ``tcprof.frames.ACTIVITIES``
    step: Ints  # the step of each of these
    thread: Ints  # the thread that launched each of these, -1 where that is unknown
    hierarchy: Hierarchy
    step_of_range: Ints  # the step that each range lies in, or is; -1 for none

    def name_roles(self) -> _Texts:
        """Name the role of each step."""
        path = self.steps["path"].astype(str)
        kin = path.str.replace(_NUMBER, "*", regex=True)
        last = path.str.rsplit(SEPARATOR, n=1).str[-1]
        last = last.mask(~last.duplicated(keep=False), last.str.replace(INSTANCE, "", regex=True))
        is_ambiguous = kin.groupby(last).transform("nunique") > 1
        role, models = np.where(is_ambiguous, kin, last).astype(object), self._models
        for index in kin.groupby(kin).indices.values():
            role[index] = self._name_phases(index, role[index])
            if len(pd.unique(models[index])) > 1:
                role[index] += " of " + models[index]
        return np.asarray(role, dtype=object)

    def _name_phases(self, index: Ints, names: _Texts) -> _Texts:
        """Name the phases of steps of one name, where there are several."""
        trains = (self._has_backward | self._has(self.works_on((OPTIMIZER,))))[index]
        phase, has_work = self._phases_of_generation[index], self._has(self.step >= 0)[index]
        if trains.any():
            # Without a backward pass that shows, steps that lack the optimizer may accumulate gradients.
            is_mixed = self._has_backward[index].any() and (~trains & has_work).any()
            return np.where(trains | ~has_work, TRAINING, EVALUATION).astype(object) if is_mixed else names
        is_known = phase != ""
        return np.where(is_known, phase, names) if is_known.any() else self._split_by_queries(index, names)

    def _split_by_queries(self, index: Ints, names: _Texts) -> _Texts:
        """Name prefill and decode: many queries, each time followed by several steps of one."""
        threads = self._threads[index]
        many = threads >= 2 * threads.min()
        takes_turns = many.any() and not (many[1:] & many[:-1]).any() and 2 * many.sum() <= (~many).sum()
        is_generation = takes_turns and self._attend_otherwise(index, many)
        return np.where(many, PREFILL, DECODE).astype(object) if is_generation else names

    def _attend_otherwise(self, index: Ints, many: Bools) -> bool:
        """Tell whether all steps of many queries, and no others, have attention of a size that the others lack."""
        group = np.full(len(self.steps), -1)
        group[index] = many
        rows = np.flatnonzero(self.works_on(_OF_SEQUENCES) & (group[self.step] >= 0))
        kinds = self.kernels.iloc[rows].groupby(["name", "launch_geometry"], observed=True, dropna=False).ngroup()
        is_many = group[self.step[rows]] == 1
        is_other = is_many & ~kinds.isin(kinds[~is_many]).to_numpy()
        return bool((np.bincount(self.step[rows], is_other, len(self.steps))[index[many]] > 0).all())

    @cached_property
    def _threads(self) -> Floats:
        """Count the threads of all work in each step that does not grow with a cache."""
        geometry = self.kernels["launch_geometry"].cat
        per_category = np.array([count_threads(str(text)) for text in geometry.categories], dtype=np.float64)
        threads = np.nan_to_num(np.append(per_category, np.nan)[geometry.codes])
        threads[self.works_on((*_OF_SEQUENCES, "copies and casts"))] = 0
        return np.asarray(np.bincount(self.step, threads, len(self.steps)), dtype=np.float64)

    def _has(self, chosen: Bools) -> Bools:
        has: Bools = np.bincount(self.step, chosen, minlength=len(self.steps)) > 0
        return has

    def works_on(self, works: tuple[str, ...]) -> Bools:
        """Find the kernels that do such work, see ``parse_name``."""
        return find_named(self.kernels["name"], lambda text: parse_name(text).work in works)

    @cached_property
    def _has_backward(self) -> Bools:
        """Find the steps with a range or kernels of a backward pass, or launches of a second thread, as autograd's."""
        ranges = self.hierarchy.ranges
        is_backward = find_named(self.kernels["name"], _BACKWARD.search)
        first = np.full(len(self.steps), np.iinfo(np.int64).max)
        np.minimum.at(first, self.step, self.thread)
        by_kernels = self._has(is_backward | ((first[self.step] >= 0) & (self.thread > first[self.step])))
        is_own = (ranges["domain"] != OPS_DOMAIN).to_numpy() & (self.step_of_range >= 0)
        rows = np.flatnonzero(find_named(ranges["name"], _BACKWARD.search) & is_own)
        return np.asarray(by_kernels | (np.bincount(self.step_of_range[rows], minlength=len(self.steps)) > 0))

    @cached_property
    def _children(self) -> tuple[Ints, Ints, _Texts]:
        """List the annotation's ranges in steps: row, whether it lies in the step itself, and name."""
        is_ours = (self.hierarchy.ranges["domain"] == DOMAIN).to_numpy() & (self.step_of_range >= 0)
        rows = np.flatnonzero(is_ours)
        step_range = self.steps["range"].to_numpy()[self.step_of_range[rows]]
        names = self.hierarchy.ranges["name"].astype(str).to_numpy(dtype=object)
        return rows, self.hierarchy.parent[rows] == step_range, names[rows]

    @property
    def _models(self) -> _Texts:
        """Name the model that the annotation saw called in each step: steps that share one have one name."""
        rows, is_child, names = self._children
        above = np.append(self.hierarchy.ranges["name"].astype(str).to_numpy(dtype=object), "")
        is_called = is_child | (above[self.hierarchy.parent[rows]] == FORWARD)
        is_model = np.array([name not in NAMES and not _LOSS.search(name) for name in names], dtype=bool)
        called = pd.DataFrame({"step": self.step_of_range[rows], "model": names})[is_called & is_model]
        in_one = called.groupby("model")["step"].transform("nunique") == 1  # as where each step makes its own
        called["model"] = called["model"].mask(in_one, called["model"].str.replace(INSTANCE, "", regex=True))
        group = {model: model for model in called["model"].unique()}
        for together in {tuple(dict.fromkeys(models)) for _, models in called.groupby("step")["model"]}:
            joined = {group[model] for model in together}
            group = {model: min(joined) if name in joined else name for model, name in group.items()}
        called_model = np.full(len(self.steps), "", dtype=object)
        called_model[called["step"].to_numpy()] = called["model"].map(group).to_numpy()
        return np.where(called_model == "", min(group.values(), default=""), called_model)

    @cached_property
    def _phases_of_generation(self) -> _Texts:
        """Name prefill and decode of models that call themselves again and again, with ranges of their own between."""
        rows, is_child, names = self._children
        begin = np.full((2, len(self.steps)), np.inf)
        model = self.steps["path"].astype(str).str.rsplit(SEPARATOR, n=1).str[-1].str.removeprefix(f"{INFERENCE} ")
        own_model = model.to_numpy(dtype=object)[self.step_of_range[rows]]
        start = self.hierarchy.ranges["start_ns"].to_numpy()[rows]
        for number, chosen in enumerate((names == own_model, names == FORWARD)):
            np.minimum.at(begin[number], self.step_of_range[rows[is_child & chosen]], start[is_child & chosen])
        phase = np.where(begin[0] < begin[1], PREFILL, DECODE).astype(object)
        return np.where(np.isfinite(begin[0]), phase, "")
