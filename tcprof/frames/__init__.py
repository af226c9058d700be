"""The frames of tcprof: each kind of frame has one Schema, and every column of it a dtype, a unit and a meaning.

A frame that leaves a module has been conformed to its Schema by the one who made it, so that its readers need not
ask. ``docs/metrics.md`` is generated from this package.
"""

from tcprof.frames.accounts import CLOCKS, LEDGER, OUTSIDE, TIMELINE
from tcprof.frames.compared import COMPARISON, KERNEL_CHANGES, NOISE_FLOOR, WATERFALL
from tcprof.frames.places import INSTANCES, ITERATIONS, PATHS, RANGES
from tcprof.frames.quantities import LISTED_QUANTITIES, QUANTITIES, Quantity, quantity_of
from tcprof.frames.recorded import (
    ACTIVITIES,
    DIAGNOSTICS,
    GPUS,
    KERNEL_KINDS,
    LAUNCHES,
    NVTX_RANGES,
    SAMPLE_METRICS,
    SAMPLES,
)
from tcprof.frames.schema import Column, Schema
from tcprof.frames.work import KERNELS, LAUNCHED, WARM_UP_PATH

__all__ = [
    "ACTIVITIES",
    "CLOCKS",
    "COMPARISON",
    "DIAGNOSTICS",
    "GPUS",
    "INSTANCES",
    "ITERATIONS",
    "KERNELS",
    "KERNEL_CHANGES",
    "KERNEL_KINDS",
    "LAUNCHED",
    "LAUNCHES",
    "LEDGER",
    "LISTED_QUANTITIES",
    "NOISE_FLOOR",
    "NVTX_RANGES",
    "OUTSIDE",
    "PATHS",
    "QUANTITIES",
    "RANGES",
    "SAMPLES",
    "SAMPLE_METRICS",
    "SCHEMAS",
    "TIMELINE",
    "WARM_UP_PATH",
    "WATERFALL",
    "Column",
    "Quantity",
    "Schema",
    "quantity_of",
]

SCHEMAS = (
    *(GPUS, SAMPLES, NVTX_RANGES, LAUNCHES, ACTIVITIES, DIAGNOSTICS),
    *(PATHS, INSTANCES, RANGES, LAUNCHED, KERNELS, TIMELINE, LEDGER, ITERATIONS, CLOCKS, OUTSIDE),
    *(COMPARISON, NOISE_FLOOR, KERNEL_CHANGES, WATERFALL),
)
