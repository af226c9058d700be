"""The frames of tcprof: each kind of frame has one Schema, and every column of it a dtype, a unit and a meaning.

A frame that leaves a module has been conformed to its Schema by the one who made it, so that its readers need not
ask. ``docs/metrics.md`` is generated from this package.
"""

from tcprof.frames.computed import COMPARISON, INSTANCES, KERNELS, LAUNCHED, PATHS, RANGE_SUMMARY
from tcprof.frames.recorded import ACTIVITIES, DIAGNOSTICS, GPUS, LAUNCHES, RANGES, SAMPLE_METRICS, SAMPLES
from tcprof.frames.schema import Column, Schema

__all__ = [
    "ACTIVITIES",
    "COMPARISON",
    "DIAGNOSTICS",
    "GPUS",
    "INSTANCES",
    "KERNELS",
    "LAUNCHED",
    "LAUNCHES",
    "PATHS",
    "RANGES",
    "RANGE_SUMMARY",
    "SAMPLES",
    "SAMPLE_METRICS",
    "SCHEMAS",
    "Column",
    "Schema",
]

SCHEMAS = (
    *(GPUS, SAMPLES, RANGES, LAUNCHES, ACTIVITIES, DIAGNOSTICS),
    *(PATHS, INSTANCES, RANGE_SUMMARY, LAUNCHED, KERNELS, COMPARISON),
)
