"""Which metrics are sampled: the most that this machine gives with exact tensor cycles."""

from dataclasses import dataclass
from pathlib import Path

from tcprof.errors import NsysError
from tcprof.nsys.capabilities import Capabilities, GpuSupport, read_general_metric_set
from tcprof.nsys.locate import Nsys
from tcprof.nsys.metricset import build_metric_set, read_sums
from tcprof.record.command import RecordOptions
from tcprof.record.trial import try_metric_set

# What sets lack, best first, and how they are asked for; the first that is taken is used.
_SETS: dict[str, dict[str, bool]] = {
    "": {},
    "nothing of the caches": {"with_caches": False},
    "no bytes and no instructions": {"with_work": False},
}


@dataclass(frozen=True)
class FoundSet:
    """A metric set that was tried.

    Attributes:
        path: Its file.
        sampled: Names of the metrics that it gives.
        lacks: What it does not give here, and why, as a sentence; empty where it gives all.
    """

    path: Path
    sampled: tuple[str, ...]
    lacks: str


def find_metric_set(
    nsys: Nsys, capabilities: Capabilities, options: RecordOptions, gpus: tuple[GpuSupport, ...], folder: Path
) -> FoundSet:
    """Tries metric sets with tensor cycles: with all that the chip counts; if that is refused, with less.

    Args:
        folder: Where to write the set; a temporary folder that outlives the recording.

    Raises:
        NsysError: None can be had here.
    """
    refusals: list[NsysError] = []
    tried = ""
    for without, less in _SETS.items():
        path = write_metric_set(nsys, capabilities, gpus, folder, **less)
        text = path.read_text(encoding="utf-8")
        if text == tried:  # a chip of which no more is known
            continue
        tried = text
        try:
            sampled = try_metric_set(nsys, capabilities, options, path)
        except NsysError as error:
            refusals.append(error)
            continue
        if refusals:
            return FoundSet(path, sampled, f"Tensor cycles are recorded, but {without}: {refusals[0]}")
        missing = [what for name, what in read_sums(text).items() if name not in sampled]
        return FoundSet(path, sampled, f"Not sampled here: {', '.join(missing)}." if missing else "")
    raise refusals[-1]


def write_metric_set(
    nsys: Nsys,
    capabilities: Capabilities,
    gpus: tuple[GpuSupport, ...],
    folder: Path,
    *,
    with_work: bool = True,
    with_caches: bool = True,
) -> Path:
    """Writes a metric set with tensor cycles for some GPUs of this machine.

    NVLink and PCIe are kept where there are several, since they work together.

    Args:
        nsys: The nsys that will use it.
        folder: Where to write it; a temporary folder that outlives the recording.
        with_work: See ``build_metric_set``.

    Returns:
        The file, named after the set's alias as nsys wants it.

    Raises:
        NsysError: If this nsys or these GPUs allow none; nsys's own set records percentages all the same.
    """
    chips = sorted({gpu.chip for gpu in gpus})
    if not capabilities.metric_set_files:
        raise NsysError(f"nsys {nsys.version_text} takes no metric set from a file.", hint="Use a newer nsys.")
    if len(chips) != 1 or not chips[0]:
        raise NsysError(
            f"One metric set serves one kind of GPU, and nsys names these: {', '.join(chips) or 'none'}.",
            hint="Record GPUs of one kind at a time.",
        )
    path = folder / "tcprof.config"
    own = read_general_metric_set(nsys, chips[0])
    text = build_metric_set(
        own, chips[0], path.stem, keep_links=len(gpus) > 1, with_work=with_work, with_caches=with_caches
    )
    path.write_text(text, encoding="utf-8")
    return path
