"""Steps: which path repeats, which calls of models belong to one step, and which of the first ones are warm-up."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from tcprof.analysis.intervals import open_times
from tcprof.analysis.ranges.nesting import OTHER, SEPARATOR
from tcprof.analysis.ranges.projection import AFTER_STEPS, BEFORE_STEPS, CAUSES, NO_RANGE, Attribution
from tcprof.analysis.samples.sampling import NORMAL_95
from tcprof.annotate.steps import DOMAIN, INFERENCE, STEP
from tcprof.arrays import Bools, Floats, Ints, rows_of_gpu, union
from tcprof.errors import UsageError
from tcprof.frames import OPS_DOMAIN, STEPS
from tcprof.sources import UNNAMED_DOMAIN
from tcprof.sources.xla import COMPILATION, MODULE

FEWEST = 5  # instances of a path that iterates; and instances that show what is usual
_FEWEST_NAMED = 3  # instances, where the name says that they are steps
_OTHER_STEP = re.compile(r"eval|valid|test|infer|predict|generat|rollout|sampl", re.IGNORECASE)
_STEP = re.compile(r"(?:.*[\W_])?(?:Profiler)?(?:step|iter|iteration)", re.IGNORECASE)
_LAYER = re.compile(
    r".*(?:(?<!p)layer|block)(?:[\W_]*\d.*)?", re.IGNORECASE
)  # what lies in one is a part of a step, too
_EPOCH = re.compile(r"(?:.*[\W_])?epochs?(?:[\W_]*\d+)?", re.IGNORECASE)  # what holds steps
MOST_WARM_UP = 100
MAD_TO_DEVIATION = 1.4826
_LEAST_OF_MAIN = 0.02  # of the kernel time of what iterates most, that others have which take turns with it
_MOSTLY_RANGED = 0.9  # of the GPU's busy time since the first program of XLA: less, and nsys lost ranges
LEAST_SHARE = 0.5  # of the GPU's busy time between the first and the last instance, that these have to hold
# Domains that libraries and recorders open ranges in by themselves, and those of which the recording has no name. CCCL
# (CUB and Thrust), TSL (XLA's runtime, so JAX and TensorFlow), TensorRT and MPI stand in recordings that were read;
# com.nvidia.nccl.proxy and xprof in the sources of NCCL and XLA; the others are called like their libraries.
_LIBRARY = re.compile(
    "(cccl|cub|thrust|nccl|nvshmem|openshmem|mpi|ucx|raft|rmm|librmm|cudf|libcudf|dali|tsl|xla|xprof)"
    r"|(com\.nvidia\.|cublas|cudnn|cusparse|cusolver|cufft|curand|cutensor|cutlass|tensorrt).*"
    rf"|{re.escape(OPS_DOMAIN)}|{re.escape(UNNAMED_DOMAIN)}-?\d+",
    re.IGNORECASE,
)
NARROWEST_BAND = 0.05  # of the median: steps are never more alike than this
ALL = "all"


def find_marked_steps(
    instances: pd.DataFrame, paths: pd.DataFrame, activities: pd.DataFrame, step: str | list[int] | None = None
) -> pd.DataFrame:
    """Find the instances of the path that iterates; empty where none does.

    ``step`` is the path, or its last names: step, or epoch / step; or rows; None: see ``find_iterating_paths``.

    Raises:
        UsageError: No path has that name.
    """
    if step is None:
        step = find_iterating_paths(instances, paths, activities)
    rows = _match_paths(paths, step) if isinstance(step, str) else step
    instances = instances[instances["path_id"].isin(rows)]
    if instances.empty:
        return STEPS.empty()
    ordered = instances.sort_values(["gpu", "host_start_ns"], kind="stable")
    window = ordered["gpu_end_ns"] - ordered["gpu_start_ns"]
    host = ordered["host_end_ns"] - ordered["host_start_ns"]
    frame = ordered.assign(
        number=ordered.groupby("gpu").cumcount(),
        path=paths["path"].to_numpy()[ordered["path_id"].to_numpy()],
        host_ns=host,
        gpu_window_ns=window,
        window_active_pct=ordered["tensor_active_mean_pct"],
        kind=0,
        role="",
        slow="",
    )
    return set_warm_up(frame.reset_index(drop=True), None)


def set_outside_steps(
    attribution: Attribution, activities: pd.DataFrame, instances: pd.DataFrame, steps: pd.DataFrame
) -> Attribution:
    """Distinguish work of no range that ran before all steps of its GPU, or after."""
    if steps.empty:
        return attribution
    windows = instances[instances["range"].isin(steps["range"])].groupby("gpu")
    code, start = attribution.cause.codes.copy(), activities["start_ns"]
    free = code == CAUSES.index(NO_RANGE)
    code[free & (start < activities["gpu"].map(windows["gpu_start_ns"].min()))] = CAUSES.index(BEFORE_STEPS)
    code[free & (start >= activities["gpu"].map(windows["gpu_end_ns"].max()))] = CAUSES.index(AFTER_STEPS)
    return replace(attribution, cause=pd.Categorical.from_codes(code, list(CAUSES)))


def _match_paths(paths: pd.DataFrame, name: str) -> list[int]:
    matches = paths.index[(paths["path"] == name) | paths["path"].str.endswith(SEPARATOR + name)]
    if not len(matches):
        raise UsageError(
            f"No range is called {name!r}.",
            "'tcprof ranges RECORDING' lists the ranges.",
            "tcprof.read(...).ranges['path'] lists the ranges.",
        )
    return [int(path) for path in matches]


def find_iterating_paths(instances: pd.DataFrame, paths: pd.DataFrame, activities: pd.DataFrame) -> list[int]:
    """Find the path that iterates, with its namesakes, and what takes turns with it; none where nothing does.

    Of the outermost paths with at least 5 instances, or 3 that are called steps, that hold most of what the GPU does
    from the first to the last of them, it is that with most time on the GPU. Paths of the default domain come first,
    and those of programs that XLA compiled last, if no ranges of these were lost; others of libraries are none, nor are
    unlike names that were folded into one path; nor is one that holds less than half of all that the GPU does, where
    another one holds more. Namesakes have the same name at the same depth: steps of epochs that have names.
    """
    if instances.empty:
        return []
    kin = paths.groupby(["domain", "name", "depth"], sort=False).ngroup().to_numpy()
    of_kin, groups = _summarize_kin(kin, instances, paths, activities)
    depth, layers = paths["depth"].to_numpy(), {*groups.index[groups["name"].str.fullmatch(_LAYER)]}
    is_step = groups["name"].str.fullmatch(_STEP) | groups["is_annotated"]
    is_enough = groups["count"] >= np.where(is_step, _FEWEST_NAMED, FEWEST)
    repeated = groups[is_enough & (groups["spent_ns"] > 0) & (groups["between"] >= LEAST_SHARE)]
    of_program = repeated[~repeated["domain"].str.fullmatch(_LIBRARY) & (repeated["name"] != OTHER)]
    of_program = of_program[of_program["share"] >= min(LEAST_SHARE, of_program["share"].max())]
    compiled = repeated[repeated["name"].str.startswith(MODULE)]
    is_xla = groups["name"].str.startswith(MODULE) | (groups["name"] == COMPILATION)
    if len(compiled) and _are_lost(instances[is_xla.loc[of_kin].to_numpy()], activities):
        compiled = compiled[:0]
    default = of_program[of_program["domain"] == ""]
    candidates = next((one for one in (default, of_program, compiled) if len(one)), compiled)
    is_epoch = candidates["name"].str.fullmatch(_EPOCH)
    candidates = candidates if is_epoch.all() else candidates[~is_epoch]
    inner = _find_inner_kin(kin, depth, {*candidates.index} | layers)
    outermost = candidates["spent_ns"].drop([*{*candidates.index} & (inner | layers)])
    if outermost.empty:
        return []
    main = int(outermost.idxmax())
    turns = [] if main in compiled.index else _find_turns(instances.assign(kin=of_kin), groups, main, kin, depth)
    return np.flatnonzero(np.isin(kin, [main, *turns])).tolist()


def _summarize_kin(
    kin: Ints, instances: pd.DataFrame, paths: pd.DataFrame, activities: pd.DataFrame
) -> tuple[Ints, pd.DataFrame]:
    """Find the group of namesakes of each instance; and the name, number and time of each group."""
    groups = paths[["domain", "name"]].groupby(kin).first().astype(str)
    of_kin = kin[instances["path_id"].to_numpy()]
    spent_ns = (instances["gpu_end_ns"] - instances["gpu_start_ns"]).fillna(0)
    between, share = _shares(instances, of_kin, len(groups), activities)
    frame = groups.assign(
        count=instances.groupby([of_kin, "gpu"]).size().groupby(level=0).max().reindex(groups.index, fill_value=0),
        spent_ns=np.bincount(of_kin, spent_ns, len(groups)),
        kernel_ns=np.bincount(of_kin, instances["kernel_ns"], len(groups)),
        between=between,
        share=share,
        is_annotated=(groups["domain"] == DOMAIN) & groups["name"].str.fullmatch(f"{STEP}|{INFERENCE} .*"),
    )
    return of_kin, frame


def hold_most(rows: list[int], instances: pd.DataFrame, paths: pd.DataFrame, activities: pd.DataFrame) -> bool:
    """Tell whether the chosen paths hold most of what the GPU does since they began, or are the program's own.

    Epochs are no steps. The annotation does not see steps that a program replays as a CUDA graph: it has those before
    the capture alone, the last of which stays open until the program ends.
    """
    chosen = instances[instances["path_id"].isin(rows)].sort_values("host_start_ns")
    chosen = chosen[chosen.duplicated("gpu", keep="last")]
    activities = activities[activities["start_ns"] >= chosen["gpu_start_ns"].min()]
    share = _shares(chosen, np.zeros(len(chosen), dtype=np.int64), 1, activities)[1]
    is_ours, is_epoch = paths["domain"].iloc[rows] == DOMAIN, paths["name"].iloc[rows].str.fullmatch(_EPOCH)
    return bool(not is_epoch.all() and (chosen.empty or not is_ours.all() or share[0] >= LEAST_SHARE))


def are_layers(count: int, instances: pd.DataFrame, paths: pd.DataFrame) -> bool:
    """Tell whether so many detected steps are layers, which have ranges of their own: there are no more of these."""
    layers = instances["path_id"][instances["kernel_ns"] > 0].map(paths["depth"][paths["name"].str.fullmatch(_LAYER)])
    return bool(0 < (layers == layers.min()).sum() <= count)


def _are_lost(compiled: pd.DataFrame, activities: pd.DataFrame) -> bool:
    """Tell whether ranges of what XLA compiled are missing: since the first, the GPU did much that lies in none."""
    work = rows_of_gpu(activities, int(compiled["gpu"].mode()[0]))
    windows = rows_of_gpu(compiled, int(work["gpu"].iloc[0])).dropna(subset="gpu_start_ns")
    if windows.empty:
        return False
    start, end = (windows[name].to_numpy(np.int64) for name in ("gpu_start_ns", "gpu_end_ns"))
    busy, inside = open_times(work["start_ns"].to_numpy(), work["end_ns"].to_numpy()), open_times(start, end)
    since = busy.integral(start.min(keepdims=True), busy.end[-1:]).sum()
    return bool(busy.integral(inside.start, inside.end).sum() < _MOSTLY_RANGED * since)


def _find_turns(instances: pd.DataFrame, groups: pd.DataFrame, main: int, kin: Ints, depth: Ints) -> list[int]:
    """Find paths outside of the steps that take turns with the main path, such as an evaluation.

    They hold some of the kernels, unless the annotation marks them, and unless they are called steps, none of theirs
    lies between most of the main path's instances.
    """
    is_ours = groups["domain"] == DOMAIN
    is_step = groups["is_annotated"] | (~is_ours & groups["name"].str.contains(_OTHER_STEP))
    is_large = (groups["kernel_ns"] >= _LEAST_OF_MAIN * groups["kernel_ns"][main]) & (groups["count"] > 1)
    is_large |= groups["is_annotated"] & (groups["kernel_ns"] > 0)
    is_beside = (groups["domain"] == groups["domain"][main]) & (groups["name"] != OTHER) & (is_step | ~is_ours)
    beside = {*groups.index[is_large & is_beside]} - {main} - _find_inner_kin(kin, depth, {main})
    beside = {number for number in beside if main not in _find_inner_kin(kin, depth, {number})}
    ordered = instances.sort_values(["gpu", "host_start_ns"], kind="stable")["kin"]
    turns = []
    for number in sorted(beside - _find_inner_kin(kin, depth, beside)):
        pair = ordered[ordered.isin([main, number])].to_numpy()
        if is_step[number] or (pair[1:][pair[:-1] == main] == main).mean() >= LEAST_SHARE:
            turns.append(number)
    return turns


def _shares(instances: pd.DataFrame, group: Ints, groups: int, activities: pd.DataFrame) -> tuple[Floats, Floats]:
    """Compute the share of busy time in each group's windows: of that from its first to its last, and of all."""
    inside, between, total = np.zeros(groups), np.zeros(groups), 0.0
    has_work = instances["gpu_start_ns"].notna().to_numpy()
    for gpu, work in activities.groupby("gpu"):
        busy = open_times(work["start_ns"].to_numpy(), work["end_ns"].to_numpy())
        total += busy.known_ns
        rows = np.flatnonzero(has_work & (instances["gpu"] == gpu).to_numpy())
        windows = (instances[name].to_numpy()[rows].astype(np.int64) for name in ("gpu_start_ns", "gpu_end_ns"))
        group_of_window, start, end = union(group[rows], *windows)
        inside += np.bincount(group_of_window, busy.integral(start, end), minlength=groups)
        numbers, first = np.unique(group_of_window, return_index=True)
        last = np.append(first[1:], len(group_of_window)) - 1
        between[numbers] += busy.integral(start[first], end[last[: len(numbers)]])
    return inside / np.where(between > 0, between, 1), inside / max(total, 1.0)


def _find_inner_kin(kin: Ints, depth: Ints, around: set[int]) -> set[int]:
    """Find the groups of paths inside others; the paths are in tree order."""
    inside: set[int] = set()
    above: list[bool] = []  # whether the path open at each depth, or one around it, is of those groups
    for number, level in zip(kin.tolist(), depth.tolist(), strict=True):
        covered = level > 1 and above[level - 2]
        if covered:
            inside.add(number)
        above[level - 1 :] = [covered or number in around]
    return inside


def _is_warm_up(duration: Floats) -> Bools:
    """Find the first ones longer than the 95 % band of later ones: median and median absolute deviation."""
    warm_up = np.zeros(len(duration), dtype=bool)
    for number in range(min(len(duration) - FEWEST, MOST_WARM_UP)):
        later = duration[number + 1 :]
        later = later[~np.isnan(later)]
        if not len(later):
            break
        middle = np.median(later)
        deviation = MAD_TO_DEVIATION * np.median(np.abs(later - middle))
        if not duration[number] > middle + max(NORMAL_95 * deviation, NARROWEST_BAND * middle):
            break
        warm_up[number] = True
    return warm_up


def set_warm_up(steps: pd.DataFrame, warm_up: int | str | None) -> pd.DataFrame:
    """Set the warm-up: so many first steps of each GPU, none for ``all``; None finds them by role. Count the rest.

    Raises:
        UsageError: It is neither a number, as text or not, nor ``all`` nor None.
    """
    if warm_up is None:
        is_warm_up = np.zeros(len(steps), dtype=bool)
        for rows in steps.groupby(["gpu", "kind"]).indices.values():
            for column in ("host_ns", "gpu_window_ns"):
                is_warm_up[rows] |= _is_warm_up(steps[column].to_numpy(np.float64)[rows])
        return count_steady(steps.assign(warm_up=is_warm_up))
    try:
        count = 0 if warm_up == ALL else int(warm_up)
    except ValueError:
        count = -1
    if count < 0:
        raise UsageError(
            f"{warm_up!r} is not a number of warm-up steps", f"Give a number of steps, 0 or more, or {ALL!r}."
        )
    return count_steady(steps.assign(warm_up=(steps["number"] < count).to_numpy()))


def count_steady(steps: pd.DataFrame) -> pd.DataFrame:
    """Count the steady steps of the first role."""
    return steps.assign(counted=are_steady(steps) & (steps["kind"] == 0))


def are_steady(steps: pd.DataFrame) -> Bools:
    """Find the steps that figures of their role are over: neither warm-up nor slow, nor without work on the GPU.

    The last steps of a capture may have been launched, but not run. Where no step has work on a GPU, all may have.
    """
    has_work = steps["gpu_window_ns"].notna()
    is_empty = ~has_work & has_work.groupby(steps["gpu"]).transform("any")
    return np.asarray(~steps["warm_up"].astype(bool) & (steps["slow"] == "") & ~is_empty)


def counted_paths(steps: pd.DataFrame) -> list[str]:
    """List the paths of the counted steps, or of all where none counts."""
    counted = steps[steps["counted"]]
    return sorted((steps if counted.empty else counted)["path"].astype(str).unique())


def mark_left_out(instances: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Mark the instances in warm-up and slow steps, which no figure of their path has, and those in slow ones alone."""
    parts = steps[steps["warm_up"]], steps[steps["slow"] != ""]
    in_warm_up, in_slow = (_lie_in(instances, part) for part in parts)
    return instances.assign(left_out=in_warm_up | in_slow, slow=in_slow & ~in_warm_up)


def _lie_in(instances: pd.DataFrame, steps: pd.DataFrame) -> Bools:
    """Find the instances that are, or lie by CPU time in, one of some steps."""
    is_inside = np.zeros(len(instances), dtype=bool)
    names = ("gpu", "range", "host_start_ns", "host_end_ns")
    gpu, range_row, start, end = (instances[name].to_numpy() for name in names)
    for number, outer in steps.groupby("gpu")["range"]:
        rows = np.flatnonzero((gpu == number) & np.isin(range_row, outer))
        rows = rows[np.argsort(start[rows], kind="stable")]
        begun = np.searchsorted(start[rows], start, side="right")
        reach = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(end[rows]))
        is_inside |= (gpu == number) & (end <= reach[begun])
    return is_inside


def are_counted(launched: pd.DataFrame, steps: pd.DataFrame) -> Bools:
    """Find the launches in counted steps; all, where none counts."""
    if not steps["counted"].any():
        return np.ones(len(launched), dtype=bool)
    is_counted = np.append(steps["counted"].to_numpy(bool), False)  # -1, for none, is the last
    return np.asarray(is_counted[launched["step"].to_numpy()])
