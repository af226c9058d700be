"""What was judged of a recording; as JSON in the cache, so that it is judged once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.findings.checks import Check
from tcprof.findings.finding import Finding, Severity, texts_of
from tcprof.findings.pricing.advice import Advice
from tcprof.findings.steps import StepFigures
from tcprof.units import plain

_FRAMES = {"rows": "ranges", "time": "timeline"}  # fields that are rows of a frame of the analysis


@dataclass(frozen=True)
class GpuFindings:
    """What the figures of one GPU say."""

    gpu: int
    headline: tuple[str, ...]  # the verdict in two or three sentences
    details: tuple[str, ...]  # sentences that say more
    checks: tuple[Check, ...]
    # Of the steps that the verdict rests on; None where it rests on the whole capture
    figures: StepFigures | None
    idle_is_known: bool = True  # whether the GPU did nothing where nothing was traced

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of the verdict, the most important sentence first."""
        return self.headline + self.details


@dataclass(frozen=True)
class Findings:
    """What the figures of a recording say: of each GPU, and faults, then cautions, each gravest first."""

    gpus: tuple[GpuFindings, ...]
    found: tuple[Finding, ...]

    @property
    def verdict(self) -> tuple[str, ...]:
        """A paragraph for each GPU, which begins with its number if there are several."""
        return self._of_gpus([gpu.sentences for gpu in self.gpus])

    @property
    def headline(self) -> tuple[str, ...]:
        """The verdict in two or three sentences for each GPU, likewise."""
        return self._of_gpus([gpu.headline for gpu in self.gpus])

    def of_gpu(self, gpu: int | None) -> "Findings":
        """Keep the verdict and the checks of one GPU; None keeps those of all."""
        return self if gpu is None else replace(self, gpus=tuple(each for each in self.gpus if each.gpu == gpu))

    def _of_gpus(self, sentences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        several = len(self.gpus) > 1
        return tuple(
            f"{f'GPU {gpu.gpu}: ' * several}{' '.join(of_gpu)}"
            for gpu, of_gpu in zip(self.gpus, sentences, strict=True)
        )

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all GPUs."""
        return tuple(check for gpu in self.gpus for check in gpu.checks)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the figures cannot be trusted, as paragraphs, gravest first. Show them before any figure."""
        return texts_of(self.found, Severity.FAULT)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What else a reader must know, likewise; what is so in most recordings comes last."""
        return (*texts_of(self.found, Severity.CAUTION), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Those of the warnings that are so in most recordings, and no reason for doubt."""
        return texts_of(self.found, Severity.REMARK)


def describe(findings: Findings, advice: Sequence[Advice]) -> dict[str, Any]:
    """What was judged, as JSON has it."""
    described: dict[str, Any] = plain({"findings": findings, "advice": list(advice)}, lambda rows: rows.index.tolist())
    return described


def restore_findings(described: Mapping[str, Any], analysis: Analysis) -> Findings:
    """Make findings again of what ``describe`` gave."""
    findings: Findings = _typed(Findings, described["findings"], analysis)
    return findings


def restore_advice(described: Mapping[str, Any], analysis: Analysis) -> tuple[Advice, ...]:
    """Make advice again of what ``describe`` gave."""
    advice: tuple[Advice, ...] = _typed(tuple[Advice, ...], described["advice"], analysis)
    return advice


def _typed(kind: Any, value: Any, analysis: Analysis, name: str = "") -> Any:
    """A value as what the field of that name is; this very tcprof wrote it."""
    if kind is float:
        return math.nan if value is None else float(value)
    if kind is pd.DataFrame:
        return getattr(analysis, _FRAMES[name]).loc[value]
    if get_origin(kind) is UnionType:  # or None
        return None if value is None else _typed(get_args(kind)[0], value, analysis)
    if get_origin(kind) is tuple:
        return tuple(_typed(get_args(kind)[0], each, analysis) for each in value)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{key: _typed(hints[key], each, analysis, key) for key, each in value.items()})  # type: ignore[operator]
    return kind(value)
