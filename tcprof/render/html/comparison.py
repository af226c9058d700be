"""The HTML page of a comparison: of two sides in detail, of more in an overview and a part for each."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcprof import units
from tcprof.comparison import Comparison
from tcprof.comparison.gate.judgements import Judgement
from tcprof.comparison.kernels.waterfall import TENSOR_ACTIVE, TIME
from tcprof.findings import describe_warm_up
from tcprof.render.html.options import USUAL, PageOptions
from tcprof.render.html.shell import figure_json, read_asset, render_page, write_page
from tcprof.report.comparison_words import compare_in_words, iteration_name
from tcprof.report.pages.comparison.tables import (
    list_kernel_changes,
    list_noise_floor,
    list_provenance,
    list_quantities,
    list_range_changes,
)
from tcprof.report.pages.summary import SOURCE_NOTES
from tcprof.report.text.comparison import list_sides, list_waterfall, shared_gpus
from tcprof.report.text.gate import describe_judgement, name_condition
from tcprof.report.text.tables import gpu_title
from tcprof.report.wording import WINDOW_MEANINGS, name_gpus
from tcprof.untrusted import one_line
from tcprof.views.figures.compared_iterations import figure_iterations, figure_small_multiples
from tcprof.views.figures.compared_series import MOST_POINTS, ShownSide, shown_sides
from tcprof.views.figures.waterfall import figure_waterfall

_LONGEST = 80
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s)(?!\w))")


def write_comparison(
    comparisons: Sequence[Comparison],
    path: Path,
    options: PageOptions = USUAL,
    judged: Sequence[Judgement] = (),
) -> None:
    """Write the page of a comparison.

    Args:
        comparisons: The comparisons, one for each side beside the baseline, which is the same in all.
        path: The file to make or replace.
        options: How to make it; the title is by default what the sides are called.
        judged: What a gate says of the first.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    write_page(path, render_comparison(comparisons, options, judged), options)


def render_comparison(
    comparisons: Sequence[Comparison], options: PageOptions = USUAL, judged: Sequence[Judgement] = ()
) -> str:
    """The page of a comparison, as text."""
    sides = shown_sides(comparisons)
    between = " → " if len(sides) == 2 else ", "
    return render_page(
        "comparison.html",
        {
            "title": one_line(options.title or between.join(shown.name for shown in sides), 160),
            "sides": [_describe_side(shown) for shown in sides],
            "faults": [(_role(shown, sides), shown.side.faults) for shown in sides],
            "verdicts": [(shown.name, _unbroken(compare_in_words(shown.comparison))) for shown in sides[1:]],
            "judged": [(each.verdict, name_condition(each), describe_judgement(each)) for each in judged],
            "unit": iteration_name(comparisons[0]),
            "overviews": [_overview(comparisons, gpu) for gpu in shared_gpus(comparisons)],
            "parts_of": [_part(shown, number) for number, shown in enumerate(sides[1:], start=1)],
            "warnings": list(dict.fromkeys(text for each in comparisons for text in each.warnings)),
            "side_warnings": [(_role(shown, sides), (*_left_out(shown), *shown.side.warnings)) for shown in sides],
            "noise": _noise(comparisons),
            "provenance": list_provenance(sides),
            "window_note": WINDOW_MEANINGS[comparisons[0].base.first.window],
            "source_note": _source_note(sides),
            "comparison_style": read_asset("comparison.css"),
        },
        options,
    )


def _unbroken(verdicts: list[tuple[str, tuple[str, ...]]]) -> list[tuple[str, list[str]]]:
    """Sentences in which no line ends between a number and its unit."""
    return [(title, [_UNIT.sub("\N{NO-BREAK SPACE}", text) for text in sentences]) for title, sentences in verdicts]


def _role(shown: ShownSide, sides: Sequence[ShownSide]) -> str:
    """What messages about a side begin with."""
    if shown.role == "base":
        return "Baseline"
    return "New" if len(sides) == 2 else shown.name


def _left_out(shown: ShownSide) -> list[str]:
    """What is left out of a side's figures as warm-up."""
    return list(dict.fromkeys(filter(None, map(describe_warm_up, shown.side.recordings))))


def _describe_side(shown: ShownSide) -> dict[str, Any]:
    """A side in the page's head: what it is called, its colour, its GPUs and its recordings."""
    recordings = shown.side.recordings
    gpus = dict.fromkeys(one_line(name) for each in recordings for name in name_gpus(each))
    first = recordings[0].recording
    facts = [
        one_line(first.file, _LONGEST) if len(recordings) == 1 else f"{len(recordings)} recordings",
        ", ".join(gpus),
        f"recorded {first.started_utc}" if first.started_utc else "",
    ]
    role = "baseline" if shown.role == "base" else "new"
    return {"name": shown.name, "role": role, "color": shown.color, "facts": [fact for fact in facts if fact]}


def _overview(comparisons: Sequence[Comparison], gpu: int) -> dict[str, Any]:
    """The iterations of all sides on one GPU, and of more than two their table."""
    several = len(comparisons) > 1
    place = shared_gpus(comparisons).index(gpu)
    return {
        "gpu": gpu,
        "title": gpu_title(comparisons[0].base.first, gpu),
        "sides": list_sides(comparisons)[place] if several else None,
        "iterations": figure_json(figure_iterations(comparisons, gpu)),
        "multiples": figure_json(figure_small_multiples(comparisons, gpu)) if several else "",
        "notes": _iteration_notes(comparisons, gpu),
    }


def _iteration_notes(comparisons: Sequence[Comparison], gpu: int) -> list[str]:
    """What the drawing of the iterations leaves out."""
    recordings = [each for shown in shown_sides(comparisons) for each in shown.side.recordings]
    most = max(int((each.iterations["gpu"] == gpu).sum()) for each in recordings)
    if most <= MOST_POINTS:
        return []
    return [f"Of recordings with more than {units.format_count(MOST_POINTS)} iterations medians of blocks are drawn."]


def _part(shown: ShownSide, number: int) -> dict[str, Any]:
    """What is said of one side against the baseline."""
    comparison = shown.comparison
    return {
        "number": number,
        "name": shown.name,
        "color": shown.color,
        "gpus": [_part_of_gpu(comparison, gpu) for gpu in shared_gpus([comparison])],
        "matched": _matched(comparison),
        "measured": comparison.spread,
    }


def _part_of_gpu(comparison: Comparison, gpu: int) -> dict[str, Any]:
    listings = list_waterfall(comparison, gpu)
    quantities = [
        quantity
        for quantity in (TIME, TENSOR_ACTIVE)
        if ((comparison.waterfall["gpu"] == gpu) & (comparison.waterfall["quantity"] == quantity)).any()
    ]
    return {
        "gpu": gpu,
        "title": gpu_title(comparison.base.first, gpu),
        "quantities": list_quantities(comparison, gpu),
        "waterfalls": [
            (quantity, figure_json(figure_waterfall(comparison, gpu, quantity)), listing)
            for quantity, listing in zip(quantities, listings, strict=True)
        ],
        "ranges": list_range_changes(comparison, gpu),
        "kernels": list_kernel_changes(comparison, gpu),
    }


def _matched(comparison: Comparison) -> str:
    """How much of the kernel time has a counterpart, and what the figures of kernels are taken from."""
    shares = [comparison.matching.base_matched_pct, comparison.matching.new_matched_pct]
    base, new = (units.format_pct(share) for share in shares)
    named = [
        f"{one_line(side.typical.recording.file, _LONGEST)}"
        for side in (comparison.base, comparison.new)
        if len(side.recordings) > 1
    ]
    of = f" They are those of one typical recording of a side: {', '.join(named)}." if named else ""
    return f"Matched kernels have {base} of the baseline's kernel time, and {new} of the other side's.{of}"


def _noise(
    comparisons: Sequence[Comparison],
) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """For each GPU its title and how much recordings of one side differ; the baseline's stand once."""
    told = []
    for gpu in shared_gpus(comparisons):
        listings = [list_noise_floor(each, gpu) for each in comparisons]
        rows = list(dict.fromkeys(row for listing in listings for row in listing.rows))
        if rows:
            told.append((gpu_title(comparisons[0].base.first, gpu), listings[0].headers, rows))
    return told


def _source_note(sides: Sequence[ShownSide]) -> str:
    """Where Tensor Active comes from, of each side if they differ."""
    notes = {_role(shown, sides): SOURCE_NOTES[shown.side.first.tensor_source] for shown in sides}
    distinct = set(notes.values())
    return distinct.pop() if len(distinct) == 1 else " ".join(f"{name}: {note}" for name, note in notes.items())
