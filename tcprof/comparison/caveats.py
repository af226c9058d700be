"""What makes two sides hard to compare, and what makes it meaningless."""

from collections.abc import Iterable, Sequence

import numpy as np

from tcprof import units
from tcprof.analysis import Analysis
from tcprof.comparison.side import Side
from tcprof.comparison.statistics.centers import FEWEST_INSTANCES
from tcprof.errors import InputError, UsageError

LONGER = 1.5  # times as long: then captures differ in what they hold
CLOCK_PCT = 1.0  # clocks that differ by less are the same
LOADED_PCT = 50.0  # GR Active from which a sample's clock counts as one under load
_SOURCES = {"cycles": "exact cycles", "rounded": "rounded percentages", "none": "no samples"}
_FORCE = "--force compares them all the same."


def refuse(base: Side, new: Side, force: bool) -> None:
    """Refuse a comparison whose figures would mean nothing.

    Args:
        base: The baseline.
        new: The other side.
        force: Whether to go on nevertheless.

    Raises:
        UsageError: Recordings were analyzed over different windows, or a side has none.
        InputError: A side has no work on any GPU.
    """
    told = [_join(recording.window for recording in side.recordings) for side in (base, new)]
    if not all(told):
        raise UsageError("a side of a comparison has no recording", "Give at least one for each side.")
    if (told[0] != told[1] or "," in told[0]) and not force:
        raise UsageError(
            f"the baseline was analyzed over {told[0]} windows, the other over {told[1]} windows",
            f"Analyze both over the same windows. {_FORCE}",
        )
    idle = [side for side in (base, new) if not any(len(recording.activities) for recording in side.recordings)]
    if len(idle) == 1 and not force:
        files = _join(recording.recording.file for recording in idle[0].recordings)
        raise InputError(
            f"{files} has no work on a GPU, the other side has.",
            f"Record it with the CUDA trace: 'tcprof profile' does. {_FORCE}",
        )


def list_caveats(base: Side, new: Side, measured: bool, unmapped: Sequence[str] = ()) -> tuple[str, ...]:
    """What a reader must know before the figures, gravest first.

    Args:
        base: The baseline.
        new: The other side.
        measured: Whether several recordings tell how much runs differ.
        unmapped: What is said of new names that are nowhere.
    """
    found = [*unmapped, *_setup(base, new), *_amounts(base, new)]
    common = [{*zip(side.first.ranges["domain"], side.first.ranges["path"], strict=True)} for side in (base, new)]
    if not any(path for _, path in common[0] & common[1]):
        found.append("The recordings have no range in common: only the whole captures are compared.")
    if not measured:
        found.append(
            "Iterations of one recording are not independent runs, so how much runs differ is assumed, not measured: "
            "record each side several times with 'tcprof profile --repeat 5', and give all its recordings."
        )
    return tuple(found)


def gpu_models(base: Side, new: Side) -> tuple[str, str]:
    """The models of the GPUs that each side worked on, with their chips where the names alone do not differ."""
    sides = [[_used_models(recording) for recording in side.recordings] for side in (base, new)]
    told = [_join(", ".join(dict.fromkeys(name for name, _ in models)) for models in side) for side in sides]
    if told[0] == told[1] and set(sides[0]) != set(sides[1]):
        told = [
            _join(
                ", ".join(dict.fromkeys(f"{name} ({chip or 'chip unknown'})" for name, chip in models))
                for models in side
            )
            for side in sides
        ]
    return told[0], told[1]


def _used_models(analysis: Analysis) -> tuple[tuple[str, str], ...]:
    """Name and chip of the GPUs that worked, of all where none did, each once."""
    gpus = analysis.gpus
    used = gpus[gpus["gpu"].isin(analysis.activities["gpu"].unique())]
    models = gpus if used.empty else used
    return tuple(sorted({*zip(models["name"], models["chip"], strict=True)}))


def _join(texts: Iterable[str]) -> str:
    """Distinct texts; an empty one is unknown."""
    return ", ".join(dict.fromkeys(text or "unknown" for text in texts))


def _told(side: Side, what: str) -> str:
    """What one of the recordings' facts is on a side."""
    return _join(str(getattr(recording.recording, what)) for recording in side.recordings)


def _setup(base: Side, new: Side) -> list[str]:
    """Differences of machine and recorder."""
    sides, found = (base, new), []
    gpus = gpu_models(base, new)
    if gpus[0] != gpus[1]:
        found.append(f"Different GPUs: {gpus[0]} against {gpus[1]}. Times cannot be compared; shares only with care.")
    clocks = [_clock_under_load(side) for side in sides]
    change = 100 * (clocks[1] / clocks[0] - 1)
    if gpus[0] == gpus[1] and abs(change) > CLOCK_PCT:
        slower, faster = (units.format_hz(clock) for clock in (clocks if change > 0 else clocks[::-1]))
        found.append(
            f"The GPU's clock under load was {abs(change):.1f} % {'higher' if change > 0 else 'lower'} than in the "
            f"baseline ({slower} against {faster}): that changes the time of kernels without any change of the code. "
            "Fix the clock with 'nvidia-smi --lock-gpu-clocks', or compare cycles."
        )
    sources = [_join(_SOURCES[each.tensor_source] for each in side.recordings) for side in sides]
    if sources[0] != sources[1]:
        found.append(
            f"Tensor Active comes from {sources[0]} in the baseline and from {sources[1]} in the other recording."
        )
    frequencies = [_join(units.format_hz(each.recording.frequency_hz) for each in side.recordings) for side in sides]
    for what, told in (
        ("driver", [_told(side, "driver_version") for side in sides]),
        ("Nsight Systems version", [_told(side, "nsys_version") for side in sides]),
        ("sampling frequency", frequencies),
    ):
        if told[0] != told[1]:
            found.append(f"Different {what}: {told[0]} against {told[1]}.")
    return found


def _amounts(base: Side, new: Side) -> list[str]:
    """Differences in how much was recorded."""
    found = []
    lengths = [np.median([each.recording.duration_ns for each in side.recordings]) for side in (base, new)]
    if min(lengths) > 0 and max(lengths) > LONGER * min(lengths):
        told = [units.format_ns(length) for length in lengths]
        found.append(
            f"The captures are {told[0]} and {told[1]} long: figures of the whole capture cannot be compared, those "
            "of iterations can."
        )
    hiding = [
        name
        for name, side in (("baseline", base), ("other recording", new))
        if any((recording.activities["kind"] == "graph").any() for recording in side.recordings)
    ]
    if hiding:
        found.append(
            f"CUDA graphs were recorded as a whole in the {' and in the '.join(hiding)}: which kernels came or went, "
            "and how many there are, is not known of these. Record both sides with --cuda-graph-trace node."
        )
    counts = [_iteration_count(side.first) for side in (base, new)]
    if counts[0] != counts[1] and all(counts):
        found.append(
            f"The baseline has {counts[0]} iterations, the other recording {counts[1]}: compare iterations, not the "
            "ranges that hold them."
        )
    few = {
        name: count
        for name, count in zip(("baseline", "other recording"), counts, strict=True)
        if 0 < count < FEWEST_INSTANCES
    }
    found += [
        f"The {name} has only {count} iteration{'s'[: count > 1]}: that is too few for an interval, and to tell which "
        "are warm-up."
        for name, count in few.items()
    ]
    return found


def _iteration_count(analysis: Analysis) -> int:
    """Iterations of the GPU that has most."""
    return int(analysis.iterations.groupby("gpu").size().max()) if len(analysis.iterations) else 0


def _clock_under_load(side: Side) -> float:
    """The median clock of the samples in which the GPU worked, in Hz; NaN where not recorded."""
    found = [_median_clock(recording) for recording in side.recordings]
    return float(np.median(found))


def _median_clock(analysis: Analysis) -> float:
    samples = analysis.samples
    loaded = (samples["gr_active_pct"] >= LOADED_PCT) | (samples["tensor_active_pct"] >= LOADED_PCT)
    clocks = samples.loc[loaded, "gpc_clock_hz"].dropna()
    return float(clocks.median()) if len(clocks) else float("nan")
