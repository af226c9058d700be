"""Facts of this machine that decide whether GPU counters can be read: driver, permissions, container, other profilers.

Everything is read from the kernel's files. Nothing is changed.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path("/")
_HOLDERS = re.compile(r"nv-hostengine|dcgm-exporter|dcgmi|dcgmproftester\d*|nsys|nsys-launcher|ncu|ncu-ui")
_GPU_DEVICE = re.compile(r"nvidia\d+|nvhost-gpu")


@dataclass(frozen=True)
class Machine:
    """What the kernel says."""

    driver: str  # version of NVIDIA's driver; empty without one
    device_count: int  # device files of GPUs that this process can see; on Jetson there is another one
    is_wsl: bool  # whether this is the Windows Subsystem for Linux
    container: str  # what kind of container this is; empty if none
    admin_only: bool | None  # whether counters are for administrators (RmProfilingAdminOnly); None where not known
    is_root: bool  # whether the user is root, in its container or outside
    paranoid_level: int | None  # kernel.perf_event_paranoid; None where not known
    holders: tuple[str, ...]  # other programs that may hold the counters, each with its process number

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU is visible; a sandbox may hide the driver's files."""
        return self.is_wsl or self.device_count > 0


def read_machine() -> Machine:
    """Reads the facts; what cannot be read is not known."""
    driver = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", _read("proc/driver/nvidia/version"))
    admin_only = re.search(r"RmProfilingAdminOnly:\s*(\d)", _read("proc/driver/nvidia/params"))
    paranoid = _read("proc/sys/kernel/perf_event_paranoid").strip()
    return Machine(
        driver=driver[1] if driver else "",
        device_count=len([path for path in (ROOT / "dev").glob("nv*") if _GPU_DEVICE.fullmatch(path.name)]),
        is_wsl=(ROOT / "dev" / "dxg").exists(),
        container=_read_container(),
        admin_only=None if admin_only is None else admin_only[1] == "1",
        is_root=os.geteuid() == 0,
        paranoid_level=int(paranoid) if re.fullmatch(r"-?\d+", paranoid) else None,
        holders=tuple(_find_holders()),
    )


def _read(name: str) -> str:
    try:
        return (ROOT / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_container() -> str:
    if (ROOT / ".dockerenv").exists():
        return "Docker"
    if (ROOT / "run" / ".containerenv").exists():
        return "Podman"
    found = re.search(r"kubepods|docker|containerd|lxc|libpod", _read("proc/1/cgroup"))
    return found[0] if found else ""


def _find_holders() -> Iterator[str]:
    for process in psutil.process_iter(["name", "status"]):
        name = process.info["name"] or ""
        if _HOLDERS.fullmatch(name) and process.info["status"] != psutil.STATUS_ZOMBIE:
            yield f"{name} (process {process.pid})"
