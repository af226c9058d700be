"""Record some steps of a program, and let it go on.

nsys records from the program's start, so that nothing of a short one is lost, until it has seen enough steps. Then the
program runs unrecorded while the annotation times its steps, and the annotation leaves the program. Where too few steps
came in time, or they took much longer than later ones, a second capture is made. ``nsys start`` and ``nsys stop`` do
this from without, since a program without CUDA cannot call cudaProfilerStart. Programs that are between two steps wait
there while nsys ends a capture (3 to 5 s on an H200).

A second capture is avoided, since the program stays slower after it: with nsys 2025.3 on an H200 launching a kernel
took 6.5 us alone, 9.7 recorded, 7.5 after a first capture that began with the program, and 8.8 after a second one.
"""

import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tcprof.errors import NsysError, TcprofError
from tcprof.nsys.report import REPORT_SUFFIX, STREAM_SUFFIX, ReportFiles
from tcprof.nsys.run import Completed, run_quietly
from tcprof.record.command import RecordOptions, SessionCommands
from tcprof.record.run_shown import RECORDING, RUNNING, TURNING
from tcprof.record.stopping import Stopping
from tcprof.record.turns import one_at_a_time

if TYPE_CHECKING:
    import pandas as pd

# As tcprof.annotate.window has them.
_CONTROL, _OWN_RANGES, _REPLAYS, _STEPS = "phase", "own-ranges", "replays", "steps-"
_RECORDED, _WAITING, _TIMED, _OVER = b"r", b"w", b"t", b"o"

TIMING = "timing unprofiled steps"
_TICK_S = 0.05
# Of a program without steps, after its first replay of a CUDA graph: it may run 10^5 kernels a second.
_REPLAYS_S = 10.0
_WAIT_S = 3.0  # for the processes to come to the end of a step
# After a wait, before steps are timed: loaders of data are ahead, and clocks have fallen.
_SETTLE_S = 1.0
_ENOUGH_TIMED = ((10, 2.0), (3, 20.0))  # unprofiled steps, and seconds that they take at least; either will do
# Of a capture, after its first step: with that step 2.6 to 3.1 s, and exports of 18 to 25 MB (one H200 at 20 kHz).
_LEAST_S, _MOST_S = 2.0, 30.0
_FEWEST_STEPS = 5  # for a report, if others may come
# Recorded steps take at most so many times as long as unprofiled ones if it is nsys that slows them: 2.5 is the most
# that was seen. The first steps of each size load kernels: a model that generates without a cache took 6 times as long.
_MOST_SLOWDOWN = 3.0
_PATIENCE_S = 120.0  # nsys takes 1 to 5 s to write a report
_END_S = 30.0  # the same after the program's end
_RETRY_S = 10.0  # another nsys may hold the GPU for a moment


@dataclass
class _StepLog:
    """The steps that a process has written down."""

    recorded: list[int] = field(default_factory=list)  # their ends, in ns
    # Steps timed together: whether they train, begin and end in ns, and their number.
    timed: list[tuple[bool, int, int, int]] = field(default_factory=list)
    waits: int = 0  # how often it has waited for nsys
    size: int = 0  # bytes that were read

    def slowdown(self) -> float:
        """Return how many times as long the median recorded step takes as the median unprofiled one."""
        recorded = statistics.median(end - begin for begin, end in itertools.pairwise(self.recorded))
        return recorded / statistics.median((end - begin) / count for _, begin, end, count in self.timed)


class StepCapture(threading.Thread):
    """Starts and stops captures while nsys runs a program.

    Args:
        commands: nsys's command lines for its session.
        folder: Where the processes of the program write their steps.
        report: What nsys writes first, and what the report is called in the end.
        export: Exports the report, before it is asked for.
    """

    def __init__(
        self,
        commands: SessionCommands,
        options: RecordOptions,
        folder: Path,
        report: ReportFiles,
        export: Callable[[], object],
    ) -> None:
        super().__init__(daemon=True)
        self._export = export
        self._commands, self._options, self._folder, self._report = commands, options, folder, report
        self._has_ended = threading.Event()  # the program, or it was asked to
        self._began = time.monotonic()
        self._logs: dict[int, _StepLog] = {}
        self._unprofiled_from: dict[int, int] | None = None  # of each process the first unprofiled step
        self._unprofiled_to: dict[int, int] | None = None
        self._first_steps = 0  # in the first capture
        self._has_second = False
        self._before_second: dict[int, int] = {}  # recorded steps of each process
        self._progressed = self._shown_until = self._began  # when a step was last seen to end; and was shown
        self.is_ready = threading.Event()  # the report is written, though the program may go on
        self._is_concluded = False  # it will be no other
        self.is_shown = False  # as it is
        self._was_shown = threading.Event()
        self.has_stopped = False  # the program
        self.stopped_status = 0  # of a program that was asked to end while nsys did not record, and so says 0 itself
        self._doing = RECORDING
        self.notes: list[str] = []
        (folder / _CONTROL).write_bytes(_RECORDED)

    def watch(self, when_ready: Callable[[], object]) -> Callable[[Stopping], str]:
        """Make the function to call again and again while nsys runs; it calls ``when_ready`` once there is a report."""

        def watch(stopping: Stopping) -> str:
            if self.ident is None:
                self.start()
            if stopping.is_asked and not self._has_ended.is_set():  # nsys ends the capture itself
                self.stopped_status = stopping.status if self._doing in (RUNNING, TIMING) else 0
                self._has_ended.set()
            if self.is_ready.is_set() and not self.is_shown:
                self.is_shown = True
                self.has_stopped = self._is_concluded and self._options.stop and not stopping.is_asked
                if self.has_stopped:
                    stopping.end_program()
                when_ready()
                self._was_shown.set()
            return self._doing

        return watch

    def run(self) -> None:
        """Make the captures, one after the other, until the program has ended."""
        try:
            self._make_captures()
        except (NsysError, OSError, ValueError) as error:  # the report has what was recorded until then
            self.notes.append(f"tcprof could not start and stop captures: {error}")

    def _make_captures(self) -> None:
        if not self._wait_until(self._is_first_over):
            return
        self._first_steps = len(self._lead().recorded)
        if not self._first_steps and not self._options.whole:
            recorded_s = round(min(self._options.longest_s, time.monotonic() - self._began), 1)
            self.notes.append(
                f"only the first {recorded_s:g} s are recorded, since tcprof saw no step end. --duration "
                "sets another length; --whole records the whole program."
            )
        uses_torch = any(self._folder.glob("[0-9]*"))  # which may yet be imported
        goes_on = not self._options.whole and (uses_torch or not self._options.stop)
        if not self._end_capture(_TIMED if goes_on else _OVER):
            return
        if not goes_on or (self._time_steps() and (self._has_enough() or self._capture_again())):
            self._conclude()

    def _has_enough(self) -> bool:
        """Tell whether the first capture is to be the report: it holds steps, and these are as they are later."""
        slowdowns = [log.slowdown() for log in self._leading().values() if len(log.recorded) > 1 and log.timed]
        has_settled = min(slowdowns, default=0.0) < _MOST_SLOWDOWN
        return self._opens_ranges() or (self._first_steps >= _FEWEST_STEPS and has_settled)

    def _conclude(self) -> None:
        self._enter(_OVER, RUNNING)
        self._is_concluded, self.is_shown = True, False
        self.is_ready.set()

    def _show_meanwhile(self) -> None:
        """Have the first capture shown, since no steps come, and wait until it was read: it may be replaced then."""
        self._shown_until = self._progressed
        self.is_ready.set()
        while not (self._was_shown.wait(_TICK_S) or self._has_ended.is_set()):
            pass

    def _enter(self, phase: bytes, doing: str) -> None:
        with (self._folder / _CONTROL).open("r+b") as file:  # in place: it is mapped
            file.write(phase)
        self._doing = doing

    def _wait_until(self, is_met: Callable[[], bool]) -> bool:
        """Read the steps again and again; return false where the program ends before the condition is met."""
        while not self._has_ended.wait(_TICK_S):
            self._read_logs()
            if is_met():
                return True
        return False

    def _is_first_over(self) -> bool:
        age, ends = time.monotonic() - self._began, self._lead().recorded
        if self._options.whole:
            return self._options.duration_s is not None and age > self._options.duration_s
        if not ends:
            return age > self._options.longest_s or self._replays_long()
        return self._is_long_enough(len(ends) - 1, (time.perf_counter_ns() - ends[0]) / 1e9)  # the first step warms up

    def _is_long_enough(self, count: int, age_s: float) -> bool:
        """Tell whether a capture may end that has held a number of steps for some time."""
        has_all = count >= self._options.steps and not self._opens_ranges()
        return age_s > (_LEAST_S if has_all else min(_MOST_S, self._options.longest_s))

    @property
    def is_of_steps(self) -> bool:
        """Tell whether the report is of some steps; else it is whole, or of a program that opens NVTX ranges itself."""
        return not (self._options.whole or self._opens_ranges())

    def _opens_ranges(self) -> bool:
        """Tell whether the program opens NVTX ranges itself, and so may have more to show than steps."""
        return (self._folder / _OWN_RANGES).exists()

    def _replays_long(self) -> bool:
        """Tell whether the program has replayed CUDA graphs for long enough, unless the user says how long that is."""
        with suppress(OSError):
            age_s = time.time() - (self._folder / _REPLAYS).stat().st_mtime
            return self._options.duration_s is None and age_s > _REPLAYS_S
        return False

    def _time_steps(self) -> bool:
        """Wait for enough unprofiled steps; those that go on are none.

        Before, while the program settles, the report is exported, so that nothing else runs beside them.
        """
        settled = time.monotonic() + _SETTLE_S
        with suppress(TcprofError):  # it is exported again when it is read, which tells
            self._export()
        self._has_ended.wait(max(0.0, settled - time.monotonic()))
        self._read_logs()
        begun = {process: len(log.timed) + 1 for process, log in self._logs.items()}
        self._unprofiled_from, self._doing = begun, TIMING
        began = time.monotonic()

        def is_enough() -> bool:
            if time.monotonic() - self._progressed > self._options.longest_s and not self.is_ready.is_set():
                self._show_meanwhile()
            age = time.monotonic() - began
            count = max(
                (sum(step[3] for step in log.timed[begun.get(process, 1) :]) for process, log in self._logs.items()),
                default=0,
            )
            return any(count >= fewest and age >= least_s for fewest, least_s in _ENOUGH_TIMED)

        is_met = self._wait_until(is_enough)
        self._unprofiled_to = {process: len(log.timed) for process, log in self._logs.items()} if is_met else None
        return is_met

    def _capture_again(self) -> bool:
        """Record later steps for the report; return false where the program ended meanwhile."""
        self._enter(_RECORDED, RECORDING)  # before the capture, so that few of its steps are without ranges
        began = time.monotonic()
        if not self._begin_capture():
            return True
        self._read_logs()
        self._has_second = True
        self._before_second = {process: len(log.recorded) for process, log in self._logs.items()}

        def is_over() -> bool:
            age, count = time.monotonic() - began, self._count_second()
            return self._is_long_enough(count, age if count > 1 else age / 2)

        if not self._wait_until(is_over):
            return False
        return self._end_capture(_OVER) and self._choose()

    def _begin_capture(self) -> bool:
        """Have nsys record again; return whether it does."""
        until = time.monotonic() + _RETRY_S
        while not self._has_ended.is_set():
            with one_at_a_time():
                done = self._ask_nsys(self._commands.start)
            if done.status == 0:
                return True
            if time.monotonic() > until:
                self.notes.append(f"only the first steps are recorded, since 'nsys start' failed: {done.last_lines(1)}")
                break
            self._has_ended.wait(1)
        return False

    def _end_capture(self, phase: bytes) -> bool:
        """Have nsys write what it recorded, then enter a phase; return whether it did before the program ended."""
        self._hold()
        try:
            done = self._ask_nsys(self._commands.stop)
        finally:
            self._enter(phase, RUNNING)
        if done.status == 0:
            return not self._has_ended.is_set()
        if not self._has_ended.wait(_END_S):  # else the program has ended meanwhile
            self._enter(_RECORDED, RECORDING)
            self.notes.append(
                f"nsys keeps recording until the program ends, since 'nsys stop' failed: {done.last_lines(1)}"
            )
        return False

    def _hold(self) -> None:
        """Have the processes that make steps wait between two of them."""
        waiting = {process: log.waits + 1 for process, log in self._logs.items()}
        if waiting:
            self._enter(_WAITING, self._doing)
            until = time.monotonic() + _WAIT_S
            self._wait_until(
                lambda: (
                    time.monotonic() > until
                    or all(self._logs[process].waits >= count for process, count in waiting.items())
                )
            )

    def _ask_nsys(self, command: Sequence[str]) -> Completed:
        before, self._doing = self._doing, TURNING
        try:
            return run_quietly(command, timeout_s=_PATIENCE_S, in_own_group=True)
        finally:
            self._doing = before

    def finish(self) -> None:
        """End the captures after the program, when nsys has written what it recorded."""
        self._has_ended.set()
        if self.ident is not None:
            self.join(_PATIENCE_S)
        self._end_session()
        if not self._is_concluded:
            with suppress(OSError, ValueError):
                self._read_logs()
            self._choose()
            self.is_shown = self.is_shown and self._progressed == self._shown_until

    def _end_session(self) -> None:
        """End a session whose capture began when the program ended: it would hold the GPU's counters on and on."""
        if self._commands.shutdown and run_quietly(self._commands.shutdown, timeout_s=_END_S).status == 0:
            self.notes.append("nsys went on after the program's end; tcprof ended it.")

    def _choose(self) -> bool:
        """Make the second capture the report if it holds steps enough."""
        second = self._commands.second.base
        is_better = self._has_second and self._count_second() >= min(_FEWEST_STEPS, self._first_steps)
        for path in (second.with_name(second.name + suffix) for suffix in (REPORT_SUFFIX, STREAM_SUFFIX)):
            if path.is_file() and is_better:
                self._report.report.unlink(missing_ok=True)
                path.replace(self._report.report.with_suffix(path.suffix))
                self.notes.clear()  # of the first
            path.unlink(missing_ok=True)
        return True

    def _count_second(self) -> int:
        counts = (len(log.recorded) - self._before_second.get(process, 0) for process, log in self._leading().items())
        return max(counts, default=0)

    def _lead(self) -> _StepLog:
        """Return the steps of the process whose steps count."""
        return max(self._leading().values(), key=lambda log: len(log.recorded) + len(log.timed), default=_StepLog())

    def _leading(self) -> dict[int, _StepLog]:
        """Return the processes whose steps count: the first of this host's ranks, else all."""
        return {process: log for process, log in self._logs.items() if self._is_first_rank(process)} or self._logs

    def _is_first_rank(self, process: int) -> bool:
        with suppress(OSError, ValueError, AttributeError):
            facts = json.loads((self._folder / str(process)).read_text(encoding="utf-8"))
            return bool(facts.get("LOCAL_RANK") == "0")
        return False

    def _read_logs(self) -> None:
        for path in self._folder.glob(f"{_STEPS}[0-9]*"):
            log = self._logs.setdefault(int(path.name.removeprefix(_STEPS)), _StepLog())
            with path.open("rb") as file:
                file.seek(log.size)
                text = file.read()
            lines = text[: text.rfind(b"\n") + 1]
            log.size += len(lines)
            self._progressed = time.monotonic() if lines else self._progressed
            for kind, *numbers in map(str.split, lines.decode("ascii").splitlines()):
                if kind == "r":
                    log.recorded.append(int(numbers[0]))
                elif kind == "w":
                    log.waits += 1
                else:
                    begin, end, count = map(int, numbers[1:])
                    log.timed.append((numbers[0] == "1", begin, end, count))

    def read_unprofiled(self) -> "pd.DataFrame":
        """Return the steps timed while nothing was recorded, see ``tcprof.frames.UNPROFILED``, in ns since 1970."""
        import pandas as pd

        from tcprof.frames import UNPROFILED

        first, last = self._unprofiled_from, self._unprofiled_to or {}
        rows = [
            (process, *step)
            for process, log in sorted(self._logs.items() if first is not None else ())
            for step in log.timed[(first or {}).get(process, 1) : last.get(process)]
        ]
        steps = pd.DataFrame(rows, columns=["process", "training", "start_ns", "end_ns", "step_count"])
        since_1970_ns = time.time_ns() - time.perf_counter_ns()
        moved = {name: steps[name] + since_1970_ns for name in ("start_ns", "end_ns")}
        return UNPROFILED.conform(steps.assign(**moved).sort_values(["process", "start_ns"]))
