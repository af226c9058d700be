"""Frames as JSON, CSV, Markdown and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from tcprof.analysis import Analysis
from tcprof.comparison import Comparison
from tcprof.comparison.gate.judgements import Judgement
from tcprof.comparison.statistics.rows import MEAN, MEDIAN
from tcprof.errors import OutputError
from tcprof.files import replace_file
from tcprof.findings import describe_warm_up, judge
from tcprof.render.json_document import render_document
from tcprof.report.comparison_words import compare_in_words
from tcprof.report.text.tables import all_faults, all_warnings

FRAMES = (
    *("ranges", "instances", "iterations", "paths", "samples", "activities", "gpus"),
    *("kernels", "kernels_by_path", "launched", "timeline", "ledger", "clocks", "outside"),
)


def recording_info(analysis: Analysis) -> dict[str, Any]:
    """What is known about a recording, for JSON. Unknown is null."""
    recording = analysis.recording
    return {
        "file": recording.file,
        "nsys_version": recording.nsys_version or None,
        "schema_version": recording.schema_version or None,
        "driver_version": recording.driver_version or None,
        "started_utc": recording.started_utc or None,
        "duration_ns": _plain(recording.duration_ns),
        "frequency_hz": _plain(recording.frequency_hz),
        "window": analysis.window,
        "tensor_source": analysis.tensor_source,
        "warm_up": describe_warm_up(analysis) or None,
        "outside": records(analysis.outside),
        "gpus": records(analysis.gpus),
    }


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries of plain values; unknown is None."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    """A value that JSON knows."""
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def render_ranges_json(analysis: Analysis, rows: pd.DataFrame) -> str:
    """Rows of the range summary as JSON."""
    return _render_json("ranges", analysis, {"rows": rows})


def render_kernels_json(analysis: Analysis, rows: pd.DataFrame) -> str:
    """Rows of the kernels as JSON."""
    return _render_json("kernels", analysis, {"rows": rows})


def render_timeline_json(analysis: Analysis, rows: pd.DataFrame) -> str:
    """Rows of the timeline as JSON, with the ledger, the iterations and the clock check."""
    frames = {"rows": rows, "ledger": analysis.ledger, "iterations": analysis.iterations, "clocks": analysis.clocks}
    return _render_json("timeline", analysis, frames)


def render_comparisons_json(
    comparisons: Sequence[Comparison], rows: Sequence[pd.DataFrame], judged: Sequence[Judgement]
) -> str:
    """Comparisons with one baseline as JSON: one at the top of the document, several as a list.

    Args:
        comparisons: The comparisons.
        rows: Rows of each that were asked for.
        judged: The gate's judgements, where there is one comparison.
    """
    told = [_describe(each, of_each, judged) for each, of_each in zip(comparisons, rows, strict=True)]
    return render_document("comparison", **(told[0] if len(told) == 1 else {"comparisons": told}))


def _describe(comparison: Comparison, rows: pd.DataFrame, judged: Sequence[Judgement]) -> dict[str, Any]:
    """A comparison as plain values."""
    sides = {"base": comparison.base, "new": comparison.new}
    return {
        "recordings": {name: [recording_info(each) for each in side.recordings] for name, side in sides.items()},
        "iteration_path": comparison.iteration_path,
        "spread": comparison.spread,
        "verdict": [" ".join(sentences) for _, sentences in compare_in_words(comparison)],
        "rows": records(rows),
        "waterfall": records(comparison.waterfall),
        "kernels": records(comparison.matching.changes),
        "base_matched_pct": _plain(comparison.matching.base_matched_pct),
        "new_matched_pct": _plain(comparison.matching.new_matched_pct),
        "noise_floor": records(comparison.noise_floor),
        "gate": [_describe_judgement(each) for each in judged],
        "faults": list(all_faults(comparison)),
        "warnings": list(all_warnings(comparison)),
    }


def _describe_judgement(judgement: Judgement) -> dict[str, Any]:
    """A judgement as plain values."""
    figures = {
        name: {end: _plain(value) for end, value in asdict(found).items()}
        for name, found in ((MEDIAN, judgement.median), (MEAN, judgement.mean))
    }
    return {**asdict(judgement), **figures, "condition": judgement.condition.text}


def _render_json(kind: str, analysis: Analysis, frames: Mapping[str, pd.DataFrame]) -> str:
    """What is said of a recording, around frames of it."""
    findings = judge(analysis)
    return render_document(
        kind,
        recording=recording_info(analysis),
        verdict=list(findings.verdict),
        checks=[asdict(check) for check in findings.checks],
        **{name: records(frame) for name, frame in frames.items()},
        faults=list(analysis.faults),
        warnings=list(analysis.warnings),
    )


def render_csv(rows: pd.DataFrame) -> str:
    """Rows as CSV with a header; unknown is an empty field."""
    return str(rows.to_csv(index=False, lineterminator="\n")).removesuffix("\n")


def write_frames(analysis: Analysis, folder: Path, file_format: str) -> list[Path]:
    """Write every frame of an analysis into a folder, made if it is absent, and what is known of the recording.

    The latter is ``recording.json``: frames have no place for the verdict, faults and warnings that their reader must
    know.

    Args:
        analysis: The analysis.
        folder: Where to write; files of the same names are replaced.
        file_format: csv or parquet.

    Returns:
        The files written.

    Raises:
        OutputError: The folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be made: {error.strerror}.", "Choose another with -o."
        ) from error
    written = [folder / "recording.json"]
    about = _render_json("export", analysis, {})
    with replace_file(written[0]) as path:
        path.write_text(about, encoding="utf-8", errors="replace")
    for name in FRAMES:
        frame: pd.DataFrame = getattr(analysis, name)
        target = folder / f"{name}.{file_format}"
        with replace_file(target) as path:
            if file_format == "parquet":
                frame.to_parquet(path, index=False)
            else:
                frame.to_csv(path, index=False)
        written.append(target)
    return written
