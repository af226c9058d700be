"""Programs that are recorded, analyzed at once, and run once more without nsys, which shows what recording costs."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.analysis.samples.interval_estimates import FEWEST_INSTANCES
from tcprof.api.reading import JudgedAnalysis, read
from tcprof.files import hash_file
from tcprof.findings.recording_cost import list_steps
from tcprof.nsys.export import find_export
from tcprof.nsys.locate import find_nsys
from tcprof.record.command import RecordOptions
from tcprof.record.recording import RecordedRun, Session
from tcprof.record.unprofiled import LONGEST_S, run_unprofiled
from tcprof.sources.nsys_sqlite.export import write_identity, write_unprofiled

_AnyAnalysis = TypeVar("_AnyAnalysis", bound=Analysis)


def read_recorded(run: RecordedRun) -> JudgedAnalysis:
    """Analyze what was recorded just now, after its export says what it is of.

    Raises:
        InputError: It cannot be read.
        OutputError: The export cannot be written.
    """
    write_identity(find_export(run.report, find_nsys), run.identity)
    return read(run.report)


class UnprofiledRuns:
    """Times the program's steps without nsys, once for all recordings of it.

    Args:
        asked: Whether the user wants it; None: where it is of use and takes less than a minute.
        note: Takes, in a tuple, why there is no such run, or none that can be compared.
        begin: Takes that the program is about to run again.
    """

    def __init__(
        self,
        session: Session,
        asked: bool | None,
        options: RecordOptions,
        note: Callable[[tuple[str, ...]], object],
        begin: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._session, self._asked, self._note, self._begin = session, asked, note, begin
        recorded_s = math.inf if options.duration_s is None else (options.delay_s or 0.0) + options.duration_s
        limit_s = recorded_s if asked else min(LONGEST_S, recorded_s)
        self._limit_s = None if math.isinf(limit_s) else limit_s
        self._steps: pd.DataFrame | None = None
        self._is_done = False

    def add_to(self, analysis: _AnyAnalysis, run: RecordedRun) -> _AnyAnalysis:
        """Add the steps without nsys to an analysis and to the export that it was read from."""
        if self._asked is False or not self._is_of_use(analysis, run):
            return analysis
        if not self._is_done:
            self._is_done, self._steps = True, self._run()
        if self._steps is None:
            return analysis
        export = find_export(run.report, find_nsys)
        write_unprofiled(export, self._steps)
        recording = replace(analysis.recording, content=hash_file(export))
        return replace(analysis, recording=recording, observed=replace(analysis.observed, unprofiled=self._steps))

    def _is_of_use(self, analysis: Analysis, run: RecordedRun) -> bool:
        has_steps = len(list_steps(analysis.nvtx_ranges)) > FEWEST_INSTANCES
        if self._asked and not has_steps:
            self._note(("the program is not run without nsys: tcprof found too few steps in it.",))
        ended_well = not run.program_status and not run.was_stopped
        return has_steps and ended_well and (bool(self._asked) or run.seconds < LONGEST_S)

    def _run(self) -> pd.DataFrame | None:
        at_most = "" if self._limit_s is None else f", for {self._limit_s:g} s at most"
        self._begin(
            f"running the program once more, without nsys{at_most}, to see what recording costs "
            "(--no-unprofiled: never)"
        )
        try:
            run = run_unprofiled(self._session.program, self._limit_s)
        except KeyboardInterrupt:
            self._note(("the run without nsys was stopped, and is not compared.",))
            return None
        if run.status:
            self._note((f"without nsys the program ended with exit status {run.status}: this run is not compared.",))
            return None
        return run.steps


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
        return runs.add_to(read_recorded(run), run)
