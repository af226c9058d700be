"""The frames of tcprof: a Schema for each kind, from which ``docs/metrics.md`` is generated; makers conform to it."""

from tcprof.frames.accounts import *
from tcprof.frames.compared import *
from tcprof.frames.history import *
from tcprof.frames.job import *
from tcprof.frames.places import *
from tcprof.frames.recorded import *
from tcprof.frames.schema import LARGEST_UNCOVERED_PCT, NCU_METRICS, Column, Schema, python_string_storage
from tcprof.frames.steps import *
from tcprof.frames.work import *

SCHEMAS = (
    *(GPUS, SAMPLES, NVTX_RANGES, API_CALLS, WAITS, ACTIVITIES, DIAGNOSTICS, DRIVER_LOG, UNPROFILED),
    *(PATHS, INSTANCES, RANGES, KERNEL_INSTANCES, KERNELS, MODULES, TIMELINE, GAPS, GAP_SUMS, LEDGER),
    *(STEP_SUMMARY, STEPS, KINDS, CLOCKS, OUTSIDE, ADVICE),
    *(COMPARISON, KERNEL_CHANGES, MODULE_CHANGES, WATERFALL),
    *(JOB, RANKS, RANK_STEPS, RANK_PARTS, COLLECTIVES, COLLECTIVE_KINDS, RANK_RECORDINGS, JOB_COMPARISON),
    *(HISTORY_RUNS, SERIES, POINTS, ACCEPTED),
    BOARDS,
)
