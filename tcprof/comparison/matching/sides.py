"""The sides of a comparison, and their path keys: GPU, domain and path, with ranges of the baseline renamed."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import commonprefix

import numpy as np
import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.kernels.untraced import hide_idle
from tcprof.analysis.observed import is_same_recording
from tcprof.analysis.ranges.nesting import SEPARATOR
from tcprof.analysis.samples.sampling import tensor_functions
from tcprof.analysis.steps.marked_steps import are_steady, counted_paths, find_marked_steps, mark_left_out
from tcprof.analysis.steps.step_summary import measure_steps, summarize_steps
from tcprof.errors import UsageError
from tcprof.frames import INSTANCES, KINDS
from tcprof.sources import Samples

KEYS = ["gpu", "domain", "path", "depth"]
_VENDOR = "NVIDIA "
_UNNAMED = re.compile(r"(?:GPU \d+)?")  # of which the file has only a number
Kin = tuple[int, str]  # depth and name: the steps of all epochs are kin
PathKey = tuple[int | None, str | None, str | None, int]


@dataclass(frozen=True)
class Side:
    """One or more recordings of the same program."""

    name: str  # what the side is called: "base", or a name that the user knows it by
    recordings: tuple[Analysis, ...]
    copies: tuple[tuple[str, ...], ...] = ()  # files that hold one recording, of which one is among the recordings
    number: int = -1  # its index on the command line; -1 where unknown

    @property
    def first(self) -> Analysis:
        """Return the recording that stands for the side where only one can be shown."""
        return self.recordings[0]

    @property
    def typical(self) -> Analysis:
        """Return the recording of median step length, which stands for the side in what cannot be pooled."""
        medians = [run.steps.loc[run.steps["counted"], "gpu_window_ns"].median() for run in self.recordings]
        order = np.argsort(np.nan_to_num(medians, nan=np.inf), kind="stable")
        return self.recordings[int(order[(len(order) - 1) // 2])]


def count_once(side: Side) -> Side:
    """Keep one file of each recording: that with most work, and of these the one with the shortest name."""
    groups: list[list[Analysis]] = []
    for recording in side.recordings:
        same = (group for group in groups if is_same_recording(group[0].fingerprint, recording.fingerprint))
        if (group := next(same, None)) is None:
            groups.append(group := [])
        group.append(recording)
    fullest = (max(group, key=lambda run: (len(run.activities), -len(run.recording.file))) for group in groups)
    copies = (tuple(run.recording.file for run in group) for group in groups if len(group) > 1)
    return replace(side, recordings=tuple(fullest), copies=(*side.copies, *copies))


def gpu_models(base: Side, new: Side) -> tuple[str, str]:
    """Name the models of the GPUs that each side worked on, with their chips where the names alone do not differ.

    A trace of ``torch.profiler`` names no chip, some recordings no GPU, and older drivers no vendor: none of these is
    a difference.
    """
    spellings: dict[str, str] = {}
    sides = [[_used_models(recording, spellings) for recording in side.recordings] for side in (base, new)]
    if not all(any(side) for side in sides):  # a side without the name of any of its GPUs
        sides = [next(filter(any, sides), sides[0])] * 2
    texts = [join_facts(", ".join(dict.fromkeys(name for name, _ in models)) for models in side) for side in sides]
    with_chips = [any(all(chip for _, chip in models) for models in side) for side in sides]
    if texts[0] == texts[1] and all(with_chips) and set(sides[0]) != set(sides[1]):
        texts = [
            join_facts(
                ", ".join(dict.fromkeys(f"{name} ({chip or 'chip unknown'})" for name, chip in models))
                for models in side
            )
            for side in sides
        ]
    return texts[0], texts[1]


def _used_models(analysis: Analysis, spellings: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return name and chip of the GPUs that worked, of all where none did; without those whose name is unknown."""
    gpus = analysis.gpus
    used = gpus[gpus["gpu"].isin(analysis.activities["gpu"].unique())]
    models = gpus if used.empty else used
    models = models[~models["name"].str.fullmatch(_UNNAMED)]
    names = [spellings.setdefault(name.removeprefix(_VENDOR), name) for name in models["name"]]
    return tuple(sorted({*zip(names, models["chip"], strict=True)}))


def join_facts(texts: Iterable[str]) -> str:
    """Join the different facts of a side's recordings; an empty text is unknown."""
    return ", ".join(dict.fromkeys(text or "unknown" for text in texts))


@dataclass(frozen=True)
class Renaming:
    """What the ranges of a recording are called in a comparison."""

    # New names of ranges by old ones; an old one is a single name, or several that follow each other.
    mapping: Mapping[str, str] = field(default_factory=dict)
    # For each path of the steps, so renamed, the one name under which all of them are compared.
    together: Mapping[str, str] = field(default_factory=dict)


def find_renamings(
    base: Sequence[Analysis], new: Sequence[Analysis], mapping: Mapping[str, str]
) -> tuple[Renaming, Renaming]:
    """Find the common names of both sides' ranges: steps of ``epoch 0`` and ``epoch 1`` are those of ``epoch *``."""
    kin: dict[Kin, dict[str, None]] = {}
    for recording, names in [*((run, mapping) for run in base), *((run, {}) for run in new)]:
        for path in counted_paths(recording.steps):
            renamed = rename_path(path, names)
            kin.setdefault(_kin_of(renamed), {})[renamed] = None
    together = {path: _common_path([*alike]) for alike in kin.values() if len(alike) > 1 for path in alike}
    return Renaming(mapping, together), Renaming({}, together)


def _common_path(paths: Sequence[str]) -> str:
    """Return the names that paths of one depth share, with * for what differs: "epoch * / step"."""
    return SEPARATOR.join(
        names[0] if len(set(names)) == 1 else f"{commonprefix(names)}*"  # noqa: RUF071 - of letters
        for names in zip(*(path.split(SEPARATOR) for path in paths), strict=True)
    )


def rename_path(path: str, mapping: Mapping[str, str]) -> str:
    """Rename ranges in a path; an old name is a single one, or several that follow each other."""
    names = path.split(SEPARATOR)
    for old, new in mapping.items():
        parts, renamed = old.split(SEPARATOR), []
        while names:
            matches = names[: len(parts)] == parts
            renamed += [new] if matches else names[:1]
            names = names[len(parts) if matches else 1 :]
        names = SEPARATOR.join(renamed).split(SEPARATOR)
    return SEPARATOR.join(names)


def rename_paths(paths: pd.DataFrame, renaming: Renaming) -> pd.DataFrame:
    """Rename the ranges in the columns ``path`` and ``depth`` of a frame."""
    mapping, together = renaming.mapping, renaming.together
    if not mapping and not together:
        return paths
    renamed = [rename_path(path, mapping) for path in paths["path"]] if mapping else paths["path"].tolist()
    deeper = [new.count(SEPARATOR) - old.count(SEPARATOR) for old, new in zip(paths["path"], renamed, strict=True)]
    for old, new in together.items():
        inner = old + SEPARATOR
        renamed = [new + path[len(old) :] if path == old or path.startswith(inner) else path for path in renamed]
    return paths.assign(path=renamed, depth=paths["depth"] + deeper)


def check_mapping(recordings: Sequence[Analysis], mapping: Mapping[str, str]) -> None:
    """Refuse to rename what is not there."""
    for old, new in mapping.items():
        if not old or not _has_range(recordings, old):
            name = recordings[0].recording.file
            raise UsageError(
                f"the baseline has no range {old!r} that could be renamed",
                f"'tcprof ranges {name}' lists its ranges; write --map OLD=NEW with OLD as it is shown there.",
                "Analysis.ranges['path'] lists its ranges: give mapping={'OLD': 'NEW'} with OLD as it is there.",
            )
        if not new.strip():
            hints = ("Write --map OLD=NEW.", "Give mapping={'OLD': 'NEW'}.")
            raise UsageError(f"the range {old!r} has no new name", *hints)


def find_unmapped(recordings: Sequence[Analysis], mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """List old and new names of the mappings whose new name no range of the new side has."""
    return tuple((old, new) for old, new in mapping.items() if not _has_range(recordings, new))


def _has_range(recordings: Sequence[Analysis], name: str) -> bool:
    paths = {path for recording in recordings for path in recording.paths["path"]}
    return any(rename_path(path, {name: "\0"}) != path for path in paths)


def list_path_keys(ranges: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """List all recordings' path keys in the order of a tree; one that earlier ones lack follows what it did there."""
    rows = [list(dict.fromkeys(frame[KEYS].itertuples(index=False, name=None))) for frame in ranges]
    start: PathKey = (None, None, None, -1)  # comes before all keys, and holds them
    chain: list[PathKey | None] = [*rows[0], None]
    after: dict[PathKey, PathKey | None] = dict(zip([start, *rows[0]], chain, strict=True))
    for later_rows in rows[1:]:
        _insert_keys(after, start, later_rows)
    ordered = []
    key = after[start]
    while key is not None:
        ordered.append(key)
        key = after[key]
    return pd.DataFrame(ordered, columns=KEYS)


def _insert_keys(after: dict[PathKey, PathKey | None], start: PathKey, rows: Sequence[PathKey]) -> None:
    open_rows = [start]  # the last key of each depth, outermost first
    for row in rows:
        while open_rows[-1][3] > row[3]:
            open_rows.pop()
        previous = open_rows[-1]
        if row not in after:
            if previous[3] == row[3]:
                following = after[previous]
                while following is not None and following[3] > row[3]:
                    previous, following = following, after[following]
            after[row], after[previous] = after[previous], row
        if open_rows[-1][3] == row[3]:
            open_rows.pop()
        open_rows.append(row)


def join_kinds(side: Side) -> Side:
    """Count the steps of all kinds: a change of any kind moves the mean step, which is what a program pays."""
    return replace(side, recordings=tuple(_join_kinds(recording) for recording in side.recordings))


def _join_kinds(analysis: Analysis) -> Analysis:
    steps = analysis.steps
    is_step = steps["path"].isin(counted_paths(steps))
    counted = is_step & are_steady(steps)
    if (counted == steps["counted"]).all() or not steps["counted"].any():
        return analysis
    steps = steps.assign(counted=counted, kind=steps["kind"].where(~is_step, 0))
    return with_steps(analysis, steps, instances=INSTANCES.conform(mark_left_out(analysis.instances, steps)))


def share_steps(base: Side, new: Side, mapping: Mapping[str, str]) -> tuple[Side, Side]:
    """Give both sides the steps of one path, where both have it: too few steps may make tcprof detect their layers."""
    step_kin, all_kin = [], []
    for side, names in ((base, mapping), (new, {})):
        iterating = (_list_kin(counted_paths(recording.steps), names) for recording in side.recordings)
        step_kin.append(dict.fromkeys(itertools.chain.from_iterable(iterating)))
        all_kin.append({kin for recording in side.recordings for kin in _list_kin(recording.paths["path"], names)})
    # The outermost: steps rather than their layers.
    common = sorted(kin for kin in {**step_kin[0], **step_kin[1]} if kin in all_kin[0] and kin in all_kin[1])
    if not common or any(set(step_kin[0]) & set(step_kin[1])):
        chosen = next((kin for kin in step_kin[0] if kin in step_kin[1]), None)
    else:
        chosen = common[0]
    if chosen is None:
        return base, new
    return (
        replace(base, recordings=tuple(_iterate(recording, chosen, mapping) for recording in base.recordings)),
        replace(new, recordings=tuple(_iterate(recording, chosen, {}) for recording in new.recordings)),
    )


def _list_kin(paths: Sequence[str], mapping: Mapping[str, str]) -> list[Kin]:
    return [_kin_of(rename_path(path, mapping)) for path in paths]


def _kin_of(path: str) -> Kin:
    return path.count(SEPARATOR), path.rpartition(SEPARATOR)[2]


def _iterate(analysis: Analysis, chosen: Kin, mapping: Mapping[str, str]) -> Analysis:
    """Make the instances of the chosen paths the recording's steps, if it has any."""
    if chosen in _list_kin(counted_paths(analysis.steps), mapping):
        return analysis
    paths = analysis.paths
    # A library's ranges of that name are no steps.
    step_paths = [
        path
        for path, kin, domain in zip(paths["path"], _list_kin(paths["path"], mapping), paths["domain"], strict=True)
        if kin == chosen and not domain
    ]
    unique = dict.fromkeys(step_paths)
    parts = [find_marked_steps(analysis.instances, paths, analysis.activities, path) for path in unique]
    steps = pd.concat(parts) if parts else analysis.steps.iloc[:0]
    steps = steps[steps["path"].isin(step_paths)].drop_duplicates(["gpu", "range"])
    if steps.empty:
        return analysis
    steps = steps.sort_values(["gpu", "range"], kind="stable", ignore_index=True)
    number = steps.groupby("gpu").cumcount()
    instances = analysis.kernel_instances.assign(step=-1)  # their step is unknown
    return with_steps(analysis, steps.assign(number=number), kernel_instances=instances)


def with_steps(analysis: Analysis, steps: pd.DataFrame, **frames: pd.DataFrame) -> Analysis:
    """Replace the recording's steps by these, of one kind, and other frames that change with them."""
    functions, observed = tensor_functions(analysis.samples), analysis.observed
    samples = Samples(analysis.samples, analysis.tensor_source, observed.shared_pipe, observed.lost_ns)
    steps = measure_steps(steps, analysis.activities, analysis.samples)
    summary = summarize_steps(steps, analysis.activities, functions, samples)
    frames |= {"steps": steps, "step_summary": summary, "kinds": KINDS.empty()}
    frames |= hide_idle(frames, [gpu for gpu in summary["gpu"] if not analysis.is_busy_known(gpu)])
    return analysis.replace(**frames)
