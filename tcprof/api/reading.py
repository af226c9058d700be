"""Recordings that are read, with findings and advice."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tcprof.analysis import WINDOWS, Analysis, analyze
from tcprof.arrays import return_freed_memory
from tcprof.errors import InputError, UsageError
from tcprof.files import name_of, read_unchanged
from tcprof.findings import Check, Findings, judge
from tcprof.findings.judge import describe, restore
from tcprof.frames import SAMPLE_METRICS
from tcprof.saved import load, save
from tcprof.saved.contents import options_of
from tcprof.saved.reading import SavedFile
from tcprof.sources import Recording, SourceType
from tcprof.sources.registry import find_type
from tcprof.sources.saved import SAVED

if TYPE_CHECKING:
    from tcprof.analysis.gaps import Gaps
    from tcprof.findings.pricing.advice import Advice
    from tcprof.findings.pricing.step import Step
    from tcprof.saved.cache import Cache

_OPTIONS = ("window", "warm_up", "step", "peak_tflops")  # of commands, which change the figures


class _Frame:
    """A frame of a report's analysis."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, report: "Report", owner: type | None = None) -> pd.DataFrame:
        frame: pd.DataFrame = getattr(report.analysis, self._name)
        return frame


class Report:
    """A recording: its analysis, the findings on it and the advice; notebooks show it.

    Each is computed when it is first asked for. Frames of the analysis are attributes: ``report.ranges``.

    Args:
        analysis: The figures.
        described: The findings and the advice, where the cache has them, see ``tcprof.findings.judge.describe``.
    """

    activities = _Frame()
    api_calls = _Frame()
    clocks = _Frame()
    driver_log = _Frame()
    gpus = _Frame()
    instances = _Frame()
    kernel_instances = _Frame()
    kernels = _Frame()
    kernels_by_path = _Frame()
    kinds = _Frame()
    ledger = _Frame()
    modules = _Frame()
    nvtx_ranges = _Frame()
    outside = _Frame()
    paths = _Frame()
    ranges = _Frame()
    samples = _Frame()
    step_summary = _Frame()
    steps = _Frame()
    timeline = _Frame()
    unprofiled = _Frame()
    waits = _Frame()

    def __init__(self, analysis: Analysis, described: Mapping[str, Any] | None = None) -> None:
        self.analysis, self._described = analysis, described
        self._steps: dict[int, Step] = {}  # what findings and advice measure alike

    @property
    def recording(self) -> Recording:
        """Return the facts of the recording itself."""
        return self.analysis.recording

    @cached_property
    def findings(self) -> Findings:
        """Judge the figures, as ``tcprof.findings`` does."""
        if not self._described:
            return judge(self.analysis, self._steps)
        findings: Findings = restore(Findings, self._described["findings"], self.analysis)
        return findings

    @cached_property
    def advice(self) -> "tuple[Advice, ...]":
        """List what to do and what it saves, best first."""
        from tcprof.findings.advise import advise
        from tcprof.findings.pricing.advice import Advice

        if not self._described:
            return advise(self.analysis, self._steps)
        advice: tuple[Advice, ...] = restore(tuple[Advice, ...], self._described["advice"], self.analysis)
        return advice

    @cached_property
    def _idle(self) -> "Gaps":
        from tcprof.analysis.gaps import list_gaps

        return list_gaps(self.analysis)

    @property
    def gaps(self) -> pd.DataFrame:
        """List the GPU's gaps with their causes, see ``tcprof.frames.GAPS``."""
        return self._idle.gaps

    @property
    def gap_sums(self) -> pd.DataFrame:
        """Sum the gaps by cause and range, see ``tcprof.frames.GAP_SUMS``."""
        return self._idle.gap_sums

    @property
    def verdict(self) -> tuple[str, ...]:
        """Return a paragraph for each GPU."""
        return self.findings.verdict

    @property
    def checks(self) -> tuple[Check, ...]:
        """List the checks of whether the figures can be trusted."""
        return self.findings.checks

    @property
    def faults(self) -> tuple[str, ...]:
        """List why the figures cannot be trusted, gravest first, or nothing."""
        return self.findings.faults

    @property
    def warnings(self) -> tuple[str, ...]:
        """List what else a reader must know, most important first."""
        return self.findings.warnings

    def save(self, path: str | PathLike[str]) -> None:
        """Write the analysis into one file, which every command takes in place of the recording.

        Raises:
            OutputError: It cannot be written.
        """
        save(self.analysis, Path(path))

    def figure_roofline(self) -> Any:
        """Draw kernels under the roofs of memory and arithmetic with plotly; without bytes or FLOP it says so."""
        return self._figure("roofline")

    def figure_tensor_time(self) -> Any:
        """Draw the kernels' share of the time against Tensor Active with plotly; without samples it says so."""
        return self._figure("tensor-time")

    def _figure(self, name: str) -> Any:
        from tcprof.views.figures import say_absent
        from tcprof.views.recording.kernels import FIGURES, why_undrawn

        drawn = FIGURES[name][1](self.analysis)
        return (drawn if drawn.data else say_absent(why_undrawn(self.analysis, name))).to_plotly()

    def __repr__(self) -> str:
        from tcprof.render.formats import PLAIN
        from tcprof.render.formats.text import render
        from tcprof.views.recording.show import view_verdict

        return render(view_verdict(self.analysis, self.findings), PLAIN)

    def _repr_html_(self) -> str:
        from tcprof.render.notebook import render_html
        from tcprof.views.recording.show import view_recording

        return render_html(view_recording(self.analysis, self.findings, self.advice, with_notes=True))


def read(
    path: str | PathLike[str],
    window: str = "gpu",
    metrics: Iterable[str] | None = None,
    kernels: bool = True,
    warm_up: int | str | None = None,
    step: str | None = None,
    peak_tflops: float | None = None,
    cache: "Cache | None" = None,
) -> Report:
    """Read and analyze a recording.

    Args:
        path: A report (``.nsys-rep``) or its SQLite export, or another file that one of ``tcprof.sources`` reads. A
            report is exported beside itself when it has no export that is whole and newer.
        window: Windows that figures from samples are taken over: gpu, host or busy.
        metrics: Columns of ``tcprof.frames.SAMPLES`` to read; all by default.
        kernels: Whether to fit the kernels; without, a large recording is read in about half the time.
        warm_up: How many first steps figures per range and step leave out, or ``all`` to count all; None detects them.
        step: The range that iterates, by its name or path. None: the one that is found.
        peak_tflops: The peak in 10^12 FLOP/s that FLOP are held against, for HFU and MFU. None: the dense one of each
            kernel's precision, at the boost clock.
        cache: Where the analysis is looked for first, and kept, such as ``tcprof.saved.cache.user_cache`` gives.

    Raises:
        InputError: The file is absent, damaged, or not a recording.
        UsageError: There is no such window, warm-up or range, or the peak is not above 0.
    """
    _check_options(window, peak_tflops)
    asked: dict[str, Any] = {
        "window": window,
        "metrics": sorted(SAMPLE_METRICS if metrics is None else {*metrics}),
        "kernels": kernels,
        "warm_up": warm_up,
        "step": step,
        "peak_tflops": peak_tflops,
    }
    if (source_type := find_type(Path(path))) is SAVED:
        return _load(Path(path), asked)
    return _read_recording(source_type, source_type.find(Path(path)), asked, cache)


def _check_options(window: str, peak_tflops: float | None) -> None:
    if window not in WINDOWS:
        raise UsageError(f"there is no window {window!r}", f"Choose one of: {', '.join(WINDOWS)}.")
    if peak_tflops is not None and not 0 < peak_tflops < math.inf:
        hints = (f"Give it in TFLOP/s: {option}989.5." for option in ("--peak-tflops ", "peak_tflops="))
        raise UsageError("the peak FLOP/s must be a number above 0", *hints)


def _load(path: Path, asked: Mapping[str, Any]) -> Report:
    """Load a saved analysis; InputError where it was made with other options than those asked for."""
    analysis = load(path)
    saved = options_of(analysis)
    if not {*asked["metrics"]} <= {*saved["metrics"]} or saved["kernels"] < asked["kernels"]:
        hint = f"Give the recording it was made from, {analysis.recording.file}, or save it again: "
        raise InputError(
            f"{path} was saved from Python without all metrics, or without kernels.",
            f"{hint}tcprof save.",
            f"{hint}tcprof.read(...).save(...).",
        )
    different = [name for name in _OPTIONS if str(saved[name]) != str(asked[name])]
    if different:
        option = different[0].replace("_", "-")
        was, wanted = (
            f"with {option} {values[different[0]]}" if values[different[0]] is not None else f"without {option}"
            for values in (saved, asked)
        )
        raise InputError(
            f"{path} was saved {was}, so it has no figures {wanted}.",
            f"Give the recording it was made from, {analysis.recording.file}, or save it again with these options.",
        )
    return Report(analysis)


def _read_recording(source_type: SourceType, file: Path, asked: dict[str, Any], cache: "Cache | None") -> Report:
    """Analyze a recording, or load its analysis from the cache."""
    whole = {**asked, "metrics": sorted(SAMPLE_METRICS), "kernels": True}

    def read_content(content: str) -> tuple[Report, bool]:
        kept = cache and (cache.find(content, whole) or cache.find(content, asked))
        if kept:
            saved = SavedFile(kept)
            return Report(saved.analysis(name_of(file)), saved.judged()), True
        analysis = analyze(source_type.open(file), **asked)
        return Report(analysis.replace(recording=replace(analysis.recording, content=content))), False

    report, was_kept = read_unchanged(file, read_content)
    if not was_kept:
        return_freed_memory()  # what the fit held, before a page or a comparison is made
        if cache:
            cache.keep(report.analysis, describe(report.findings, report.advice))
    return report
