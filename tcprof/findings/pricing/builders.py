"""How rules make advice: what it is about, how its evidence is told, and what the CPU launches and copies meanwhile."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from tcprof import units
from tcprof.analysis.host import CALL_NS, LONG_NS
from tcprof.analysis.kernels.names import GRAPH, short_name
from tcprof.analysis.modules.tree import PHASES
from tcprof.analysis.ranges.projection import launches_of
from tcprof.analysis.steps.marked_steps import counted_paths
from tcprof.arrays import Floats, Ints
from tcprof.findings.finding import Severity
from tcprof.findings.pricing.advice import LOW, Advice, Option, Subject
from tcprof.findings.pricing.step import Levels, Step
from tcprof.frames import HOST_TO_DEVICE, IN_NO_MODULE, PINNED
from tcprof.untrusted import one_line

_MOST_LISTED = 3
_COUNTED = 0.9  # of kernels' time, so that what these move stands for all
TRY = "Try it, and compare with 'tcprof compare'."


def make_advice(
    step: Step,
    rule: str,
    text: tuple[str, str, str],
    options: Sequence[Option] = (),
    about: Subject | None = None,
    evidence: Sequence[str] = (),
    confidence: str = LOW,
    raise_confidence: str = TRY,
    rows: pd.DataFrame | None = None,
) -> Advice:
    """Advice on a step: ``said`` is what to do, what was found, and what that means; the first option comes first.

    It is about the kernels in ``rows`` (see ``Step.kernels``) unless ``about`` says otherwise; those that take most are
    evidence, too.
    """
    if rows is not None:
        about = about_launches(step, rows.index, "kernel") if about is None else about
        evidence = (*evidence, *list_kernels(rows))
    return Advice(
        rule=rule,
        severity=Severity.ADVICE,
        action=text[0],
        sentence=text[1],
        consequence=text[2],
        gpu=step.gpu,
        gpus=(step.gpu,),
        about=about or Subject(),
        evidence=tuple(evidence),
        options=tuple(options),
        confidence=confidence,
        raise_confidence=raise_confidence,
    )


def about_launches(step: Step, rows: Iterable[int], column: str = "activity") -> Subject:
    """Some launches by rows of activities, or of kernels, with ranges and modules; what takes most time is first."""
    launches = step.launches[step.launches[column].isin(list(rows))]
    modules, paths = step.analysis.modules["module"], step.analysis.paths
    return Subject(
        ranges=_by_time(launches, "path_id", paths["path"]),
        modules=_by_time(launches, "module", modules[are_modules(step)]),
        kernels=_by_time(launches, "kernel", step.analysis.kernels["name"]),
    )


def are_modules(step: Step) -> "pd.Series[bool]":
    """Which rows of ``tcprof.frames.MODULES`` are modules; others hold what is in none."""
    outside = tuple(IN_NO_MODULE.format(phase=phase) for phase in PHASES)
    names = step.analysis.modules["module"].astype(str)
    return (names != "") & ~names.str.startswith(outside)


def about_ranges(step: Step, names: Iterable[str]) -> Subject:
    """All paths of ranges of some names."""
    paths = step.analysis.paths
    return Subject(ranges=tuple(dict.fromkeys(paths["path"][paths["name"].astype(str).isin(list(names))].astype(str))))


def about_step(step: Step) -> Subject:
    """The step itself; nothing where nothing iterates."""
    rows = step.analysis.steps[step.analysis.steps["gpu"] == step.gpu]
    return Subject(ranges=tuple(counted_paths(rows)))


def _by_time(launches: pd.DataFrame, column: str, names: "pd.Series[str]") -> tuple[str, ...]:
    """The names that a column's rows have, without what has none, by the exposed time of their launches."""
    sums = launches.groupby(column)["exposed_ns"].sum()
    named = sums.groupby(sums.index.to_series().map(names).replace("", np.nan)).sum()
    return tuple(str(name) for name in named.sort_values(ascending=False, kind="stable").index)


def cap_to_overlap(step: Step, shares: Levels, time_ns: float) -> Levels:
    """Shares of what is to run beside the rest of the step: of more than that is long nothing is saved."""
    return shares * min(time_ns, max(0.0, step.length_ns - time_ns))


def kernels_of(step: Step, launches: pd.DataFrame) -> pd.DataFrame:
    """The kernels of some rows of ``Step.launches``, as ``Step.kernels``, with the exposed time of these alone."""
    sums = launches.groupby("kernel")["exposed_ns"].agg(["sum", "size"]) / step.count
    rows = step.analysis.kernels.loc[sums.index].assign(exposed_ns=sums["sum"], launches=sums["size"])
    return rows.sort_values("exposed_ns", ascending=False)


def time_of(rows: pd.DataFrame) -> float:
    """Exposed time of kernels together."""
    return float(rows["exposed_ns"].sum())


def bytes_of(rows: pd.DataFrame) -> "pd.Series[float]":
    """What each kernel moves in a step from and to device memory; unknown where it was not counted."""
    return (rows["dram_read_bytes"] + rows["dram_write_bytes"]) / rows["launch_count"] * rows["launches"]


def describe_bytes(step: Step, rows: pd.DataFrame) -> tuple[str, ...]:
    """What kernels move, and how long that takes at full bandwidth; nothing where it was not counted."""
    of_kernel = bytes_of(rows)
    counted = of_kernel.notna()
    if time_of(rows[counted]) < _COUNTED * time_of(rows) or not step.gpu_row["dram_bandwidth"] > 0:
        return ()
    moved = float(of_kernel[counted].sum())
    time = units.format_ns(1e9 * moved / step.gpu_row["dram_bandwidth"])
    return (f"they move {units.format_bytes(moved)}, which takes {time} at full bandwidth",)


def list_kernels(rows: pd.DataFrame, notes: Sequence[str] = ()) -> tuple[str, ...]:
    """The kernels that take most, a line each, with what else is told of each row."""
    lines = []
    more = (*(f"; {note}" for note in notes), *[""] * _MOST_LISTED)
    records = rows[["name", "path", "launches", "exposed_ns"]].head(_MOST_LISTED).to_dict("records")
    for row, of_row in zip(records, more, strict=False):
        where = f", mostly in “{one_line(row['path'], 60)}”" if row["path"] else ""
        launches = units.format_things(row["launches"], "launch", "launches")
        lines.append(f"{short_name(row['name'])}: {units.format_ns(row['exposed_ns'])} in {launches}{where}{of_row}")
    rest = len(rows) - _MOST_LISTED
    if rest > 0:
        time = units.format_ns(rows["exposed_ns"][_MOST_LISTED:].sum())
        lines.append(f"{units.format_things(rest, 'more kernel')}: {time}")
    return tuple(lines)


_SMALL_BYTES = 65_536  # at most so many of pageable memory are copied without waiting, as those of pinned memory are
_MOSTLY = 0.5  # of the bytes
_GUESSED = ("the recording does not show whether memory is pinned; tcprof infers it from when the calls return",)


def time_launching(step: Step, launches: pd.DataFrame, longest_ns: float = LONG_NS) -> float:
    """CPU time of a step up to the next launch, if that is soon, else of the call, that some launches take."""
    launch = _calls_of(step)
    is_single = (launch >= 0) & ~pd.Series(launch).duplicated(keep=False).to_numpy()
    is_meant = is_single & step.launches.index.isin(launches.index)
    return float(_time_calls(step.analysis.api_calls, longest_ns)[launch[is_meant]].sum()) / max(step.count, 1)


def replays_graphs(step: Step) -> bool:
    """Whether CUDA graphs run in the steps: recorded as a whole, or as launches of several kernels each."""
    launch = _calls_of(step)
    return bool((step.kernels["work"] == GRAPH).any() or pd.Series(launch[launch >= 0]).duplicated().any())


def _calls_of(step: Step) -> Ints:
    """The call that launched each of ``Step.launches``; -1 where it is not known."""
    return launches_of(step.analysis.api_calls, step.analysis.activities.iloc[step.launches["activity"].to_numpy()])


def _time_calls(launches: pd.DataFrame, longest_ns: float) -> Floats:
    """From each launch to its thread's next one; where that is long after it, the call alone."""
    process, thread, start = (launches[name].to_numpy() for name in ("process", "thread", "start_ns"))
    call = launches["returned_ns"].fillna(launches["start_ns"] + CALL_NS).to_numpy(np.float64) - start
    order = np.lexsort((start, thread, process))
    until_next = np.diff(start[order])
    is_next = (np.diff(process[order]) == 0) & (np.diff(thread[order]) == 0) & (until_next < longest_ns)
    time_ns: Floats = np.minimum(call, LONG_NS)
    time_ns[order[:-1][is_next]] = until_next[is_next]
    return time_ns


def are_pinned(step: Step) -> bool:
    """Whether most bytes that the steps copy to the GPU come from pinned memory, as recorded, or else as guessed."""
    copies = _copies_in_steps(step)
    recorded = copies[copies["host_memory"] != ""]
    if len(recorded):
        return is_mostly_pinned(recorded)
    large = copies[copies["moved_bytes"] > _SMALL_BYTES]
    launch = launches_of(step.analysis.api_calls, large)
    returned = np.append(step.analysis.api_calls["returned_ns"].to_numpy(), np.nan)[launch]
    is_early = returned < (large["start_ns"] + large["end_ns"]) / 2
    return bool(large["moved_bytes"][is_early].sum() > _MOSTLY * large["moved_bytes"].sum())


def is_mostly_pinned(copies: pd.DataFrame) -> bool:
    """Whether most bytes of some copies are from or to memory that was recorded as pinned."""
    pinned = copies["moved_bytes"][copies["host_memory"] == PINNED].sum()
    return bool(pinned > _MOSTLY * copies["moved_bytes"].sum())


def note_inferred_pinning(step: Step) -> tuple[str, ...]:
    """That it was not recorded, and only guessed, whether memory is pinned; nothing where it was."""
    return _GUESSED * bool((_copies_in_steps(step)["host_memory"] == "").all())


def _copies_in_steps(step: Step) -> pd.DataFrame:
    copies = step.copies[step.copies["name"] == HOST_TO_DEVICE]
    begins, ends = step.windows
    place = np.searchsorted(begins, copies["start_ns"].to_numpy(), side="right") - 1
    return copies[(place >= 0) & (copies["start_ns"].to_numpy() < ends[place])]
