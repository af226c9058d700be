"""Programs that are recorded, and analyzed at once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from tcprof.api.reading import Report, read
from tcprof.errors import UsageError
from tcprof.nsys.export import find_export
from tcprof.nsys.locate import Nsys
from tcprof.nsys.own_tables import keep_own_tables
from tcprof.record.command import RecordOptions
from tcprof.record.plan import plan_recording
from tcprof.record.recording import RecordedRun, Session
from tcprof.sources.nsys_sqlite.export import write_captured, write_driver_log, write_identity, write_unprofiled


def read_recorded(report: Path, run: RecordedRun, nsys: Nsys) -> Report:
    """Analyze what an nsys recorded just now, after its export has what nsys does not know of it."""
    export = find_export(report, partial(replace, nsys, prefix=()), from_steps=run.is_of_steps)
    write_identity(export, run.identity)
    if run.unprofiled is not None and len(run.unprofiled):
        write_unprofiled(export, run.unprofiled)
    if run.driver_log is not None and len(run.driver_log):
        write_driver_log(export, run.driver_log)
    if run.captured:
        write_captured(export, run.captured)
    keep_own_tables(export, report)
    return read(report)


def profile(program: Sequence[str], output: str | PathLike[str], frequency_hz: int = 20_000, **options: Any) -> Report:
    """Record a program under Nsight Systems with GPU metrics, and analyze the recording.

    Args:
        program: The program and its arguments; a Python script or ``-m`` module is run by this Python.
        output: The report to write; an existing one is replaced.
        options: Further fields of ``tcprof.record.command.RecordOptions``, such as ``steps`` or ``capture_range``.

    Raises:
        MachineError: This machine cannot record; the message says why.
        NsysError: nsys recorded nothing.
        OutputError: The report cannot be written.
    """
    chosen = RecordOptions(frequency_hz=frequency_hz, **options)
    if chosen.in_captures:
        raise UsageError("tcprof.profile() makes one recording.", hint="Record several with 'tcprof profile'.")
    session = Session(program, Path(output))
    session.check_reports(force=True)
    with plan_recording(session.program, chosen) as plan:
        run = session.record(plan, session.reports[0])
        return read_recorded(run.reports[0], run, plan.nsys)
