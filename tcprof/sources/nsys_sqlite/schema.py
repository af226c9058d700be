"""The tables of an export that tcprof reads, and what their absence means.

Nsight Systems writes a table only if it has rows, and adds and drops columns from version to version. The tables
below name the columns that are read; one that an export lacks is read as NULL. ``tests/builders.py`` makes synthetic
exports from the same definitions.
"""

from sqlalchemy import BigInteger, Column, MetaData, Table, Text

metadata = MetaData()


def _table(name: str, integers: str, texts: str = "") -> Table:
    """A table of 64-bit integer columns and text columns, both given as words."""
    numbers = (Column(column, BigInteger) for column in integers.split())
    return Table(name, metadata, *numbers, *(Column(column, Text) for column in texts.split()))


STRINGS = _table("StringIds", "id", "value")
EXPORT_METADATA = _table("META_DATA_EXPORT", "", "name value")
OLD_EXPORT_METADATA = _table("EXPORT_META_DATA", "", "name value")  # its name until 2022
CAPTURE_METADATA = _table("META_DATA_CAPTURE", "", "name value")
SESSION_START = _table("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
CAPTURE = _table("ANALYSIS_DETAILS", "duration startTime stopTime")
SYSTEM = _table("TARGET_INFO_SYSTEM_ENV", "nameEnum", "name value")
DIAGNOSTICS = _table("DIAGNOSTIC_EVENT", "timestamp source severity globalPid", "text")

GPUS = _table("TARGET_INFO_GPU", "id cuDevice smCount clockRate totalMemory", "name chipName")
CUDA_GPUS = _table("TARGET_INFO_CUDA_GPU", "deviceId numMultiprocessors coreClockRate", "name")
CUDA_DEVICES = _table("TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid")

METRIC_NAMES = _table("TARGET_INFO_GPU_METRICS", "typeId metricId", "metricName")
METRICS = _table("GPU_METRICS", "timestamp typeId metricId value")
GENERIC_TYPES = _table("GENERIC_EVENT_TYPES", "typeId", "data")
GENERIC_EVENTS = _table("GENERIC_EVENTS", "rawTimestamp timestamp typeId", "data")

NVTX = _table("NVTX_EVENTS", "start end eventType globalTid domainId textId", "text")
API_CALLS = _table("CUPTI_ACTIVITY_KIND_RUNTIME", "start end globalTid correlationId nameId")
_ACTIVITY = "start end deviceId streamId correlationId globalPid "
KERNELS = _table(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    _ACTIVITY + "demangledName shortName gridX gridY gridZ blockX blockY blockZ graphNodeId",
)
COPIES = _table("CUPTI_ACTIVITY_KIND_MEMCPY", _ACTIVITY + "bytes copyKind graphNodeId")
SETS = _table("CUPTI_ACTIVITY_KIND_MEMSET", _ACTIVITY + "bytes graphNodeId")
GRAPHS = _table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _ACTIVITY + "graphId graphExecId")
ACTIVITY_TABLES = (KERNELS, COPIES, SETS, GRAPHS)

# NVTX_EVENTS.eventType
NVTX_PUSH_POP = 59
NVTX_START_END = 60
NVTX_DOMAIN_CREATE = 75

# DIAGNOSTIC_EVENT.severity
SEVERITIES = {1: "information", 2: "warning", 3: "error", 4: "verbose"}

# CUPTI_ACTIVITY_KIND_MEMCPY.copyKind (CUpti_ActivityMemcpyKind)
COPY_KINDS = {
    1: "host to device",
    2: "device to host",
    3: "host to array",
    4: "array to host",
    5: "array to array",
    6: "array to device",
    7: "device to array",
    8: "device to device",
    9: "host to host",
    10: "peer to peer",
}

# typeId of a metric: bits 0 to 7 are the GPU's number, bits 8 to 15 the kind of row.
SAMPLE_ROW = 0
DIAGNOSTIC_ROW = 2


def process_of(global_id: int) -> int:
    """The process in a ``globalPid`` or ``globalTid``."""
    return (global_id >> 24) & 0xFFFFFF
