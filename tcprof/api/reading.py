"""Recordings that are read, with what their figures say."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcprof.analysis import WINDOWS, Analysis, analyze
from tcprof.arrays import return_freed_memory
from tcprof.errors import InputError, UsageError
from tcprof.files import name_of, read_unchanged
from tcprof.findings import Check, Findings, judge
from tcprof.findings.judged import describe
from tcprof.frames import SAMPLE_METRICS
from tcprof.saved import load
from tcprof.saved.contents import options_of
from tcprof.sources import SourceType
from tcprof.sources.registry import find_type
from tcprof.sources.saved import SAVED

if TYPE_CHECKING:
    from tcprof.findings.compared import ComparedFindings
    from tcprof.findings.pricing.advice import Advice
    from tcprof.saved.cache import Cache

_OPTIONS = ("window", "warm_up", "step", "peak_tflops")  # of commands, which change the figures


class Judged:
    """What figures say, of a recording and of a comparison alike."""

    @property
    def findings(self) -> "Findings | ComparedFindings":
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


class JudgedAnalysis(Judged, Analysis):
    """An analysis with what its figures say, which notebooks show."""

    @cached_property
    def findings(self) -> Findings:
        """What the figures say, as ``tcprof.findings`` judges them."""
        return judge(self)

    @property
    def checks(self) -> tuple[Check, ...]:
        """What was checked before the figures can be trusted."""
        return self.findings.checks

    @property
    def advice(self) -> "tuple[Advice, ...]":
        """What to do, and what it saves, best first."""
        from tcprof.findings.advise import advise

        return advise(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it into one file, which every command takes in place of the recording.

        Raises:
            OutputError: It cannot be written.
        """
        from tcprof.saved import save

        save(self, Path(path))

    def figure_roofline(self) -> Any:
        """Kernels under the roofs of memory and arithmetic, as a plotly figure; without bytes or FLOP it says so."""
        return self._figure("roofline")

    def figure_tensor_time(self) -> Any:
        """The kernels' share of the time against Tensor Active, as a plotly figure; without samples it says so."""
        return self._figure("tensor-time")

    def _figure(self, name: str) -> Any:
        from tcprof.views.figures import say_absent
        from tcprof.views.recording.kernels import FIGURES, why_undrawn

        drawn = FIGURES[name][1](self)
        return (drawn if drawn.data else say_absent(why_undrawn(self, name))).to_plotly()

    def __repr__(self) -> str:
        from tcprof.render.formats import PLAIN
        from tcprof.render.formats.text import render
        from tcprof.views.recording.show import view_verdict

        return render(view_verdict(self, self.findings), PLAIN)

    def _repr_html_(self) -> str:
        from tcprof.render.notebook import render_html
        from tcprof.views.recording.show import view_recording

        return render_html(view_recording(self, self.findings, with_notes=True))


def read(
    path: str | PathLike[str],
    window: str = "gpu",
    metrics: Iterable[str] | None = None,
    kernels: bool = True,
    warm_up: int | str | None = None,
    step: str | None = None,
    peak_tflops: float | None = None,
    cache: "Cache | None" = None,
) -> JudgedAnalysis:
    """Read and analyze a recording.

    Args:
        path: A report (``.nsys-rep``) or its SQLite export, or another file that one of ``tcprof.sources`` reads. A
            report is exported beside itself when it has no export that is whole and newer.
        window: Windows that figures from samples are taken over: gpu, host or busy.
        metrics: Columns of ``tcprof.frames.SAMPLES`` to read; all by default.
        kernels: Whether to fit the kernels; without, a large recording is read in about half the time.
        warm_up: How many first steps are left out of the figures per range and step, or ``all`` to count all
            steps. None: those that are found to be warm-up.
        step: The range that iterates, by its name or path. None: the one that is found.
        peak_tflops: The peak in 10^12 FLOP/s that FLOP are held against, for HFU and MFU. None: the dense one of each
            kernel's precision, at the boost clock.
        cache: Where the analysis is looked for first, and kept, such as ``tcprof.saved.cache.user_cache`` gives.

    Raises:
        InputError: The file is absent, damaged, or not a recording.
        UsageError: There is no such window, warm-up or range, or the peak is not above 0.
    """
    if window not in WINDOWS:
        raise UsageError(f"there is no window {window!r}", f"Choose one of: {', '.join(WINDOWS)}.")
    if peak_tflops is not None and not 0 < peak_tflops < math.inf:
        raise UsageError(
            "the peak FLOP/s must be a number above 0",
            "Give it in 10^12 FLOP/s: --peak-tflops 989.5.",
            "Give it in 10^12 FLOP/s: peak_tflops=989.5.",
        )
    asked: dict[str, Any] = {
        "window": window,
        "metrics": sorted(SAMPLE_METRICS if metrics is None else {*metrics}),
        "kernels": kernels,
        "warm_up": warm_up,
        "step": step,
        "peak_tflops": peak_tflops,
    }
    source_type = find_type(Path(path))
    if source_type is SAVED:
        return _load(Path(path), asked)
    return _read_recording(source_type, source_type.find(Path(path)), asked, cache)


def _load(path: Path, asked: Mapping[str, Any]) -> JudgedAnalysis:
    """A saved analysis, if it was made with the options that are asked for.

    Raises:
        InputError: It was made with others: then only the recording has the figures.
    """
    analysis = load(path, JudgedAnalysis)
    saved = options_of(analysis)
    if not {*asked["metrics"]} <= {*saved["metrics"]} or saved["kernels"] < asked["kernels"]:
        raise InputError(
            f"{path} was saved from Python without all metrics, or without kernels.",
            f"Give the recording it was made from, {analysis.recording.file}, or save that again: tcprof save.",
            (
                f"Give the recording it was made from, {analysis.recording.file}, or save that again: "
                "tcprof.read(...).save(...)."
            ),
        )
    different = [name for name in _OPTIONS if str(saved[name]) != str(asked[name])]
    if different:
        option = different[0].replace("_", "-")
        was, wanted = (
            f"with {option} {values[different[0]]}" if values[different[0]] is not None else f"without {option}"
            for values in (saved, asked)
        )
        raise InputError(
            f"{path} was saved {was}: it has no figures {wanted}.",
            f"Give the recording it was made from, {analysis.recording.file}, or save that again with these options.",
        )
    return analysis


def _read_recording(
    source_type: SourceType, file: Path, asked: dict[str, Any], cache: "Cache | None"
) -> JudgedAnalysis:
    """The analysis of a recording, from the cache where it was kept."""
    whole = {**asked, "metrics": sorted(SAMPLE_METRICS), "kernels": True}

    def read_content(content: str) -> tuple[JudgedAnalysis, bool]:
        kept = cache and (cache.find(content, whole) or cache.find(content, asked))
        if kept:
            return load(kept, JudgedAnalysis, name_of(file), is_own=True), True
        analysis = analyze(source_type.open(file), kind=JudgedAnalysis, **asked)
        return analysis.replace(recording=replace(analysis.recording, content=content)), False

    analysis, was_kept = read_unchanged(file, read_content)
    if not was_kept:
        return_freed_memory()  # what the fit held, before a page or a comparison is made
        if cache:
            cache.keep(analysis, describe(analysis.findings, analysis.advice))
    return analysis
