"""The frames of tcprof: a Schema for each kind, from which ``docs/metrics.md`` is generated; makers conform to it."""

from tcprof.frames.accounts import ADVICE, CLOCKS, GAP_SUMS, GAPS, LEDGER, OUTSIDE, TIMELINE
from tcprof.frames.compared import (
    COMPARISON,
    HEADLINE,
    HEADLINE_INTERVAL,
    KERNEL_CHANGES,
    LISTED_QUANTITIES,
    QUANTITIES,
    WATERFALL,
    Quantity,
    quantity_of,
)
from tcprof.frames.history import ACCEPTED, HISTORY_RUNS, POINTS, SERIES
from tcprof.frames.job import (
    COLLECTIVE_KINDS,
    COLLECTIVES,
    JOB,
    JOB_COMPARISON,
    RANK_PARTS,
    RANK_RECORDINGS,
    RANK_STEPS,
    RANKS,
)
from tcprof.frames.places import (
    FOLDED_MODULES,
    IN_NO_MODULE,
    INSTANCES,
    MODULE_CHANGES,
    MODULE_TREE,
    MODULES,
    PATHS,
    RANGES,
    WHOLE_CAPTURE,
)
from tcprof.frames.recorded import (
    ACTIVITIES,
    API_CALLS,
    BOARDS,
    COUNTED,
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    DIAGNOSTICS,
    DRIVER_LOG,
    FROM_COUNTS,
    GPUS,
    GRAPH_NODES,
    HOST_TO_DEVICE,
    KERNEL_KINDS,
    MANAGED,
    MARKS,
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
from tcprof.frames.schema import LARGEST_UNCOVERED_PCT, NCU_METRICS, Column, Schema, python_string_storage
from tcprof.frames.steps import KINDS, STEP_SUMMARY, STEPS
from tcprof.frames.work import KERNEL_INSTANCES, KERNELS, SLOW_PATH, WARM_UP_PATH

SCHEMAS = (
    *(GPUS, SAMPLES, NVTX_RANGES, API_CALLS, WAITS, ACTIVITIES, DIAGNOSTICS, DRIVER_LOG, UNPROFILED),
    *(PATHS, INSTANCES, RANGES, KERNEL_INSTANCES, KERNELS, MODULES, TIMELINE, GAPS, GAP_SUMS, LEDGER),
    *(STEP_SUMMARY, STEPS, KINDS, CLOCKS, OUTSIDE, ADVICE),
    *(COMPARISON, KERNEL_CHANGES, MODULE_CHANGES, WATERFALL),
    *(JOB, RANKS, RANK_STEPS, RANK_PARTS, COLLECTIVES, COLLECTIVE_KINDS, RANK_RECORDINGS, JOB_COMPARISON),
    *(HISTORY_RUNS, SERIES, POINTS, ACCEPTED),
    BOARDS,
)
