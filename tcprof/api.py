"""What Python and notebooks have: recordings that are read, compared and made, with what their figures say."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tcprof.analysis import WINDOWS, Analysis, analyze
from tcprof.comparison import Comparison, Side
from tcprof.comparison import compare as compare_sides
from tcprof.errors import UsageError
from tcprof.findings import Check, Findings, judge
from tcprof.findings.compared import ComparedFindings, judge_comparison
from tcprof.frames import SAMPLE_METRICS
from tcprof.memory import return_freed_memory
from tcprof.sources.registry import open_source
from tcprof.untrusted import one_line

if TYPE_CHECKING:
    from tcprof.findings.advice import Advice

_Input: TypeAlias = str | PathLike[str] | Analysis
_Inputs: TypeAlias = _Input | Sequence[_Input]
_KERNELS_SHOWN = 8  # of a comparison, in a notebook


class _Judged:
    """What figures say, of a recording and of a comparison alike."""

    @property
    def findings(self) -> Findings | ComparedFindings:
        """All of it, with what it rests on."""
        raise NotImplementedError

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU."""
        return self.findings.verdict

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the figures cannot be trusted, gravest first, or empty; of a comparison each begins with its side."""
        return self.findings.faults

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else a reader must know, such as what makes two sides hard to compare, most important first."""
        return self.findings.warnings


class JudgedAnalysis(_Judged, Analysis):
    """An analysis with what its figures say, which notebooks show."""

    @cached_property
    def findings(self) -> Findings:
        """What the figures say, as ``tcprof.findings`` judges them."""
        return judge(self)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was checked before the figures can be trusted."""
        return self.findings.checks

    @cached_property
    def advice(self) -> "tuple[Advice, ...]":
        """What to do, and what it is likely to win, best first."""
        from tcprof.findings.advice import advise

        return advise(self)

    def figure_timeline(self) -> Any:
        """Samples over lanes of ranges, as a plotly figure."""
        from tcprof.views.figures.timeline import figure_timeline

        return figure_timeline(self).to_plotly()

    def figure_roofline(self) -> Any:
        """Kernels under the roofs of memory and arithmetic, as a plotly figure; empty without bytes or FLOP."""
        from tcprof.views.figures.roofline import figure_roofline

        return figure_roofline(self).to_plotly()

    def figure_tensor_time(self) -> Any:
        """The kernels' share of the time against Tensor Active, as a plotly figure."""
        from tcprof.views.figures.tensor_time import figure_tensor_time

        return figure_tensor_time(self).to_plotly()

    def __repr__(self) -> str:
        from tcprof.render.formats import PLAIN
        from tcprof.render.formats.text import render
        from tcprof.views.recording.show import view_verdict

        return render(view_verdict(self, self.findings), PLAIN)

    def _repr_html_(self) -> str:
        from tcprof.render.notebook import render_html
        from tcprof.views.recording.ranges import view_ranges

        return render_html(view_ranges(self, self.findings, self.ranges))


class JudgedComparison(_Judged, Comparison):
    """A comparison with what it says, which notebooks show."""

    @cached_property
    def findings(self) -> ComparedFindings:
        """What it says, as ``tcprof.findings.compared`` judges it."""
        return judge_comparison(self)

    def __repr__(self) -> str:
        names = " → ".join(side.name for side in (self.base, self.new))
        return "\n".join((one_line(names), *self.verdict))

    def _repr_html_(self) -> str:
        from tcprof.render.notebook import render_html
        from tcprof.views.comparison import view_comparison

        return render_html(view_comparison([self], [self.findings], limit=_KERNELS_SHOWN))


def read(
    path: str | PathLike[str],
    window: str = "gpu",
    metrics: Iterable[str] | None = None,
    kernels: bool = True,
    warm_up: int | str | None = None,
    iteration: str | None = None,
    peak_tflops: float | None = None,
) -> JudgedAnalysis:
    """Read and analyze a recording.

    Args:
        path: A report (``.nsys-rep``) or its SQLite export, or another file that one of ``tcprof.sources`` reads. A
            report is exported beside itself when it has no export that is whole and newer.
        window: Windows that figures from samples are taken over: gpu, host or busy.
        metrics: Columns of ``tcprof.frames.SAMPLES`` to read; all by default.
        kernels: Whether to fit the kernels; without, a large recording is read in about half the time.
        warm_up: How many first iterations are left out of the figures per range and iteration, or ``all`` to count all
            iterations. None: those that are found to be warm-up.
        iteration: The range that iterates, by its name or path. None: the one that is found.
        peak_tflops: The peak in 10^12 FLOP/s that FLOP are held against, for HFU and MFU. None: the dense one of each
            kernel's precision, at the boost clock.

    Raises:
        InputError: The file is absent, damaged, or not a recording.
        UsageError: There is no such window, warm-up or range, or the peak is not above 0.
    """
    if window not in WINDOWS:
        raise UsageError(f"there is no window {window!r}", f"Choose one of: {', '.join(WINDOWS)}.")
    if peak_tflops is not None and not 0 < peak_tflops < math.inf:
        raise UsageError("a peak of FLOP/s is a number above 0", "Give it in 10^12: --peak-tflops 989.5.")
    chosen = SAMPLE_METRICS if metrics is None else metrics
    found = analyze(open_source(Path(path)), window, chosen, kernels, warm_up, iteration, peak_tflops)
    return_freed_memory()  # what the fit held, before a page or a comparison is made
    return JudgedAnalysis(**vars(found))


def compare(
    base: _Inputs,
    new: _Inputs,
    window: str = "gpu",
    mapping: Mapping[str, str] | None = None,
    allow_mismatch: bool = False,
    warm_up: int | str | None = None,
) -> JudgedComparison:
    """Compare two sides: one recording each, or several of the same program, given as files or as analyses.

    Args:
        base: The baseline; a list of several recordings.
        new: What is compared with it, likewise.
        window: Windows that figures from samples are taken over, where files are given.
        mapping: New names of the baseline's ranges by old ones.
        allow_mismatch: Whether to compare even where the figures mean nothing.
        warm_up: Iterations that are left out, see ``read``, where files are given.

    Raises:
        InputError: A file is absent, damaged, or not a recording, or one side has no work on any GPU.
        UsageError: There is no such window, the analyses have different ones, or the baseline has no range that is to
            be renamed.
    """
    sides = []
    for name, given in (("base", base), ("new", new)):
        several = [given] if isinstance(given, str | PathLike | Analysis) else given
        read_in = (each if isinstance(each, Analysis) else read(each, window, warm_up=warm_up) for each in several)
        sides.append(Side(name, tuple(read_in)))
    return JudgedComparison(**vars(compare_sides(sides[0], sides[1], mapping or {}, allow_mismatch)))


def profile(
    program: Sequence[str],
    output: str | PathLike[str],
    frequency_hz: int = 20_000,
    alone: bool | None = None,
    **options: Any,
) -> JudgedAnalysis:
    """Record a program under Nsight Systems with GPU metrics, and analyze the recording.

    As by ``tcprof profile``, the program is then run once more without nsys, which shows what recording costs it; a
    Python warning says why that run is not compared, where it failed.

    Args:
        program: The program and its arguments; a Python script or ``-m`` module is run by this Python.
        output: The report to write; an existing one is replaced.
        frequency_hz: Samples a second.
        alone: Whether to run the program once more; None: where its steps are annotated and it takes under a minute.
        options: Further fields of ``tcprof.record.command.RecordOptions``, such as ``capture_range``.

    Raises:
        MachineError: This machine cannot record; the message says why.
        NsysError: nsys recorded nothing.
        OutputError: The report cannot be written.
    """
    from tcprof.alone import AloneRuns
    from tcprof.record.command import RecordOptions
    from tcprof.record.recording import Session

    session = Session(program, Path(output))
    session.check_reports(force=True)
    chosen = RecordOptions(frequency_hz=frequency_hz, **options)
    with session.plan(chosen) as plan:
        run = session.record(plan, session.reports[0])
        runs = AloneRuns(session, alone, chosen, lambda texts: warnings.warn(texts[0], stacklevel=4))
        return runs.add_to(read(run.report), run)
