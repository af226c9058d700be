"""The tables of an export that tcprof reads, what their columns may hold, and what their absence means.

Nsight Systems writes a table only if it has rows, and adds and drops columns from version to version. The tables
below name the columns that are read, each with the numbers that it may hold; ``Database`` holds every row against
them. A column that an export lacks is read as NULL. ``tests/builders.py`` makes synthetic exports from the same
definitions.
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, MetaData, Table, Text

from tcprof.frames import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, MANAGED, PAGEABLE, PINNED
from tcprof.untrusted import one_line

metadata = MetaData()
MOST_GPUS = 72  # of one recording, as NVLink connects: each costs a tenth of a second
MOST_GPU_NUMBERS = 256  # a typeId has 8 bits for a GPU's


class Limits(NamedTuple):
    """The lowest and the highest number that a column may hold."""

    low: int
    high: int


ANY = Limits(-(1 << 63), (1 << 63) - 1)
TIME = Limits(-(1 << 53), 1 << 53)  # ns: 104 days, all of which floats hold exactly
_LIMITS = {
    "": ANY,
    "time": TIME,
    "duration": Limits(1, TIME.high),
    "epoch": Limits(946_684_800 * 10**9, 4_102_444_800 * 10**9),  # the years 2000 to 2100
    "gpu": Limits(0, MOST_GPU_NUMBERS - 1),
    "number": Limits(0, (1 << 32) - 1),
    "metric": Limits(0, (1 << 16) - 1),
    "size": Limits(0, (1 << 31) - 1),
    "sms": Limits(0, 10_000),
    "clock": Limits(0, 10**10),  # Hz, or kHz in old exports: above any chip's
    "memory": Limits(0, 1 << 50),
    "bandwidth": Limits(0, 1 << 50),  # bytes a second
    "milliwatts": Limits(0, 10_000_000),
    "celsius": Limits(0, 1_000),
    "megahertz": Limits(0, 10_000),
}


def _table(name: str, integers: str, texts: str = "") -> Table:
    """Define a table of 64-bit integer columns and text columns, given as words: ``name``, or ``name:limits``."""
    named = (word.partition(":") for word in integers.split())
    numbers = (Column(column, BigInteger, info={"limits": _LIMITS[limits]}) for column, _, limits in named)
    return Table(name, metadata, *numbers, *(Column(column, Text) for column in texts.split()))


STRINGS = _table("StringIds", "id", "value")
EXPORT_METADATA = _table("META_DATA_EXPORT", "", "name value")
OLD_EXPORT_METADATA = _table("EXPORT_META_DATA", "", "name value")  # its name until 2022
CAPTURE_METADATA = _table("META_DATA_CAPTURE", "", "name value")
SESSION_START = _table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs:epoch")
CAPTURE = _table("ANALYSIS_DETAILS", "duration:duration startTime stopTime")
SYSTEM = _table("TARGET_INFO_SYSTEM_ENV", "nameEnum", "name value")
DIAGNOSTICS = _table("DIAGNOSTIC_EVENT", "timestamp source severity globalPid", "text")

GPUS = _table(
    "TARGET_INFO_GPU",
    "id:gpu cuDevice:gpu smCount:sms clockRate:clock totalMemory:memory memoryBandwidth:bandwidth",
    "name chipName uuid busLocation",
)
CUDA_GPUS = _table(
    "TARGET_INFO_CUDA_GPU",
    "deviceId:gpu numMultiprocessors:sms coreClockRate:clock totalMemory:memory globalMemoryBandwidth:bandwidth",
    "name chipName",
)
CUDA_DEVICES = _table("TARGET_INFO_CUDA_DEVICE", "gpuId:gpu cudaId:gpu pid:number")

METRIC_NAMES = _table("TARGET_INFO_GPU_METRICS", "typeId metricId:metric", "metricName")
METRICS = _table("GPU_METRICS", "timestamp:time typeId metricId:metric value")
GENERIC_TYPES = _table("GENERIC_EVENT_TYPES", "typeId", "data")
GENERIC_EVENTS = _table("GENERIC_EVENTS", "genericEventId rawTimestamp:time timestamp:time typeId", "data")

NVTX = _table("NVTX_EVENTS", "start:time end:time eventType:number globalTid domainId:number textId", "text jsonText")
API_CALLS = _table("CUPTI_ACTIVITY_KIND_RUNTIME", "start:time end:time globalTid correlationId:number nameId")
_ACTIVITY = "start:time end:time deviceId:gpu streamId:number correlationId:number globalPid "
KERNELS = _table(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    _ACTIVITY
    + "demangledName shortName gridX:size gridY:size gridZ:size blockX:size blockY:size blockZ:size graphNodeId",
)
COPIES = _table("CUPTI_ACTIVITY_KIND_MEMCPY", _ACTIVITY + "bytes:memory copyKind:number srcKind dstKind graphNodeId")
SETS = _table("CUPTI_ACTIVITY_KIND_MEMSET", _ACTIVITY + "bytes:memory graphNodeId")
NODE_EVENTS = _table("CUDA_GRAPH_NODE_EVENTS", "start:time globalTid graphNodeId originalGraphNodeId")
GRAPHS = _table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _ACTIVITY + "graphId graphExecId")
ACTIVITY_TABLES = (KERNELS, COPIES, SETS, GRAPHS)

# Columns that every known version with the table has.
ALWAYS: dict[str, frozenset[str]] = {
    NVTX.name: frozenset(NVTX.columns.keys()) - {"domainId", "textId", "jsonText"},
    **{
        table.name: frozenset(table.columns.keys())
        for table in (STRINGS, API_CALLS, METRICS, METRIC_NAMES, CUDA_DEVICES, CAPTURE, DIAGNOSTICS)
    },
    **{
        table.name: frozenset(table.columns.keys()) - {"globalPid", "srcKind", "dstKind", "graphNodeId"}
        for table in (KERNELS, COPIES, SETS)
    },
}
# Tables whose columns say what they are, by whatever name: those of ALWAYS, or else all.
UNIQUE = frozenset(
    table.name for table in (NVTX, KERNELS, COPIES, SETS, GRAPHS, METRICS, GPUS, CUDA_DEVICES, CAPTURE, DIAGNOSTICS)
)
# Tables of nsys whose columns are those of API calls, too; tables of work stand only beside some of API calls.
LIKE_CALLS = r"OSRT_|OPENMP_|OPENGL_|VULKAN_|DX1\d_|D3D1\d_|PROFILER_OVERHEAD|CUPTI_ACTIVITY_KIND_OVERHEAD"
# Tables, and one that their rows point to.
NEEDS = {METRICS.name: METRIC_NAMES.name, **{table.name: STRINGS.name for table in (KERNELS, API_CALLS)}}

# Not of Nsight Systems: see tcprof.sources.nsys_sqlite.export. An export that is made again takes them over.
UNPROFILED = _table("TCPROF_ALONE", "process:number training:number start:time end:time count:number")
CAPTURED = _table("TCPROF_CAPTURED", "kind:number globalTid begin:time until:time", "name")
RUN = _table("TCPROF_RUN", "", "name value")
DRIVER_LOG = _table(
    "TCPROF_DRIVER_LOG",
    "timestamp:time gpu:gpu power:milliwatts powerLimit:milliwatts temperature:celsius clock:megahertz reasons:number",
)

# What keeps the SM clock low, by nvmlClocksEventReasons of NVML; the first that applies.
CLOCK_LIMITS = {"temperature": 0x20 | 0x40, "power": 0x4 | 0x80, "hardware": 0x8, "setting": 0x2 | 0x10 | 0x100}

ANNOTATION_DOMAIN = "tcprof"  # of NVTX, as tcprof.annotate.steps has it
NCCL_DOMAIN = "NCCL"
# In the JSON of NCCL's ranges: of an all-gather what a rank contributes, of a reduce-scatter what it receives.
MESSAGE_SIZE = "Message size [bytes]"

# NVTX_EVENTS.eventType
NVTX_MARK = 34
NVTX_PUSH_POP = 59
NVTX_START_END = 60
NVTX_DOMAIN_CREATE = 75

# DIAGNOSTIC_EVENT.severity
SEVERITIES = {1: "information", 2: "warning", 3: "error", 4: "verbose"}

# CUPTI_ACTIVITY_KIND_MEMCPY.copyKind (ENUM_CUDA_MEMCPY_OPER)
COPY_KINDS = {
    1: HOST_TO_DEVICE,
    2: DEVICE_TO_HOST,
    3: "host to array",
    4: "array to host",
    5: "array to array",
    6: "array to device",
    7: "device to array",
    8: DEVICE_TO_DEVICE,
    9: "host to host",
    10: "peer to peer",
    11: "unified host to device",
    12: "unified device to host",
    13: "unified device to device",
}

# CUPTI_ACTIVITY_KIND_MEMCPY.srcKind and dstKind (ENUM_CUDA_MEM_KIND), of the host's memory
HOST_MEMORY = {0: PAGEABLE, 1: PINNED, 4: MANAGED, 6: MANAGED}

# typeId of a metric: bits 0 to 7 are the GPU's number, bits 8 to 15 the kind of row.
TYPE_BITS = 0xFFFF
SAMPLE_ROW = 0
DIAGNOSTIC_ROW = 2

_MESSAGE_SIZE = re.compile(rf'"{re.escape(MESSAGE_SIZE)}"\s*:\s*([0-9]{{1,16}})\s*[,}}]')
# What differs from every known version: reading past it would be silence.
_CONSTANTS = "ENUM_"  # begins the names of nsys's tables of constants


def parse_message_size(payload: str) -> int | None:
    """Parse the size in bytes from the payload of a range of NCCL's domain; None where it has no sound one."""
    match = _MESSAGE_SIZE.search(payload)
    return int(match[1]) if match and int(match[1]) <= _LIMITS["memory"].high else None


def find_drift(columns: Mapping[str, Collection[str]], unread: Mapping[str, Collection[str]]) -> str:
    """Find a table or column that is renamed or missing, by those that tcprof reads and all others; empty for none."""
    for table, always in ALWAYS.items():
        if table in columns and (missing := sorted(always - {*columns[table]})):
            return f"its table {table} has no column {missing[0]}, which every version of Nsight Systems writes"
    for table, names in columns.items():
        expected = {*metadata.tables[table].columns.keys()}
        for column in sorted(expected - {*names}):
            if renamed := next((name for name in sorted({*names} - expected) if _is_like(name, column)), ""):
                renamed = one_line(renamed, 80)
                return f"its table {table} has a column {renamed}, which tcprof does not know, but no {column}"
    for table, needed in NEEDS.items():
        if table in columns and needed not in columns:
            return f"it has {table}, but no table {needed}, which every version of Nsight Systems writes with it"
    has_work = any(table.name in columns for table in ACTIVITY_TABLES)
    for table in metadata.tables:
        if table in columns:
            continue
        known_so = table in UNIQUE or (table == API_CALLS.name and has_work)
        renamed = next(
            (name for name in unread if _is_like(name, table) or (known_so and _holds(name, unread[name], table))), ""
        )
        if renamed:
            return f"it has a table {one_line(renamed, 80)}, which tcprof does not know, in place of {table}"
    return ""


def _holds(name: str, names: Collection[str], table: str) -> bool:
    """Tell whether a table that nsys does not write has all columns of one that it does."""
    always = ALWAYS.get(table, metadata.tables[table].columns.keys())
    return {*always} <= {*names} and not re.match(LIKE_CALLS, name)


def _is_like(name: str, table: str) -> bool:
    """Tell whether names are alike but for case, underscores, a plural, or what stands before or behind one."""
    upper, other = name.upper(), table.upper()
    plain, known_plain = (re.sub(r"[\W_]+", "", text).rstrip("S") for text in (upper, other))
    is_more = re.match(rf"{other}(?:[^A-Z]|V\d)", upper) or re.search(rf"[^A-Z]{other}$", upper)
    return not upper.startswith(_CONSTANTS) and bool(plain == known_plain or is_more)
