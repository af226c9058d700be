"""Check what only ``tcprof doctor`` looks at: a sampling, GPU modes, disk, Python."""

import errno
import fcntl
import os
import re
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from tcprof import units
from tcprof.chips import metric_names
from tcprof.errors import MachineError, NsysError
from tcprof.files import temporary_folder
from tcprof.nsys.locate import Nsys
from tcprof.nsys.run import CONFIDENTIAL, MIG, VGPU
from tcprof.record.command import RecordOptions
from tcprof.record.diagnosis import Diagnosis, MachineCheck, Status, diagnose
from tcprof.record.machine import Machine, SilentDriverError, read_gpu_modes, read_machine
from tcprof.record.plan import find_metric_set, try_metric_set

_SCARCE_BYTES, _TOO_FEW_BYTES = 2_000_000_000, 100_000_000
_NO_TENSOR_METRIC = (
    "nsys's graphics sets (ga10x-gfxt, ga10x-gfxact, ad10x-gfxt) and its set for TU11x have no tensor metric: record "
    "with the general set, which 'nsys profile --gpu-metrics-set=help' lists, or use a newer nsys."
)
_ON_WSL = "If nsys finds no counters: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, Allow all."
_SILENT_NVTX = (0, 2, 12)  # nvtx from this version on records no ranges under nsys 2023


def check_up(folder: Path, explicit: Path | None = None) -> tuple[MachineCheck, ...]:
    """Make all checks, in the order in which things are needed."""
    machine = read_machine()
    diagnosis = diagnose(explicit)
    return (
        *diagnosis.checks,
        *([MachineCheck("GPU modes", *_check_modes(machine))] if machine.has_gpu else []),
        *([] if diagnosis.failures else [MachineCheck("sampling", *_check_sampling(diagnosis))]),
        MachineCheck("CPU sampling", "pass", _describe_cpu_sampling(machine)),
        MachineCheck("disk", *_check_disk(folder)),
        MachineCheck("file locks", *_check_locks(folder.absolute())),
        MachineCheck("Python", *_check_python(diagnosis.nsys)),
    )


def _check_modes(machine: Machine) -> tuple[Status, str, str]:
    place = "Windows Subsystem for Linux" if machine.is_wsl else "Linux"
    try:
        modes = read_gpu_modes()
    except SilentDriverError as error:
        return "fail", f"{place}; {error.message}", error.hint
    except MachineError as error:
        return "warn", f"{place}; MIG and similar modes are unknown: {error.message}", error.hint
    evidence = place + (f"; the driver does not report {', '.join(modes.unknown)}" if modes.unknown else "")
    if modes.confidential:
        return "fail", f"{evidence}; Confidential Computing is on", CONFIDENTIAL.remedy
    if modes.mig:
        return "warn", f"{evidence}; GPU {', '.join(map(str, modes.mig))} is divided into MIG instances", MIG.remedy
    if modes.vgpu:
        return "warn", f"{evidence}; the GPU is virtual", VGPU.remedy
    if machine.is_wsl:
        return "warn", evidence, _ON_WSL
    if modes.unknown:  # the sampling shows whether they matter
        return "pass", evidence, ""
    return "pass", f"{place}; no MIG, no virtual GPU, no Confidential Computing", ""


def _check_sampling(diagnosis: Diagnosis) -> tuple[Status, str, str]:
    nsys, capabilities = diagnosis.nsys, diagnosis.capabilities
    assert nsys is not None  # nothing has failed
    assert capabilities is not None
    options = RecordOptions()
    rate = f"at {units.format_hz(options.frequency_hz)}"
    with temporary_folder() as folder:
        try:
            metric_set = find_metric_set(nsys, capabilities, options, capabilities.supported_gpus, folder)
            evidence = f"{len(metric_set.sampled)} metrics {rate}, including exact tensor cycles"
            return "pass", f"{evidence}. {metric_set.lacks}" if metric_set.lacks else evidence, ""
        except NsysError as error:
            without_cycles = error.message
        try:
            sampled = try_metric_set(nsys, capabilities, options, None)
        except NsysError as error:
            return "fail", error.message, error.hint
    if metric_names("tensor_active_pct").isdisjoint(sampled):
        evidence = f"{len(sampled)} metrics {rate}, but Tensor Active is not among them. {without_cycles}"
        return "fail", evidence, _NO_TENSOR_METRIC
    evidence = f"{len(sampled)} metrics {rate}, whole percentages only. {without_cycles}"
    return "warn", evidence, "A newer nsys may give exact tensor cycles."


def _describe_cpu_sampling(machine: Machine) -> str:
    level = "not known" if machine.paranoid_level is None else machine.paranoid_level
    return f"kernel.perf_event_paranoid is {level}; it does not affect GPU metrics"


def _check_disk(folder: Path) -> tuple[Status, str, str]:
    """Check the space where nsys collects and where the report goes."""
    temporary = Path(tempfile.gettempdir())
    free = {place: shutil.disk_usage(place).free for place in dict.fromkeys((folder.absolute(), temporary))}
    evidence = ", ".join(f"{units.format_bytes(size)} free in {place}" for place, size in free.items())
    least = min(free.values())
    if least >= _SCARCE_BYTES:
        return "pass", evidence, ""
    remedy = "Free some space; nsys collects its data in TMPDIR before it writes the report."
    return "fail" if least < _TOO_FEW_BYTES else "warn", evidence, remedy


def _check_locks(folder: Path) -> tuple[Status, str, str]:
    """Check the locks that SQLite needs where the report goes."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            return "fail", f"{folder} cannot be written", "Go to a folder you can write to."
        remedy = "Write the report to a local disk: tcprof profile -o /tmp/run ..."
        return "warn", f"{folder}: {os.strerror(error.errno or 0)}; SQLite needs locks", remedy
    return "pass", f"work in {folder}", ""


def _check_python(nsys: Nsys | None) -> tuple[Status, str, str]:
    """Check for what the workloads need; other programs may run in another Python."""
    versions = {name: _installed(name) for name in ("torch", "nvtx")}
    evidence = f"{sys.executable}: " + ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    if missing := [name for name, version in versions.items() if not version]:
        return "pass", f"{evidence}; only the workloads that come with tcprof need {' and '.join(missing)}", ""
    if "+cpu" in versions["torch"]:
        return "warn", evidence, "This torch is a CPU build: see pytorch.org for one with CUDA."
    numbers = tuple(int(part) for part in re.findall(r"\d+", versions["nvtx"])[:3])
    if nsys is not None and nsys.version < (2024,) and numbers >= _SILENT_NVTX:
        remedy = "Under nsys 2023 this nvtx records no ranges: use a newer nsys, or pip install 'nvtx<0.2.12'."
        return "warn", evidence, remedy
    return "pass", evidence, ""


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
