"""What only ``tcprof doctor`` looks at, beyond what every recording needs: a sampling, GPU modes, disk, Python."""

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
from tcprof.nsys.locate import Nsys
from tcprof.nsys.run import CONFIDENTIAL, MIG, VGPU
from tcprof.record.command import RecordOptions
from tcprof.record.diagnosis import Diagnosis, MachineCheck, Status, diagnose
from tcprof.record.machine import Machine, SilentDriverError, read_gpu_modes, read_machine
from tcprof.record.plan import find_metric_set, try_metric_set
from tcprof.temporary import temporary_folder

_SCARCE_BYTES, _TOO_FEW_BYTES = 2_000_000_000, 100_000_000
_NO_TENSOR_METRIC = (
    "nsys's graphics sets (ga10x-gfxt, ga10x-gfxact, ad10x-gfxt) have no tensor metric, nor has TU11x: record with the "
    "general set, which 'nsys profile --gpu-metrics-set=help' lists, or use a newer nsys."
)
_SILENT_NVTX = (0, 2, 12)  # nvtx from this version on records no ranges under nsys 2023


def check_up(folder: Path, explicit: Path | None = None) -> tuple[MachineCheck, ...]:
    """All checks, in the order in which things are needed."""
    machine = read_machine()
    diagnosis = diagnose(explicit)
    return (
        *diagnosis.checks,
        *([_check_modes(machine)] if machine.has_gpu else []),
        *_check_sampling(diagnosis),
        _check_cpu_sampling(machine),
        *_check_disk(folder),
        *_check_python(diagnosis.nsys),
    )


def _check_modes(machine: Machine) -> MachineCheck:
    place = "Windows Subsystem for Linux" if machine.is_wsl else "Linux"
    try:
        modes = read_gpu_modes()
    except SilentDriverError as error:
        return MachineCheck("GPU modes", "fail", f"{place}; {error.message}", error.hint)
    except MachineError as error:
        return MachineCheck("GPU modes", "warn", f"{place}; the modes are unknown: {error.message}", error.hint)
    evidence = place + (f"; the driver does not report {', '.join(modes.unknown)}" if modes.unknown else "")
    if modes.confidential:
        return MachineCheck("GPU modes", "fail", f"{evidence}; Confidential Computing is on", CONFIDENTIAL.remedy)
    if modes.mig:
        numbers = ", ".join(map(str, modes.mig))
        return MachineCheck("GPU modes", "warn", f"{evidence}; GPU {numbers} is divided into MIG instances", MIG.remedy)
    if modes.vgpu:
        return MachineCheck("GPU modes", "warn", f"{evidence}; the GPU is a virtual one", VGPU.remedy)
    if machine.is_wsl:
        remedy = (
            "If nsys finds no counters: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, Allow all."
        )
        return MachineCheck("GPU modes", "warn", evidence, remedy)
    if modes.unknown:
        return MachineCheck("GPU modes", "warn", evidence, "The sampling below shows whether they matter.")
    return MachineCheck("GPU modes", "pass", f"{place}; no MIG, no virtual GPU, no Confidential Computing")


def _check_sampling(diagnosis: Diagnosis) -> list[MachineCheck]:
    nsys, capabilities = diagnosis.nsys, diagnosis.capabilities
    if diagnosis.failures or nsys is None or capabilities is None:
        return []
    with temporary_folder() as folder:
        options = RecordOptions()
        rate = f"at {units.format_hz(options.frequency_hz)}"
        try:
            found = find_metric_set(nsys, capabilities, options, capabilities.supported_gpus, folder)
            evidence = f"{len(found.sampled)} metrics {rate}, exact tensor cycles among them"
            return [MachineCheck("sampling", "pass", f"{evidence}. {found.lacks}" if found.lacks else evidence)]
        except NsysError as error:
            without_cycles = error.message
        try:
            sampled = try_metric_set(nsys, capabilities, options, None)
        except NsysError as error:
            return [MachineCheck("sampling", "fail", error.message, error.hint)]
    if metric_names("tensor_active_pct").isdisjoint(sampled):
        evidence = f"{len(sampled)} metrics {rate}, but Tensor Active is not among them. {without_cycles}"
        return [MachineCheck("sampling", "fail", evidence, _NO_TENSOR_METRIC)]
    evidence = f"{len(sampled)} metrics {rate}, whole percentages only. {without_cycles}"
    return [MachineCheck("sampling", "warn", evidence, "A newer nsys may give exact tensor cycles.")]


def _check_cpu_sampling(machine: Machine) -> MachineCheck:
    level = "not known" if machine.paranoid_level is None else machine.paranoid_level
    return MachineCheck(
        "CPU sampling", "pass", f"kernel.perf_event_paranoid is {level}; it does not affect GPU metrics"
    )


def _check_disk(folder: Path) -> list[MachineCheck]:
    """Space where nsys collects and where the report goes, and the locks that SQLite needs there."""
    temporary = Path(tempfile.gettempdir())
    free = {place: shutil.disk_usage(place).free for place in dict.fromkeys((folder.absolute(), temporary))}
    evidence = ", ".join(f"{units.format_bytes(size)} free in {place}" for place, size in free.items())
    least = min(free.values())
    status: Status = "fail" if least < _TOO_FEW_BYTES else "warn" if least < _SCARCE_BYTES else "pass"
    remedy = "" if status == "pass" else "Free some space; nsys collects in TMPDIR before it writes the report."
    return [MachineCheck("disk", status, evidence, remedy), _check_locks(folder.absolute())]


def _check_locks(folder: Path) -> MachineCheck:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
            return MachineCheck(
                "file locks", "fail", f"{folder} cannot be written", "Go to a folder that you may write."
            )
        remedy = "Write the report to a local disk: tcprof profile -o /tmp/run ..."
        return MachineCheck(
            "file locks", "warn", f"{folder}: {os.strerror(error.errno or 0)}; SQLite needs locks", remedy
        )
    return MachineCheck("file locks", "pass", f"work in {folder}")


def _check_python(nsys: Nsys | None) -> list[MachineCheck]:
    """What the workloads need; other programs may run in another Python."""
    versions = {name: _installed(name) for name in ("torch", "nvtx")}
    evidence = f"{sys.executable}: " + ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
    if missing := [name for name, version in versions.items() if not version]:
        remedy = f"Only the workloads need them: pip install {' '.join(missing)}"
        return [MachineCheck("Python", "warn", evidence, remedy)]
    if "+cpu" in versions["torch"]:
        return [
            MachineCheck(
                "Python", "warn", evidence, "This torch is built for the CPU: see pytorch.org for one with CUDA."
            )
        ]
    numbers = tuple(int(part) for part in re.findall(r"\d+", versions["nvtx"])[:3])
    if nsys is not None and nsys.version < (2024,) and numbers >= _SILENT_NVTX:
        remedy = "Under nsys 2023 this nvtx records no ranges: use a newer nsys, or pip install 'nvtx<0.2.12'."
        return [MachineCheck("Python", "warn", evidence, remedy)]
    return [MachineCheck("Python", "pass", evidence)]


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
