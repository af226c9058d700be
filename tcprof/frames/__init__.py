"""The frames of tcprof: each kind of frame has one Schema, and every column of it a dtype, a unit and a meaning.

Whoever makes a frame conforms it to its Schema. ``docs/metrics.md`` is generated from this package.
"""

from tcprof.frames.accounts import ADVICE, CLOCKS, LEDGER, OUTSIDE, TIMELINE
from tcprof.frames.compared import COMPARISON, KERNEL_CHANGES, NOISE_FLOOR, WATERFALL
from tcprof.frames.modules import FOLDED_MODULES, IN_NO_MODULE, MODULE_CHANGES, MODULE_TREE, MODULES
from tcprof.frames.places import INSTANCES, ITERATIONS, PATHS, RANGES, WHOLE_CAPTURE
from tcprof.frames.quantities import HEADLINE, HEADLINE_INTERVAL, LISTED_QUANTITIES, QUANTITIES, Quantity, quantity_of
from tcprof.frames.recorded import (
    ACTIVITIES,
    API_CALLS,
    COUNTED,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    DIAGNOSTICS,
    FROM_COUNTS,
    GPUS,
    HOST_TO_DEVICE,
    KERNEL_KINDS,
    MANAGED,
    NVTX_RANGES,
    OPS_DOMAIN,
    PAGEABLE,
    PINNED,
    SAMPLE_METRICS,
    SAMPLES,
    UNPROFILED,
    WAITS,
    WORK,
)
from tcprof.frames.schema import LARGEST_UNCOVERED_PCT, Column, Schema, plain_texts
from tcprof.frames.work import KERNEL_INSTANCES, KERNELS, WARM_UP_PATH

__all__ = [
    "ACTIVITIES",
    "ADVICE",
    "API_CALLS",
    "CLOCKS",
    "COMPARISON",
    "COUNTED",
    "DEVICE_TO_DEVICE",
    "DEVICE_TO_HOST",
    "DIAGNOSTICS",
    "FOLDED_MODULES",
    "FROM_COUNTS",
    "GPUS",
    "HEADLINE",
    "HEADLINE_INTERVAL",
    "HOST_TO_DEVICE",
    "INSTANCES",
    "IN_NO_MODULE",
    "ITERATIONS",
    "KERNELS",
    "KERNEL_CHANGES",
    "KERNEL_INSTANCES",
    "KERNEL_KINDS",
    "LARGEST_UNCOVERED_PCT",
    "LEDGER",
    "LISTED_QUANTITIES",
    "MANAGED",
    "MODULES",
    "MODULE_CHANGES",
    "MODULE_TREE",
    "NOISE_FLOOR",
    "NVTX_RANGES",
    "OPS_DOMAIN",
    "OUTSIDE",
    "PAGEABLE",
    "PATHS",
    "PINNED",
    "QUANTITIES",
    "RANGES",
    "SAMPLES",
    "SAMPLE_METRICS",
    "SCHEMAS",
    "TIMELINE",
    "UNPROFILED",
    "WAITS",
    "WARM_UP_PATH",
    "WATERFALL",
    "WHOLE_CAPTURE",
    "WORK",
    "Column",
    "Quantity",
    "Schema",
    "plain_texts",
    "quantity_of",
]

SCHEMAS = (
    *(GPUS, SAMPLES, NVTX_RANGES, API_CALLS, WAITS, ACTIVITIES, DIAGNOSTICS, UNPROFILED),
    *(
        PATHS,
        INSTANCES,
        RANGES,
        KERNEL_INSTANCES,
        KERNELS,
        MODULES,
        TIMELINE,
        LEDGER,
        ITERATIONS,
        CLOCKS,
        OUTSIDE,
        ADVICE,
    ),
    *(COMPARISON, NOISE_FLOOR, KERNEL_CHANGES, MODULE_CHANGES, WATERFALL),
)
