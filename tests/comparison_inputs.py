"""Comparisons for the tests of their page: recordings whose steps iterate, with kernels that change."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from builders import US, TraceBuilder
from report_inputs import HOSTILE

import tcprof
from tcprof.analysis import Analysis
from tcprof.comparison import Comparison, Side, compare
from tcprof.comparison.gate import Gate
from tcprof.findings import Finding, Severity
from tcprof.findings.compared import ComparedFindings, judge_comparison
from tcprof.render.formats._tables import brief_columns, label_rows
from tcprof.render.html import USUAL, PageOptions
from tcprof.render.html import page as pages
from tcprof.views.comparison import view_comparison
from tcprof.views.tables import Table


def read_steps(
    folder: Path,
    file: str,
    kernels: Sequence[tuple[str, int]] = (("ampere_sgemm_128x64", 400), ("add", 100)),
    count: int = 12,
    first: int = 4,
    seed: int = 0,
    ranges: Sequence[str] = ("forward",),
    gpus: Sequence[int] = (0,),
    busy: Sequence[int] | None = None,
) -> Analysis:
    """A recording of steps that launch kernels (name and µs) one after the other on each GPU, or the busy ones.

    The first step takes ``first`` times as long, which makes it warm-up. Kernels' lengths differ by 1 %, by the seed.
    """
    rng = np.random.default_rng(seed)
    trace, at = TraceBuilder(), 0
    for gpu in gpus:
        trace.gpu(gpu)
    for number in range(count):
        begin, launch = at, at + US
        starts = at + 10 * US
        for place, (name, length) in enumerate(kernels):
            end = starts + int(US * length * rng.normal(1, 0.01) * (first if number == 0 else 1))
            trace.range(ranges[place % len(ranges)], launch, launch + 100)
            for gpu in gpus if busy is None else busy:
                trace.kernel(name, starts, end, launched=launch + 10 + gpu, device=gpu)
            launch, starts = launch + 200, end + 2 * US
        trace.range("step", begin, starts)
        at = starts + 20 * US
    for gpu in gpus:
        trace.samples([40, 60, 50, 20] * (at // (40 * US) + 1), period=10 * US, gpu=gpu)
    return tcprof.read(trace.recorded(duration=at).write(folder, file)).analysis


def compare_steps(folder: Path) -> Comparison:
    """A baseline, and half its time with one kernel renamed and one new."""
    half = (("nvjet_sm90_hsh_128x128_64x4", 150), ("add", 100), ("cast", 20))
    base, new = read_steps(folder, "base.sqlite"), read_steps(folder, "opt.sqlite", half, seed=1)
    return compare(Side("base", (base,)), Side("opt", (new,)))


def compare_several(folder: Path, runs: Sequence[int] = (1, 2)) -> list[Comparison]:
    """Three sides with a recording of each of these numbers."""
    sides = [
        Side(
            name,
            tuple(
                read_steps(folder, f"{name}_{run}.sqlite", (("gemm", length), ("add", 100)), seed=10 * length + run)
                for run in runs
            ),
        )
        for name, length in (("slow", 400), ("middle", 300), ("fast", 200))
    ]
    return [compare(sides[0], side) for side in sides[1:]]


def compare_hostile(folder: Path) -> list[Comparison]:
    """Three sides in which ranges, kernels and sides have hostile names."""
    kernels = [(name, 20 + 10 * place) for place, name in enumerate(HOSTILE)]
    base = Side(HOSTILE[0], (read_steps(folder, "base.sqlite", kernels, ranges=HOSTILE),))
    others = [
        Side(name, (read_steps(folder, f"new{place}.sqlite", kernels[place:], seed=place, ranges=HOSTILE[place:]),))
        for place, name in enumerate(HOSTILE[1:3], start=1)
    ]
    return [compare(base, side) for side in others]


def tell(
    comparison: Comparison,
    base: Sequence[str] = (),
    new: Sequence[str] = (),
    cautions: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> ComparedFindings:
    """The findings on a comparison, with other faults of its sides, cautions, and cautions on the other side."""

    def find(texts: Sequence[str], severity: Severity = Severity.CAUTION) -> tuple[Finding, ...]:
        return tuple(Finding("test", severity, text.removesuffix(".")) for text in texts)

    found = judge_comparison(comparison)
    faults = [find(texts, Severity.FAULT) for texts in (base, new)]
    return replace(found, base=faults[0], new=(*faults[1], *find(warnings)), cautions=find(cautions))


def render_page(
    comparisons: Sequence[Comparison],
    options: PageOptions = USUAL,
    gate: Gate | None = None,
    findings: Sequence[ComparedFindings] = (),
) -> str:
    """The page of comparisons, as text, with these findings or their own."""
    findings = findings or [judge_comparison(each) for each in comparisons]
    document = view_comparison(findings, gate=gate)
    return pages.render_page(document, options)


def write_page(
    comparisons: Sequence[Comparison],
    path: Path,
    options: PageOptions = USUAL,
    findings: Sequence[ComparedFindings] = (),
) -> None:
    findings = findings or [judge_comparison(each) for each in comparisons]
    pages.write_page(view_comparison(findings), path, options)


def texts_of(table: Table) -> list[list[str]]:
    """The rows of a table as a terminal shows them: names, and the columns that are brief."""
    columns = brief_columns(table)
    return [[str(label), *(column.texts[place] for column in columns)] for place, label in enumerate(label_rows(table))]
