"""Programs that are recorded, analyzed at once, and run once more without nsys, which shows what recording costs."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.api.reading import Report, read
from tcprof.errors import UsageError
from tcprof.files import hash_file
from tcprof.findings.recording_cost import list_steps
from tcprof.identity import Identity
from tcprof.nsys.export import find_export
from tcprof.nsys.locate import Nsys, find_nsys
from tcprof.record.command import RecordOptions
from tcprof.record.plan import plan_recording
from tcprof.record.recording import RecordedRun, Session
from tcprof.record.unprofiled import run_unprofiled
from tcprof.sources.nsys_sqlite.export import write_identity, write_unprofiled

_HOW = "--unprofiled measures it, by running the program once more, without nsys."


def read_recorded(report: Path, identity: Identity, nsys: Nsys) -> Report:
    """Analyze what an nsys recorded just now, after its export says what it is of.

    Raises:
        InputError: It cannot be read.
        OutputError: The export cannot be written.
    """
    write_identity(find_export(report, partial(replace, nsys, prefix=())), identity)
    return read(report)


class UnprofiledRuns:
    """Times the program's steps without nsys, once for all recordings of it.

    Args:
        asked: Whether the user wants it.
        note: Takes, in a tuple, why there is no such run, or none that can be compared.
        begin: Takes that the program is about to run again.

    Raises:
        UsageError: It is asked for of a server, which would wait for requests.
    """

    def __init__(
        self,
        session: Session,
        asked: bool,
        options: RecordOptions,
        note: Callable[[tuple[str, ...]], object],
        begin: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._session, self._asked, self._note, self._begin = session, asked, note, begin
        if asked and options.in_captures:
            raise UsageError(
                "A server that is recorded in several captures cannot be run once more without nsys.",
                hint="Leave out --unprofiled.",
            )
        recorded_s = math.inf if options.duration_s is None else (options.delay_s or 0.0) + options.duration_s
        self._limit_s = None if math.isinf(recorded_s) else recorded_s
        self._steps: pd.DataFrame | None = None
        self._is_done = False

    def add_to(self, report: Report, file: Path, run: RecordedRun) -> Report:
        """Add the steps without nsys to a report and to the export that it was read from."""
        if run.program_status or run.was_stopped:
            return report
        analysis = report.analysis
        has_steps = len(list_steps(analysis)) > FEWEST_INSTANCES
        if self._asked and not has_steps:
            self._note(("the program is not run without nsys: tcprof found too few steps in it.",))
        if has_steps and not self._is_done:
            self._is_done = True
            if self._asked:
                self._steps = self._run()
            else:
                self._note((f"what recording costs a step is unknown; {_HOW}",))
        if self._steps is None or not has_steps:
            return report
        export = find_export(file, find_nsys)
        write_unprofiled(export, self._steps)
        recording = replace(analysis.recording, content=hash_file(export))
        unprofiled = replace(analysis.observed, unprofiled=self._steps)
        return Report(analysis.replace(recording=recording, observed=unprofiled))

    def _run(self) -> pd.DataFrame | None:
        at_most = "" if self._limit_s is None else f", for {self._limit_s:g} s at most"
        self._begin(f"running the program once more, without nsys{at_most}, to see what recording costs")
        try:
            steps, status = run_unprofiled(self._session.program, self._limit_s)
        except KeyboardInterrupt:
            self._note(("the run without nsys was stopped, and is not compared.",))
            return None
        if status:
            self._note((f"without nsys the program ended with exit status {status}: this run is not compared.",))
            return None
        return steps


def profile(
    program: Sequence[str],
    output: str | PathLike[str],
    frequency_hz: int = 20_000,
    unprofiled: bool = False,
    **options: Any,
) -> Report:
    """Record a program under Nsight Systems with GPU metrics, and analyze the recording.

    Args:
        program: The program and its arguments; a Python script or ``-m`` module is run by this Python.
        output: The report to write; an existing one is replaced.
        unprofiled: Whether to run the program once more without nsys, which shows what recording costs its steps. A
            Python warning says why that run is not compared, where it failed.
        options: Further fields of ``tcprof.record.command.RecordOptions``, such as ``capture_range``.

    Raises:
        MachineError: This machine cannot record; the message says why.
        NsysError: nsys recorded nothing.
        OutputError: The report cannot be written.
    """
    chosen = RecordOptions(frequency_hz=frequency_hz, **options)
    if chosen.in_captures:
        raise UsageError("tcprof.profile() gives one recording.", hint="Record several with 'tcprof profile'.")
    session = Session(program, Path(output))
    session.check_reports(force=True)
    with plan_recording(session.program, chosen) as plan:
        run = session.record(plan, session.reports[0])
        report = read_recorded(run.reports[0], run.identity, plan.nsys)
        if not unprofiled:
            return report
        runs = UnprofiledRuns(session, unprofiled, chosen, lambda texts: warnings.warn(texts[0], stacklevel=4))
        return runs.add_to(report, run.reports[0], run)
