"""Words that the terminal and the pages share."""

from tcprof.analysis import Analysis

WINDOW_MEANINGS = {
    "gpu": "gpu windows: from a range's first activity on the GPU to its last",
    "host": "host windows: the range as on the CPU",
    "busy": "busy windows: the time under at least one of the range's activities",
}
SOURCE_MEANINGS = {
    "cycles": "exact tensor cycles",
    "rounded": "rounded samples: whole percentages",
    "none": "no samples",
}


def name_gpus(analysis: Analysis) -> list[str]:
    """The GPUs' names, equal ones counted: "2 × NVIDIA H200". They come from the report and are not escaped."""
    names = analysis.gpus["name"].value_counts(sort=False)
    return [f"{count} × {name}" if count > 1 else str(name) for name, count in names.items()]
