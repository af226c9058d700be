"""Programs that are recorded, and analyzed at once."""

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tcprof.api.reading import JudgedAnalysis, read
from tcprof.record.command import RecordOptions
from tcprof.record.recording import Session
from tcprof.unprofiled import UnprofiledRuns


def profile(
    program: Sequence[str],
    output: str | PathLike[str],
    frequency_hz: int = 20_000,
    unprofiled: bool | None = None,
    **options: Any,
) -> JudgedAnalysis:
    """Record a program under Nsight Systems with GPU metrics, and analyze the recording.

    As by ``tcprof profile``, the program is then run once more without nsys, which shows what recording costs it; a
    Python warning says why that run is not compared, where it failed.

    Args:
        program: The program and its arguments; a Python script or ``-m`` module is run by this Python.
        output: The report to write; an existing one is replaced.
        unprofiled: Whether to run the program once more; None: where its steps are annotated and it takes under a
            minute.
        options: Further fields of ``tcprof.record.command.RecordOptions``, such as ``capture_range``.

    Raises:
        MachineError: This machine cannot record; the message says why.
        NsysError: nsys recorded nothing.
        OutputError: The report cannot be written.
    """
    session = Session(program, Path(output))
    session.check_reports(force=True)
    chosen = RecordOptions(frequency_hz=frequency_hz, **options)
    with session.plan(chosen) as plan:
        run = session.record(plan, session.reports[0])
        runs = UnprofiledRuns(session, unprofiled, chosen, lambda texts: warnings.warn(texts[0], stacklevel=4))
        return runs.add_to(read(run.report), run)
