"""The HTML pages of a job of many ranks, and of two."""

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from tcprof.render.html import USUAL, PageOptions
from tcprof.render.html.pages import read_asset, render_page, split_parts, write_page
from tcprof.render.html.timeline.packing import ArrayStore
from tcprof.views.document import Document, HeatMap, Section

_UNKNOWN = 0  # all known values are stored one higher
_SCALES = {"ns": 1.0, "pct": 1e-3, "hz": 1e5}  # of the units of columns: what one in the stored numbers is


def write_job_page(document: Document, path: Path, options: PageOptions = USUAL) -> None:
    """Write the page of a job, see ``tcprof.views.ranks``, or of two, see ``tcprof.views.compared_jobs``.

    Raises:
        OutputError: The file cannot be written. What was there before is left as it was.
    """
    inner = [part for section in document.parts if isinstance(section, Section) for part in section.parts]
    cells = next((part for part in inner if isinstance(part, HeatMap)), None)
    values = {
        "kind": "Comparison of two jobs" if cells is None else "Job report",
        "title": options.title or document.title,
        "warnings": document.warnings,
        **split_parts(document.parts),
        "job_style": read_asset("job.css"),
        "cells": cells,
        "packed": Markup(_pack(cells)) if cells else "",
    }
    write_page(path, render_page("job.html", values, options), options)


def _pack(cells: HeatMap) -> str:
    store = ArrayStore()
    metrics: list[dict[str, Any]] = []
    for column, is_bad, values in cells.metrics:
        scale = _SCALES[column.unit]
        known = values.to_numpy(float).ravel()
        least = np.nanmin(known)
        stored = np.where(np.isnan(known), _UNKNOWN, np.round((known - least) / scale) + 1).astype(np.int64)
        low, high = np.nanquantile(known, (0.01, 0.99)).clip(0)  # below the median of the others is no loss
        metrics.append(
            {"title": column.title, "unit": column.unit, "scale": scale, "bad": is_bad, "values": store.add(stored)}
            | {"least": float(least), "low": float(low), "high": float(high)}
        )
    header = {"ranks": cells.ranks, "order": cells.order, "steps": cells.first_steps, "links": cells.links}
    return store.pack({**header, "metrics": metrics})
