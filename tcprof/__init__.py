"""tcprof: are the Tensor Cores working, where not, why, and did my change help?

>>> import tcprof
>>> analysis = tcprof.read("run.sqlite")
>>> analysis.verdict, analysis.checks, analysis.faults
>>> analysis.ranges[["path", "tensor_active_mean_pct"]]
>>> tcprof.compare("base.sqlite", "new.sqlite").rows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tcprof.errors import InputError, MachineError, NsysError, OutputError, StoppedError, TcprofError, UsageError

if TYPE_CHECKING:
    from tcprof.analysis import Analysis
    from tcprof.comparison import Comparison

    _Recording: TypeAlias = str | PathLike[str] | Analysis
    _Recordings: TypeAlias = _Recording | Sequence[_Recording]

__version__ = "0.1.0"
_LARGE = 100_000_000  # bytes of an export that takes more than some seconds to fit
__all__ = [
    "InputError",
    "MachineError",
    "NsysError",
    "OutputError",
    "StoppedError",
    "TcprofError",
    "UsageError",
    "__version__",
    "compare",
    "profile",
    "read",
]


def read(
    path: str | PathLike[str],
    window: str = "gpu",
    metrics: Iterable[str] | None = None,
    kernels: bool | None = True,
    warm_up: int | str | None = None,
    iteration: str | None = None,
) -> Analysis:
    """Read and analyze a recording.

    Args:
        path: A report (``.nsys-rep``) or its SQLite export, or another file that one of ``tcprof.sources`` reads. A
            report is exported beside itself when it has no export that is whole and newer.
        window: Windows that figures from samples are taken over: gpu, host or busy.
        metrics: Columns of ``tcprof.frames.SAMPLES`` to read; all by default.
        kernels: Whether to fit the kernels, which takes most of the time of a large recording. None: unless its export
            is larger than 100 MB.
        warm_up: How many first iterations are left out of the figures per range and iteration, or ``all`` to count all
            iterations. None: those that are found to be warm-up.
        iteration: The range that iterates, by its name or path. None: the one that is found.

    Raises:
        InputError: The file is absent, damaged, or not a recording.
        UsageError: There is no such window, warm-up or range.
    """
    from tcprof.analysis import WINDOWS, analyze
    from tcprof.frames import SAMPLE_METRICS
    from tcprof.sources.registry import open_source

    if window not in WINDOWS:
        raise UsageError(f"there is no window {window!r}", f"Choose one of: {', '.join(WINDOWS)}.")
    source = open_source(Path(path))
    fit = source.path.stat().st_size < _LARGE if kernels is None else kernels
    return analyze(source, window, SAMPLE_METRICS if metrics is None else metrics, fit, warm_up, iteration)


def compare(
    base: _Recordings,
    new: _Recordings,
    window: str = "gpu",
    mapping: Mapping[str, str] | None = None,
    force: bool = False,
    warm_up: int | str | None = None,
) -> Comparison:
    """Compare two sides: one recording each, or several of the same program, given as files or as analyses.

    Args:
        base: The baseline; a list of several recordings.
        new: What is compared with it, likewise.
        window: Windows that figures from samples are taken over, where files are given.
        mapping: New names of the baseline's ranges by old ones.
        force: Whether to compare even where the figures mean nothing.
        warm_up: Iterations that are left out, see ``read``, where files are given.

    Raises:
        InputError: A file is absent, damaged, or not a recording, or one side has no work on any GPU.
        UsageError: There is no such window, the analyses have different ones, or the baseline has no range that is to
            be renamed.
    """
    from tcprof.analysis import Analysis
    from tcprof.comparison import Side
    from tcprof.comparison import compare as compare_sides

    sides = []
    for name, given in (("base", base), ("new", new)):
        several = [given] if isinstance(given, str | PathLike | Analysis) else given
        read_in = (each if isinstance(each, Analysis) else read(each, window, warm_up=warm_up) for each in several)
        sides.append(Side(name, tuple(read_in)))
    return compare_sides(sides[0], sides[1], mapping or {}, force)


def profile(
    program: Sequence[str], output: str | PathLike[str], frequency_hz: int = 20_000, **options: Any
) -> Analysis:
    """Record a program under Nsight Systems with GPU metrics, and analyze the recording.

    Args:
        program: The program and its arguments; a Python script or ``-m`` module is run by this Python.
        output: The report to write; an existing one is replaced.
        frequency_hz: Samples a second.
        options: Further fields of ``tcprof.record.recording.command.RecordOptions``, such as ``capture_range``.

    Raises:
        MachineError: This machine cannot record; the message tells why.
        NsysError: nsys recorded nothing.
        OutputError: The report cannot be written.
    """
    from tcprof.record.recording.command import RecordOptions
    from tcprof.record.recording.plan import plan_recording
    from tcprof.record.recording.record import check_output, record

    target = Path(output)
    check_output(target, force=True)
    with plan_recording(program, RecordOptions(output=target, frequency_hz=frequency_hz, **options)) as plan:
        return read(record(plan.nsys, plan.build_command(target), target).report)
